// A unified diff as a table with line numbers; changed words of neighbouring lines are marked.
// @ts-check

import {h} from '../dom.js';
import {parseUnified, wordMarks} from '../diff.js';

/** The most lines that are drawn at once. */
const MOST_LINES = 600;

/** @param {string} text @returns {any} */
export function diffView(text) {
  const files = parseUnified(text);
  const box = h('div', {class: 'diff'});
  for (const file of files) {
    const body = h('tbody');
    const lines = file.lines.slice(0, MOST_LINES);
    lines.forEach((line, at) => body.append(diffLine(line, lines, at)));
    box.append(h('figure', null,
      h('figcaption', null, file.path || 'change', ' ', h('span', {class: 'added'}, `+${file.added}`), ' ', h('span', {class: 'removed'}, `−${file.removed}`)),
      h('div', {class: 'diff-scroll', tabindex: '0', role: 'group', 'aria-label': `Change of ${file.path || 'a file'}`}, h('table', null, body)),
      file.lines.length > MOST_LINES ? h('p', {class: 'cut'}, `${file.lines.length - MOST_LINES} more lines`) : null));
  }
  return box;
}

/** @param {import('../diff.js').DiffLine} line @param {import('../diff.js').DiffLine[]} lines @param {number} at */
function diffLine(line, lines, at) {
  const marks = line.kind === 'removed' && lines[at + 1]?.kind === 'added' && lines[at + 2]?.kind !== 'added' && lines[at - 1]?.kind !== 'removed'
    ? wordMarks(line.text, lines[at + 1].text).before
    : line.kind === 'added' && lines[at - 1]?.kind === 'removed' && lines[at - 2]?.kind !== 'removed' && lines[at + 1]?.kind !== 'added'
      ? wordMarks(lines[at - 1].text, line.text).after
      : null;
  const content = marks ? marks.map(({text, changed}) => (changed ? h('mark', null, text) : text)) : line.text;
  const sign = {added: '+', removed: '−', same: ' ', gap: '⋯'}[line.kind];
  return h('tr', {class: line.kind},
    h('td', {class: 'line-number', 'aria-hidden': 'true'}, line.kind === 'added' ? line.after : line.before),
    h('td', {class: 'sign', 'aria-label': line.kind}, sign), h('td', {class: 'code'}, content));
}
