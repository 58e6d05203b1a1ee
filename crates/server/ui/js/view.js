// Base of all custom elements of the page: draws at most once per frame, and undoes its listeners when it is removed.
// @ts-check

import {scheduler} from './dom.js';

export class View extends HTMLElement {
  constructor() {
    super();
    /** Parameters of the address. @type {Record<string, string>} */
    this.params = {};
    /** @type {(() => void)[]} */
    this.undo = [];
    /** Asks for `draw` in the next frame. */
    this.changed = scheduler(() => { if (this.isConnected) this.draw(); });
  }

  connectedCallback() {
    this.open();
    this.changed();
  }

  disconnectedCallback() {
    for (const undo of this.undo.splice(0)) undo();
    this.close();
  }

  /** Listens until the element is removed. @param {EventTarget} target @param {string} type @param {(event: any) => void} listener */
  listen(target, type, listener) {
    target.addEventListener(type, listener);
    this.undo.push(() => target.removeEventListener(type, listener));
  }

  /** Repeats until the element is removed. @param {() => void} action @param {number} ms */
  every(action, ms) {
    const timer = setInterval(action, ms);
    this.undo.push(() => clearInterval(timer));
  }

  open() {}
  close() {}
  draw() {}
}
