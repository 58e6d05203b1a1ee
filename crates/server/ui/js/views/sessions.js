// All sessions by agent: search, pinned ones first, deleted ones with restore, import of an export.
// @ts-check

import {get, newKey, patch, pathOf, post, remove} from '../api.js';
import {app, may} from '../app.js';
import {fill, h, setText} from '../dom.js';
import {ago, count, plainLine} from '../format.js';
import {icon} from '../icons.js';
import {go} from '../router.js';
import {attempt, toast} from '../toast.js';
import {View} from '../view.js';
import {agentBadge} from '../parts/agent_badge.js';
import {failure, loading} from '../parts/screen_state.js';
import {newSession} from '../parts/sidebar.js';

/** Sessions of a page. */
const PAGE = 60;
/** Places in conversations that are shown. */
const PASSAGES = 20;
/** How long after typing it is searched. */
const SEARCH_MS = 200;

class Sessions extends View {
  /** What is listed. @type {any[]} */
  sessions = [];
  /** Places in conversations. @type {any[]} */
  passages = [];
  /** The cursor of the next page. @type {string | undefined} */
  next;
  isDeleted = false;
  isLoaded = false;
  /** How often was asked: the answer to an earlier question does not count. */
  asked = 0;

  open() {
    this.title_ = 'Sessions – Rooftree';
    this.search = h('input', {type: 'search', placeholder: 'Search names, agents and last words', 'aria-label': 'Search sessions', value: new URLSearchParams(location.search).get('q') ?? '',
      oninput: () => { clearTimeout(this.timer); this.timer = setTimeout(() => this.load(), SEARCH_MS); }});
    this.deleted = h('button', {type: 'button', 'aria-pressed': 'false', onclick: () => { this.isDeleted = !this.isDeleted; this.deleted.setAttribute('aria-pressed', String(this.isDeleted)); this.load(); }}, 'Show deleted');
    this.picker = h('input', {type: 'file', accept: '.json,application/json', hidden: true, 'aria-label': 'Exported session', onchange: () => { this.import(this.picker.files[0]); this.picker.value = ''; }});
    this.list = h('div', {class: 'agent-groups'});
    this.more = h('button', {type: 'button', hidden: true, onclick: () => this.load(true)}, 'Show more');
    this.status = h('p', {class: 'visually-hidden', role: 'status'});
    fill(this, h('div', {class: 'screen'},
      h('header', {class: 'screen-head'}, h('h1', null, 'Sessions'),
        h('div', {class: 'screen-tools'}, this.search, this.deleted,
          may('chat') ? [h('button', {type: 'button', onclick: () => this.picker.click()}, 'Import'), this.picker] : null)),
      this.list, this.more, this.status));
    this.listen(app.board, 'change', () => this.changed());
    this.load();
  }

  /** @param {boolean} [isMore] */
  async load(isMore = false) {
    const number = ++this.asked;
    if (!isMore && this.sessions.length === 0) fill(this.list, loading());
    const query = {q: this.search.value.trim(), deleted: this.isDeleted || undefined, limit: PAGE};
    try {
      const [pinned, others, found] = await Promise.all([
        isMore || this.isDeleted ? {sessions: []} : get('/sessions', {...query, pinned: true}),
        get('/sessions', {...query, pinned: this.isDeleted ? undefined : false, cursor: isMore ? this.next : undefined}),
        query.q && !isMore && !this.isDeleted ? get('/search', {q: query.q, limit: PASSAGES}).catch(() => ({hits: []})) : {hits: []},
      ]);
      // A later search was faster.
      if (number !== this.asked) return;
      this.sessions = [...(isMore ? this.sessions : pinned.sessions), ...others.sessions];
      this.next = others.next;
      if (!isMore) this.passages = found.hits;
      this.isLoaded = true;
      setText(this.status, `${count(this.sessions.length, 'session')}`);
      this.changed();
    } catch (error) {
      if (number === this.asked) fill(this.list, failure(error, () => this.load()));
    }
  }

