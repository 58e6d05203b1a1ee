// Line diff of two texts with the words that changed, for showing edits. Pure and bounded: above a size, all lines
// are replaced.

/** Lines of each text above which no common lines are looked for. */
const MOST_LINES = 2000;
/** Edits above which the search for common lines is given up. */
const MOST_EDITS = 600;
/** Letters of a line above which words are not compared. */
const LONGEST_LINE = 400;

/**
 * A line of a diff.
 * @typedef {object} DiffLine
 * @property {'same' | 'removed' | 'added'} kind
 * @property {number | null} before Its number in the first text, from one.
 * @property {number | null} after Its number in the second text, from one.
 * @property {DiffWord[]} words The line in parts; changed ones are marked.
 */

/**
 * @typedef {object} DiffWord
 * @property {string} text
 * @property {boolean} changed
 */

/**
 * Which items of two lists are the same ones, in order: pairs of places.
 * @template T
 * @param {T[]} one
 * @param {T[]} other
 * @returns {[number, number][] | null} Null if the lists differ by more than the limit.
 */
export function commonItems(one, other) {
  /** @type {Map<number, number>[]} */
  const trace = [];
  let frontier = new Map([[1, 0]]);
  const most = Math.min(one.length + other.length, MOST_EDITS);
  for (let edits = 0; edits <= most; edits += 1) {
    trace.push(frontier);
    const next = new Map(frontier);
    for (let diagonal = -edits; diagonal <= edits; diagonal += 2) {
      let x = furthest(frontier, diagonal, edits);
      let y = x - diagonal;
      while (x < one.length && y < other.length && one[x] === other[y]) {
        x += 1;
        y += 1;
      }
      next.set(diagonal, x);
      if (x >= one.length && y >= other.length) {
        return walkBack(trace, one.length, other.length);
      }
    }
    frontier = next;
  }
  return null;
}

/**
 * @param {Map<number, number>} frontier
 * @param {number} diagonal
 * @param {number} edits
 */
function furthest(frontier, diagonal, edits) {
  const left = frontier.get(diagonal - 1) ?? -1;
  const right = frontier.get(diagonal + 1) ?? -1;
  return diagonal === -edits || (diagonal !== edits && left < right) ? right : left + 1;
}

/**
 * @param {Map<number, number>[]} trace
 * @param {number} x
 * @param {number} y
 */
function walkBack(trace, x, y) {
  /** @type {[number, number][]} */
  const pairs = [];
  for (let edits = trace.length - 1; edits >= 0; edits -= 1) {
    const diagonal = x - y;
    const begin = edits === 0 ? 0 : furthest(trace[edits], diagonal, edits);
    while (x > begin && y > begin - diagonal && x > 0 && y > 0) {
      x -= 1;
      y -= 1;
      pairs.push([x, y]);
    }
    if (edits > 0) {
      const isDown = diagonal === -edits
        || (diagonal !== edits && (trace[edits].get(diagonal - 1) ?? -1) < (trace[edits].get(diagonal + 1) ?? -1));
      if (isDown) {
        y -= 1;
      } else {
        x -= 1;
      }
    }
  }
  return pairs.reverse();
}

/**
 * The lines of two texts: what stayed, what was removed, what was added.
 * @param {string} before
 * @param {string} after
 * @returns {DiffLine[]}
 */
export function diffLines(before, after) {
  const [one, other] = [linesOf(before), linesOf(after)];
  const isSmall = one.length <= MOST_LINES && other.length <= MOST_LINES;
  const pairs = (isSmall && commonItems(one, other)) || [];
  /** @type {DiffLine[]} */
  const lines = [];
  let [x, y] = [0, 0];
  for (const [nextX, nextY] of [...pairs, [one.length, other.length]]) {
    lines.push(...replaced(one, other, [x, nextX], [y, nextY]));
    if (nextX < one.length && nextY < other.length) {
      lines.push({ kind: 'same', before: nextX + 1, after: nextY + 1, words: [{ text: one[nextX], changed: false }] });
    }
    [x, y] = [nextX + 1, nextY + 1];
  }
  return lines;
}

/**
 * @param {string} text
 */
function linesOf(text) {
  const lines = text.split('\n');
  if (lines.at(-1) === '') {
    lines.pop();
  }
  return lines;
}

/**
 * Lines that are replaced by others. If they are as many, changed words are marked.
 * @param {string[]} one
 * @param {string[]} other
 * @param {[number, number]} removed
 * @param {[number, number]} added
 * @returns {DiffLine[]}
 */
function replaced(one, other, [fromX, toX], [fromY, toY]) {
  const isPaired = toX - fromX === toY - fromY;
  /** @type {DiffLine[]} */
  const removed = [];
  /** @type {DiffLine[]} */
  const added = [];
  for (let x = fromX; x < toX; x += 1) {
    const words = isPaired ? diffWords(one[x], other[fromY + x - fromX]).before : whole(one[x]);
    removed.push({ kind: 'removed', before: x + 1, after: null, words });
  }
  for (let y = fromY; y < toY; y += 1) {
    const words = isPaired ? diffWords(one[fromX + y - fromY], other[y]).after : whole(other[y]);
    added.push({ kind: 'added', before: null, after: y + 1, words });
  }
  return [...removed, ...added];
}

/**
 * @param {string} text
 * @returns {DiffWord[]}
 */
function whole(text) {
  return [{ text, changed: true }];
}

/**
 * Two lines with the words that differ.
 * @param {string} before
 * @param {string} after
 */
export function diffWords(before, after) {
  if (before.length > LONGEST_LINE || after.length > LONGEST_LINE) {
    return { before: whole(before), after: whole(after) };
  }
  const [one, other] = [wordsOf(before), wordsOf(after)];
  const pairs = commonItems(one, other) ?? [];
  const kept = pairs.filter(([x]) => one[x].trim() !== '');
  if (kept.length === 0) {
    return { before: whole(before), after: whole(after) };
  }
  return {
    before: marked(one, new Set(pairs.map(([x]) => x))),
    after: marked(other, new Set(pairs.map(([, y]) => y))),
  };
}

/**
 * @param {string} line
 * @returns {string[]}
 */
function wordsOf(line) {
  return line.match(/[\p{L}\p{N}_]+|\s+|[^\p{L}\p{N}_\s]/gu) ?? [];
}

/**
 * @param {string[]} words
 * @param {Set<number>} same
 */
function marked(words, same) {
  /** @type {DiffWord[]} */
  const parts = [];
  words.forEach((text, at) => {
    const changed = !same.has(at);
    const last = parts.at(-1);
    if (last && last.changed === changed) {
      last.text += text;
    } else {
      parts.push({ text, changed });
    }
  });
  return parts;
}
