// Tests of diff.js: every diff leads from one text to the other, and work is bounded.

import assert from 'node:assert/strict';
import { pathToFileURL } from 'node:url';

const folder = pathToFileURL(`${process.argv[2]}/`);
const { commonItems, diffLines, diffWords } = await import(new URL('diff.js', folder).href);

const text = (line) => line.words.map((word) => word.text).join('');
const side = (lines, without) => lines.filter((line) => line.kind !== without).map(text);

let state = 7;
const roll = (sides) => {
  state = (Math.imul(state, 1103515245) + 12345) >>> 0;
  return (state >>> 16) % sides;
};

/** Longest common subsequence by the table, for short lists. */
function longest(one, other) {
  const table = Array.from({ length: one.length + 1 }, () => new Array(other.length + 1).fill(0));
  for (let x = 1; x <= one.length; x += 1) {
    for (let y = 1; y <= other.length; y += 1) {
      table[x][y] = one[x - 1] === other[y - 1]
        ? table[x - 1][y - 1] + 1
        : Math.max(table[x - 1][y], table[x][y - 1]);
    }
  }
  return table[one.length][other.length];
}

for (let round = 0; round < 2000; round += 1) {
  const lines = () => Array.from({ length: roll(9) }, () => ['a', 'b', 'c d', 'c e', ''][roll(5)]);
  const [one, other] = [lines(), lines()];
  const pairs = commonItems(one, other);
  assert.equal(pairs.length, longest(one, other), `${JSON.stringify([one, other])}`);
  assert.ok(pairs.every(([x, y], at) => one[x] === other[y] && (at === 0 || (x > pairs[at - 1][0] && y > pairs[at - 1][1]))));
  const ended = (list) => list.map((line) => `${line}\n`).join('');
  const diff = diffLines(ended(one), ended(other));
  assert.deepEqual(side(diff, 'added'), one);
  assert.deepEqual(side(diff, 'removed'), other);
}

const words = diffWords('let total = a + b;', 'let total = a + c;');
assert.deepEqual(words.before.filter((word) => word.changed).map((word) => word.text), ['b']);
assert.deepEqual(words.after.filter((word) => word.changed).map((word) => word.text), ['c']);

const many = Array.from({ length: 5000 }, (_, at) => `line ${at}`).join('\n');
const large = diffLines(many, `${many}\nend`);
assert.equal(large.filter((line) => line.kind === 'same').length, 0, 'a large text is replaced as a whole');
assert.equal(large.length, 10_001);
