// What a screen shows while it loads, and when that failed.
// @ts-check

import {h} from '../dom.js';

/** @param {string} [words] */
export function loading(words = 'Loading…') {
  return h('p', {class: 'empty', role: 'status'}, words);
}

/** What went wrong, what to do, and a button that tries again. @param {any} error @param {() => any} again */
export function failure(error, again) {
  return h('div', {class: 'empty', role: 'alert'}, h('p', {class: 'error'}, error?.message ?? String(error)), error?.hint ? h('p', null, error.hint) : null,
    h('button', {type: 'button', onclick: again}, 'Try again'));
}
