// What the keyboard shortcuts do on the screen that is open.
// @ts-check

import {choosableAgents} from './app.js';
import {choose} from './dialog.js';
import {stopSession} from './parts/board_row.js';
import {newSession} from './parts/sidebar.js';
import {go} from './router.js';
import {attempt} from './toast.js';

/** What j and k move between: rows of lists, cards, parts of a conversation. */
const STOPS = '.card:not(.settled), .row, .schedule, .session-row, .rule-row, .items > .item';
/** What opens when Enter is pressed on a row. */
const LINKS = 'a.row-title, a.session-link, a[href]';

/** Does what a shortcut stands for; false if there is nothing to do here. @param {string} name */
export function runShortcut(name) {
  const session = /** @type {any} */ (document.querySelector('rt-session'));
  switch (name) {
    case 'go-board': go('/'); return true;
    case 'go-sessions': go('/sessions'); return true;
    case 'go-agents': go('/agents'); return true;
    case 'go-schedules': go('/schedules'); return true;
    case 'go-connectors': go('/connectors'); return true;
    case 'go-permissions': go('/permissions'); return true;
    case 'go-usage': go('/usage'); return true;
    case 'go-settings': go('/settings'); return true;
    case 'go-trace': return goTrace(session);
    case 'new': beginSession(session); return true;
    case 'next': return move(1);
    case 'previous': return move(-1);
    case 'open': return openRow();
    case 'allow': return answer('[data-answer="allow-once"]');
    case 'deny': return answer('[data-answer="deny"]');
    case 'parent': return goParent(session);
    case 'child': return goChild(session);
    case 'stop': return stop(session);
    case 'expand': return expand();
    default: return false;
  }
}

/** What has the focus, or contains it. */
function focusedStop() {
  return /** @type {HTMLElement | null} */ (document.activeElement?.closest?.(STOPS) ?? null);
}

/** @param {number} by */
function move(by) {
  const all = /** @type {HTMLElement[]} */ ([...document.querySelectorAll(STOPS)]).filter(element => element.offsetParent !== null);
  if (all.length === 0) return false;
  const current = focusedStop();
  // From a card inside of a row one goes on to the next row.
  const at = current ? all.indexOf(current) : by > 0 ? -1 : all.length;
  const next = all[Math.min(Math.max(at + by, 0), all.length - 1)];
  if (!next.hasAttribute('tabindex')) next.tabIndex = -1;
  next.focus();
  next.scrollIntoView({block: 'nearest'});
  return true;
}

function openRow() {
  const link = /** @type {HTMLElement | null | undefined} */ (focusedStop()?.closest('.row, .session-row')?.querySelector(LINKS));
  link?.click();
  return Boolean(link);
}

/** Presses a button of the card that has the focus, of the first card in the focused row, else of the first card. @param {string} button */
function answer(button) {
  const place = focusedStop();
  const near = place?.closest('.card') ?? place?.querySelector('.card:not(.settled)') ?? document;
  const found = /** @type {HTMLButtonElement | null} */ (near.querySelector(`.card:not(.settled) ${button}`) ?? near.querySelector(button));
  if (!found || found.disabled) return false;
  found.click();
  return true;
}

/** @param {any} session */
async function beginSession(session) {
  const own = session?.model.meta.get(session.params.session)?.agent;
  const agents = choosableAgents();
  const first = [...agents.filter(agent => agent.name === own), ...agents.filter(agent => agent.name !== own)];
  const chosen = await choose('New session with', first.map(({name, description}) => ({value: name, label: name, hint: description})));
  if (chosen) newSession(chosen);
}

/** The newest run of the session that is shown. @param {any} session */
function shownRun(session) {
  return session?.model.tree.runs.findLast((/** @type {any} */ run) => run.session === session.shown);
}

/** @param {any} session */
function goTrace(session) {
  const run = shownRun(session);
  if (run) go(`/trace/${run.run}`);
  return Boolean(run);
}

/** @param {any} session */
function goParent(session) {
  const parent = shownRun(session)?.parent?.run;
  const run = session?.model.tree.runs.find((/** @type {any} */ one) => one.run === parent);
  if (!run) return false;
  const root = session.params.session;
  go(run.session === root ? `/s/${root}` : `/s/${root}?child=${run.session}`);
  return true;
}

/** @param {any} session */
function goChild(session) {
  if (!session) return false;
  const own = new Set(session.model.tree.runs.filter((/** @type {any} */ run) => run.session === session.shown).map((/** @type {any} */ run) => run.run));
  const below = session.model.tree.runs.findLast((/** @type {any} */ run) => own.has(run.parent?.run));
  if (!below) return false;
  go(`/s/${session.params.session}?child=${below.session}`);
  return true;
}

/** @param {any} session */
function stop(session) {
  const id = session?.shown ?? /** @type {HTMLElement | null} */ (focusedStop()?.closest('[data-session]'))?.dataset.session;
  if (!id) return false;
  attempt(() => stopSession(id));
  return true;
}

/** Opens or closes the details of what has the focus, else all. */
function expand() {
  const place = focusedStop() ?? document.querySelector('.items');
  const all = /** @type {HTMLDetailsElement[]} */ ([...(place?.matches?.('details') ? [place] : place?.querySelectorAll('details') ?? [])]);
  if (all.length === 0) return false;
  const open = all.some(one => !one.open);
  for (const one of all) one.open = open;
  return true;
}
