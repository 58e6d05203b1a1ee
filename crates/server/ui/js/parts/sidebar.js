// Sessions grouped by agent, beside a conversation on wide screens.
// @ts-check

import {get, newKey, post} from '../api.js';
import {app, may} from '../app.js';
import {fill, h} from '../dom.js';
import {go} from '../router.js';
import {icon} from '../icons.js';
import {attempt} from '../toast.js';
import {agentBadge} from './agent_badge.js';

/** Sessions that are listed. */
const MOST = 60;

export class Sidebar {
  /** @param {string} current */
  constructor(current) {
    this.current = current;
    /** @type {Set<string>} */
    this.known = new Set();
    /** @type {any[]} */
    this.sessions = [];
    /** What the board told of the sessions that are drawn. */
    this.shownRows = '';
    this.list = h('div', {class: 'sidebar-list'});
    this.element = h('nav', {class: 'sidebar', 'aria-label': 'Sessions'}, h('a', {href: '/sessions', class: 'sidebar-all'}, 'All sessions'), this.list);
    this.load();
  }

  /** Sessions that the board tells and the list lacks are loaded. */
  boardChanged() {
    const isUnknown = [...app.board.rows.keys()].some(session => !this.known.has(session));
    if (isUnknown && !this.timer) this.timer = setTimeout(() => { this.timer = 0; this.load(); }, 500);
    // The board knows titles and states, and may come after the list.
    const shown = this.sessions.map(({id}) => { const row = app.board.rows.get(id); return `${row?.title} ${row?.state} ${row?.unread}`; }).join('\n');
    // Drawing anew would take the focus away.
    if (shown !== this.shownRows && !this.list.contains(document.activeElement)) { this.shownRows = shown; this.draw(); }
  }

  async load() {
    const {sessions = []} = await get('/sessions', {limit: MOST}).catch(() => ({}));
    this.sessions = sessions;
    this.known = new Set([...sessions.map((/** @type {any} */ session) => session.id), ...app.board.rows.keys()]);
    this.draw();
  }

  draw() {
    /** @type {Map<string, any[]>} */
    const byAgent = new Map();
    fill(this.list);
    for (const session of this.sessions) byAgent.set(session.agent, [...(byAgent.get(session.agent) ?? []), session]);
    for (const [agent, own] of byAgent) {
      this.list.append(h('section', null,
        h('h3', null, agentBadge(agent), may('chat') ? h('button', {type: 'button', class: 'ghost small', 'aria-label': `New session with ${agent}`, onclick: () => newSession(agent)}, icon('plus')) : null),
        h('ul', null, own.sort((one, other) => Number(Boolean(other.pinned_at)) - Number(Boolean(one.pinned_at))).map(session => h('li', null, this.link(session))))));
    }
  }

  /** @param {any} session */
  link(session) {
    const row = app.board.rows.get(session.id);
    const title = session.name || row?.title || session.title || 'Untitled';
    return h('a', {href: `/s/${session.id}`, 'aria-current': session.id === this.current ? 'page' : null, class: row?.unread ? 'unread' : '', title},
      session.pinned_at ? '★ ' : '', title, row && row.state !== 'done' && row.state !== 'idle' ? h('span', {class: `dot ${row.state}`, role: 'img', 'aria-label': row.state.replace('_', ' ')}) : null);
  }
}

/** Opens a new session and goes there. @param {string} agent */
export async function newSession(agent) {
  await attempt(async () => {
    const session = await post('/sessions', {agent}, {key: newKey()});
    go(`/s/${session.id}`);
  });
}
