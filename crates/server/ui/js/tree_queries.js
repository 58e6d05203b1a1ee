// Queries of a run tree: which run works for which, sums of usage, ends. Mirror of queries.rs in crates/view.

import { addUsage, noUsage } from './reduce_parts.js';

/** @typedef {import('./tree_types.js').Tree} Tree */
/** @typedef {import('./tree_types.js').TreeRun} TreeRun */
/** @typedef {import('./types.js').Usage} Usage */

export { hasEnded } from './reduce_run.js';

/**
 * @param {Tree} tree
 * @param {string} session
 */
export function findSession(tree, session) {
  return tree.index.sessions.get(session);
}

/**
 * @param {Tree} tree
 * @param {string} run
 */
export function findRun(tree, run) {
  return tree.index.runs.get(run);
}

/**
 * The number of the last durable event of a session that was applied; zero if there is none.
 * @param {Tree} tree
 * @param {string} session
 */
export function head(tree, session) {
  return findSession(tree, session)?.head ?? 0;
}

/**
 * The runs of a session, in the order in which they were first heard of.
 * @param {Tree} tree
 * @param {string} session
 */
export function runsIn(tree, session) {
  return tree.runs.filter((run) => run.session === session);
}

/**
 * The runs that a run delegated, in the order in which they were first heard of.
 * @param {Tree} tree
 * @param {string} run
 * @returns {readonly TreeRun[]}
 */
export function startedByRun(tree, run) {
  return tree.index.below.get(run) ?? [];
}

/**
 * The runs that a call of a run delegated.
 * @param {Tree} tree
 * @param {string} run
 * @param {string} call
 */
export function startedByCall(tree, run, call) {
  return startedByRun(tree, run).filter((below) => below.parent?.call === call);
}

/**
 * What a run used itself: as its end says, or the call that reports it, else what was seen.
 * @param {TreeRun} run
 * @returns {Usage}
 */
export function ownUsage(run) {
  return run.end?.usage ?? run.reported?.usage ?? run.usage;
}

/**
 * What a run and all runs below it used, as far as it is known.
 * @param {Tree} tree
 * @param {string} run
 */
export function totalUsage(tree, run) {
  const sum = noUsage();
  const seen = new Set();
  const rest = [run];
  for (let next = rest.pop(); next !== undefined; next = rest.pop()) {
    if (seen.has(next)) {
      continue;
    }
    seen.add(next);
    const known = findRun(tree, next);
    if (known) {
      addUsage(sum, ownUsage(known));
    }
    const below = startedByRun(tree, next);
    for (let at = below.length - 1; at >= 0; at -= 1) {
      rest.push(below[at].run);
    }
  }
  return sum;
}

/**
 * Whether a run is this one or works for it, directly or through other runs that are known.
 * @param {Tree} tree
 * @param {string} run
 * @param {string} above
 */
export function isWithin(tree, run, above) {
  const seen = new Set();
  for (let current = run; !seen.has(current);) {
    if (current === above) {
      return true;
    }
    seen.add(current);
    current = findRun(tree, current)?.parent?.run ?? current;
  }
  return false;
}

/**
 * Whether the work of a run was checked, and found good.
 * @param {TreeRun} run
 */
export function verified(run) {
  return run.end ? run.end.verified ?? null : run.reported?.verified ?? null;
}

/**
 * How long a run took in milliseconds, if it has ended.
 * @param {TreeRun} run
 */
export function durationOf(run) {
  return run.end?.duration_ms ?? run.reported?.duration_ms ?? null;
}

/**
 * Model replies and tool calls: as the end of the run says, else those that were seen.
 * @param {TreeRun} run
 */
export function totalsOf(run) {
  return { turns: run.end?.turns ?? run.turns, calls: run.end?.calls ?? run.calls };
}

/**
 * The answer: the final one, else that of the last whole reply so far.
 * @param {TreeRun} run
 */
export function answerOf(run) {
  return run.end?.text ?? run.answer.text;
}
