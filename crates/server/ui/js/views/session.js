// One session: header, transcript, cards of all that waits for an answer, composer; beside it sessions and the run tree.
// @ts-check

import {pathOf, post} from '../api.js';
import {app} from '../app.js';
import {fill, h, keyed} from '../dom.js';
import {SessionModel} from '../session_model.js';
import {View} from '../view.js';
import {Composer} from '../parts/composer.js';
import {inquiryCard} from '../parts/inquiry_card.js';
import {queueView} from '../parts/queue_view.js';
import {Rail} from '../parts/rail.js';
import {SessionHeader} from '../parts/session_header.js';
import {Sidebar} from '../parts/sidebar.js';
import {TranscriptView} from '../parts/transcript_view.js';

/** How long a session must be looked at before it counts as read. */
const READ_MS = 1000;

class SessionView extends View {
  constructor() {
    super();
    /** @type {SessionModel} */ this.model;
    /** The session that is shown: the root, or one below it that was opened in place. @type {string} */ this.shown;
    /** @type {Sidebar} */ this.sidebar;
    /** @type {SessionHeader} */ this.header;
    /** @type {TranscriptView} */ this.transcriptView;
    /** @type {Composer} */ this.composer;
    /** @type {Rail} */ this.rail;
    /** @type {any} */ this.readTimer;
  }

  open() {
    this.model = new SessionModel(this.params.session);
    this.shown = new URLSearchParams(location.search).get('child') || this.params.session;
    this.sidebar = new Sidebar(this.params.session);
    this.header = new SessionHeader(this);
    this.transcriptView = new TranscriptView(this);
    this.composer = new Composer(this);
    this.rail = new Rail(this);
    this.cards = h('div', {class: 'cards', role: 'region', 'aria-label': 'Waiting for your answer'});
    this.queue = h('div', {class: 'queue'});
    this.problem = h('p', {class: 'problem', role: 'alert', hidden: true});
    fill(this,
      this.sidebar.element,
      h('div', {class: 'conversation'}, this.header.element, this.problem, this.transcriptView.element, this.cards, this.queue, this.composer.element),
      this.rail.element);
    this.listen(this.model, 'change', () => this.changed());
    this.listen(app.board, 'change', () => { this.markRead(); this.sidebar.boardChanged(); });
    this.listen(document, 'visibilitychange', () => this.markRead());
    this.every(() => this.rail.tick(), 1000);
    this.model.open();
    this.composer.restore();
  }

  close() {
    this.model.close();
    this.composer.close();
  }

  /** Other parameters of the address: another child in place, or another session. @param {Record<string, string>} params */
  update(params) {
    if (params.session !== this.params.session) return false;
    this.show(new URLSearchParams(location.search).get('child') || params.session);
    return true;
  }

  /** Shows the root or a session below it. @param {string} session */
  show(session) {
    if (session === this.shown) return;
    this.shown = session;
    this.transcriptView.reset();
    this.changed();
  }

  draw() {
    const {model} = this;
    if (model.isMissing) return this.drawMissing();
    const meta = model.meta.get(this.params.session);
    this.title_ = `${meta?.name || meta?.title || 'Session'} – Rooftree`;
    this.problem.hidden = !model.problem;
    if (model.problem) fill(this.problem, model.problem.message, ' ', model.problem.hint ?? '');
    this.header.draw();
    if (!model.waiting) this.transcriptView.draw(model.transcript(this.shown));
    this.drawCards();
    queueView(this.queue, model);
    this.composer.draw();
    this.rail.draw();
  }

  drawMissing() {
    this.title_ = 'No such session – Rooftree';
    fill(this, h('div', {class: 'empty', role: 'alert'}, h('h1', null, 'There is no such session'),
      h('p', null, 'It was deleted, belongs to somebody else, or the address is wrong.'), h('a', {href: '/sessions'}, 'All sessions')));
  }

  /** All that waits for an answer, in the order in which it was asked, with its number. */
  drawCards() {
    const open = this.model.tree.inquiries;
    keyed(this.cards, open.map((inquiry, at) => ({inquiry, at})), ({inquiry}) => inquiry.data.id, ({inquiry, at}) => {
      const kind = inquiry.type === 'permission.requested' ? 'permission' : 'question';
      const path = inquiry.session === this.params.session ? '' : `in ${this.agentPath(inquiry.session)}`;
      const card = inquiryCard(kind, {...inquiry.data, agent: inquiry.agent, asked_at: inquiry.asked_at}, {path, number: open.length > 1 ? `${at + 1} of ${open.length}` : ''});
      card.dataset.number = String(at + 1);
      return card;
    }, (card, {at}) => {
      const when = card.querySelector('.card-when');
      if (when && open.length > 1) when.textContent = `${at + 1} of ${open.length}`;
    });
    this.cards.hidden = open.length === 0;
  }

  /** The agents from the root to a session: `lead › tester`. @param {string} session */
  agentPath(session) {
    const names = [];
    let run = this.model.tree.runs.findLast(one => one.session === session);
    for (let depth = 0; run && depth < 20; depth += 1) {
      names.unshift(run.agent);
      const parent = run.parent_run;
      run = parent ? this.model.tree.runs.findLast(one => one.run === parent) : undefined;
    }
    return names.join(' › ') || (this.model.meta.get(session)?.agent ?? session);
  }

  /** What the person looks at counts as read. */
  markRead() {
    const row = app.board.rows.get(this.params.session);
    if (!row?.unread || document.hidden || this.readTimer) return;
    this.readTimer = setTimeout(() => {
      this.readTimer = 0;
      if (!document.hidden && this.isConnected) post(pathOf`/sessions/${this.params.session}/read`, {upto: row.head}).catch(() => {});
    }, READ_MS);
  }
}
customElements.define('rt-session', SessionView);
