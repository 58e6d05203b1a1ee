// The hub: one stream from the server for all tabs of a browser. It reconnects by itself and continues at its cursors.
// It runs in a shared worker, or in the page where there are none, and talks to tabs through message ports.
// @ts-check

import {Cursors, isTopic, topicOf} from './cursors.js';
import {readFrames} from './sse.js';

/** Waits before the next attempt, in milliseconds. */
const BACK_OFF = [500, 1000, 2000, 4000, 8000, 16000];
/** A connection that lived this long starts the waits anew. */
const STABLE_MS = 30_000;
/** After so many missed beats the connection counts as dead. */
const MISSED_BEATS = 3;
/** A tab that becomes visible asks for a new connection if nothing came for so long. */
const STALE_MS = 20_000;

/** Watched are sessions and topics. @typedef {{port: MessagePort, watched: Set<string>}} Tab */

export class Hub {
  constructor() {
    /** @type {Set<Tab>} */
    this.tabs = new Set();
    this.cursors = new Cursors();
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
    const tab = {port, watched: new Set()};
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
      case 'watch':
        tab.watched.add(message.key);
        this.watch(message.key);
        break;
      case 'unwatch':
        tab.watched.delete(message.key);
        this.unwatch(message.key);
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
    for (const key of tab.watched) this.unwatch(key);
    if (this.tabs.size === 0) this.disconnect();
  }

  /** A tab watches a session or topic. It always gets a snapshot, also if another tab watches the same already. @param {string} key */
  watch(key) {
    if (isTopic(key)) {
      this.cursors.topics.set(key, '');
      if (this.stream) this.change({topics: {[key]: ''}});
      return;
    }
    const isKnown = this.cursors.roots.has(key);
    this.cursors.add(key);
    if (this.stream) this.change({add: {[key]: this.cursors.start(key)}, remove: isKnown ? [key] : []});
  }

  /** @param {string} key */
  unwatch(key) {
    for (const tab of this.tabs) if (tab.watched.has(key)) return;
    if (this.cursors.topics.delete(key)) {
      if (this.stream) this.change({topics: {[key]: null}});
    } else if (this.cursors.roots.has(key)) {
      this.cursors.remove(key);
      if (this.stream) this.change({remove: [key]});
    }
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
        if (frame.name === 'hello') this.catchUp(frame.data.stream, request);
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

  /** Adds and removes what tabs have asked for since the request was made. @param {string} stream @param {any} request */
  catchUp(stream, request) {
    const missing = [...this.cursors.roots].filter(root => !(root in request.sessions));
    const remove = Object.keys(request.sessions).filter(root => !this.cursors.roots.has(root));
    const topics = [...this.cursors.topics].filter(([topic, rev]) => request.topics[topic] !== rev);
    if (missing.length || remove.length || topics.length) {
      this.stream = stream;
      this.change({add: Object.fromEntries(missing.map(root => [root, this.cursors.start(root)])), remove, topics: Object.fromEntries(topics)});
    }
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
    const topic = topicOf(name);
    const key = this.cursors.topics.has(topic) ? topic : data.root ?? this.cursors.rootOf(data.session);
    if (name === 'session.removed' && data.reason !== 'removed') this.cursors.remove(data.session);
    if (name === 'session.removed' && data.reason === 'removed') return true;
    for (const tab of this.tabs) if (tab.watched.has(key)) tab.port.postMessage({is: 'frame', key, frame});
    return true;
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
