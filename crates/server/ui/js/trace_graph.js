// Who delegated to whom in a trace: agents (or single runs) as nodes, delegations as edges with sums, and their places. Pure.
// @ts-check

import {flatSpans} from './trace_rows.js';

/**
 * @typedef {{runs: number, done: number, failed: number, open: number, tokens: number, cost: number, isPriced: boolean}} Sums
 * @typedef {Sums & {key: string, agent: string, title: string, calls: number, time: number, rank: number, spans: import('./trace_rows.js').Span[]}} GraphNode
 * @typedef {Sums & {key: string, from: string, to: string}} GraphEdge
 * @typedef {{nodes: GraphNode[], edges: GraphEdge[]}} Graph
 * @typedef {{key: string, x: number, y: number}} Place
 */

/** Size of a node, and the space between nodes. */
export const NODE = {width: 216, height: 64, along: 96, across: 24};

/**
 * The graph of a trace. Aggregated, runs of the same agent are one node and delegations between the same two agents one
 * edge, so that agents which ask each other make a cycle; else every run is a node of its own, as it ran.
 * @param {any[]} runs in the order of the trace, each with its depth @param {{isAggregated: boolean}} options
 * @returns {Graph}
 */
export function delegationGraph(runs, {isAggregated}) {
  /** @type {Map<string, GraphNode>} */
  const nodes = new Map();
  /** @type {Map<string, GraphEdge>} */
  const edges = new Map();
  /** Keys of the runs above the next one. @type {string[]} */
  const above = [];
  for (const run of runs) {
    const key = isAggregated ? run.agent : run.run;
    const [span, ...parts] = flatSpans([run]);
    /** @type {GraphNode} */
    const node = nodes.get(key) ?? {key, agent: run.agent, title: run.title ?? '', ...none(), calls: 0, time: 0, rank: run.depth, spans: []};
    nodes.set(key, node);
    add(node, span);
    node.calls += parts.filter(part => part.kind === 'tool').length;
    node.time += span.to - span.from;
    // The shortest way from the first run: what comes back later closes a cycle and does not move the node.
    node.rank = Math.min(node.rank, run.depth);
    node.spans.push(span);
    above.length = run.depth;
    const from = above.at(-1);
    above.push(key);
    if (from === undefined) continue;
    const name = JSON.stringify([from, key]);
    const edge = edges.get(name) ?? {key: name, from, to: key, ...none()};
    edges.set(name, edge);
    add(edge, span);
  }
  return {nodes: [...nodes.values()], edges: [...edges.values()]};
}

/** @returns {Sums} */
function none() {
  return {runs: 0, done: 0, failed: 0, open: 0, tokens: 0, cost: 0, isPriced: true};
}

/** @param {Sums} sums @param {import('./trace_rows.js').Span} span of a run */
function add(sums, span) {
  sums.runs += 1;
  if (span.isOpen) sums.open += 1;
  else if (span.state === 'completed') sums.done += 1;
  else sums.failed += 1;
  sums.tokens += span.tokens;
  sums.cost += span.cost;
  sums.isPriced = sums.isPriced && span.isPriced;
}

/**
 * Where the nodes stand: ranks one after the other, in each rank the nodes near those that delegated to them. The same
 * graph always gives the same places, and a node that is added moves none of a rank before it.
 * @param {Graph} graph @param {{isDown?: boolean}} [options] ranks below each other instead of side by side
 */
