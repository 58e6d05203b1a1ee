// Schedules: what runs when, what came of it, and what to do about it; a form with a preview of the next times.
// @ts-check

import {get, newKey, pathOf, post, remove} from '../api.js';
import {app, may} from '../app.js';
import {confirmAction, note} from '../dialog.js';
import {fill, h, keyed, setText} from '../dom.js';
import {agoWords, firstLine} from '../format.js';
import {icon} from '../icons.js';
import {rowsAfter} from '../live.js';
import {isTrouble, moment, nextWords, occurrenceWords, occurrences, sortSchedules, timed} from '../schedule_words.js';
import {attempt, toast} from '../toast.js';
import {View} from '../view.js';
import {agentBadge} from '../parts/agent_badge.js';
import {editSchedule} from '../parts/schedule_form.js';
import {DeadLetters} from '../parts/dead_letters.js';
import {loading} from '../parts/screen_state.js';

class Schedules extends View {
  constructor() {
    super();
    /** @type {any[] | null} */
    this.items = null;
  }

  open() {
    this.title_ = 'Schedules – Rooftree';
    this.list = h('ul', {class: 'schedule-list', 'aria-label': 'Schedules'});
    this.content = h('div', null, loading());
    this.letters = new DeadLetters(this);
    fill(this, h('div', {class: 'screen'},
      h('header', {class: 'screen-head'}, h('h1', null, 'Schedules'), h('span', {class: 'spacer'}),
        may('chat') ? h('button', {type: 'button', class: 'primary', onclick: () => editSchedule(null)}, 'New schedule') : null),
      this.letters.element, this.content));
    this.every(() => this.changed(), 30_000);
    this.undo.push(app.live.watch('schedules', frame => { this.items = rowsAfter(this.items, frame); this.changed(); }));
  }

  draw() {
    if (!this.items) return;
    if (this.items.length === 0) {
      fill(this.content, h('div', {class: 'empty'}, h('h2', null, 'Nothing is scheduled'), h('p', null, 'An agent can work for you at set times: every weekday at nine, every two hours, once in twenty minutes.')));
      return;
    }
    if (this.content.firstElementChild !== this.list) fill(this.content, this.list, h('p', {class: 'hint dots-legend', 'aria-hidden': 'true'}, 'Circles are past runs, the line below each is its message. Green: well. Red: failed. Hollow: left out.'));
    keyed(this.list, sortSchedules(this.items.map(timed)), one => one.id, one => this.make(one), (element, one) => element.show(one));
  }

  /** @param {any} first */
  make(first) {
    const name = h('h2', {class: 'schedule-name'});
    const next = h('p', {class: 'schedule-next'});
    const words = h('p', {class: 'schedule-words'});
    const badge = h('span');
    const prompt = h('p', {class: 'schedule-prompt'});
    const history = h('ol', {class: 'dots'});
    const last = h('p', {class: 'schedule-last'});
    const pause = h('button', {type: 'button', class: 'small', onclick: () => this.act(element.schedule, element.schedule.enabled ? 'pause' : 'resume')});
    const run = h('button', {type: 'button', class: 'small', onclick: () => this.act(element.schedule, 'run')}, 'Run now');
    const change = h('button', {type: 'button', class: 'small', onclick: () => editSchedule(element.schedule)}, 'Edit');
    const drop = h('button', {type: 'button', class: 'ghost small', title: 'Delete', onclick: () => this.delete(element.schedule)}, icon('trash'));
    const element = h('li', {class: 'schedule'},
      h('div', {class: 'schedule-head'}, name, next),
      h('div', {class: 'schedule-when'}, words, badge), prompt,
      h('div', {class: 'schedule-past'}, history, last),
      may('chat') ? h('div', {class: 'row-buttons'}, run, pause, change, drop) : null);
    element.show = (/** @type {any} */ schedule) => {
      element.schedule = schedule;
      const due = nextWords(schedule, Date.now());
      element.dataset.kind = due.kind;
      setText(name, schedule.name);
      setText(next, due.words);
      setText(words, sentence(schedule.words));
      const worker = schedule.command ? 'command' : `${schedule.kind} ${schedule.agent}`;
      if (element.worker !== worker) fill(badge, schedule.command ? h('small', {class: 'muted'}, 'runs a command, without a model') : agentBadge(schedule.agent), schedule.kind === 'heartbeat' ? h('small', {class: 'muted'}, ' heartbeat') : null);
      element.worker = worker;
      setText(prompt, firstLine(schedule.prompt || schedule.command || '', 160));
      setText(pause, schedule.enabled ? 'Pause' : 'Resume');
      for (const [button, act] of [[run, 'Run now:'], [pause, schedule.enabled ? 'Pause' : 'Resume'], [change, 'Edit'], [drop, 'Delete']]) button.setAttribute('aria-label', `${act} ${schedule.name}`);
      this.drawPast(schedule, history, last, element);
    };
    element.show(first);
    return element;
  }

