// What was used: sums of a range, and plots by day, agent and model.
// @ts-check

import {get} from '../api.js';
import {fill, h, setText} from '../dom.js';
import {count, money, tokens} from '../format.js';
import {View} from '../view.js';
import {agentColor} from '../parts/agent_badge.js';
import {dayPlot, namePlot} from '../parts/plot.js';
import {dailyParts, daysFrom, sumsBy, total} from '../usage_sums.js';

const RANGES = [7, 30, 90];
/** Agents with a colour of their own in the plot by day. */
const MOST_AGENTS = 6;
/** @param {import('../usage_sums.js').UsageRow} row */
const agentOf = row => row.also[0];
/** @param {import('../usage_sums.js').UsageRow} row */
const modelOf = row => row.also[1];

class Usage extends View {
  constructor() {
    super();
    const stored = Number(localStorage.getItem('rooftree.usage_days'));
    this.days = RANGES.includes(stored) ? stored : 30;
    /** @type {'cost' | 'tokens' | null} */
    this.measure = null;
    /** @type {any} */
    this.answer = null;
    /** @type {any} */
    this.problem = null;
    this.ranges = RANGES.map(days => ({days, button: h('button', {type: 'button', onclick: () => this.choose(days)}, `${days} days`)}));
    this.measures = /** @type {['cost' | 'tokens', string][]} */ ([['cost', 'Cost'], ['tokens', 'Tokens']]).map(([measure, label]) =>
      ({measure, button: h('button', {type: 'button', onclick: () => { this.measure = measure; this.changed(); }}, label)}));
  }

  open() {
    this.title_ = 'Usage – Rooftree';
    this.told = h('p', {class: 'visually-hidden', role: 'status'});
    this.content = h('div', {class: 'usage-content'});
    fill(this, h('div', {class: 'screen'},
      h('div', {class: 'screen-head'}, h('h1', null, 'Usage'), h('div', {class: 'head-buttons'},
        h('div', {class: 'segments', role: 'group', 'aria-label': 'Range'}, this.ranges.map(({button}) => button)),
        h('div', {class: 'segments', role: 'group', 'aria-label': 'Measure'}, this.measures.map(({button}) => button)))),
      this.told, this.content));
    this.listen(window, 'resize', () => this.changed());
    this.load();
  }

  /** @param {number} days */
  choose(days) {
    this.days = days;
    localStorage.setItem('rooftree.usage_days', String(days));
    this.load();
  }

  async load() {
    const {days} = this;
    this.changed();
    try {
      const answer = await get('/usage', {by: 'day', also: 'agent,model', days});
      if (days !== this.days) return;
      this.answer = {...answer, days};
      this.problem = null;
    } catch (error) {
      if (days === this.days) this.problem = error;
    }
    this.changed();
  }

  draw() {
    for (const {days, button} of this.ranges) button.setAttribute('aria-pressed', String(days === this.days));
    if (this.problem) return this.drawProblem();
    if (!this.answer) return fill(this.content, h('p', {class: 'empty-line', 'aria-busy': 'true'}, 'Loading…'));
    const {rows, since, days} = this.answer;
    const sum = total(rows);
    const measure = this.measure ?? (sum.cost > 0 || sum.tokens === 0 ? 'cost' : 'tokens');
    for (const one of this.measures) one.button.setAttribute('aria-pressed', String(one.measure === measure));
    setText(this.told, `${days} days: ${money(sum.cost, sum.isPriced)}, ${tokens(sum.tokens)} tokens`);
    if (rows.length === 0) return fill(this.content, h('p', {class: 'empty-line'}, `Nothing was used in the last ${days} days.`));
    const agents = sumsBy(rows, agentOf, measure);
    const models = sumsBy(rows, modelOf, measure);
    const named = agents.slice(0, MOST_AGENTS).map(([name]) => name);
    // A table that is open stays open.
    const open = [...this.content.querySelectorAll('.plot-table')].map(table => /** @type {any} */ (table).open);
    fill(this.content, this.sums(sum, models),
      dayPlot(dailyParts(rows, daysFrom(since, days), named, agentOf), named, measure),
      h('div', {class: 'plots'}, namePlot('By agent', 'Agent', agents, measure, name => agentColor(name)),
        namePlot('By model', 'Model', models, measure, () => ({class: 'color-accent'}))),
      h('p', {class: 'hint'}, 'Days are in UTC. What tools asked models stands under the name of the tool.'));
    [...this.content.querySelectorAll('.plot-table')].forEach((table, at) => { if (open[at]) /** @type {any} */ (table).open = true; });
    return undefined;
  }

  /** @param {import('../usage_sums.js').Sum} sum @param {[string, import('../usage_sums.js').Sum][]} models */
  sums(sum, models) {
    const unpriced = models.filter(([, own]) => !own.isPriced).map(([name]) => name);
    const share = sum.input ? Math.round((sum.cacheRead / sum.input) * 100) : 0;
    const tile = (/** @type {string} */ label, /** @type {string} */ value, hint = '') => h('div', {class: 'tile'}, h('dt', null, label), h('dd', null, value, hint ? h('small', null, hint) : null));
    return h('div', null, h('dl', {class: 'tiles'}, tile('Cost', money(sum.cost, sum.isPriced)), tile('Input tokens', tokens(sum.input), `${share} % from the cache`),
      tile('Output tokens', tokens(sum.output)), tile('Replies', String(sum.replies))),
    unpriced.length ? h('p', {class: 'hint'}, `≈ means that not every price is known. Not priced: ${unpriced.slice(0, 8).join(', ')}${unpriced.length > 8 ? ` and ${count(unpriced.length - 8, 'other')}` : ''}.`) : null);
  }

  drawProblem() {
    const isForbidden = this.problem.status === 403;
    fill(this.content, h('div', {class: 'empty', role: 'alert'}, h('h2', null, isForbidden ? 'Only the owner sees what was used' : 'Usage cannot be shown'),
      h('p', {class: isForbidden ? '' : 'error'}, this.problem.message), h('p', null, this.problem.hint ?? ''),
      isForbidden ? null : h('button', {type: 'button', onclick: () => { this.problem = null; this.load(); }}, 'Try again')));
  }
}
customElements.define('rt-usage', Usage);
