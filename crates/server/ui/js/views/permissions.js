// What waits for an answer, what was answered in the last 30 days, and the saved rules.
// @ts-check

import {get} from '../api.js';
import {app} from '../app.js';
import {fill, h, keyed, setText} from '../dom.js';
import {ago, clock, count} from '../format.js';
import {attempt} from '../toast.js';
import {View} from '../view.js';
import {agentBadge} from '../parts/agent_badge.js';
import {inquiryCard, settledWords} from '../parts/inquiry_card.js';
import {ruleList} from '../parts/rule_list.js';
import {failure, loading} from '../parts/screen_state.js';

/** Answered requests of a page. */
const PAGE = 40;

class Permissions extends View {
  /** What waits, in the order in which it was asked. @type {any[]} */
  pending = [];
  /** What was answered. @type {any[]} */
  answered = [];
  /** The cursor of the next page. @type {string | undefined} */
  next;
  /** What the board said last that is asked. */
  seen = '';
  isLoaded = false;

  open() {
    this.title_ = 'Permissions – Rooftree';
    this.cards = h('div', {class: 'pending-cards'});
    this.pendingCount = h('span', {class: 'group-count'});
    this.history = h('div', {class: 'table-scroll'});
    this.more = h('button', {type: 'button', hidden: true, onclick: () => this.loadHistory(true)}, 'Show more');
    this.rules = ruleList();
    fill(this, h('div', {class: 'screen'}, h('h1', null, 'Permissions'),
      h('section', {'aria-label': 'Waiting for your answer'}, h('h2', null, 'Waiting for your answer ', this.pendingCount), this.cards),
      this.rules.element,
      h('section', {'aria-label': 'Answered'}, h('h2', null, 'Answered in the last 30 days'), this.history, this.more)));
    fill(this.cards, loading());
    fill(this.history, loading());
    // The board tells when something is asked or answered.
    this.listen(app.board, 'change', () => { this.boardChanged(); this.changed(); });
    this.every(() => this.changed(), 30_000);
    this.load();
  }

  load() {
    this.seen = this.asked();
    return Promise.all([this.loadPending(), this.loadHistory(), this.rules?.load()]);
  }

  /** What the board says that is asked. */
  asked() {
    return [...app.board.rows.values()].flatMap(row => row.why.filter((/** @type {any} */ why) => why.kind === 'permission' || why.kind === 'question').map((/** @type {any} */ why) => why.id)).sort().join(' ');
  }

  boardChanged() {
    const asked = this.asked();
    if (asked === this.seen) return;
    this.seen = asked;
    this.loadPending();
    this.loadHistory();
  }

  async loadPending() {
    try {
      const [{permissions}, {questions}] = await Promise.all([get('/permissions', {limit: 200}), get('/questions', {limit: 200})]);
      const kinds = [...permissions.map((/** @type {any} */ one) => ({card: 'permission', ...one})), ...questions.map((/** @type {any} */ one) => ({card: 'question', ...one}))];
      this.pending = kinds.sort((one, other) => one.asked_at.localeCompare(other.asked_at) || one.id.localeCompare(other.id));
      this.isLoaded = true;
      this.changed();
    } catch (error) {
      this.isLoaded = false;
      fill(this.cards, failure(error, () => this.loadPending()));
    }
  }

  /** @param {boolean} [isMore] */
  async loadHistory(isMore = false) {
    try {
      const page = await get('/permissions', {state: 'answered', limit: PAGE, cursor: isMore ? this.next : undefined});
      this.answered = isMore ? [...this.answered, ...page.permissions] : page.permissions;
      this.next = page.next;
      this.more.hidden = !this.next;
      this.drawHistory();
    } catch (error) {
      if (isMore) await attempt(() => Promise.reject(error));
      else fill(this.history, failure(error, () => this.loadHistory()));
    }
  }

  draw() {
    if (!this.isLoaded) return;
    const {pending} = this;
    setText(this.pendingCount, pending.length ? String(pending.length) : '');
    for (const text of this.cards.querySelectorAll('.empty')) text.remove();
    keyed(this.cards, pending.map((inquiry, at) => ({inquiry, at})), ({inquiry}) => inquiry.id, ({inquiry, at}) => {
      const card = inquiryCard(inquiry.card, inquiry, {number: `${at + 1} of ${pending.length}`});
      card.querySelector('.card-head')?.after(h('a', {class: 'card-path', href: `/s/${inquiry.root}`}, sessionWords(inquiry.root)));
      return card;
    }, (card, {inquiry, at}) => {
      setText(card.querySelector('.card-when'), `${at + 1} of ${pending.length} · ${ago(inquiry.asked_at)}`);
      setText(card.querySelector('a.card-path'), sessionWords(inquiry.root));
    });
    if (pending.length === 0) this.cards.append(h('p', {class: 'empty'}, 'Nothing waits for you.'));
  }

  drawHistory() {
    if (this.answered.length === 0) {
      fill(this.history, h('p', {class: 'empty'}, 'Nothing was answered yet.'));
      return;
    }
    fill(this.history, h('table', {class: 'table'},
      h('caption', {class: 'visually-hidden'}, count(this.answered.length, 'answered request')),
      h('thead', null, h('tr', null, ['Agent', 'What', 'Answer', 'By', 'When'].map(word => h('th', {scope: 'col'}, word)))),
      h('tbody', null, this.answered.map(one => h('tr', null,
        h('td', null, agentBadge(one.agent)),
        h('td', null, h('a', {href: `/s/${one.root}`}, one.tool), ' ', h('code', {class: 'clip', title: one.title}, one.title)),
        h('td', {class: one.answered?.decision === 'deny' ? 'removed' : ''}, decision(one)),
        h('td', null, one.answered ? `${one.answered.by}${one.answered.via ? ` (${one.answered.via})` : ''}` : '–'),
        h('td', {class: 'when'}, clock(one.answered?.at ?? one.asked_at)))))));
  }
}

/** @param {string} session */
function sessionWords(session) {
  const title = app.board.rows.get(session)?.title;
  return title ? `in “${title}”` : 'to the session';
}

/** @param {any} inquiry */
function decision(inquiry) {
  const {answered, state} = inquiry;
  if (!answered) return {expired: 'nobody in time', withdrawn: 'not needed any more'}[/** @type {string} */ (state)] ?? settledWords(inquiry);
  const word = answered.decision === 'allow' ? 'allowed' : 'denied';
  return answered.scope && answered.scope !== 'once' && answered.decision === 'allow' ? `${word} (${answered.scope})` : word;
}
customElements.define('rt-permissions', Permissions);
