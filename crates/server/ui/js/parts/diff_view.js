// A unified diff as a table with line numbers; changed words of neighbouring lines are marked.
// @ts-check

import {h} from '../dom.js';
import {diffWords} from '../diff.js';
import {parseUnified} from '../unified_diff.js';

/** The most lines that are drawn at once. */
const MOST_LINES = 600;

/** @param {string} text @returns {any} */
export function diffView(text) {
  const files = parseUnified(text);
  const box = h('div', {class: 'diff'});
  for (const file of files) {
    const body = h('tbody');
    const lines = file.lines.slice(0, MOST_LINES);
    const marks = wordMarks(lines);
    lines.forEach((line, at) => body.append(diffLine(line, marks.get(at))));
    box.append(h('figure', null,
      h('figcaption', null, file.path || 'change', ' ', h('span', {class: 'added'}, `+${file.added}`), ' ', h('span', {class: 'removed'}, `−${file.removed}`)),
      h('div', {class: 'diff-scroll', tabindex: '0', role: 'group', 'aria-label': `Change of ${file.path || 'a file'}`}, h('table', null, body)),
      file.lines.length > MOST_LINES ? h('p', {class: 'cut'}, `${file.lines.length - MOST_LINES} more lines`) : null));
  }
  return box;
}

/** Changed words by place in the list: lines that were replaced by as many others are compared in pairs. @param {import('../unified_diff.js').UnifiedLine[]} lines */
function wordMarks(lines) {
  /** @type {Map<number, {text: string, changed: boolean}[]>} */
  const marks = new Map();
  for (let at = 0; at < lines.length;) {
    const removed = runLength(lines, at, 'removed');
    const added = runLength(lines, at + removed, 'added');
    for (let pair = 0; removed === added && pair < removed; pair += 1) {
      const words = diffWords(lines[at + pair].text, lines[at + removed + pair].text);
      marks.set(at + pair, words.before);
      marks.set(at + removed + pair, words.after);
    }
    at += Math.max(1, removed + added);
  }
  return marks;
}

/** @param {import('../unified_diff.js').UnifiedLine[]} lines @param {number} from @param {string} kind */
function runLength(lines, from, kind) {
  let length = 0;
  while (lines[from + length]?.kind === kind) length += 1;
  return length;
}

/** @param {import('../unified_diff.js').UnifiedLine} line @param {{text: string, changed: boolean}[] | undefined} words */
function diffLine(line, words) {
  const content = words ? words.map(({text, changed}) => (changed ? h('mark', null, text) : text)) : line.text;
  const sign = {added: '+', removed: '−', same: ' ', gap: '⋯'}[line.kind];
  return h('tr', {class: line.kind},
    h('td', {class: 'line-number', 'aria-hidden': 'true'}, line.kind === 'added' ? line.after : line.before),
    h('td', {class: 'sign', 'aria-label': line.kind}, sign), h('td', {class: 'code'}, content));
}
