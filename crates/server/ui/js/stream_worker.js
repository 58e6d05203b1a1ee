// Shared worker: the hub of all tabs of this browser.
// @ts-check

import {Hub} from './hub.js';

const hub = new Hub();
/** @type {any} */ (globalThis).onconnect = (/** @type {MessageEvent} */ event) => hub.attach(event.ports[0]);
