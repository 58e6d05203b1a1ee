// Notifications of the browser while a page is open: what asks for an answer at once, what is done after a while.
// @ts-check

import {go} from './router.js';

/** Runs that took less than this are not announced. */
const LONG_MS = 30_000;
/** Time between two notifications of a session, except requests. */
const COOLDOWN_MS = 60_000;
const SWITCH = 'rooftree.notifications';

/** Whether this browser can notify: `unsupported`, `default`, `granted`, `denied`. */
export function notificationState() {
  return typeof Notification === 'function' && window.isSecureContext ? Notification.permission : 'unsupported';
}

/** Whether the person wants notifications and the browser allows them. */
export function mayNotify() {
  return notificationState() === 'granted' && localStorage.getItem(SWITCH) === 'on';
}

/** The browser is asked only here, when a person has pressed a button. @param {boolean} on */
export async function setNotifications(on) {
  if (on && Notification.permission === 'default') await Notification.requestPermission();
  localStorage.setItem(SWITCH, on && Notification.permission === 'granted' ? 'on' : 'off');
}

/** @typedef {{key: string, session: string, title: string, body: string, isRequest: boolean}} Notice */

/** What is to be told when the board changes from one set of rows to another. Pure. */
export class NoticeFinder {
  constructor() {
    /** Requests that were told or were there at the start. @type {Set<string>} */
    this.known = new Set();
    /** State of each session. @type {Map<string, {state: string, started: string | null}>} */
    this.states = new Map();
    /** When each session was last told of. @type {Map<string, number>} */
    this.told = new Map();
    this.isFirst = true;
  }

  /** @param {any[]} rows @param {number} now @returns {Notice[]} */
  take(rows, now) {
    /** @type {Notice[]} */
    const notices = [];
    for (const row of rows) {
      notices.push(...this.requests(row));
      const ended = this.ended(row, now);
      if (ended) notices.push(ended);
      this.states.set(row.session, {state: row.state, started: row.started});
    }
    const isFirst = this.isFirst;
    this.isFirst = false;
    return isFirst ? [] : notices;
  }

  /** @param {any} row @returns {Notice[]} */
  requests(row) {
    const fresh = row.why.filter((/** @type {any} */ why) => (why.kind === 'permission' || why.kind === 'question') && !this.known.has(why.id));
    for (const why of fresh) this.known.add(why.id);
    return fresh.map((/** @type {any} */ why) => ({
      key: why.id, session: row.session, isRequest: true, body: why.title ?? '',
      title: `${row.agent.name} asks${row.title ? ` in “${row.title}”` : ''}`,
    }));
  }

  /** @param {any} row @param {number} now @returns {Notice | null} */
  ended(row, now) {
    const before = this.states.get(row.session)?.state ?? '';
    const wasAtWork = ['working', 'waiting', 'needs_you'].includes(before);
    if (!wasAtWork || !['done', 'idle', 'failed'].includes(row.state)) return null;
    const took = Date.parse(row.ended ?? '') - Date.parse(row.started ?? '');
    const last = this.told.get(row.session);
    if (!(took >= LONG_MS) || (last !== undefined && now - last < COOLDOWN_MS)) return null;
    this.told.set(row.session, now);
    const word = row.state === 'failed' ? 'failed' : 'is done';
    return {key: `${row.session} ended`, session: row.session, isRequest: false, title: `${row.agent.name} ${word}${row.title ? `: ${row.title}` : ''}`, body: row.headline ?? ''};
  }
}

/** @param {import('./board_store.js').BoardStore} board */
export function watchNotifications(board) {
  const finder = new NoticeFinder();
  let isTeller = !navigator.locks;
  // One tab tells; when it closes, another gets the lock.
  navigator.locks?.request('rooftree-notifications', () => { isTeller = true; return new Promise(() => {}); });
  board.addEventListener('change', () => {
    if (!board.isLoaded) return;
    const notices = finder.take([...board.rows.values()], Date.now());
    if (!isTeller || !mayNotify()) return;
    whenNobodyLooks(() => notices.forEach(tell));
  });
}

/** Calls back unless a tab of this page has the focus. @param {() => void} then */
function whenNobodyLooks(then) {
  if (document.hasFocus()) return;
  const channel = new BroadcastChannel('rooftree-focus');
  let isSeen = false;
  channel.onmessage = event => { if (event.data === 'seen') isSeen = true; };
  channel.postMessage('who looks?');
  setTimeout(() => { channel.close(); if (!isSeen && !document.hasFocus()) then(); }, 150);
}

if (typeof BroadcastChannel === 'function' && typeof document === 'object') {
  const channel = new BroadcastChannel('rooftree-focus');
  channel.addEventListener('message', event => { if (event.data === 'who looks?' && document.hasFocus()) channel.postMessage('seen'); });
}

/** @param {Notice} notice */
function tell(notice) {
  const shown = new Notification(notice.title, {body: notice.body, tag: notice.key, icon: '/ui/icon.svg'});
  shown.onclick = () => { window.focus(); go(`/s/${notice.session}`); shown.close(); };
}
