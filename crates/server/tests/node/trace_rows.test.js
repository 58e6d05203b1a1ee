// Tests of js/trace_rows.js.
import assert from 'node:assert/strict';
import test from 'node:test';
import {axisMarks, extent, flatSpans, groups, sortRows, totalUse, waterfallRows} from './js/trace_rows.js';

const at = seconds => new Date(1_000_000 + seconds * 1000).toISOString();
const usage = (tokens, cost, complete = true) => ({input: tokens, output: 0, cost_usd: cost, cost_complete: complete});
const run = (name, depth, from, to, more = {}) => ({
  run: name, session: `ses_${name}`, title: '', depth, agent: name, model: 'm/x', mode: 'message', from: at(from), to: at(to), status: 'completed',
  usage: usage(10, 1), waits: [], steps: [], earlier_steps: 0, failure: '', ...more,
});
const step = (kind, name, from, to, more = {}) => ({kind, name, from: at(from), ...(to === null ? {} : {to: at(to)}), outcome: kind === 'tool' ? {is: 'done'} : undefined, ...more});

/** A lead that reads twice, fails once, and waits for a helper and for a person. */
const RUNS = [
  run('lead', 0, 0, 10, {
    waits: [{cause: 'person', from: at(7), to: at(9)}],
    steps: [step('model', 'm/x', 0, 1, {usage: usage(10, 0.5)}), step('tool', 'Read', 1, 2), step('tool', 'Read', 1, 3, {outcome: {is: 'failed', code: 'E0001'}}),
      step('tool', 'Task', 3, 5, {task: 'helper'}), step('tool', 'Task', 4, 6, {task: 'helper'})],
  }),
  run('helper', 1, 3, 6, {steps: [step('model', 'm/x', 3, 6, {usage: usage(10, 0.25, false)})]}),
];
const none = new Set();

test('every run, wait and step is one span', () => {
  const spans = flatSpans(RUNS);
  assert.deepEqual(spans.map(span => span.kind), ['run', 'wait', 'model', 'tool', 'tool', 'tool', 'tool', 'run', 'model']);
  assert.equal(new Set(spans.map(span => span.key)).size, spans.length);
  assert.deepEqual(extent(spans), {from: 1_000_000, to: 1_010_000});
});

test('steps of the same name are one row that counts those that ended well', () => {
  const rows = waterfallRows(RUNS, {folded: none, isAggregated: true});
  assert.deepEqual(rows.map(row => [row.name, row.depth, row.done, row.spans.length]), [['lead', 0, 1, 1], ['m/x', 1, 1, 1], ['Read', 1, 1, 2], ['helper', 1, 1, 1], ['m/x', 2, 1, 1]]);
});

test('a call that waits for a run below is a wait of its own run, drawn once', () => {
  const [lead] = waterfallRows(RUNS, {folded: none, isAggregated: false});
  assert.deepEqual(lead.waits.map(wait => [wait.state, wait.from - 1_000_000, wait.to - 1_000_000]), [['child', 3000, 6000], ['person', 7000, 9000]]);
});

test('each step has its row in the order of time, and a folded run hides what is below', () => {
  const rows = waterfallRows(RUNS, {folded: none, isAggregated: false});
  assert.deepEqual(rows.map(row => row.name), ['lead', 'm/x', 'Read', 'Read', 'helper', 'm/x']);
  const folded = waterfallRows(RUNS, {folded: new Set(['helper']), isAggregated: false});
  assert.deepEqual(folded.map(row => [row.name, row.isFolded]).at(-1), ['helper', true]);
});

test('rows are sorted by start, duration and cost', () => {
  const rows = groups(flatSpans(RUNS).filter(span => span.kind !== 'run'));
  assert.deepEqual(sortRows(rows, 'start', false).map(row => row.name), ['m/x', 'Read', 'Task', 'waits for you']);
  assert.deepEqual(sortRows(rows, 'duration', true).map(row => row.name)[0], 'm/x');
  assert.deepEqual(totalUse(sortRows(rows, 'cost', true)[0]), {tokens: 20, cost: 0.75, isPriced: false});
});

test('what has not ended lasts until now and is open', () => {
  const [, , open] = flatSpans([run('lead', 0, 0, 8, {status: null, steps: [step('model', 'm/x', 0, 2), step('tool', 'Bash', 2, null)]})]);
  assert.deepEqual([open.isOpen, open.state, open.to - open.from], [true, 'working', 6000]);
});

test('an axis has few round marks, whatever its length', () => {
  for (const length of [1, 37, 1500, 61_000, 7_000_000, 400_000_000, 90_000_000_000]) assert.ok(axisMarks(length, 8).length <= 9, String(length));
  assert.deepEqual(axisMarks(1_100, 8), [0, 200, 400, 600, 800, 1000]);
});
