// Shows a secret once, with a button that copies it.
// @ts-check

import {h} from '../dom.js';

/** @param {string} title @param {string} secret @param {string} words @returns {Promise<void>} */
export function showSecret(title, secret, words) {
  return new Promise(resolve => {
    const field = h('input', {type: 'text', readonly: true, value: secret, 'aria-label': title, onfocus: () => field.select()});
    const copy = h('button', {type: 'button', class: 'primary', onclick: async () => {
      try {
        await navigator.clipboard.writeText(secret);
        copy.textContent = 'Copied';
      } catch {
        field.focus();
      }
    }}, 'Copy');
    const box = h('dialog', {'aria-labelledby': 'secret-title', onclose: () => { box.remove(); resolve(); }},
      h('h2', {id: 'secret-title'}, title), h('p', null, words), h('div', {class: 'secret'}, field, copy),
      h('div', {class: 'buttons'}, h('button', {type: 'button', onclick: () => box.close()}, 'I have kept it')));
    document.body.append(box);
    box.showModal();
  });
}
