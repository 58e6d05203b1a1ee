// This tab's connection to the hub: watches sessions and the board, and tells the state of the connection.
// @ts-check

import {workerUrl} from './dom.js';

/** @typedef {import('./sse.js').Frame} Frame */
/** @typedef {(frame: Frame) => void} FrameListener */

export class Live extends EventTarget {
  constructor() {
    super();
    /** @type {any} */
    this.connection = {is: 'connecting'};
    /** @type {Map<string, Set<FrameListener>>} */
    this.listeners = new Map();
    /** @type {Set<FrameListener>} */
    this.boardListeners = new Set();
    /** @type {MessagePort | null} */
    this.port = null;
    this.lock = `rooftree-tab-${crypto.randomUUID()}`;
    this.csrf = '';
  }

  /** @param {string} csrf */
  async start(csrf) {
    this.csrf = csrf;
    // The hub waits for this lock to learn that the tab is gone.
    await new Promise(held => {
      if (!navigator.locks) return held(undefined);
      navigator.locks.request(this.lock, () => { held(undefined); return new Promise(() => {}); });
    });
    this.port = await openPort();
    this.port.onmessage = event => this.take(event.data);
    this.port.start();
    this.join();
    document.addEventListener('visibilitychange', () => { if (!document.hidden) this.send({do: 'wake'}); });
    window.addEventListener('online', () => this.send({do: 'wake'}));
    window.addEventListener('pagehide', () => this.send({do: 'leave'}));
    // A page that comes back from the browser's cache has missed everything.
    window.addEventListener('pageshow', event => { if (event.persisted) location.reload(); });
  }

  join() {
    this.send({do: 'hello', csrf: this.csrf, lock: navigator.locks ? this.lock : ''});
    if (this.boardListeners.size) this.send({do: 'board'});
    for (const session of this.listeners.keys()) this.send({do: 'watch', session});
  }

  /** @param {any} message */
  send(message) {
    this.port?.postMessage(message);
  }

  /** @param {any} message */
  take(message) {
    if (message.is === 'connection') {
      this.connection = message.state;
      this.dispatchEvent(new Event('connection'));
      return;
    }
    const listeners = message.root === null ? this.boardListeners : this.listeners.get(message.root);
    for (const listener of [...(listeners ?? [])]) listener(message.frame);
  }

  /** Watches a session and all below it; the first frame of it is a snapshot. @param {string} session @param {FrameListener} listener */
  watch(session, listener) {
    const listeners = this.listeners.get(session) ?? new Set();
    this.listeners.set(session, listeners);
    listeners.add(listener);
    this.send({do: 'watch', session});
    return () => {
      listeners.delete(listener);
      if (listeners.size === 0 && this.listeners.get(session) === listeners) {
        this.listeners.delete(session);
        this.send({do: 'unwatch', session});
      }
    };
  }

  /** @param {FrameListener} listener */
  watchBoard(listener) {
    this.boardListeners.add(listener);
    this.send({do: 'board'});
    return () => this.boardListeners.delete(listener);
  }
}

/** A port to the hub: in a shared worker, or in this page where the browser has none. */
async function openPort() {
  if (typeof SharedWorker === 'function') {
    return new SharedWorker(workerUrl(), {type: 'module', name: 'rooftree'}).port;
  }
  const {Hub} = await import('./hub.js');
  const channel = new MessageChannel();
  new Hub().attach(channel.port1);
  return channel.port2;
}
