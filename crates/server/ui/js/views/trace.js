// The trace of a run: waterfall, table or graph of everything that it and the runs below it did; live while it works.
// @ts-check

import {get, pathOf, url} from '../api.js';
import {fill, h, setText} from '../dom.js';
import {count, duration, money, tokens} from '../format.js';
import {View} from '../view.js';
import {agentBadge} from '../parts/agent_badge.js';
import {GraphView} from '../parts/graph_view.js';
import {spanDetail} from '../parts/span_detail.js';
import {SpanTable} from '../parts/span_table.js';
import {Waterfall} from '../parts/waterfall.js';
import {extent, flatSpans, groups, waterfallRows} from '../trace_rows.js';

/** How often a trace of a run that works is read again. */
const EVERY_MS = 2000;
/** @type {[string, string][]} */
const KINDS = [['', 'All'], ['run', 'Runs'], ['model', 'Models'], ['tool', 'Tools'], ['wait', 'Waits']];

class Trace extends View {
  constructor() {
    super();
    /** @type {any[] | null} */
    this.runs = null;
    /** @type {any} */
    this.problem = null;
    this.shown = 'waterfall';
    this.isAggregated = true;
    this.kind = '';
    /** @type {Set<string>} */
    this.folded = new Set();
    this.selected = '';
    this.isLoading = false;
    /** Buttons that choose a view. @type {Record<string, any>} */
    this.views = {};
    /** Buttons that choose a kind. @type {{kind: string, button: any}[]} */
    this.kinds = [];
    this.waterfall = new Waterfall({
      fold: run => { if (!this.folded.delete(run)) this.folded.add(run); this.changed(); },
      select: row => this.select(row),
    });
    this.graph = new GraphView({select: row => this.select(row)});
    this.table = new SpanTable({select: row => this.select(row), changed: () => this.changed()});
  }

  open() {
    this.title_ = 'Trace – Rooftree';
    this.build();
    this.every(() => { if (!document.hidden && this.isAtWork()) this.load(); }, EVERY_MS);
    this.listen(window, 'resize', () => this.changed());
    this.load();
  }

  build() {
    const toggle = (/** @type {string} */ label, /** @type {() => void} */ act) => h('button', {type: 'button', onclick: () => { act(); this.changed(); }}, label);
    this.views = {
      waterfall: toggle('Waterfall', () => { this.shown = 'waterfall'; }),
      table: toggle('Table', () => { this.shown = 'table'; }),
      graph: toggle('Graph', () => { this.shown = 'graph'; }),
    };
    this.aggregate = toggle('Aggregated', () => { this.isAggregated = !this.isAggregated; this.selected = ''; fill(this.detail); });
    this.kinds = KINDS.map(([kind, label]) => ({kind, button: toggle(label, () => { this.kind = kind; })}));
    this.filter = h('div', {class: 'segments', role: 'group', 'aria-label': 'Kind'}, this.kinds.map(({button}) => button));
    this.heading = h('h1', null, 'Trace');
    this.badge = h('span');
    this.facts = h('p', {class: 'agent-facts', role: 'status'});
    const path = pathOf`/runs/${this.params.run}/trace`;
    this.back = h('a', {class: 'back', href: '/sessions'}, '← Session');
    this.content = h('div', {class: 'trace-content'});
    this.detail = h('div', {class: 'trace-detail'});
    fill(this, h('div', {class: 'screen wide'}, this.back,
      h('div', {class: 'screen-head'}, this.badge, this.heading, this.facts,
        h('div', {class: 'head-buttons'},
          h('a', {class: 'button', href: url(path, {format: 'svg'}), download: `${this.params.run}.svg`, title: 'Download this view as a picture', onclick: (/** @type {Event} */ event) => this.savePicture(event)}, 'SVG'),
          h('a', {class: 'button', href: url(path, {format: 'otlp'}), download: `${this.params.run}.otlp.json`, title: 'Download the spans for tracing programs'}, 'OTLP'))),
      h('div', {class: 'trace-tools'}, h('div', {class: 'segments', role: 'group', 'aria-label': 'View'}, Object.values(this.views)), this.aggregate, this.filter),
      h('div', {class: 'trace-body'}, this.content, this.detail)));
  }

  /** The graph is drawn here, the waterfall by the server. @param {Event} event */
  savePicture(event) {
    if (this.shown !== 'graph') return;
    event.preventDefault();
    const address = URL.createObjectURL(new Blob([this.graph.file()], {type: 'image/svg+xml'}));
    h('a', {href: address, download: `${this.params.run}-graph.svg`}).click();
    setTimeout(() => URL.revokeObjectURL(address), 10_000);
  }

