// Compares two texts line by line and writes what differs as a unified diff.
// @ts-check

/** Unchanged lines that are shown around a change. */
const CONTEXT = 3;
/** The most pairs of lines that are compared; beyond it, what differs is shown as removed and added as a whole. */
const MOST_PAIRS = 4_000_000;

/** @typedef {{kind: ' ' | '-' | '+', text: string}} Line */

/**
 * The lines of both texts in one list.
 * @param {string[]} before @param {string[]} after
 * @returns {Line[]}
 */
export function diffLines(before, after) {
  let begin = 0;
  while (begin < before.length && begin < after.length && before[begin] === after[begin]) begin += 1;
  let end = 0;
  while (end < before.length - begin && end < after.length - begin
    && before[before.length - 1 - end] === after[after.length - 1 - end]) end += 1;
  return [
    ...lines(' ', before.slice(0, begin)),
    ...diffMiddle(before.slice(begin, before.length - end), after.slice(begin, after.length - end)),
    ...lines(' ', before.slice(before.length - end)),
  ];
}

/** @param {' ' | '-' | '+'} kind @param {string[]} texts @returns {Line[]} */
function lines(kind, texts) {
  return texts.map(text => ({kind, text}));
}

/** By the longest common sequence. @param {string[]} before @param {string[]} after @returns {Line[]} */
function diffMiddle(before, after) {
  if (before.length * after.length > MOST_PAIRS) return [...lines('-', before), ...lines('+', after)];
  const width = after.length + 1;
  const lengths = new Uint16Array((before.length + 1) * width);
  for (let i = before.length - 1; i >= 0; i -= 1) {
    for (let j = after.length - 1; j >= 0; j -= 1) {
      lengths[i * width + j] = before[i] === after[j]
        ? lengths[(i + 1) * width + j + 1] + 1
        : Math.max(lengths[(i + 1) * width + j], lengths[i * width + j + 1]);
    }
  }
  /** @type {Line[]} */
  const found = [];
  let i = 0;
  let j = 0;
  while (i < before.length || j < after.length) {
    if (i < before.length && j < after.length && before[i] === after[j]) {
      found.push({kind: ' ', text: before[i]});
      i += 1;
      j += 1;
    } else if (j >= after.length || (i < before.length && lengths[(i + 1) * width + j] >= lengths[i * width + j + 1])) {
      found.push({kind: '-', text: before[i]});
      i += 1;
    } else {
      found.push({kind: '+', text: after[j]});
      j += 1;
    }
  }
  return found;
}

/**
 * A unified diff of two texts; empty if they are the same.
 * @param {string} before @param {string} after @param {string} path
 */
export function unifiedDiff(before, after, path) {
  if (before === after) return '';
  const all = diffLines(splitLines(before), splitLines(after));
  const out = [`--- ${path}`, `+++ ${path}`];
  let oldLine = 1;
  let newLine = 1;
  let at = 0;
  while (at < all.length) {
    const change = all.findIndex((line, place) => place >= at && line.kind !== ' ');
    if (change < 0) break;
    const from = Math.max(at, change - CONTEXT);
    oldLine += from - at;
    newLine += from - at;
    const to = hunkEnd(all, change);
    const hunk = all.slice(from, to);
    const removed = hunk.filter(line => line.kind !== '+').length;
    const added = hunk.filter(line => line.kind !== '-').length;
    out.push(`@@ -${oldLine},${removed} +${newLine},${added} @@`, ...hunk.map(line => line.kind + line.text));
    oldLine += removed;
    newLine += added;
    at = to;
  }
  // Texts that differ only in a line end at their end have no line that differs.
  return out.length > 2 ? out.join('\n') : '';
}

/** Where a hunk ends: after the context of its last change. @param {Line[]} all @param {number} change */
function hunkEnd(all, change) {
  let last = change;
  for (let at = change; at < all.length && at - last <= 2 * CONTEXT; at += 1) if (all[at].kind !== ' ') last = at;
  return Math.min(all.length, last + 1 + CONTEXT);
}

/** @param {string} text */
function splitLines(text) {
  const all = text.split('\n');
  if (all.at(-1) === '') all.pop();
  return all;
}