  draw() {
    if (!this.isLoaded) return;
    this.more.hidden = !this.next;
    if (this.sessions.length + this.passages.length === 0) {
      fill(this.list, h('p', {class: 'empty'}, this.isDeleted ? 'Nothing is deleted.' : this.search.value ? 'No session contains these words.' : 'No sessions yet. Start a task on the board.'));
      return;
    }
    /** @type {Map<string, any[]>} */
    const byAgent = new Map();
    for (const session of this.sessions) byAgent.set(session.agent, [...(byAgent.get(session.agent) ?? []), session]);
    fill(this.list, [...byAgent].map(([agent, own]) => h('section', {class: 'agent-group', 'aria-label': agent},
      h('h2', null, agentBadge(agent), h('span', {class: 'group-count'}, String(own.length)),
        may('chat') && app.agents.has(agent) ? h('button', {type: 'button', class: 'ghost small labelled', 'aria-label': `New session with ${agent}`, onclick: () => newSession(agent)}, icon('plus'), h('span', null, 'New session')) : null),
      h('ul', {class: 'session-rows'}, own.map(session => this.row(session))))), this.drawPassages());
  }

  /** Places in conversations that contain the words. */
  drawPassages() {
    if (this.passages.length === 0) return null;
    return h('section', {class: 'agent-group', 'aria-label': 'In conversations'}, h('h2', null, 'In conversations ', h('span', {class: 'group-count'}, String(this.passages.length))),
      h('ul', {class: 'session-rows'}, this.passages.map(hit => h('li', {class: 'session-row passage', data: {session: hit.session}},
        h('a', {href: `/s/${hit.session}`, class: 'session-link'}, hit.name || app.board.rows.get(hit.session)?.title || 'Untitled'),
        h('span', {class: 'session-snippet'}, marked(hit.snippet)), agentBadge(hit.agent)))));
  }

  /** @param {any} session */
  row(session) {
    const row = app.board.rows.get(session.id);
    const title = session.name || row?.title || plainLine(session.last_snippet, 90) || 'Untitled';
    const snippet = session.last_snippet && session.last_snippet !== title ? plainLine(session.last_snippet, 160) : '';
    const state = row && !['done', 'idle'].includes(row.state) ? row.state : session.state === 'resting' ? '' : session.state;
    return h('li', {class: 'session-row', data: {session: session.id}},
      this.isDeleted ? h('span', {class: 'session-link'}, title) : h('a', {href: `/s/${session.id}`, class: `session-link ${row?.unread ? 'unread' : ''}`}, session.pinned_at ? '★ ' : '', title),
      state ? h('span', {class: `state-word ${state}`}, state.replace('_', ' ')) : null,
      h('span', {class: 'session-snippet'}, snippet),
      h('time', {class: 'session-when', datetime: session.updated_at}, ago(session.deleted_at ?? session.updated_at)),
      may('chat') ? this.buttons(session) : null);
  }

  /** @param {any} session */
  buttons(session) {
    if (this.isDeleted) return h('span', {class: 'session-buttons'}, h('button', {type: 'button', class: 'small', onclick: () => this.change(() => post(pathOf`/sessions/${session.id}/restore`, {}))}, 'Restore'));
    const name = session.name || 'session';
    return h('span', {class: 'session-buttons'},
      h('button', {type: 'button', class: 'ghost small', 'aria-pressed': String(Boolean(session.pinned_at)), 'aria-label': session.pinned_at ? `Unpin ${name}` : `Pin ${name}`, title: session.pinned_at ? 'Unpin' : 'Pin', onclick: () => this.change(() => patch(pathOf`/sessions/${session.id}`, {pinned: !session.pinned_at}))}, icon('star')),
      h('button', {type: 'button', class: 'ghost small', 'aria-label': `Delete ${name}`, title: 'Delete', onclick: () => this.delete(session)}, icon('trash')));
  }

  /** @param {() => Promise<any>} action */
  async change(action) {
    if (await attempt(action)) await this.load();
  }

  /** @param {any} session */
  async delete(session) {
    const {id} = session;
    if (!await attempt(() => remove(pathOf`/sessions/${id}`))) return;
    toast('Deleted.', {action: 'Undo', act: () => this.change(() => post(pathOf`/sessions/${id}/restore`, {})), ms: 15_000});
    this.load();
  }

  /** Makes a session out of an exported one. @param {File | undefined} file */
  async import(file) {
    if (!file) return;
    await attempt(async () => {
      let exported;
      try {
        exported = JSON.parse(await file.text());
      } catch {
        throw new Error(`${file.name} is not an exported session: it is no JSON. Export one with "More" in a session.`);
      }
      const session = await post('/sessions/import', exported, {key: newKey()});
      toast('Imported.');
      go(`/s/${session.id}`);
    });
  }
}

/** The server puts a hit between brackets. @param {string} snippet */
function marked(snippet) {
  return snippet.split(/\[([^\]]*)\]/).map((text, at) => at % 2 ? h('mark', null, text) : text);
}
customElements.define('rt-sessions', Sessions);
