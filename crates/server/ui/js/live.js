// This tab's connection to the hub: watches sessions and topics, and tells the state of the connection.
// @ts-check

import {workerUrl} from './dom.js';

/** @typedef {import('./sse.js').Frame} Frame */
/** @typedef {(frame: Frame) => void} FrameListener */

export class Live extends EventTarget {
  constructor() {
    super();
    /** @type {any} */
    this.connection = {is: 'connecting'};
    /** By session or topic. @type {Map<string, Set<FrameListener>>} */
    this.listeners = new Map();
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
    for (const key of this.listeners.keys()) this.send({do: 'watch', key});
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
    for (const listener of [...(this.listeners.get(message.key) ?? [])]) listener(message.frame);
  }

  /** Watches a session and all below it, or a topic; the first frame of it is a snapshot. @param {string} key @param {FrameListener} listener */
  watch(key, listener) {
    const listeners = this.listeners.get(key) ?? new Set();
    this.listeners.set(key, listeners);
    listeners.add(listener);
    this.send({do: 'watch', key});
    return () => {
      listeners.delete(listener);
      if (listeners.size === 0 && this.listeners.get(key) === listeners) {
        this.listeners.delete(key);
        this.send({do: 'unwatch', key});
      }
    };
  }
}

/** The rows of a topic after a frame of it. @param {any[] | null} rows @param {Frame} frame */
export function rowsAfter(rows, {name, data}) {
  if (name.endsWith('.snapshot')) return data.items;
  const known = rows ?? [];
  const id = data.row?.id ?? data.id;
  if (!data.row) return known.filter(one => one.id !== id);
  return known.some(one => one.id === id) ? known.map(one => (one.id === id ? data.row : one)) : [...known, data.row];
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
