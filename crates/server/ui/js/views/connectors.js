// Connectors: chat platforms that agents listen and write to; who may use them, codes that let a person in, what fails.
// @ts-check

import {newKey, patch, pathOf, post, remove} from '../api.js';
import {app, may} from '../app.js';
import {confirmAction} from '../dialog.js';
import {fill, h, keyed, setText} from '../dom.js';
import {icon} from '../icons.js';
import {rowsAfter} from '../live.js';
import {countdown, healthKind, healthWords, millis} from '../schedule_words.js';
import {attempt, toast} from '../toast.js';
import {View} from '../view.js';
import {agentBadge} from '../parts/agent_badge.js';
import {DeadLetters} from '../parts/dead_letters.js';
import {changeRights, confirmCode, letIn} from '../parts/pairing_dialog.js';
import {loading} from '../parts/screen_state.js';

/** @type {Record<string, string>} */
const PLATFORMS = {telegram: 'Telegram', discord: 'Discord', slack: 'Slack', matrix: 'Matrix', email: 'E-mail', webhook: 'Webhook'};

class Connectors extends View {
  constructor() {
    super();
    /** @type {any[] | null} */
    this.items = null;
    /** Codes that were made here, by connector: the server tells each only once. @type {Map<string, {code: string, expires: number}>} */
    this.codes = new Map();
  }

  open() {
    this.title_ = 'Connectors – Rooftree';
    this.list = h('ul', {class: 'schedule-list', 'aria-label': 'Connectors'});
    this.content = h('div', null, loading());
    this.letters = new DeadLetters(this);
    fill(this, h('div', {class: 'screen'}, h('header', {class: 'screen-head'}, h('h1', null, 'Connectors')), this.letters.element, this.content));
    this.every(() => this.tick(), 1000);
    if (may('admin')) this.undo.push(app.live.watch('connectors', frame => { this.items = rowsAfter(this.items, frame); this.changed(); }));
    else fill(this.content, nothing('Only the owner of this server sees its connectors.'));
  }

  draw() {
    if (!this.items) return;
    if (this.items.length === 0) return fill(this.content, nothing('Talk to your agents from Telegram and other chats. One is added at the command line, where its secret stays: rooftree connectors add.'));
    if (this.content.firstElementChild !== this.list) fill(this.content, this.list);
    keyed(this.list, this.items, one => one.id, one => this.make(one), (element, one) => element.show(one));
  }

  /** @param {any} first */
  make(first) {
    const name = h('h2', {class: 'schedule-name'});
    const health = h('p', {class: 'health'});
    const badge = h('span', {class: 'schedule-when'});
    const error = h('p', {class: 'schedule-last trouble'});
    const outbox = h('p', {class: 'schedule-last'});
    const pairing = h('div', {class: 'pairing', role: 'status'});
    const people = h('ul', {class: 'lines'});
    const pair = h('button', {type: 'button', class: 'small', onclick: () => this.pair(element.connector)}, 'Let a person in');
    const toggle = h('button', {type: 'button', class: 'small', onclick: () => this.toggle(element.connector)});
    const test = h('button', {type: 'button', class: 'small', onclick: () => this.test(element.connector, test)}, 'Send a test message');
    const element = h('li', {class: 'schedule'}, h('div', {class: 'schedule-head'}, name, health), badge, error, outbox, pairing, people,
      h('div', {class: 'row-buttons'}, pair, test, toggle));
    element.show = (/** @type {any} */ connector) => {
      element.connector = connector;
      const title = PLATFORMS[connector.platform] ?? connector.platform;
      setText(name, connector.id === connector.platform ? title : `${title} · ${connector.id}`);
      const state = connector.enabled ? connector.health : {state: 'off'};
      health.dataset.kind = healthKind(state.state);
      setText(health, healthWords(state));
      setText(toggle, connector.enabled ? 'Switch off' : 'Switch on');
      toggle.setAttribute('aria-label', `${toggle.textContent} ${connector.id}`);
      if (element.agent !== connector.agent) fill(badge, h('span', {class: 'muted'}, 'Answered by'), agentBadge(connector.agent));
      element.agent = connector.agent;
      setText(error, connector.last_error ? `Last problem: ${connector.last_error}` : '');
      setText(outbox, outboxWords(connector.outbox));
      pair.hidden = connector.platform === 'webhook';
      this.drawPeople(connector, people, element);
      this.drawPairing(connector, pairing);
    };
    element.tick = () => this.drawPairing(element.connector, pairing);
    element.show(first);
    return element;
  }

