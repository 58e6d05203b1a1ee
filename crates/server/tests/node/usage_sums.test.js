// Tests of js/usage_sums.js.
import assert from 'node:assert/strict';
import test from 'node:test';
import {dailyParts, daysFrom, roundUp, sumsBy, total} from './js/usage_sums.js';

const row = (day, agent, model, cost, complete = true) => ({name: day, also: [agent, model], replies: 1, usage: {input: 100, output: 10, cache_read: 40, cost_usd: cost, cost_complete: complete}});
const ROWS = [row('2026-11-01', 'lead', 'a', 1), row('2026-11-01', 'explore', 'b', 0, false), row('2026-11-03', 'lead', 'b', 2)];

test('sums are by name, the dearest first, and say if a price is missing', () => {
  assert.deepEqual(sumsBy(ROWS, one => one.also[0], 'cost').map(([name, sum]) => [name, sum.cost, sum.isPriced]), [['lead', 3, true], ['explore', 0, false]]);
  const sum = total(ROWS);
  assert.deepEqual([sum.tokens, sum.cacheRead, sum.replies, sum.isPriced], [330, 120, 3, false]);
});

test('days without usage are there, across months', () => {
  assert.deepEqual(daysFrom('2026-02-27', 3), ['2026-02-27', '2026-02-28', '2026-03-01']);
  const days = dailyParts(ROWS, daysFrom('2026-11-01', 3), ['lead'], one => one.also[0]);
  assert.deepEqual(days.map(({sum, parts}) => [sum.cost, parts.map(part => part.name)]), [[1, ['lead', '']], [0, []], [2, ['lead']]]);
});

test('the top of an axis is round and not below the largest value', () => {
  assert.deepEqual([0, 0.0046, 0.3, 1, 19, 26, 5_100].map(roundUp), [1, 0.005, 0.5, 1, 20, 50, 10_000]);
});
