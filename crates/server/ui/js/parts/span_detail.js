// One span of a trace: times, cost, what went in and what came out, with a link to its session.
// @ts-check

import {get, pathOf} from '../api.js';
import {fill, h} from '../dom.js';
import {icon} from '../icons.js';
import {count, duration, money, tokens} from '../format.js';
import {totalTime, totalUse} from '../trace_rows.js';
import {callBody} from './call_item.js';

/** The most characters of a text that are shown. */
const MOST_TEXT = 20_000;

/**
 * @param {import('../trace_rows.js').Row} row @param {{from: number, root: string, close: () => void}} place
 * @returns {any}
 */
export function spanDetail(row, {from, root, close}) {
  const [span] = row.spans;
  const use = totalUse(row);
  const session = span.session === root ? `/s/${root}` : `/s/${root}?child=${encodeURIComponent(span.session)}`;
  const facts = [
    ['Agent', span.agent], ['Start', `+${duration(span.from - from)}`], ['Duration', duration(totalTime(row)) + (span.isOpen ? ' so far' : '')], ['Ended', span.isOpen ? 'not yet' : span.state.replace('_', ' ')],
    use.tokens ? ['Tokens', tokens(use.tokens)] : null, use.tokens ? ['Cost', money(use.cost, use.isPriced)] : null, span.ended ? ['Event', `${span.began ? `${span.began}–` : ''}${span.ended}`] : null,
  ].filter(fact => fact !== null);
  const content = h('div', {class: 'span-content'});
  if (row.spans.length > 1) fill(content, h('p', {class: 'muted'}, `${count(row.spans.length, 'span')}, ${row.done} ended well. Switch "Aggregated" off to see each.`));
  else if (span.kind === 'run') fill(content, span.title ? textPart('Task', span.title) : null, span.failure ? textPart('Failure', span.failure) : null);
  else if (span.kind !== 'wait') load(span, content);
  return h('section', {class: 'panel span-detail', 'aria-label': `Details of ${row.name}`},
    h('div', {class: 'span-head'}, h('h2', {tabindex: '-1'}, h('span', {class: 'wf-kind'}, row.kind), ' ', row.name), h('button', {type: 'button', class: 'ghost small', 'aria-label': 'Close details', onclick: close}, icon('close'))),
    span.kind !== 'run' && span.title ? h('p', {class: 'span-title'}, span.title) : null,
    h('dl', {class: 'facts'}, facts.map(([name, value]) => h('div', null, h('dt', null, name), h('dd', null, value)))),
    h('p', null, h('a', {href: session}, 'Open the session')), content);
}

/** Reads the events that tell input and output. @param {import('../trace_rows.js').Span} span @param {Element} place */
async function load(span, place) {
  fill(place, h('p', {class: 'muted', 'aria-busy': 'true'}, 'Loading…'));
  try {
    const [began, ended] = await Promise.all([event(span.session, span.began), event(span.session, span.ended)]);
    fill(place, span.kind === 'tool' ? toolParts(span, began, ended) : replyParts(ended));
  } catch (error) {
    fill(place, h('p', {class: 'error', role: 'alert'}, /** @type {any} */ (error).message), h('button', {type: 'button', onclick: () => load(span, place)}, 'Try again'));
  }
}

/** @param {string} session @param {number | undefined} id */
async function event(session, id) {
  if (!id) return null;
  const {events} = await get(pathOf`/sessions/${session}/events`, {after: id - 1, limit: 1});
  return events.find((/** @type {any} */ one) => one.id === id) ?? null;
}

/** @param {import('../trace_rows.js').Span} span @param {any} began @param {any} ended */
function toolParts(span, began, ended) {
  const parts = callBody({key: span.key, tool: span.name, permitted: began?.data.permitted, ...ended?.data, input: began?.data.input ?? ended?.data.input});
  parts.unshift(h('h3', {class: 'visually-hidden'}, 'Input and result'));
  return ended ? parts : [...parts, h('p', {class: 'muted'}, 'It has not ended.')];
}

/** @param {any} ended */
function replyParts(ended) {
  if (!ended) return h('p', {class: 'muted'}, 'The model has not answered yet.');
  const {parts = [], text, usage, stop} = ended.data;
  const thinking = parts.filter((/** @type {any} */ part) => part.type === 'thinking' && part.text).map((/** @type {any} */ part) => part.text).join('\n');
  const calls = parts.filter((/** @type {any} */ part) => part.type === 'call');
  return [
    h('p', {class: 'muted'}, `Read ${tokens(usage.input)} tokens (${tokens(usage.cache_read)} from the cache), wrote ${tokens(usage.output)}; ended: ${stop.replace('_', ' ')}. What it read is the conversation up to here.`),
    thinking ? textPart('Thinking', thinking) : null, text ? textPart('Output', text) : null,
    calls.length ? textPart('Calls', calls.map((/** @type {any} */ call) => `${call.tool} ${JSON.stringify(call.input)}`).join('\n')) : null,
  ];
}

/** @param {string} title @param {string} text */
function textPart(title, text) {
  return h('div', {class: 'call-part'}, h('h3', null, title), h('pre', {tabindex: '0', 'aria-label': title}, text.length > MOST_TEXT ? `${text.slice(0, MOST_TEXT)}…` : text));
}
