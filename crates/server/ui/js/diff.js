// Reads unified diffs, and finds the words that differ between two lines.
// @ts-check

/** @typedef {{kind: 'added' | 'removed' | 'same' | 'gap', text: string, before: number | '', after: number | ''}} DiffLine */
/** @typedef {{path: string, added: number, removed: number, lines: DiffLine[]}} FileDiff */

/** The most words of a line that are compared one by one. */
const MOST_WORDS = 400;

/** @param {string} text @returns {FileDiff[]} */
export function parseUnified(text) {
  /** @type {FileDiff[]} */
  const files = [];
  /** @type {FileDiff | null} */
  let file = null;
  let before = 0;
  let after = 0;
  const lines = text.split('\n');
  for (let at = 0; at < lines.length; at += 1) {
    const line = lines[at];
    if (line.startsWith('--- ') && lines[at + 1]?.startsWith('+++ ')) {
      file = {path: pathOf(lines[at + 1].slice(4)) || pathOf(line.slice(4)), added: 0, removed: 0, lines: []};
      files.push(file);
      at += 1;
      continue;
    }
    const hunk = /^@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@(.*)/.exec(line);
    if (hunk) {
      if (!file) { file = {path: '', added: 0, removed: 0, lines: []}; files.push(file); }
      [before, after] = [Number(hunk[1]), Number(hunk[2])];
      if (file.lines.length || hunk[3].trim()) file.lines.push({kind: 'gap', text: hunk[3].trim(), before: '', after: ''});
      continue;
    }
    if (!file || (line === '' && at === lines.length - 1)) continue;
    const content = line.slice(1);
    if (line[0] === '+') { file.lines.push({kind: 'added', text: content, before: '', after: after++}); file.added += 1; }
    else if (line[0] === '-') { file.lines.push({kind: 'removed', text: content, before: before++, after: ''}); file.removed += 1; }
    else if (line[0] === ' ' || line === '') file.lines.push({kind: 'same', text: content, before: before++, after: after++});
  }
  return files;
}

/** @param {string} text */
function pathOf(text) {
  const path = text.split('\t', 1)[0].trim();
  return path === '/dev/null' ? '' : path.replace(/^[ab]\//, '');
}

/** @param {string} text */
function words(text) {
  return text.match(/\s+|[\p{L}\p{N}_]+|./gsu) ?? [];
}

/**
 * The words that two lines do not share.
 * @param {string} one @param {string} other
 * @returns {{before: {text: string, changed: boolean}[], after: {text: string, changed: boolean}[]}}
 */
export function wordMarks(one, other) {
  const left = words(one);
  const right = words(other);
  let begin = 0;
  while (begin < left.length && begin < right.length && left[begin] === right[begin]) begin += 1;
  let end = 0;
  while (end < left.length - begin && end < right.length - begin && left[left.length - 1 - end] === right[right.length - 1 - end]) end += 1;
  const middleLeft = left.slice(begin, left.length - end);
  const middleRight = right.slice(begin, right.length - end);
  const kept = middleLeft.length * middleRight.length > MOST_WORDS * MOST_WORDS ? [new Set(), new Set()] : commonWords(middleLeft, middleRight);
  return {before: marked(left, begin, end, kept[0]), after: marked(right, begin, end, kept[1])};
}

/** Places of the longest common sequence in both lists. @param {string[]} left @param {string[]} right */
function commonWords(left, right) {
  const width = right.length + 1;
  const lengths = new Uint16Array((left.length + 1) * width);
  for (let i = left.length - 1; i >= 0; i -= 1) {
    for (let j = right.length - 1; j >= 0; j -= 1) {
      lengths[i * width + j] = left[i] === right[j]
        ? lengths[(i + 1) * width + j + 1] + 1
        : Math.max(lengths[(i + 1) * width + j], lengths[i * width + j + 1]);
    }
  }
  const kept = [new Set(), new Set()];
  for (let i = 0, j = 0; i < left.length && j < right.length;) {
    if (left[i] === right[j]) { kept[0].add(i); kept[1].add(j); i += 1; j += 1; }
    else if (lengths[(i + 1) * width + j] >= lengths[i * width + j + 1]) i += 1;
    else j += 1;
  }
  return kept;
}

/** @param {string[]} list @param {number} begin @param {number} end @param {Set<any>} kept */
function marked(list, begin, end, kept) {
  /** @type {{text: string, changed: boolean}[]} */
  const parts = [];
  list.forEach((text, at) => {
    const changed = at >= begin && at < list.length - end && !kept.has(at - begin);
    const last = parts.at(-1);
    if (last && last.changed === changed) last.text += text;
    else parts.push({text, changed});
  });
  return parts;
}
