// All spans of a trace as one flat table: filter by kind, sort by start, duration or cost.
// @ts-check

import {fill, h, keyed, setText} from '../dom.js';
import {count, duration, money, tokens} from '../format.js';
import {sortRows, totalTime, totalUse} from '../trace_rows.js';

/** The most rows that are drawn at once. */
const MOST_ROWS = 500;
/** @type {['start' | 'duration' | 'cost', string][]} */
const SORTS = [['start', 'Start'], ['duration', 'Duration'], ['cost', 'Cost']];

export class SpanTable {
  /** @param {{select: (row: any) => void, changed: () => void}} actions */
  constructor({select, changed}) {
    this.select = select;
    /** @type {'start' | 'duration' | 'cost'} */
    this.by = 'start';
    this.isDown = false;
    const sort = (/** @type {'start' | 'duration' | 'cost'} */ by) => { this.isDown = this.by === by ? !this.isDown : by !== 'start'; this.by = by; changed(); };
    this.heads = SORTS.map(([by, label]) => ({by, label, button: h('button', {type: 'button', class: 'ghost small', onclick: () => sort(by)}, label)}));
    this.cells = this.heads.map(({by, button}) => h('th', {scope: 'col', class: `number col-${by}`}, button));
    this.body = h('tbody');
    this.more = h('p', {class: 'cut', hidden: true});
    this.empty = h('p', {class: 'empty-line', hidden: true}, 'No span of this kind.');
    this.element = h('div', {class: 'span-table'}, h('div', {class: 'table-scroll', tabindex: '0', role: 'region', 'aria-label': 'Table of spans'}, h('table', {class: 'plain-table'},
      h('caption', {class: 'visually-hidden'}, 'Spans of this trace'),
      h('thead', null, h('tr', null, h('th', {scope: 'col'}, 'Kind'), h('th', {scope: 'col'}, 'Name'), h('th', {scope: 'col', class: 'col-agent'}, 'Agent'), this.cells,
        h('th', {scope: 'col', class: 'number col-tokens'}, 'Tokens'), h('th', {scope: 'col', class: 'col-state'}, 'Ended'))), this.body)), this.empty, this.more);
  }

  /** @param {import('../trace_rows.js').Row[]} rows @param {{from: number}} extent @param {string} selected */
  show(rows, extent, selected) {
    this.heads.forEach(({by, label, button}, at) => {
      const isThis = by === this.by;
      this.cells[at].setAttribute('aria-sort', isThis ? (this.isDown ? 'descending' : 'ascending') : 'none');
      setText(button, `${label}${isThis ? (this.isDown ? ' ↓' : ' ↑') : ''}`);
    });
    const sorted = sortRows(rows, this.by, this.isDown);
    this.empty.hidden = rows.length > 0;
    this.more.hidden = rows.length <= MOST_ROWS;
    setText(this.more, `${count(rows.length - MOST_ROWS, 'more span')}; choose a kind or aggregate them.`);
    keyed(this.body, sorted.slice(0, MOST_ROWS), row => row.key, row => this.make(row, extent, selected), (element, row) => element.show(row, extent, selected));
  }

  /** @param {any} first @param {{from: number}} extent @param {string} selected */
  make(first, extent, selected) {
    const element = h('tr');
    element.show = (/** @type {any} */ row, /** @type {any} */ within, /** @type {string} */ chosen) => {
      const use = totalUse(row);
      const many = row.spans.length > 1 ? ` ${row.done}/${row.spans.length}` : '';
      const key = JSON.stringify([row.name, row.title, many, row.bars.at(-1), totalTime(row), use, row.key === chosen, within.from]);
      if (element.shownKey === key) return;
      element.shownKey = key;
      element.dataset.state = row.bars.at(-1).state;
      fill(element, h('td', {class: 'kind'}, row.kind),
        h('td', {class: 'col-name'}, h('button', {type: 'button', class: 'link', 'aria-pressed': String(row.key === chosen), onclick: () => this.select(element.row)}, `${row.name}${many}`),
          row.title ? h('span', {class: 'wf-title'}, ` ${row.title}`) : null),
        h('td', {class: 'col-agent'}, row.agent), h('td', {class: 'number'}, `+${duration(row.spans[0].from - within.from)}`),
        h('td', {class: 'number'}, duration(totalTime(row))), h('td', {class: 'number'}, use.cost || !use.isPriced ? money(use.cost, use.isPriced) : ''),
        h('td', {class: 'number col-tokens'}, use.tokens ? tokens(use.tokens) : ''), h('td', {class: 'col-state'}, row.bars.at(-1).state.replace('_', ' ')));
    };
    const show = element.show;
    element.show = (/** @type {any} */ row, /** @type {any} */ within, /** @type {string} */ chosen) => { element.row = row; show(row, within, chosen); };
    element.show(first, extent, selected);
    return element;
  }
}
