// Messages that could not be delivered: what they say, why, and a button that tries again or drops them.
// @ts-check

import {pathOf, post} from '../api.js';
import {app, may} from '../app.js';
import {fill, h} from '../dom.js';
import {ago, count, firstLine} from '../format.js';
import {rowsAfter} from '../live.js';
import {attempt} from '../toast.js';

/** The most that are listed. */
const MOST = 20;

export class DeadLetters {
  /** @param {import('../view.js').View} view the screen they are part of */
  constructor(view) {
    this.shown = '';
    /** @type {any[] | null} */
    this.items = null;
    view.undo.push(app.live.watch('outbox', frame => { this.items = rowsAfter(this.items, frame); this.draw(); }));
    this.element = h('section', {class: 'dead-letters', 'aria-label': 'Not delivered', hidden: true});
  }

  draw() {
    const dead = (this.items ?? []).filter(one => ['dead', 'failed', 'unknown'].includes(one.state));
    this.element.hidden = dead.length === 0;
    const key = JSON.stringify(dead);
    if (key === this.shown) return;
    this.shown = key;
    fill(this.element, h('h2', null, 'Not delivered ', h('span', {class: 'group-count'}, String(dead.length))),
      h('ul', {class: 'lines'}, dead.slice(0, MOST).map((/** @type {any} */ letter) => this.line(letter))),
      dead.length > MOST ? h('p', {class: 'hint'}, `and ${count(dead.length - MOST, 'other')}`) : null);
  }

  /** @param {any} letter */
  line(letter) {
    const act = (/** @type {string} */ what) => () => attempt(() => post(pathOf`/outbox/${letter.id}` + `/${what}`, {}));
    const words = firstLine(letter.text || 'A message', 90);
    return h('li', {class: 'line'},
      h('span', {class: 'line-main'}, words, h('small', null, [letter.target, letter.error, ago(letter.created)].filter(Boolean).join(' · '))),
      may('chat') ? h('span', {class: 'line-buttons'}, h('button', {type: 'button', class: 'small', 'aria-label': `Send again: ${words}`, onclick: act('retry')}, 'Send again'), h('button', {type: 'button', class: 'ghost small', 'aria-label': `Drop: ${words}`, onclick: act('drop')}, 'Drop')) : null);
  }
}
