// Folds events into the state of a run tree: the mirror of `RunTreeView` in crates/view, which is the definition.
//
// Pure: no clock, no DOM, no I/O. `applyEvent` changes the tree in place and returns what changed, so that only that is
// drawn again. Work per event depends on what is open (calls, questions, queued messages), never on the length of the
// journal. A test folds random journals with both and compares the canonical JSON after each event.

import { newIndex } from './tree_index.js';
import { applyDraft, applyToRun, newRun, reportEnd } from './reduce_run.js';
import { applyMetaToSession, applyToSession, newSession, sessionOfMeta } from './reduce_session.js';
import { knowRun, moveRun } from './tree_index.js';

/** @typedef {import('./tree_types.js').Tree} Tree */
/** @typedef {import('./tree_types.js').TreeRun} TreeRun */
/** @typedef {import('./tree_types.js').OpenInquiry} OpenInquiry */
/** @typedef {import('./tree_types.js').TreeChange} TreeChange */
/** @typedef {import('./types.js').Event} Event */
/** @typedef {import('./types.js').EventOf<'tool.completed'>} ToolCompleted */
/** @typedef {import('./types.js').SessionSnapshot} SessionSnapshot */

/**
 * An empty tree below this session.
 * @param {string | null} root
 * @returns {Tree}
 */
export function newTree(root) {
  return { root, sessions: [], runs: [], inquiries: [], index: newIndex() };
}

/**
 * Says which session is the root, if that was not known from the beginning.
 * @param {Tree} tree
 * @param {string} root
 */
export function setRoot(tree, root) {
  tree.root = root;
}

/**
 * Takes an event in. A durable event that was applied before changes nothing.
 * @param {Tree} tree
 * @param {Event} event
 * @returns {TreeChange}
 */
export function applyEvent(tree, event) {
  const change = newChange(event);
  const known = tree.index.sessions.get(event.session);
  if (event.id !== null && event.id <= (known?.head ?? 0)) {
    return change;
  }
  applyToSession(known ?? addSession(tree, newSession(event.session, event.agent)), event);
  if (event.run === null) {
    change.kind = 'updated';
  } else {
    const run = knowRun(tree, event.run, () => newRun(event, /** @type {string} */ (event.run)));
    applyToRun(run, event, change);
    moveRun(tree, run);
  }
  applyInquiry(tree, event, change);
  if (event.type === 'tool.completed') {
    applyTask(tree, event, change);
  }
  return change;
}

/**
 * Takes in the metadata of a session: its name, and whether it is deleted. The journal does not tell them.
 * @param {Tree} tree
 * @param {import('./types.js').Session} meta
 */
export function applyMeta(tree, meta) {
  const known = tree.index.sessions.get(meta.id);
  if (!known) {
    return addSession(tree, sessionOfMeta(meta));
  }
  applyMetaToSession(known, meta);
  return known;
}

/**
 * Takes in a snapshot of a session: what came of the events before its head, which may not have been applied.
 * @param {Tree} tree
 * @param {SessionSnapshot} snapshot
 */
export function applySnapshot(tree, snapshot) {
  const id = snapshot.session;
  const session = applyMeta(tree, snapshot.meta);
  const started = snapshot.run;
  if (started?.run && !tree.index.runs.has(started.run)) {
    const name = started.run;
    const run = knowRun(tree, name, () => newRun(started, name));
    applyToRun(run, started, newChange(started));
    moveRun(tree, run);
  }
  session.head = Math.max(session.head, snapshot.head);
  tree.inquiries = tree.inquiries.filter((open) => open.session !== id);
  // Nothing else is ever asked than these two.
  const pending = /** @type {OpenInquiry[]} */ (snapshot.pending);
  tree.inquiries.push(...pending);
  for (const draft of snapshot.messages) {
    const run = draft.run ? tree.index.runs.get(draft.run) : undefined;
    if (run) {
      applyDraft(run, draft);
    }
  }
}

/**
 * Adds an inquiry that was opened before the first event that is applied.
 * @param {Tree} tree
 * @param {OpenInquiry} opened
 */
export function addInquiry(tree, opened) {
  tree.inquiries = tree.inquiries.filter((open) => open.data.id !== opened.data.id);
  tree.inquiries.push(opened);
}

/**
 * @param {Event} event
 * @returns {TreeChange}
 */
function newChange(event) {
  return {
    kind: 'nothing',
    session: event.session,
    run: event.run,
    reported: null,
    restarted: false,
    appended: '',
    inquiries: false,
  };
}

/**
 * @param {Tree} tree
 * @param {import('./tree_types.js').TreeSession} session
 */
function addSession(tree, session) {
  tree.sessions.push(session);
  tree.index.sessions.set(session.session, session);
  return session;
}

/**
 * @param {Tree} tree
 * @param {Event} event
 * @param {TreeChange} change
 */
function applyInquiry(tree, event, change) {
  switch (event.type) {
    case 'permission.resolved':
    case 'question.answered': {
      const settled = event.data.id;
      keepInquiries(tree, change, (open) => open.data.id !== settled);
      break;
    }
    case 'permission.requested':
    case 'question.requested': {
      const { session, run, agent, ts, type, data } = event;
      addInquiry(tree, /** @type {OpenInquiry} */ ({ session, run, agent, asked_at: ts, type, data }));
      change.inquiries = true;
      break;
    }
    case 'run.completed':
      if (event.run !== null) {
        keepInquiries(tree, change, (open) => open.run !== event.run);
      }
      break;
    default:
  }
}

/**
 * @param {Tree} tree
 * @param {TreeChange} change
 * @param {(open: OpenInquiry) => boolean} isKept
 */
function keepInquiries(tree, change, isKept) {
  const kept = tree.inquiries.filter(isKept);
  change.inquiries = kept.length !== tree.inquiries.length;
  tree.inquiries = kept;
}

/**
 * Takes in what a call says about the run that it delegated itself, not about one it only asked after.
 * @param {Tree} tree
 * @param {ToolCompleted} event
 * @param {TreeChange} change
 */
function applyTask(tree, event, change) {
  const record = event.data;
  const note = record.task;
  if (!note || note.cached || note.task !== runOfCall(record.call)) {
    return;
  }
  const by = event.run;
  const run = knowRun(tree, note.task, () => ({
    ...newRun(event, note.task),
    session: note.session,
    agent: note.agent,
    parent_run: by,
    parent: by === null ? null : { session: event.session, run: by, call: record.call },
    phase: { is: 'queued' },
  }));
  reportEnd(run, note, record);
  change.reported = note.task;
}

/**
 * The run that a call delegates: its id has the same tail.
 * @param {string} call
 */
function runOfCall(call) {
  return `run_${call.slice(call.indexOf('_') + 1)}`;
}
