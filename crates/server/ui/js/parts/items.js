// Items of a transcript as elements: messages, replies, calls, notices, ends. Ended calls in a row are folded.
// @ts-check

import {url} from '../api.js';
import {fill, h, setServerHtml, setText} from '../dom.js';
import {bytes, clock, count, duration, money, shortModel, tokens} from '../format.js';
import {callElement, updateCall} from './call_item.js';

/** The most characters of a message that are shown at once. */
const MOST_TEXT = 32_000;
/** Words for folded calls: family, one, many. */
const FAMILIES = /** @type {Record<string, [string, string, string]>} */ ({
  read: ['Read', 'file', 'files'], search: ['Searched', 'time', 'times'], edit: ['Edited', 'file', 'files'],
  execute: ['Ran', 'command', 'commands'], fetch: ['Fetched', 'page', 'pages'], delegate: ['Asked', 'agent', 'agents'],
});

/** Calls in a row that have ended become one group. @param {any[]} items */
export function groupItems(items) {
  /** @type {any[]} */
  const groups = [];
  for (const item of items) {
    const last = groups.at(-1);
    const folds = item.kind === 'call' && item.state === 'ended' && item.outcome?.is === 'done' && !item.task && !item.inside;
    if (item.kind === 'call' && item.inside) continue;
    if (folds && last?.kind === 'calls' && last.run === item.run) { last.calls.push(item); continue; }
    if (folds) groups.push({key: `calls-${item.key}`, kind: 'calls', run: item.run, calls: [item], at: item.at});
    else groups.push(item);
  }
  return groups.map(group => (group.kind === 'calls' && group.calls.length === 1 ? group.calls[0] : group));
}

/** @param {any} item @param {any} view */
export function itemElement(item, view) {
  const make = MAKERS[item.kind] ?? MAKERS.mark;
  const element = make(item, view);
  element.item = item;
  return element;
}

/** @param {any} element @param {any} item @param {any} view */
export function updateItem(element, item, view) {
  if (item.kind === 'reply' && item.html && !element.hasHtml) showReply(element, item);
  else if (item.kind === 'call') updateCall(element, item, view);
  else if (item.kind === 'calls' && element.shown !== item.calls.length) showFolded(element, item, view);
}

/** @type {Record<string, (item: any, view: any) => any>} */
const MAKERS = {
  user: (item, view) => {
    const text = item.parts.filter((/** @type {any} */ part) => part.type === 'text').map((/** @type {any} */ part) => part.text).join('\n');
    const isPerson = item.origin.kind === 'user';
    return h('article', {class: `item message ${isPerson ? 'own' : 'from-agent'}`},
      h('header', {class: 'item-head'}, sender(item), ' · ', h('time', {datetime: item.at}, clock(item.at)),
        view && isPerson ? h('button', {type: 'button', class: 'ghost small fork', title: 'Go on from before this message in a new session', onclick: () => view.header.fork(item.event)}, 'Fork') : null),
      item.context ? h('p', {class: 'context-line'}, h('code', null, item.context)) : null,
      longText(text), attachments(item.parts));
  },
  reply: item => {
    const element = h('article', {class: 'item reply'},
      item.thinking ? h('details', {class: 'thinking', ontoggle: (/** @type {any} */ event) => { const place = event.target.lastElementChild; if (event.target.open) setText(place, item.thinking); else setText(place, ''); }},
        h('summary', null, 'Thought'), h('div', {class: 'thinking-text'})) : null,
      h('div', {class: 'prose'}),
      item.stop === 'max_output' ? h('p', {class: 'cut'}, 'The reply was cut at the output limit.') : null);
    showReply(element, item);
    return element;
  },
  call: (item, view) => callElement(item, view),
  calls: (item, view) => {
    const element = h('details', {class: 'item calls'}, h('summary'), h('div', {class: 'calls-body'}));
    element.addEventListener('toggle', () => showFolded(element, element.item ?? item, view));
    element.item = item;
    showFolded(element, item, view);
    return element;
  },
  answer: item => h('p', {class: 'item answer'}, '↳ ', item.words),
  mark: item => h('p', {class: 'item mark'}, h('span', null, item.words ?? item.kind), item.detail ? h('details', null, h('summary', null, 'Summary'), h('pre', null, item.detail)) : null),
  notice: item => h('p', {class: `item notice ${item.level}`}, item.words, item.hint ? h('span', {class: 'hint'}, ` ${item.hint}`) : null),
  verdict: item => h('div', {class: `item verdict ${item.passed ? 'passed' : 'failed'}`},
    h('strong', null, item.passed ? 'Checked: good' : item.again ? 'Checked: given back' : 'Checked: not good'),
    h('ul', null, item.reports.map((/** @type {any} */ report) => h('li', null, `${report.passed ? '✓' : '✗'} ${report.name}: ${report.said}`)))),
  end: item => h('p', {class: `item end ${item.status}`}, endWords(item),
    item.error ? h('span', {class: 'error'}, ` ${item.error.message}${item.error.fix ? ` ${item.error.fix}` : ''}`) : null,
    ' ', item.run ? h('a', {href: `/trace/${item.run}`}, 'Trace') : null),
};

