// Short notices at the edge of the page, some with a button.
// @ts-check

import {h} from './dom.js';
import {icon} from './icons.js';

/**
 * @param {string} text
 * @param {{action?: string, act?: () => void, kind?: string, ms?: number}} [options]
 */
export function toast(text, {action, act, kind = 'info', ms = 6000} = {}) {
  const close = () => note.remove();
  const note = h('div', {class: `toast ${kind}`},
    h('span', null, text),
    action ? h('button', {type: 'button', onclick: () => { close(); act?.(); }}, action) : null,
    h('button', {type: 'button', class: 'ghost', 'aria-label': 'Close', onclick: close}, icon('close')));
  document.getElementById('toasts')?.append(note);
  setTimeout(close, ms);
}

/** Tells a failed request: what went wrong and what to do. @param {any} error */
export function tellError(error) {
  if (error?.name === 'AbortError') return;
  const words = String(error?.message ?? error);
  const hint = error?.hint ? `${/[.!?]$/.test(words) ? '' : '.'} ${error.hint}` : '';
  toast(`${words}${hint}`, {kind: 'error', ms: 12_000});
}

/** Runs an action and tells if it failed; returns whether it succeeded. @param {() => Promise<any>} action */
export async function attempt(action) {
  try {
    await action();
    return true;
  } catch (error) {
    tellError(error);
    return false;
  }
}
