// Parts of a run's state: calls, notices, usage, bounded lists. Mirror of run_parts.rs in crates/view.

/** @typedef {import('./types.js').Usage} Usage */
/** @typedef {import('./tree_types.js').TreeCall} TreeCall */
/** @typedef {import('./tree_types.js').TreeNotice} TreeNotice */
/** @template {import('./types.js').Event['type']} T @typedef {import('./types.js').EventOf<T>} EventOf */

/** Calls that have ended and are kept per run. */
export const FINISHED_CALLS = 50;
/** Notices kept per run, and per session outside of runs. */
export const NOTICES = 50;
/** Waits kept per run. */
export const WAITS = 1000;
/** Characters kept of the last line that a running call wrote. */
const OUTPUT = 1000;
/** The largest count. */
const MOST = 0xffff_ffff;

/**
 * Adds something to a list that keeps the last ones.
 * @template T
 * @param {T[]} list
 * @param {T} item
 * @param {number} limit
 */
export function pushBounded(list, item, limit) {
  list.push(item);
  while (list.length > limit) {
    list.shift();
  }
}

/**
 * The sum of two counts.
 * @param {number} one
 * @param {number} other
 */
export function plus(one, other) {
  return Math.min(one + other, MOST);
}

/**
 * Nothing used, at a known price: the start of a sum.
 * @returns {Required<Usage>}
 */
export function noUsage() {
  return {
    input: 0,
    output: 0,
    cache_read: 0,
    cache_write: 0,
    reasoning: 0,
    searches: 0,
    cost_usd: 0,
    cost_complete: true,
  };
}

/**
 * @param {Required<Usage>} sum
 * @param {Usage} usage
 */
export function addUsage(sum, usage) {
  sum.input += usage.input ?? 0;
  sum.output += usage.output ?? 0;
  sum.cache_read += usage.cache_read ?? 0;
  sum.cache_write += usage.cache_write ?? 0;
  sum.reasoning += usage.reasoning ?? 0;
  sum.searches += usage.searches ?? 0;
  sum.cost_usd += usage.cost_usd ?? 0;
  sum.cost_complete &&= usage.cost_complete ?? false;
}

/**
 * The call that an event starts.
 * @param {EventOf<'tool.started'>} event
 * @returns {TreeCall}
 */
export function callStartedBy(event) {
  const { call, tool, kind, title, inside } = event.data;
  return {
    call,
    tool,
    kind,
    title,
    inside: inside ?? null,
    task: null,
    started_at: event.ts,
    output: '',
    outcome: null,
    duration_ms: null,
    added: 0,
    removed: 0,
  };
}

/**
 * The call that an event ends; its beginning may not have been seen.
 * @param {TreeCall | undefined} started
 * @param {EventOf<'tool.completed'>} event
 * @returns {TreeCall}
 */
export function callEndedBy(started, event) {
  const record = event.data;
  const changed = (record.files ?? []).filter((note) => note.action === 'changed');
  return {
    call: record.call,
    tool: record.tool,
    kind: started?.kind ?? null,
    title: record.title,
    inside: record.inside ?? null,
    task: record.task?.task ?? null,
    started_at: started?.started_at ?? event.ts,
    output: '',
    outcome: record.outcome,
    duration_ms: record.duration_ms,
    added: changed.reduce((sum, note) => plus(sum, note.added ?? 0), 0),
    removed: changed.reduce((sum, note) => plus(sum, note.removed ?? 0), 0),
  };
}

/**
 * @param {EventOf<'notice'>} event
 * @returns {TreeNotice}
 */
export function noticeOf(event) {
  const { level, code, message, hint } = event.data;
  return { at: event.ts, level, code, message, hint: hint ?? null };
}

/**
 * The last line of what a call wrote, without white space at its end, cut to a limit.
 * @param {string} text
 */
export function lastLine(text) {
  let end = text.length;
  while (end > 0 && isWhite(text.charCodeAt(end - 1))) {
    end -= 1;
  }
  const begin = end === 0 ? 0 : text.lastIndexOf('\n', end - 1) + 1;
  // A character takes up to two units.
  const line = text.slice(begin, Math.min(end, begin + 2 * OUTPUT));
  return Array.from(line).slice(0, OUTPUT).join('');
}

/**
 * Whether a character is white space in Unicode. `trimEnd` has another list.
 * @param {number} unit
 */
function isWhite(unit) {
  return (unit >= 0x09 && unit <= 0x0d) || unit === 0x20 || unit === 0x85 || unit === 0xa0 || unit === 0x1680
    || (unit >= 0x2000 && unit <= 0x200a) || unit === 0x2028 || unit === 0x2029 || unit === 0x202f || unit === 0x205f
    || unit === 0x3000;
}
