// Modal dialogs: ask for a text, confirm, choose.
// @ts-check

import {h} from './dom.js';

/**
 * Shows a dialog; resolves with what its form returns, or null if it was closed.
 * @param {string} title
 * @param {any[]} content
 * @param {{submit?: string, danger?: boolean, read?: () => any, wide?: boolean}} [options]
 * @returns {Promise<any>}
 */
export function dialog(title, content, {submit = 'OK', danger = false, read = () => true, wide = false} = {}) {
  return new Promise(resolve => {
    /** @type {any} */
    let result = null;
    const form = h('form', {method: 'dialog', onsubmit: (/** @type {Event} */ event) => {
      event.preventDefault();
      result = read();
      box.close();
    }},
    h('h2', {id: 'dialog-title'}, title), content,
    h('div', {class: 'buttons'},
      h('button', {type: 'button', onclick: () => box.close()}, 'Cancel'),
      h('button', {type: 'submit', class: danger ? 'danger' : 'primary'}, submit)));
    const box = h('dialog', {class: wide ? 'wide' : '', 'aria-labelledby': 'dialog-title', onclose: () => { box.remove(); resolve(result); }}, form);
    document.body.append(box);
    box.showModal();
  });
}

/** Asks for a text; null if it was closed. @param {string} title @param {string} label @param {string} [value] @param {string} [submit] */
export function askText(title, label, value = '', submit = 'Save') {
  const input = h('input', {type: 'text', value, autofocus: true, maxlength: '200'});
  return dialog(title, [h('label', {class: 'field'}, label, input)], {submit, read: () => input.value.trim()});
}

/** @param {string} title @param {string} text @param {string} submit */
export function confirmAction(title, text, submit) {
  return dialog(title, [h('p', null, text)], {submit, danger: true});
}

/**
 * Lets the person choose one of some; null if it was closed.
 * @param {string} title
 * @param {{value: string, label: string, hint?: string}[]} choices
 */
export function choose(title, choices) {
  return new Promise(resolve => {
    /** @type {string | null} */
    let chosen = null;
    const list = choices.map(({value, label, hint}) =>
      h('button', {type: 'button', class: 'choice', onclick: () => { chosen = value; box.close(); }},
        h('span', null, label), hint ? h('small', null, hint) : null));
    const box = h('dialog', {'aria-labelledby': 'choose-title', onclose: () => { box.remove(); resolve(chosen); }},
      h('h2', {id: 'choose-title'}, title), h('div', {class: 'choices'}, list),
      h('div', {class: 'buttons'}, h('button', {type: 'button', onclick: () => box.close()}, 'Cancel')));
    document.body.append(box);
    box.showModal();
  });
}

/** Shows something to read. @param {string} title @param {...any} content */
export function note(title, ...content) {
  const box = h('dialog', {class: 'note', 'aria-labelledby': 'note-title', onclose: () => box.remove()},
    h('h2', {id: 'note-title'}, title), h('div', {class: 'note-body'}, content),
    h('div', {class: 'buttons'}, h('button', {type: 'button', class: 'primary', autofocus: true, onclick: () => box.close()}, 'Close')));
  // A link leads to another screen, which the dialog must not cover.
  box.addEventListener('click', (/** @type {Event} */ event) => { if (/** @type {Element} */ (event.target).closest('a')) box.close(); });
  document.body.append(box);
  box.showModal();
  // The focus is on the button at the end; reading begins at the top.
  box.scrollTop = 0;
}