/** A reply as HTML of the server; as plain text until that has come. @param {any} element @param {any} item */
function showReply(element, item) {
  const body = element.querySelector('.prose');
  element.hasHtml = Boolean(item.html);
  if (item.html) setServerHtml(body, item.html);
  else fill(body, longText(item.text));
}

/** @param {any} item */
function endWords(item) {
  const words = item.status === 'completed' ? (item.verified === false ? 'Done, not verified' : 'Done') : item.status;
  const all = (item.usage?.input ?? 0) + (item.usage?.output ?? 0) + (item.delegated?.input ?? 0) + (item.delegated?.output ?? 0);
  const cost = (item.usage?.cost_usd ?? 0) + (item.delegated?.cost_usd ?? 0);
  return [words, duration(item.duration), all ? `${tokens(all)} tokens` : '', cost ? money(cost, item.usage?.cost_complete) : ''].filter(Boolean).join(' · ');
}

/** @param {any} item */
function sender(item) {
  const {origin, who} = item;
  switch (origin.kind) {
    case 'user': return who?.on_behalf_of ?? (who?.person && who.person !== 'owner' ? who.person : 'You');
    case 'agent': return `From ${origin.agent}`;
    case 'task': return `${origin.agent} is done (${origin.status})`;
    case 'schedule': return `Schedule ${origin.schedule}`;
    case 'connector': return `${origin.user} via ${origin.connector}`;
    default: return 'Rooftree';
  }
}

/** Text as it is, cut where it is very long. @param {string} text */
export function longText(text) {
  const place = h('div', {class: 'plain'}, text.slice(0, MOST_TEXT));
  if (text.length <= MOST_TEXT) return place;
  return h('div', null, place, h('button', {type: 'button', class: 'ghost', onclick: (/** @type {any} */ event) => { setText(place, text); event.target.remove(); }}, `Show all (${bytes(text.length)})`));
}

/** @param {any[]} parts */
function attachments(parts) {
  const files = parts.filter(part => part.type !== 'text');
  if (files.length === 0) return null;
  return h('div', {class: 'attachments'}, files.map(part => part.type === 'image'
    ? h('a', {href: url(`/blobs/${part.blob}`), target: '_blank', rel: 'noopener'}, h('img', {src: url(`/blobs/${part.blob}`), alt: 'Attached picture', loading: 'lazy'}))
    : h('a', {href: url(`/blobs/${part.blob}`), download: part.name}, `${part.name} (${bytes(part.bytes)})`)));
}

/** The folded calls: a summary, and the calls only while it is open. @param {any} element @param {any} item @param {any} view */
function showFolded(element, item, view) {
  element.item = item;
  element.shown = item.calls.length;
  setText(element.firstElementChild, foldedWords(item.calls));
  fill(element.lastElementChild, element.open ? item.calls.map((/** @type {any} */ call) => callElement(call, view)) : []);
}

/** "Read 7 files, ran 2 commands". @param {any[]} calls */
export function foldedWords(calls) {
  /** @type {Map<string, number>} */
  const counts = new Map();
  for (const call of calls) {
    const family = FAMILIES[call.toolKind] ? call.toolKind : call.tool;
    counts.set(family, (counts.get(family) ?? 0) + 1);
  }
  const words = [...counts].map(([family, number]) => {
    const known = FAMILIES[family];
    return known ? `${known[0]} ${count(number, known[1], known[2])}` : `${family} ×${number}`;
  });
  return words.map((text, at) => (at === 0 ? text : text[0].toLowerCase() + text.slice(1))).join(', ');
}

/** @param {string} model */
export const modelLabel = model => shortModel(model);
