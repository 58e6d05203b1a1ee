// One row of the board: agent, title, headline, what it needs, and what can be done from here.
// @ts-check

import {get, newKey, pathOf, post} from '../api.js';
import {may} from '../app.js';
import {fill, h, setText} from '../dom.js';
import {ago, count, duration, money, STATE_WORDS, tokens} from '../format.js';
import {askText} from '../dialog.js';
import {attempt} from '../toast.js';
import {agentBadge} from './agent_badge.js';
import {inquiryCard} from './inquiry_card.js';

/** The screen that a reason is dealt with on. @type {Record<string, string>} */
const REASON_PLACES = {credential: '/settings#keys', failed_delivery: '/connectors', schedule_off: '/schedules', schedule_failed: '/schedules'};

/** @param {any} row @returns {any} */
export function boardRow(row) {
  const badge = h('span');
  const title = h('a', {class: 'row-title'});
  const state = h('span', {class: 'row-state'});
  const headline = h('p', {class: 'row-headline'});
  const facts = h('span', {class: 'row-facts'});
  const cards = h('div', {class: 'row-cards'});
  const buttons = h('div', {class: 'row-buttons'});
  const element = h('div', {class: 'row', role: 'listitem', data: {session: row.session}},
    h('div', {class: 'row-head'}, title, state), h('div', {class: 'row-meta'}, badge, facts), headline, cards, buttons);
  let shown = '';
  element.show = (/** @type {any} */ next) => {
    row = next;
    element.dataset.state = row.state;
    element.dataset.process = row.process;
    element.classList.toggle('unread', row.unread);
    fill(badge, agentBadge(row.agent.name, {icon: row.agent.icon ?? undefined, color: row.agent.color ?? undefined}));
    title.href = `/s/${row.session}`;
    setText(title, `${row.pinned ? '★ ' : ''}${row.title || 'Untitled'}`);
    setText(state, stateWords(row));
    // The title says it already while nothing else was said.
    setText(headline, row.state === 'needs_you' || row.headline === row.title ? '' : row.headline);
    headline.hidden = !headline.textContent;
    setText(facts, factWords(row));
    facts.title = row.place.cwd ?? '';
    const key = JSON.stringify([row.state, row.why]);
    if (key === shown) return;
    shown = key;
    showReasons(row, cards);
    fill(buttons, rowButtons(row));
  };
  element.show(row);
  return element;
}

/** @param {any} row */
function stateWords(row) {
  const state = /** @type {any} */ (STATE_WORDS)[row.state] ?? row.state;
  if (row.state === 'waiting' && row.waiting) {
    return {rate_limit: 'waits for the provider', child: 'waits for a sub-agent', retry: 'tries again'}[/** @type {string} */ (row.waiting.for)] ?? state;
  }
  if (row.process === 'elsewhere' && row.owner) return `${state} on ${row.owner.host}`;
  // The title of the group says it.
  return ['needs_you', 'failed', 'working', 'done'].includes(row.state) ? '' : state;
}

/** @param {any} row */
function factWords(row) {
  const {children, usage} = row;
  const below = children.working + children.needs_you + children.done + children.failed;
  const time = row.started && !row.ended ? duration(Date.now() - Date.parse(row.started)) : ago(row.ended ?? row.started);
  return [
    time,
    below ? count(below, 'sub-agent') + (children.working ? `, ${children.working} at work` : '') : '',
    row.todo ? `todo ${row.todo[0]}/${row.todo[1]}` : '',
    usage.tokens ? `${tokens(usage.tokens)} tokens` : '',
    usage.cost_usd ? money(usage.cost_usd, usage.complete) : '',
    folderName(row.place.cwd),
    row.place.branch ?? '',
  ].filter(Boolean).join(' · ');
}

/** The last part of a path, which tells projects apart. @param {string | null | undefined} path */
function folderName(path) {
  return (path ?? '').split('/').filter(Boolean).at(-1) ?? '';
}

/** Cards of open permissions and questions; other reasons in words. @param {any} row @param {Element} place */
async function showReasons(row, place) {
  if (row.state !== 'needs_you' && row.state !== 'failed') return fill(place);
  const reasons = await Promise.all(row.why.slice(0, 20).map(async (/** @type {any} */ why) => {
    if (why.kind === 'permission' || why.kind === 'question') {
      const inquiry = await get(why.kind === 'permission' ? pathOf`/permissions/${why.id}` : pathOf`/questions/${why.id}`).catch(() => null);
      if (inquiry) return inquiryCard(why.kind, inquiry, {compact: true});
    }
    return h('p', {class: 'reason'}, h('strong', null, reasonWords(why.kind)), ' ', why.title, ' ', REASON_PLACES[why.kind] ? h('a', {href: REASON_PLACES[why.kind]}, 'Look at it') : null);
  }));
  const rest = row.why.length - reasons.length;
  fill(place, reasons, rest > 0 ? h('a', {href: `/s/${row.session}`}, `${rest} more`) : null);
}

/** @param {string} kind */
function reasonWords(kind) {
  return {
    credential: 'Key missing or refused:', budget: 'Budget spent:', failed_run: 'Failed:', failed_delivery: 'Not delivered:',
    schedule_off: 'Schedule switched off:', schedule_failed: 'Schedule failed:', quarantined_tool: 'Tool changed:',
  }[kind] ?? '';
}

/** @param {any} row */
function rowButtons(row) {
  const button = (/** @type {string} */ label, /** @type {() => Promise<any>} */ act, kind = '') => {
    const element = h('button', {type: 'button', class: kind, onclick: async () => {
      element.disabled = true;
      await attempt(act);
      element.disabled = false;
    }}, label);
    return element;
  };
  if (!may('chat')) return [];
  // A run that ended because there is no API key is no longer at work: it offers Retry, not Stop and Steer.
  const hasEnded = row.state === 'needs_you' && Boolean(row.ended);
  const isAtWork = ['working', 'waiting', 'needs_you'].includes(row.state) && !hasEnded;
  const hasFailed = row.state === 'failed' || hasEnded;
  return [
    isAtWork ? button('Say something', async () => {
      const text = await askText(`To ${row.agent.name}`, 'It is read at the next turn.', '', 'Send');
      if (text) await post(pathOf`/sessions/${row.session}/messages`, {text, delivery: 'steer'}, {key: newKey()});
    }) : null,
    isAtWork ? button('Stop', () => stopSession(row.session), 'danger-text') : null,
    hasFailed ? button('Retry', () => post(pathOf`/sessions/${row.session}/messages`, {text: 'Please try again.'}, {key: newKey()})) : null,
    hasFailed || (row.unread && !isAtWork)
      ? button('Mark as read', () => post(pathOf`/sessions/${row.session}/read`, {upto: row.head})) : null,
  ];
}

/** Stops the run that a session works on. @param {string} session */
export async function stopSession(session) {
  const {runs} = await get('/runs', {session, limit: 1});
  const open = runs.filter((/** @type {any} */ run) => !run.status);
  await Promise.all(open.map((/** @type {any} */ run) => post(pathOf`/runs/${run.run}/cancel`, {})));
}
