// The board: what needs the person, what failed, works, waits, is done; and a box that starts a task in background.
// @ts-check

import {app, choosableAgents, may} from '../app.js';
import {get, newKey, pathOf, post} from '../api.js';
import {fill, h, keyed, setText} from '../dom.js';
import {go} from '../router.js';
import {attempt, toast} from '../toast.js';
import {View} from '../view.js';
import {boardRow} from '../parts/board_row.js';

/** Title and states of each group. */
const GROUPS = [
  ['Needs you', ['needs_you']],
  ['Failed', ['failed']],
  ['Working', ['working', 'waiting']],
  ['Done', ['done', 'idle', 'stopped']],
];
/** Rows of the last group that are shown at once. */
const DONE_ROWS = 25;

class Board extends View {
  constructor() {
    super();
    /** Rows of the last group that are shown. @type {number} */ this.shownDone;
    /** @type {{states: string[], list: any, count: any, section: any}[]} */ this.groups;
  }

  open() {
    this.title_ = 'Board – Rooftree';
    this.shownDone = DONE_ROWS;
    this.groups = GROUPS.map(([title, states]) => {
      const list = h('div', {class: 'rows', role: 'list'});
      const count = h('span', {class: 'group-count'});
      const section = h('section', {class: 'group', data: {group: /** @type {string[]} */ (states)[0]}, 'aria-label': /** @type {string} */ (title)},
        h('h2', null, title, ' ', count), list);
      return {states: /** @type {string[]} */ (states), list, count, section};
    });
    this.more = h('button', {type: 'button', class: 'ghost', onclick: () => { this.shownDone += DONE_ROWS; this.changed(); }}, 'Show more');
    this.groups[3].section.append(this.more);
    this.quiet = h('div', {class: 'empty'}, h('h2', null, 'All quiet'), h('p', null, 'Nothing is running, and nothing waits for you. Start a task below.'));
    this.setup = h('p', {class: 'setup-line', hidden: true}, 'No model can run yet. ', h('a', {href: '/welcome'}, 'Set one up, or see the demo'));
    fill(this, h('h1', {class: 'visually-hidden'}, 'Board'), this.setup, this.quiet,
      h('div', {class: 'groups'}, this.groups.map(group => group.section)),
      may('chat') ? this.dispatchBox() : null);
    this.listen(app.board, 'change', () => this.changed());
    this.every(() => this.changed(), 15_000);
    if (may('admin')) get('/providers').then(known => { this.setup.hidden = Boolean(known.default_model); }).catch(() => {});
  }

  draw() {
    let active = 0;
    for (const {states, list, count, section} of this.groups) {
      const all = app.board.inStates(...states);
      const isDone = states.includes('done');
      const rows = isDone ? all.slice(0, this.shownDone) : all;
      if (!isDone) active += all.length;
      else this.more.hidden = all.length <= rows.length;
      setText(count, String(all.length));
      section.hidden = all.length === 0;
      keyed(list, rows, row => row.session, row => boardRow(row), (element, row) => element.show(row));
    }
    this.quiet.hidden = !app.board.isLoaded || active > 0;
  }

  /** The box at the bottom: a task for any agent, in background. */
  dispatchBox() {
    const agents = choosableAgents();
    const agent = h('select', {'aria-label': 'Agent'}, agents.map(({name}) => h('option', {value: name}, name)));
    const preferred = localStorage.getItem('rooftree.agent');
    if (preferred && agents.some(({name}) => name === preferred)) agent.value = preferred;
    const text = h('textarea', {rows: '1', 'aria-label': 'Task', placeholder: 'Describe a task'});
    const send = async () => {
      const words = text.value.trim();
      if (!words) return;
      button.disabled = true;
      const done = await attempt(async () => {
        localStorage.setItem('rooftree.agent', agent.value);
        const session = await post('/sessions', {agent: agent.value}, {key: newKey()});
        await post(pathOf`/sessions/${session.id}/messages`, {text: words}, {key: newKey()});
        toast(`${agent.value} works on it.`, {action: 'Open', act: () => go(`/s/${session.id}`)});
      });
      button.disabled = false;
      // What could not be sent stays in the box.
      if (done) { text.value = ''; text.style.height = ''; }
    };
    const button = h('button', {class: 'primary', type: 'submit'}, 'Start');
    const isTouch = matchMedia('(pointer: coarse)').matches;
    text.addEventListener('keydown', (/** @type {KeyboardEvent} */ event) => {
      if (event.key === 'Enter' && !event.shiftKey && !event.isComposing && !isTouch) { event.preventDefault(); send(); }
    });
    text.addEventListener('input', () => { text.style.height = 'auto'; text.style.height = `${Math.min(text.scrollHeight, 200)}px`; });
    return h('form', {class: 'dispatch', onsubmit: (/** @type {Event} */ event) => { event.preventDefault(); send(); }},
      h('label', {class: 'to'}, 'To ', agent), text, button);
  }
}
customElements.define('rt-board', Board);
