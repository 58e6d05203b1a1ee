// The hub: one stream from the server for all tabs of a browser. It reconnects by itself and continues at its cursors.
// It runs in a shared worker, or in the page where there are none, and talks to tabs through message ports.
// @ts-check

import {Cursors} from './cursors.js';
import {readFrames} from './sse.js';

/** Waits before the next attempt, in milliseconds. */
const BACK_OFF = [500, 1000, 2000, 4000, 8000, 16000];
/** A connection that lived this long starts the waits anew. */
const STABLE_MS = 30_000;
/** After so many missed beats the connection counts as dead. */
const MISSED_BEATS = 3;
/** A tab that becomes visible asks for a new connection if nothing came for so long. */
const STALE_MS = 20_000;

/** @typedef {{port: MessagePort, watched: Set<string>, board: boolean}} Tab */

export class Hub {
  constructor() {
    /** @type {Set<Tab>} */
    this.tabs = new Set();
    this.cursors = new Cursors();
    /** The board as far as it is known, for tabs that join later. @type {Map<string, any> | null} */
    this.board = null;
    /** @type {any} */
    this.state = {is: 'idle'};
    this.stream = '';
    this.attempt = 0;
    this.lastFrame = 0;
    /** Whether this connection brought a durable event. */
    this.received = false;
    this.beatMs = 15_000;
    /** @type {AbortController | null} */
    this.abort = null;
    /** @type {any} */
    this.retryTimer = 0;
    this.csrf = '';
    setInterval(() => this.checkBeats(), 5_000);
  }

  /** A tab joins. @param {MessagePort} port */
  attach(port) {
    /** @type {Tab} */
    const tab = {port, watched: new Set(), board: false};
    this.tabs.add(tab);
    port.onmessage = event => this.take(tab, event.data);
    port.start?.();
    port.postMessage({is: 'connection', state: this.state});
  }

  /** @param {Tab} tab @param {any} message */
  take(tab, message) {
    switch (message.do) {
      case 'hello':
        this.csrf = message.csrf;
        if (message.lock) this.leaveWithLock(tab, message.lock);
        // What the tab wants to watch comes with its next messages, before the connection is made.
        if (this.state.is === 'blocked' || this.state.is === 'idle') setTimeout(() => this.reconnectNow());
        break;
      case 'board':
        tab.board = true;
        this.watchBoard(tab);
        break;
      case 'watch':
        tab.watched.add(message.session);
        this.watch(message.session);
        break;
      case 'unwatch':
        tab.watched.delete(message.session);
        this.unwatch(message.session);
        break;
      case 'wake':
        if (Date.now() - this.lastFrame > STALE_MS || this.state.is !== 'live') this.reconnectNow();
        break;
      case 'leave':
        this.leave(tab);
        break;
    }
  }

  /** A tab that is gone frees its lock, however it ended. @param {Tab} tab @param {string} name */
  leaveWithLock(tab, name) {
    globalThis.navigator?.locks?.request(name, () => this.leave(tab));
  }

  /** @param {Tab} tab */
  leave(tab) {
    if (!this.tabs.delete(tab)) return;
    for (const session of tab.watched) this.unwatch(session);
    if (this.tabs.size === 0) this.disconnect();
  }

  /** @param {Tab} tab */
  watchBoard(tab) {
    if (this.cursors.board === null) {
      this.cursors.board = '';
      // Topics are chosen when a stream is opened.
      if (this.stream) this.reconnectNow();
    } else if (this.board) {
      const data = {rev: this.cursors.board, rows: [...this.board.values()]};
      tab.port.postMessage({is: 'frame', root: null, frame: {name: 'board.snapshot', id: '', data}});
    }
  }

  /** A tab watches a session. It always gets a snapshot, also if another tab watches the session already. @param {string} session */
  watch(session) {
    const isKnown = this.cursors.roots.has(session);
    this.cursors.add(session);
    if (this.stream) this.change({add: {[session]: this.cursors.start(session)}, remove: isKnown ? [session] : []});
  }

  /** @param {string} session */
  unwatch(session) {
    for (const tab of this.tabs) if (tab.watched.has(session)) return;
    if (!this.cursors.roots.has(session)) return;
    this.cursors.remove(session);
    if (this.stream) this.change({add: {}, remove: [session]});
  }

  /** @param {any} change */
  async change(change) {
    const stream = this.stream;
    const response = await this.fetch(`/api/v1/stream/${encodeURIComponent(stream)}`, 'PATCH', change).catch(() => null);
    // The stream may be gone; a new one is opened with all that is watched.
    if (!response?.ok && this.stream === stream) this.reconnectNow();
  }

  /** @param {string} path @param {string} method @param {any} body @param {AbortSignal} [signal] */
  fetch(path, method, body, signal) {
    /** @type {Record<string, string>} */
    const headers = {'Content-Type': 'application/json', Accept: 'text/event-stream, application/json'};
    if (this.csrf) headers['X-Rooftree-CSRF'] = this.csrf;
    return fetch(path, {method, headers, body: JSON.stringify(body), credentials: 'same-origin', cache: 'no-store', signal});
  }

