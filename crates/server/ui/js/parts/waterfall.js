// The waterfall of a trace: one row for each run and step, bars along one axis of time, waits hatched.
// @ts-check

import {fill, h, keyed, setText} from '../dom.js';
import {count, duration, money, shortModel, tokens} from '../format.js';
import {axisMarks, totalTime, totalUse, WAIT_WORDS} from '../trace_rows.js';
import {agentBadge} from './agent_badge.js';

/** The most rows that are drawn at once. */
const MOST_ROWS = 500;
/** The most bars of one row. */
const MOST_BARS = 200;

export class Waterfall {
  /** @param {{fold: (key: string) => void, select: (row: any) => void}} actions */
  constructor(actions) {
    this.actions = actions;
    this.axis = h('div', {class: 'axis', 'aria-hidden': 'true'});
    this.list = h('ul', {class: 'wf-rows', 'aria-label': 'Spans by time'});
    this.more = h('p', {class: 'cut', hidden: true});
    this.legend = h('p', {class: 'legend', 'aria-hidden': 'true'},
      [['run', 'agent at work'], ['model', 'model'], ['tool', 'tool'], ['person', 'waits for you'], ['provider', 'waits for the provider'], ['child', 'waits for an agent']]
        .map(([kind, words]) => h('span', null, h('i', {class: `swatch ${kind}`}), words)));
    this.element = h('div', {class: 'waterfall'}, this.axis, this.list, this.more, this.legend);
  }

  /** @param {import('../trace_rows.js').Row[]} rows @param {{from: number, to: number}} extent @param {string} selected */
  show(rows, extent, selected) {
    const length = extent.to - extent.from;
    const marks = axisMarks(length, window.innerWidth < 720 ? 4 : 8);
    // A mark at the right edge would stand outside.
    fill(this.axis, marks.filter(mark => mark < length * 0.92).map(mark => h('span', {style: {'--at': `${(mark / length) * 100}%`}}, markWords(mark))));
    this.more.hidden = rows.length <= MOST_ROWS;
    setText(this.more, `${count(rows.length - MOST_ROWS, 'more row')}; fold runs or use the table to see them.`);
    keyed(this.list, rows.slice(0, MOST_ROWS), row => row.key, row => this.make(row), (element, row) => element.show(row, extent, selected));
    for (const row of this.list.children) if (!row.isShown) row.show(row.row, extent, selected);
  }

  /** @param {import('../trace_rows.js').Row} first */
  make(first) {
    const fold = h('button', {type: 'button', class: 'ghost fold', onclick: () => this.actions.fold(element.row.spans[0].run)});
    const label = h('button', {type: 'button', class: 'ghost wf-label', onclick: () => this.actions.select(element.row)});
    const lane = h('div', {class: 'lane', 'aria-hidden': 'true'});
    const facts = h('span', {class: 'wf-facts'});
    const element = h('li', {class: 'wf-row'}, h('div', {class: 'wf-name'}, fold, label), lane, facts);
    element.row = first;
    element.show = (/** @type {any} */ row, /** @type {any} */ extent, /** @type {string} */ selected) => {
      element.row = row;
      element.isShown = true;
      element.dataset.kind = row.kind;
      element.dataset.state = row.bars.at(-1).state;
      element.style.setProperty('--depth', String(row.depth));
      fold.hidden = !row.canFold;
      setText(fold, row.isFolded ? '▸' : '▾');
      fold.setAttribute('aria-expanded', String(!row.isFolded));
      fold.setAttribute('aria-label', `What ${row.name} did`);
      label.setAttribute('aria-pressed', String(row.key === selected));
      const text = labelText(row);
      if (element.labelText !== text) fill(label, labelParts(row));
      element.labelText = text;
      fill(lane, bars(row, extent));
      setText(facts, factWords(row));
    };
    return element;
  }
}

/** @param {number} mark */
function markWords(mark) {
  if (mark === 0) return '0';
  if (mark % 3_600_000 === 0) return `${mark / 3_600_000} h`;
  if (mark % 60_000 === 0) return `${mark / 60_000} min`;
  return mark % 1000 === 0 ? `${mark / 1000} s` : `${mark} ms`;
}

/** @param {any} row */
function labelText(row) {
  return `${row.kind} ${row.name} ${row.title} ${row.spans.length} ${row.done}`;
}

/** @param {any} row */
function labelParts(row) {
  if (row.kind === 'run') return [agentBadge(row.name), row.title ? h('span', {class: 'wf-title'}, row.title) : null];
  const name = row.kind === 'model' ? shortModel(row.name) : row.name;
  const many = row.spans.length > 1 ? ` ${row.done}/${row.spans.length}` : '';
  return [h('span', {class: 'wf-kind'}, row.kind), h('span', {class: 'wf-step'}, `${name}${many}`), row.title && row.title !== name ? h('span', {class: 'wf-title'}, row.title) : null];
}

/** @param {any} row @param {{from: number, to: number}} extent */
function bars(row, extent) {
  const length = extent.to - extent.from;
  const place = (/** @type {any} */ bar, /** @type {string} */ name) => h('i', {class: `bar ${name}`, data: {state: bar.state},
    title: `${WAIT_WORDS[bar.state] ?? row.name}: ${duration(bar.to - bar.from)}, from ${duration(bar.from - extent.from)} on`,
    style: {'--from': `${((bar.from - extent.from) / length) * 100}%`, '--width': `${(Math.max(0, bar.to - bar.from) / length) * 100}%`}});
  return [...row.bars.slice(-MOST_BARS).map((/** @type {any} */ bar) => place(bar, bar.kind)), ...row.waits.map((/** @type {any} */ wait) => place(wait, `waiting ${wait.state}`))];
}

/** @param {any} row */
function factWords(row) {
  const use = totalUse(row);
  const state = row.bars.at(-1).state;
  const isWell = ['done', 'completed', 'person', 'provider'].includes(state);
  return [isWell ? '' : state.replace('_', ' '), duration(totalTime(row)), use.tokens ? tokens(use.tokens) : '', use.cost || !use.isPriced ? money(use.cost, use.isPriced) : ''].filter(Boolean).join(' · ');
}