  tick() {
    for (const element of this.list.children) element.tick?.();
  }

  /** @param {any} connector @param {Element} place @param {any} element */
  drawPeople(connector, place, element) {
    const key = JSON.stringify(connector.people);
    if (element.people === key) return;
    element.people = key;
    fill(place, connector.people.length ? connector.people.map((/** @type {any} */ person) => h('li', {class: 'line'},
      h('span', {class: 'line-main'}, person.name || person.sender, h('small', null, rights(person))),
      h('span', {class: 'line-buttons'}, h('button', {type: 'button', class: 'small', 'aria-label': `Rights of ${person.name || person.sender}`, onclick: () => changeRights(connector, person)}, 'Rights'),
        h('button', {type: 'button', class: 'ghost small', 'aria-label': `Remove ${person.name || person.sender}`, title: 'Remove', onclick: () => this.removePerson(connector, person)}, icon('trash')))))
      : h('li', {class: 'line muted'}, connector.platform === 'webhook' ? 'Programs that know its secret may write to it.' : 'Nobody may write to it yet.'));
  }

  /** Codes that wait to be used; each with the time that is left. @param {any} connector @param {any} place */
  drawPairing(connector, place) {
    const now = Date.now();
    const own = this.codes.get(connector.id);
    if (own && own.expires <= now) this.codes.delete(connector.id);
    const waiting = connector.pending_pairing.filter((/** @type {any} */ one) => millis(one.expires) > now);
    const shown = own && own.expires > now ? own : null;
    const key = JSON.stringify([shown?.code, waiting.map((/** @type {any} */ one) => one.sender)]);
    if (place.shown !== key) {
      place.shown = key;
      fill(place, shown ? h('div', {class: 'pair-code'}, h('p', null, 'Send this code to the bot from the chat that you want to let in:'), h('strong', {class: 'code-text'}, shown.code), h('span', {class: 'code-left', 'aria-hidden': 'true'})) : null,
        waiting.map((/** @type {any} */ one) => h('p', {class: 'hint'}, one.sender ? `${one.name || one.sender} waits to be let in. ` : 'A code waits to be sent to the bot.',
          one.sender ? h('button', {type: 'button', class: 'small', 'aria-label': `Enter the code of ${one.name || one.sender}`, onclick: () => confirmCode(connector, one)}, 'Enter the code') : null)));
    }
    // The code stays as it is while the time runs, so that it is not read out every second.
    const left = place.querySelector('.code-left');
    if (left && shown) setText(left, `valid for ${countdown(shown.expires, now)}`);
  }

  /** @param {any} connector */
  async pair(connector) {
    const made = await letIn(connector);
    if (made) this.codes.set(connector.id, {...made, expires: millis(made.expires)});
    this.tick();
  }

  /** @param {any} connector */
  toggle({id, rev, enabled}) {
    return attempt(() => patch(pathOf`/connectors/${id}`, {rev, enabled: !enabled}));
  }

  /** @param {any} connector @param {any} button */
  async test(connector, button) {
    button.disabled = true;
    if (await attempt(() => post(pathOf`/connectors/${connector.id}/test`, {}, {key: newKey()}))) toast('A test message was sent.');
    button.disabled = false;
  }

  /** @param {any} connector @param {any} person */
  async removePerson(connector, person) {
    if (!await confirmAction(`Remove ${person.name || person.sender}?`, 'Messages from this chat are ignored from now on.', 'Remove')) return;
    await attempt(() => remove(pathOf`/connectors/${connector.id}/people/${person.sender}`));
  }
}

/** @param {string} words */
function nothing(words) {
  return h('div', {class: 'empty'}, h('h2', null, 'No connectors'), h('p', null, words));
}

/** @param {any} person */
function rights({person, may_send: maySend, may_approve: mayApprove}) {
  return [person ? `as ${person}` : '', maySend ? 'may write' : 'may only read', mayApprove ? 'may answer permission requests' : ''].filter(Boolean).join(' · ');
}

/** @param {{queued: number, failed: number, dead: number} | undefined} outbox */
function outboxWords(outbox) {
  if (!outbox || !(outbox.queued + outbox.failed + outbox.dead)) return '';
  return [outbox.queued ? `${outbox.queued} to be sent` : '', outbox.failed ? `${outbox.failed} tried again` : '', outbox.dead ? `${outbox.dead} not delivered` : ''].filter(Boolean).join(' · ');
}
customElements.define('rt-connectors', Connectors);