  reconnectNow() {
    this.attempt = 0;
    this.connect();
  }

  disconnect() {
    clearTimeout(this.retryTimer);
    this.abort?.abort();
    this.abort = null;
    this.stream = '';
    this.setState({is: 'idle'});
  }

  async connect() {
    clearTimeout(this.retryTimer);
    this.abort?.abort();
    this.stream = '';
    if (this.tabs.size === 0) return;
    const abort = new AbortController();
    this.abort = abort;
    this.setState(this.state.is === 'idle' ? {is: 'connecting'} : {is: 'reconnecting', attempt: this.attempt});
    const began = Date.now();
    this.received = false;
    let reason = 'the connection ended';
    let wait = 0;
    try {
      this.lastFrame = Date.now();
      const request = this.cursors.request();
      const response = await this.fetch('/api/v1/stream', 'POST', request, abort.signal);
      if (response.status === 401 || response.status === 403) {
        this.setState({is: 'blocked', status: response.status});
        return;
      }
      if (!response.ok || !response.body) throw new Error(`the server answered ${response.status}`);
      for await (const frame of readFrames(response.body)) {
        if (abort.signal.aborted) return;
        this.lastFrame = Date.now();
        if (frame.name === 'bye') {
          if (frame.data.reason === 'token') return this.setState({is: 'blocked', status: 401});
          wait = frame.data.retry_ms;
          break;
        }
        if (frame.name === 'hello' && this.catchUp(frame.data.stream, request)) return;
        if (!this.takeFrame(frame)) { reason = 'frames were lost'; wait = 1; break; }
      }
    } catch (error) {
      if (abort.signal.aborted) return;
      reason = String(/** @type {any} */ (error)?.message ?? error);
    }
    if (abort.signal.aborted || this.abort !== abort) return;
    this.stream = '';
    // A connection that lived long or brought something is no failed attempt.
    if (Date.now() - began > STABLE_MS || this.received) this.attempt = 0;
    const delay = wait || BACK_OFF[Math.min(this.attempt, BACK_OFF.length - 1)] * (0.75 + Math.random() / 2);
    this.attempt += 1;
    const offline = globalThis.navigator?.onLine === false;
    this.setState({is: offline ? 'offline' : 'reconnecting', attempt: this.attempt, reason});
    if (!offline) this.retryTimer = setTimeout(() => this.connect(), delay);
  }

  /**
   * Adds and removes what tabs have asked for since the request was made; true if that needs another connection.
   * @param {string} stream @param {any} request
   */
  catchUp(stream, request) {
    if ((this.cursors.board !== null) !== (request.board !== undefined)) {
      this.reconnectNow();
      return true;
    }
    const missing = [...this.cursors.roots].filter(root => !(root in request.sessions));
    const surplus = Object.keys(request.sessions).filter(root => !this.cursors.roots.has(root));
    if (missing.length || surplus.length) {
      this.stream = stream;
      this.change({add: Object.fromEntries(missing.map(root => [root, this.cursors.start(root)])), remove: surplus});
    }
    return false;
  }

  /** Hands a frame to the tabs; false if frames before it were lost. @param {import('./sse.js').Frame} frame */
  takeFrame(frame) {
    const verdict = this.cursors.take(frame);
    if (verdict === 'missed') return false;
    if (verdict === 'repeated') return true;
    const {name, data} = frame;
    if (name === 'hello') {
      this.stream = data.stream;
      this.beatMs = data.beat * 1000;
      this.setState({is: 'live', server: data.server});
      return true;
    }
    if (name === 'beat') return true;
    if (typeof data.id === 'number') this.received = true;
    if (name.startsWith('board.')) this.takeBoard(name, data);
    const root = name.startsWith('board.') ? null : data.root ?? this.cursors.rootOf(data.session);
    if (name === 'session.removed' && data.reason !== 'removed') this.cursors.remove(data.session);
    if (name === 'session.removed' && data.reason === 'removed') return true;
    for (const tab of this.tabs) {
      if (root === null ? tab.board : tab.watched.has(root)) tab.port.postMessage({is: 'frame', root, frame});
    }
    return true;
  }

  /** @param {string} name @param {any} data */
  takeBoard(name, data) {
    if (name === 'board.snapshot') this.board = new Map(data.rows.map((/** @type {any} */ row) => [row.session, row]));
    else if (name === 'board.row') this.board?.set(data.session, data);
    else if (name === 'board.gone') this.board?.delete(data.session);
  }

  checkBeats() {
    if (this.state.is === 'live' && Date.now() - this.lastFrame > MISSED_BEATS * this.beatMs) this.reconnectNow();
    if (this.state.is === 'offline' && globalThis.navigator?.onLine) this.reconnectNow();
  }

  /** @param {any} state */
  setState(state) {
    this.state = state;
    for (const tab of this.tabs) tab.port.postMessage({is: 'connection', state});
  }
}
