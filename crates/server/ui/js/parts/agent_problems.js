// What is wrong with the text of a definition, line by line.
// @ts-check

import {h} from '../dom.js';

/** @param {any[]} diagnostics @param {(line: number) => void} goTo @returns {any} */
export function diagnosticList(diagnostics, goTo) {
  if (diagnostics.length === 0) return h('p', {class: 'all-well'}, '✓ Nothing is wrong with it.');
  return h('ul', {class: 'diagnostics'}, diagnostics.map(({warning, code, message, line, help}) =>
    h('li', {class: warning ? 'is-warning' : 'is-error'},
      h('span', {class: 'severity'}, warning ? 'Warning' : 'Error'), ' ',
      line ? h('button', {type: 'button', class: 'small', onclick: () => goTo(line)}, `Line ${line}`) : null,
      h('span', {class: 'diagnostic-text'}, message, help ? h('small', null, help) : null), h('code', null, code))));
}

/** Puts the cursor on a line of a text field and selects it. @param {HTMLTextAreaElement} field @param {number} line */
export function focusLine(field, line) {
  const lines = field.value.split('\n');
  const from = lines.slice(0, line - 1).reduce((sum, text) => sum + text.length + 1, 0);
  field.focus();
  field.setSelectionRange(from, from + (lines[line - 1]?.length ?? 0));
  field.scrollTop = Math.max(0, ((line - 3) / lines.length) * field.scrollHeight);
}
