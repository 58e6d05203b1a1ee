// The graph of a trace: agents as boxes, delegations as arrows with their number; a table says the same in words.
// @ts-check

import {fill, h, setText} from '../dom.js';
import {count, duration, money, tokens} from '../format.js';
import {NODE, delegationGraph, edgeLine, graphLayout} from '../trace_graph.js';
import {agentColor, agentGlyph} from './agent_badge.js';

/** Nodes that are drawn at once; more are told, and fewer are shown when aggregated. */
const MOST_NODES = 300;
/** Characters that fit into a box. */
const MOST_LETTERS = 19;
/** What a downloaded picture takes over from the style sheets. */
const STYLES = ['fill', 'stroke', 'stroke-width', 'stroke-dasharray', 'font-family', 'font-size', 'font-weight', 'text-anchor'];

export class GraphView {
  /** @param {{select: (row: any) => void}} actions */
  constructor({select}) {
    this.select = select;
    this.shown = '';
    this.scroll = h('div', {class: 'graph-scroll', tabindex: '0', role: 'region', 'aria-label': 'Graph of delegations'});
    this.more = h('p', {class: 'cut', hidden: true});
    this.edges = h('tbody');
    this.table = h('div', {class: 'table-scroll', tabindex: '0', role: 'region', 'aria-label': 'Delegations'}, h('table', {class: 'plain-table'},
      h('caption', {class: 'visually-hidden'}, 'Delegations'),
      h('thead', null, h('tr', null, ['From', 'To'].map(name => h('th', {scope: 'col'}, name)), ['Runs', 'Done', 'Tokens', 'Cost'].map(name => h('th', {scope: 'col', class: name === 'Done' ? 'number col-done' : 'number'}, name)))), this.edges));
    this.element = h('div', {class: 'graph'}, this.scroll, this.more, this.table);
  }

  /** @param {any[]} runs @param {{isAggregated: boolean, selected: string}} options */
  show(runs, {isAggregated, selected}) {
    const graph = delegationGraph(runs.slice(0, isAggregated ? runs.length : MOST_NODES), {isAggregated});
    const isNarrow = window.innerWidth < 720;
    const layout = graphLayout(graph, {isDown: isNarrow});
    const left = isAggregated ? 0 : Math.max(0, runs.length - MOST_NODES);
    this.more.hidden = left === 0;
    setText(this.more, `${count(left, 'more run')}; choose "Aggregated" to see all.`);
    const key = JSON.stringify([graph.nodes.map(({spans, ...node}) => node), graph.edges, selected, isNarrow]);
    if (key === this.shown) return;
    this.shown = key;
    // Drawing anew must not take the focus away from a box.
    const focused = this.scroll.contains(document.activeElement) ? /** @type {any} */ (document.activeElement).dataset.key : undefined;
    this.svg = picture(graph, layout, selected, node => this.choose(node));
    fill(this.scroll, this.svg);
    if (focused !== undefined) [...this.svg.querySelectorAll('.node')].find(node => node.dataset.key === focused)?.focus();
    this.drawTable(graph);
  }

  /** @param {import('../trace_graph.js').Graph} graph */
  drawTable({nodes, edges}) {
    const names = new Map(nodes.map(node => [node.key, node]));
    const name = (/** @type {string} */ key) => names.get(key)?.agent ?? key;
    this.table.hidden = edges.length === 0;
    fill(this.edges, edges.map(edge => h('tr', null, h('td', null, name(edge.from)), h('td', null, name(edge.to)),
      [edge.runs, `${edge.done}${edge.failed ? `, ${edge.failed} failed` : ''}${edge.open ? `, ${edge.open} at work` : ''}`, tokens(edge.tokens), money(edge.cost, edge.isPriced)].map((text, at) => h('td', {class: at === 1 ? 'number col-done' : 'number'}, String(text))))));
  }

  /** Shows what an agent's runs were. @param {import('../trace_graph.js').GraphNode} node */
  choose(node) {
    this.select({key: node.key, kind: 'run', name: node.agent, title: node.title, agent: node.agent, depth: 0, bars: [], waits: [], spans: node.spans, done: node.done, canFold: false, isFolded: false});
  }

  /** The picture as a file that needs no style sheet. */
  file() {
    if (!this.svg) return '';
    const copy = /** @type {any} */ (this.svg.cloneNode(true));
    const [from, to] = [this.svg, copy].map(root => [root, ...root.querySelectorAll('*')]);
    from.forEach((element, at) => {
      const style = getComputedStyle(element);
      for (const name of STYLES) to[at].setAttribute(name, style.getPropertyValue(name));
      for (const name of ['class', 'style', 'tabindex', 'role', 'data-key', 'aria-pressed', 'aria-description']) to[at].removeAttribute(name);
    });
    copy.prepend(h('svg:rect', {width: '100%', height: '100%', fill: getComputedStyle(this.scroll).backgroundColor}));
    return new XMLSerializer().serializeToString(copy);
  }
}

