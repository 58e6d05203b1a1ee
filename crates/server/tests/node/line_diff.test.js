// Tests of js/line_diff.js.
import assert from 'node:assert/strict';
import test from 'node:test';
import {diffLines, unifiedDiff} from './js/line_diff.js';
import {parseUnified} from './js/unified_diff.js';

/** The text after a diff is applied to the lines it was made from. */
const applied = lines => [lines.filter(line => line.kind !== '+').map(line => line.text), lines.filter(line => line.kind !== '-').map(line => line.text)];

test('random texts are both in their diff', () => {
  let seed = 7;
  const random = most => { seed = (seed * 1103515245 + 12345) % 2147483648; return seed % most; };
  for (let round = 0; round < 300; round += 1) {
    const make = () => Array.from({length: random(12)}, () => 'abcd'[random(4)]);
    const [before, after] = [make(), make()];
    assert.deepEqual(applied(diffLines(before, after)), [before, after]);
  }
});

test('only the changed line is told, with three lines around it', () => {
  const before = Array.from({length: 20}, (_, at) => `line ${at + 1}`).join('\n');
  const diff = unifiedDiff(before, before.replace('line 10', 'line ten'), 'a.md');
  assert.equal(diff.split('\n')[2], '@@ -7,7 +7,7 @@');
  const [file] = parseUnified(diff);
  assert.deepEqual([file.path, file.added, file.removed, file.lines.length], ['a.md', 1, 1, 8]);
  assert.equal(file.lines.find(line => line.kind === 'added').after, 10);
});

test('two changes far apart are two hunks', () => {
  const before = Array.from({length: 40}, (_, at) => `line ${at + 1}`).join('\n');
  const diff = unifiedDiff(before, before.replace('line 2\n', 'two\n').replace('line 38', 'x'), 'a.md');
  assert.deepEqual(diff.match(/@@ .* @@/g), ['@@ -1,5 +1,5 @@', '@@ -35,6 +35,6 @@']);
});

test('the same text has no diff, an empty one is all added', () => {
  assert.equal(unifiedDiff('a\nb', 'a\nb', 'x'), '');
  assert.equal(unifiedDiff('', 'a\n', 'x'), '--- x\n+++ x\n@@ -1,0 +1,1 @@\n+a');
});

test('huge texts that share nothing are compared in bounded time and memory', () => {
  const make = word => Array.from({length: 30_000}, (_, at) => `${word}${at}`);
  assert.equal(diffLines(make('a'), make('b')).length, 60_000);
});