  /** @param {any} schedule @param {Element} place @param {Element} last @param {any} element */
  drawPast(schedule, place, last, element) {
    const all = occurrences(schedule);
    const key = JSON.stringify(all);
    if (element.past !== key) {
      element.past = key;
      place.setAttribute('aria-label', `Last ${all.length} times of ${schedule.name}`);
      fill(place, all.map(one => dot(one, schedule.zone)));
    }
    const newest = schedule.last ?? all.at(-1);
    last.classList.toggle('trouble', Boolean(newest && isTrouble(newest)));
    fill(last, newest ? [`Last: ${occurrenceWords(newest)}, ${since(newest.ended ?? newest.due)} `, newest.session ? h('a', {href: `/s/${newest.session}`}, 'Open') : null,
      schedule.streak > 1 ? ` · ${schedule.streak} failures in a row ` : '',
      schedule.streak > 0 ? h('button', {type: 'button', class: 'ghost small', 'aria-label': `What failed: ${schedule.name}`, onclick: () => this.failures(schedule)}, 'What failed') : null] : 'It has not run yet.');
  }

  /** Its failures by their cause. @param {any} schedule */
  async failures(schedule) {
    /** @type {any[]} */
    let items = [];
    if (!await attempt(async () => { items = (await get(pathOf`/schedules/${schedule.id}/incidents`)).items; })) return;
    const rows = items.map((/** @type {any} */ one) => {
      const state = h('small', {class: 'muted'}, incidentWords(one));
      const quiet = h('button', {type: 'button', class: 'small', onclick: async () => {
        quiet.disabled = true;
        if (await attempt(() => post(pathOf`/schedules/${schedule.id}/acknowledge`, {signature: one.signature}, {key: newKey()}))) setText(state, incidentWords({...one, state: 'acknowledged'}));
        else quiet.disabled = false;
      }}, 'Do not tell me again');
      const isOpen = one.state === 'detected' || one.state === 'alerted';
      return h('li', null, h('p', null, one.words), state, ' ', isOpen && may('chat') ? quiet : null);
    });
    note(`What failed: ${schedule.name}`, rows.length ? h('ul', {class: 'incidents'}, rows) : h('p', null, 'Nothing is noted.'));
  }

  /** @param {any} schedule @param {string} what */
  async act(schedule, what) {
    const path = pathOf`/schedules/${schedule.id}` + `/${what}`;
    if (await attempt(() => post(path, {}, {key: newKey()})) && what === 'run') toast(`${schedule.name} begins.`);
  }

  /** @param {any} schedule */
  async delete(schedule) {
    if (!await confirmAction(`Delete ${schedule.name}?`, 'It will not run again. What it did before stays in its sessions.', 'Delete')) return;
    await attempt(() => remove(pathOf`/schedules/${schedule.id}`));
  }
}

/** One occurrence: a circle for the run, a line below it for the message. @param {any} one @param {string} zone */
function dot(one, zone) {
  const words = `${moment(one.due, zone)}: ${occurrenceWords(one)}`;
  const parts = [h('i', {class: `dot-run ${one.execution}`}), h('i', {class: `dot-message ${one.delivery}`})];
  return h('li', null, one.session ? h('a', {class: 'dot-link', href: `/s/${one.session}`, title: words, 'aria-label': words}, parts)
    : h('button', {type: 'button', class: 'dot-link', title: words, 'aria-label': words, onclick: () => note('What happened', h('p', null, `${words}.`))}, parts));
}

/** @param {any} one */
function incidentWords(one) {
  const states = {detected: 'not told yet', alerted: 'told', acknowledged: 'told to nobody', resolved: 'over'};
  const state = states[/** @type {keyof typeof states} */ (one.state)] ?? one.state;
  return `${one.count === 1 ? 'once' : `${one.count} times`}, last ${agoWords(one.last)}, ${state}`;
}

/** @param {number} at */
function since(at) {
  return agoWords(new Date(at).toISOString());
}

/** @param {string} words */
function sentence(words) {
  return words ? words[0].toUpperCase() + words.slice(1) : '';
}
customElements.define('rt-schedules', Schedules);