/**
 * @param {import('../trace_graph.js').Graph} graph @param {any} layout @param {string} selected
 * @param {(node: import('../trace_graph.js').GraphNode) => void} choose
 */
function picture({nodes, edges}, layout, selected, choose) {
  const arrow = h('svg:marker', {id: 'arrow', viewBox: '0 0 8 8', refX: '7', refY: '4', markerWidth: '7', markerHeight: '7', markerUnits: 'userSpaceOnUse', orient: 'auto'}, h('svg:path', {class: 'arrow', d: 'M0 0L8 4L0 8z'}));
  return h('svg:svg', {xmlns: 'http://www.w3.org/2000/svg', viewBox: `0 0 ${layout.width} ${layout.height}`, width: layout.width, height: layout.height, role: 'group', 'aria-label': `${count(nodes.length, 'box', 'boxes')}, ${count(edges.length, 'arrow')}; the table below lists the arrows`},
    h('svg:defs', null, arrow),
    h('svg:g', {'aria-hidden': 'true'}, edges.map(edge => drawnEdge(edge, layout))),
    nodes.map(node => drawnNode(node, layout.places.get(node.key), node.key === selected, () => choose(node))));
}

/** @param {import('../trace_graph.js').GraphEdge} edge @param {any} layout */
function drawnEdge(edge, layout) {
  const {path, label} = edgeLine(edge, layout);
  const words = `${edge.runs}×`;
  const width = 16 + words.length * 7;
  return h('svg:g', {class: `edge${edge.failed ? ' failed' : ''}${edge.open ? ' open' : ''}`},
    h('svg:path', {class: 'edge-line', d: path, 'marker-end': 'url(#arrow)', style: {'stroke-width': String(Math.min(4, 1.5 + Math.log2(edge.runs) / 2))}}),
    edge.runs > 1 ? [h('svg:rect', {class: 'edge-plate', x: label.x - width / 2, y: label.y - 10, width, height: 20, rx: 10}), h('svg:text', {class: 'edge-label', x: label.x, y: label.y + 4}, words)] : null);
}

/** @param {import('../trace_graph.js').GraphNode} node @param {{x: number, y: number}} place @param {boolean} isSelected @param {() => void} choose */
function drawnNode(node, {x, y}, isSelected, choose) {
  const {class: color, style = {}} = agentColor(node.agent);
  const first = node.runs > 1 ? `${node.done}/${node.runs} runs` : duration(node.time);
  const facts = [node.failed ? `${node.failed} failed` : node.open ? `${node.open} at work` : first, tokens(node.tokens), money(node.cost, node.isPriced)].join(' · ');
  const words = `${count(node.runs, 'run')}, ${node.done} done${node.failed ? `, ${node.failed} failed` : ''}${node.open ? `, ${node.open} at work` : ''}, ${count(node.calls, 'tool call')}, ${tokens(node.tokens)} tokens, ${money(node.cost, node.isPriced)}`;
  const name = [...node.agent].length > MOST_LETTERS ? `${[...node.agent].slice(0, MOST_LETTERS - 1).join('')}…` : node.agent;
  return h('svg:g', {class: `node ${color}${node.failed ? ' failed' : ''}${node.open ? ' open' : ''}`, style, data: {key: node.key}, transform: `translate(${x} ${y})`, role: 'button', tabindex: '0', 'aria-description': words, 'aria-pressed': String(isSelected), onclick: choose,
    onkeydown: (/** @type {KeyboardEvent} */ event) => { if (event.key === 'Enter' || event.key === ' ') { event.preventDefault(); choose(); } }},
  // Its name is what is written in it; the rest is its description.
  h('svg:g', {'aria-hidden': 'true'},
    h('svg:title', null, words),
    h('svg:rect', {class: 'node-box', width: NODE.width, height: NODE.height, rx: 8}),
    h('svg:rect', {class: 'node-mark', x: 12, y: 16, width: 32, height: 32, rx: 8}),
    h('svg:text', {class: 'node-glyph', x: 28, y: 37}, agentGlyph(node.agent))),
  h('svg:text', {class: 'node-name', x: 56, y: 28}, name), ' ',
  h('svg:text', {class: 'node-facts', x: 56, y: 47}, facts));
}
