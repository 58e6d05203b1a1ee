// Tests of js/trace_graph.js.
import assert from 'node:assert/strict';
import test from 'node:test';
import {NODE, delegationGraph, edgeLine, graphLayout} from './js/trace_graph.js';

const at = seconds => new Date(1_000_000 + seconds * 1000).toISOString();
let runs = 0;
const run = (agent, depth, more = {}) => {
  runs += 1;
  return {
    run: `run_${runs}`, session: `ses_${runs}`, title: `task ${runs}`, depth, agent, model: 'm/x', from: at(runs), to: at(runs + 2), status: 'completed',
    usage: {input: 10, output: 5, cost_usd: 0.5, cost_complete: true}, waits: [], steps: [{kind: 'tool', name: 'Read', from: at(runs), to: at(runs + 1)}], earlier_steps: 0, failure: '', ...more,
  };
};

/** A lead that asks two explorers, one of which asks the lead again, and a writer that fails and asks itself. */
const trace = () => [
  run('lead', 0), run('explore', 1), run('explore', 1), run('lead', 2),
  run('write', 1, {status: 'failed', usage: {input: 1, output: 0, cost_usd: 0, cost_complete: false}}), run('write', 2, {status: null}),
];

test('runs of an agent are one node with sums, delegations between two agents one edge', () => {
  const {nodes, edges} = delegationGraph(trace(), {isAggregated: true});
  assert.deepEqual(nodes.map(({agent, runs, done, failed, open, tokens, cost, isPriced, calls, time, rank}) => [agent, runs, done, failed, open, tokens, cost, isPriced, calls, time, rank]), [
    ['lead', 2, 2, 0, 0, 30, 1, true, 2, 4000, 0],
    ['explore', 2, 2, 0, 0, 30, 1, true, 2, 4000, 1],
    ['write', 2, 0, 1, 1, 16, 0.5, false, 2, 4000, 1],
  ]);
  assert.deepEqual(edges.map(({from, to, runs, tokens, failed, open}) => [from, to, runs, tokens, failed, open]), [
    ['lead', 'explore', 2, 30, 0, 0],
    ['explore', 'lead', 1, 15, 0, 0],
    ['lead', 'write', 1, 1, 1, 0],
    ['write', 'write', 1, 15, 0, 1],
  ]);
});

test('every token and every delegation is counted once', () => {
  const all = trace();
  for (const isAggregated of [true, false]) {
    const {nodes, edges} = delegationGraph(all, {isAggregated});
    const sum = (list, of) => list.reduce((total, one) => total + of(one), 0);
    assert.equal(sum(nodes, node => node.runs), all.length);
    assert.equal(sum(nodes, node => node.tokens), sum(all, one => one.usage.input + one.usage.output));
    assert.equal(sum(edges, edge => edge.runs), all.filter(one => one.depth > 0).length);
  }
});

test('expanded, every run is a node below the one that asked for it', () => {
  const {nodes, edges} = delegationGraph(trace(), {isAggregated: false});
  assert.deepEqual(nodes.map(node => node.rank), [0, 1, 1, 2, 1, 2]);
  assert.deepEqual(edges.map(({from, to}) => [nodes.findIndex(node => node.key === from), nodes.findIndex(node => node.key === to)]), [[0, 1], [0, 2], [2, 3], [0, 4], [4, 5]]);
});

test('agents with names of properties are nodes like all others', () => {
  const {nodes, edges} = delegationGraph([run('__proto__', 0), run('constructor', 1)], {isAggregated: true});
  assert.deepEqual(nodes.map(node => node.agent), ['__proto__', 'constructor']);
  assert.equal(edges.length, 1);
});

test('no two nodes overlap, in either direction, and all lie inside', () => {
  const many = [run('lead', 0), ...Array.from({length: 12}, (_, at) => [run(`agent ${at % 5}`, 1), run(`helper ${at}`, 2)]).flat()];
  for (const isAggregated of [true, false]) for (const isDown of [true, false]) {
    const graph = delegationGraph(many, {isAggregated});
    const {places, width, height} = graphLayout(graph, {isDown});
    const all = [...places.values()];
    assert.equal(all.length, graph.nodes.length);
    for (const [at, one] of all.entries()) {
      assert.ok(one.x >= 0 && one.y >= 0 && one.x + NODE.width <= width && one.y + NODE.height <= height);
      for (const other of all.slice(at + 1)) assert.ok(Math.abs(one.x - other.x) >= NODE.width || Math.abs(one.y - other.y) >= NODE.height, `${one.key} ${other.key}`);
    }
  }
});

test('the places are the same each time, and a new agent leaves the ranks before it alone', () => {
  const first = graphLayout(delegationGraph(trace().slice(0, 3), {isAggregated: true}));
  assert.deepEqual(first, graphLayout(delegationGraph(trace().slice(0, 3), {isAggregated: true})));
  const later = graphLayout(delegationGraph([...trace().slice(0, 3), run('new', 2)], {isAggregated: true}));
  assert.deepEqual(first.places.get('explore'), later.places.get('explore'));
});

test('lines end at their nodes; cycles run around them and stay inside', () => {
  const graph = delegationGraph(trace(), {isAggregated: true});
  for (const isDown of [true, false]) {
    const layout = graphLayout(graph, {isDown});
    for (const edge of graph.edges) {
      const {path, label} = edgeLine(edge, layout);
      const numbers = path.match(/-?[\d.]+/g).map(Number);
      assert.equal(numbers.length, 8);
      const touches = (key, x, y) => { const node = layout.places.get(key); return x >= node.x && x <= node.x + NODE.width && y >= node.y && y <= node.y + NODE.height; };
      assert.ok(touches(edge.from, numbers[0], numbers[1]) && touches(edge.to, numbers[6], numbers[7]), path);
      assert.ok(label.x >= 0 && label.x <= layout.width && label.y >= 0 && label.y <= layout.height);
      for (let at = 0; at < 8; at += 2) assert.ok(numbers[at] >= 0 && numbers[at] <= layout.width && numbers[at + 1] >= 0 && numbers[at + 1] <= layout.height, `${path} in ${layout.width} × ${layout.height}`);
    }
  }
});
