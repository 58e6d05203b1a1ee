// One tool call: what it does, how it ended, and its input, output or change when it is opened.
// @ts-check

import {url} from '../api.js';
import {fill, h, setText} from '../dom.js';
import {duration} from '../format.js';
import {go} from '../router.js';
import {diffView} from './diff_view.js';

/** The most characters of input and output that are shown. */
const MOST_TEXT = 20_000;

/** @param {any} item @param {any} view */
export function callElement(item, view) {
  const state = h('span', {class: 'call-state'});
  const title = h('span', {class: 'call-title'});
  const tool = h('span', {class: 'call-tool'});
  const time = h('span', {class: 'call-time'});
  const child = h('span', {class: 'call-child'});
  const body = h('div', {class: 'call-body'});
  const live = h('pre', {class: 'call-live', hidden: true});
  const details = h('details', {class: 'item call', ontoggle: () => { if (details.open) fill(body, callBody(item)); else fill(body); }},
    h('summary', null, state, tool, title, time), body);
  // A button inside of a summary cannot be reached by screen readers: it lies over its end.
  const element = h('div', {class: 'call-box'}, details, child, live);
  element.refresh = (/** @type {any} */ next) => {
    const ended = next.state === 'ended' && element.stateShown !== 'ended';
    item = next;
    element.stateShown = item.state;
    const how = item.state === 'ended' ? item.outcome?.is ?? 'done' : item.state;
    details.dataset.state = how;
    setText(state, {done: '✓', failed: '✗', denied: '⊘', cancelled: '■', unknown: '?', running: '◌', asked: '◌', dropped: '■'}[/** @type {string} */ (how)] ?? '·');
    state.setAttribute('aria-label', how);
    setText(tool, item.tool);
    setText(title, item.title ?? shortInput(item.input));
    const change = item.files?.reduce((/** @type {any} */ sum, /** @type {any} */ file) => [sum[0] + (file.added ?? 0), sum[1] + (file.removed ?? 0)], [0, 0]) ?? [0, 0];
    setText(time, [change[0] || change[1] ? `+${change[0]} −${change[1]}` : '', item.state === 'ended' ? duration(item.duration) : item.elapsed ? duration(item.elapsed) : ''].filter(Boolean).join('  '));
    const below = childOf(item, view);
    fill(child, below ? h('button', {type: 'button', class: 'ghost small', 'aria-label': `Open the session of: ${item.title ?? item.tool}`, onclick: () => go(`/s/${view.params.session}?child=${below}`)}, 'Open') : null);
    live.hidden = !item.output || item.state === 'ended';
    if (!live.hidden) setText(live, item.output.split('\n').slice(-6).join('\n'));
    if (ended && details.open) fill(body, callBody(item));
  };
  element.refresh(item);
  return element;
}

/** @param {any} element @param {any} item @param {any} _view */
export function updateCall(element, item, _view) {
  element.refresh?.(item);
}

/** The session that a call delegated to. @param {any} item @param {any} view */
function childOf(item, view) {
  if (item.task) return item.task.session;
  if (item.toolKind !== 'delegate' || !view) return null;
  return view.model.tree.runs.findLast((/** @type {any} */ run) => run.parent?.call === item.key)?.session ?? null;
}

/** @param {any} input */
function shortInput(input) {
  if (!input || typeof input !== 'object') return String(input ?? '');
  const value = Object.values(input).find(one => typeof one === 'string');
  return (typeof value === 'string' ? value : '').slice(0, 120);
}

/** @param {any} item */
export function callBody(item) {
  const parts = [];
  if (item.input && Object.keys(item.input).length && !item.diff) parts.push(h('div', {class: 'call-part'}, h('p', {class: 'part-name'}, 'Input'), h('pre', {tabindex: '0'}, inputText(item.input))));
  if (item.diff) parts.push(diffView(item.diff));
  const text = (item.content ?? []).filter((/** @type {any} */ part) => part.type === 'text').map((/** @type {any} */ part) => part.text).join('\n');
  if (text) {
    parts.push(h('div', {class: 'call-part'}, h('p', {class: 'part-name'}, 'Result'), h('pre', {tabindex: '0'}, text.slice(0, MOST_TEXT)),
      text.length > MOST_TEXT ? h('p', {class: 'cut'}, `${text.length - MOST_TEXT} more characters`) : null,
      item.full ? h('a', {href: url(`/blobs/${item.full}`), download: `${item.key}.txt`}, 'Whole output') : null));
  }
  for (const part of item.content ?? []) {
    if (part.type === 'image') parts.push(h('img', {src: url(`/blobs/${part.blob}`), alt: `Picture from ${item.tool}`, loading: 'lazy'}));
  }
  if (item.permitted) parts.push(h('p', {class: 'permitted'}, `Allowed because: ${item.permitted}`));
  return parts;
}

/** @param {any} input */
function inputText(input) {
  const lines = Object.entries(input).map(([name, value]) => `${name}: ${typeof value === 'string' ? value : JSON.stringify(value, null, 2)}`);
  const text = lines.join('\n');
  return text.length > MOST_TEXT ? `${text.slice(0, MOST_TEXT)}…` : text;
}