export function graphLayout({nodes, edges}, {isDown = false} = {}) {
  /** @type {GraphNode[][]} */
  const ranks = [];
  for (const node of nodes) (ranks[node.rank] ??= []).push(node);
  /** Place of a node within its rank. @type {Map<string, number>} */
  const order = new Map();
  for (const rank of ranks) {
    const wish = new Map(rank?.map(node => [node.key, middle(edges.filter(edge => edge.to === node.key && order.has(edge.from)).map(edge => order.get(edge.from) ?? 0))]));
    rank?.sort((one, other) => (wish.get(one.key) ?? 0) - (wish.get(other.key) ?? 0));
    rank?.forEach((node, at) => order.set(node.key, at));
  }
  const most = ranks.reduce((all, rank) => Math.max(all, rank?.length ?? 0), 1);
  const [length, breadth] = isDown ? [NODE.height + NODE.along / 2, NODE.width + NODE.across] : [NODE.width + NODE.along, NODE.height + NODE.across];
  // Room for edges that lead back, which run around the nodes.
  const margin = edges.some(edge => isBack(edge, nodes)) ? 40 : 8;
  /** @type {Place[]} */
  const places = ranks.flatMap((rank, depth) => (rank ?? []).map((node, at) => {
    const along = depth * length + margin;
    // Ranks are centred against the fullest one.
    const across = (at + (most - (rank?.length ?? 0)) / 2) * breadth + margin;
    return {key: node.key, x: isDown ? across : along, y: isDown ? along : across};
  }));
  const right = places.reduce((all, place) => Math.max(all, place.x), 0) + NODE.width + margin;
  const bottom = places.reduce((all, place) => Math.max(all, place.y), 0) + NODE.height + margin;
  return {places: new Map(places.map(place => [place.key, place])), width: right, height: bottom, isDown};
}

/** @param {number[]} numbers */
function middle(numbers) {
  return numbers.length ? numbers.reduce((sum, one) => sum + one, 0) / numbers.length : 0;
}

/** Whether an edge leads to its own rank or an earlier one. @param {GraphEdge} edge @param {GraphNode[]} nodes */
function isBack(edge, nodes) {
  const rank = (/** @type {string} */ key) => nodes.find(node => node.key === key)?.rank ?? 0;
  return rank(edge.to) <= rank(edge.from);
}

/**
 * The line of an edge as an SVG path, and where its label stands.
 * @param {GraphEdge} edge @param {{places: Map<string, Place>, isDown: boolean}} layout
 */
export function edgeLine({from, to}, {places, isDown}) {
  const start = places.get(from) ?? {x: 0, y: 0};
  const end = places.get(to) ?? {x: 0, y: 0};
  if (from === to) return ownLoop(start);
  const isForward = isDown ? end.y > start.y : end.x > start.x;
  if (!isForward) return backLine(start, end, isDown);
  const [x1, y1] = isDown ? [start.x + NODE.width / 2, start.y + NODE.height] : [start.x + NODE.width, start.y + NODE.height / 2];
  const [x2, y2] = isDown ? [end.x + NODE.width / 2, end.y] : [end.x, end.y + NODE.height / 2];
  const [mx, my] = [(x1 + x2) / 2, (y1 + y2) / 2];
  const path = isDown ? `M${x1} ${y1}C${x1} ${my} ${x2} ${my} ${x2} ${y2}` : `M${x1} ${y1}C${mx} ${y1} ${mx} ${y2} ${x2} ${y2}`;
  return {path, label: {x: mx, y: my}};
}

/** An agent that delegates to itself. @param {{x: number, y: number}} at */
function ownLoop({x, y}) {
  const [left, right, top] = [x + NODE.width - 72, x + NODE.width - 32, y - 32];
  return {path: `M${left} ${y}C${left} ${top} ${right} ${top} ${right} ${y}`, label: {x: (left + right) / 2, y: y - 24}};
}

/** Back to an earlier rank, around the nodes. @param {{x: number, y: number}} start @param {{x: number, y: number}} end @param {boolean} isDown */
function backLine(start, end, isDown) {
  if (isDown) {
    const [x1, y1, x2, y2] = [start.x + NODE.width, start.y + NODE.height / 2, end.x + NODE.width, end.y + NODE.height / 2];
    const out = Math.max(x1, x2) + 36;
    return {path: `M${x1} ${y1}C${out} ${y1} ${out} ${y2} ${x2} ${y2}`, label: {x: out - 10, y: (y1 + y2) / 2}};
  }
  const [x1, y1, x2, y2] = [start.x + NODE.width / 2, start.y + NODE.height, end.x + NODE.width / 2, end.y + NODE.height];
  const out = Math.max(y1, y2) + 36;
  return {path: `M${x1} ${y1}C${x1} ${out} ${x2} ${out} ${x2} ${y2}`, label: {x: (x1 + x2) / 2, y: out - 10}};
}