  isAtWork() {
    return this.runs === null || this.runs.some(run => !run.status);
  }

  async load() {
    if (this.isLoading) return;
    this.isLoading = true;
    try {
      const {spans} = await get(pathOf`/runs/${this.params.run}/trace`, {format: 'json'});
      this.runs = spans;
      this.problem = null;
    } catch (error) {
      this.problem = error;
    }
    this.isLoading = false;
    this.changed();
  }

  /** Shows what a row is about. @param {any} row */
  select(row) {
    const spans = flatSpans(this.runs ?? []);
    this.selected = row.key;
    const close = () => { this.selected = ''; fill(this.detail); this.changed(); };
    fill(this.detail, spanDetail(row, {from: extent(spans).from, root: this.runs?.[0]?.session ?? row.spans[0].session, close}));
    this.detail.querySelector('h2')?.focus({preventScroll: window.innerWidth > 1100});
    this.changed();
  }

  draw() {
    if (!this.runs) return this.drawWaiting();
    const [root] = this.runs;
    if (!root) return fill(this.content, h('p', {class: 'empty-line'}, 'This run has left no spans.'));
    const spans = flatSpans(this.runs);
    const whole = extent(spans);
    this.drawHead(root, spans, whole);
    for (const [name, button] of Object.entries(this.views)) button.setAttribute('aria-pressed', String(name === this.shown));
    this.aggregate.setAttribute('aria-pressed', String(this.isAggregated));
    this.filter.hidden = this.shown !== 'table';
    for (const {kind, button} of this.kinds) button.setAttribute('aria-pressed', String(kind === this.kind));
    const view = {waterfall: this.waterfall, table: this.table, graph: this.graph}[this.shown] ?? this.waterfall;
    if (this.content.firstElementChild !== view.element) fill(this.content, view.element);
    if (view === this.table) this.table.show(this.tableRows(spans), whole, this.selected);
    else if (view === this.graph) this.graph.show(this.runs, {isAggregated: this.isAggregated, selected: this.selected});
    else this.waterfall.show(waterfallRows(this.runs, {folded: this.folded, isAggregated: this.isAggregated}), whole, this.selected);
  }

  /** @param {import('../trace_rows.js').Span[]} spans */
  tableRows(spans) {
    const chosen = spans.filter(span => !this.kind || span.kind === this.kind);
    if (this.isAggregated) return groups(chosen);
    return chosen.map(span => ({...groups([span])[0], key: span.key, title: span.title}));
  }

  /** @param {any} root @param {import('../trace_rows.js').Span[]} spans @param {{from: number, to: number}} whole */
  drawHead(root, spans, whole) {
    const of = (/** @type {string} */ kind) => spans.filter(span => span.kind === kind);
    const runs = of('run');
    const sum = runs.reduce((all, run) => ({tokens: all.tokens + run.tokens, cost: all.cost + run.cost, isPriced: all.isPriced && run.isPriced}), {tokens: 0, cost: 0, isPriced: true});
    setText(this.heading, root.title || root.agent);
    if (this.shownAgent !== root.agent) fill(this.badge, agentBadge(root.agent));
    this.shownAgent = root.agent;
    const left = this.runs?.reduce((all, run) => all + run.earlier_steps, 0) ?? 0;
    setText(this.facts, [this.isAtWork() ? 'at work' : root.status.replace('_', ' '), duration(whole.to - whole.from), count(runs.length, 'run'), count(of('tool').length, 'call'),
      `${tokens(sum.tokens)} tokens`, money(sum.cost, sum.isPriced), left ? `${left} early steps left out` : '', this.problem ? `not up to date: ${this.problem.message}` : ''].filter(Boolean).join(' · '));
    this.back.href = `/s/${root.session}`;
  }

  drawWaiting() {
    if (!this.problem) return fill(this.content, h('p', {class: 'empty-line', 'aria-busy': 'true'}, 'Loading…'));
    return fill(this.content, h('div', {class: 'empty', role: 'alert'}, h('h2', null, this.problem.status === 404 ? 'There is no such run' : 'The trace cannot be shown'),
      h('p', {class: 'error'}, this.problem.message), h('p', null, this.problem.hint ?? ''),
      h('p', null, h('button', {type: 'button', onclick: () => { this.problem = null; this.changed(); this.load(); }}, 'Try again'), ' ', h('a', {href: '/'}, 'To the board'))));
  }
}
customElements.define('rt-trace', Trace);
