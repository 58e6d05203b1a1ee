// Applies an event to a session of a run tree: name, todos, inbox, context. Mirror of session.rs in crates/view.

import { NOTICES, noticeOf, pushBounded } from './reduce_parts.js';

/** @typedef {import('./tree_types.js').TreeSession} TreeSession */
/** @typedef {import('./types.js').Event} Event */

/**
 * A session whose events were not applied.
 * @param {string} session
 * @param {string} agent
 * @returns {TreeSession}
 */
export function newSession(session, agent) {
  return {
    session,
    agent,
    name: null,
    forked_from: null,
    is_deleted: false,
    head: 0,
    mode: null,
    queued: [],
    awaiting: [],
    todos: [],
    context: null,
    clears: 0,
    compactions: 0,
    notices: [],
  };
}

/**
 * A session that is only known from its metadata.
 * @param {import('./types.js').Session} meta
 * @returns {TreeSession}
 */
export function sessionOfMeta(meta) {
  const session = newSession(meta.id, meta.agent);
  session.forked_from = meta.forked_from ?? null;
  applyMetaToSession(session, meta);
  return session;
}

/**
 * @param {TreeSession} session
 * @param {import('./types.js').Session} meta
 */
export function applyMetaToSession(session, meta) {
  session.name = meta.name ?? null;
  session.is_deleted = Boolean(meta.deleted_at);
}

/**
 * @param {TreeSession} session
 * @param {Event} event
 */
export function applyToSession(session, event) {
  session.head = event.id ?? session.head;
  switch (event.type) {
    case 'session.opened':
      session.name = event.data.name ?? null;
      session.forked_from = event.data.forked_from ?? null;
      break;
    case 'session.updated':
      session.name = event.data.name ?? null;
      session.is_deleted = event.data.deleted;
      break;
    case 'session.cleared':
      session.clears += 1;
      break;
    case 'context.compacted':
      session.compactions += 1;
      break;
    case 'context.usage':
      session.context = { used: event.data.used, limit: event.data.limit };
      break;
    case 'permission.mode':
      session.mode = event.data.mode ?? null;
      break;
    case 'todo.updated':
      session.todos = event.data.items;
      break;
    case 'notice':
      if (event.run === null) {
        pushBounded(session.notices, noticeOf(event), NOTICES);
      }
      break;
    default:
      applyMessage(session, event);
  }
}

/**
 * What waits in the inbox, and which tasks the session waits to be told of.
 * @param {TreeSession} session
 * @param {Event} event
 */
function applyMessage(session, event) {
  switch (event.type) {
    case 'inbox.queued':
      if (!session.queued.includes(event.data.message)) {
        session.queued.push(event.data.message);
      }
      break;
    case 'inbox.delivered':
      takeMessage(session, event.data.message);
      toldOf(session, event.data.task);
      break;
    case 'run.started':
    case 'inbox.dropped':
      takeMessage(session, event.data.message);
      break;
    case 'message.user': {
      const { id, origin } = event.data.message;
      takeMessage(session, id);
      if (origin.kind === 'task') {
        toldOf(session, origin.task);
      }
      break;
    }
    case 'tool.completed':
      applyTask(session, event.data.task);
      break;
    default:
  }
}

/**
 * @param {TreeSession} session
 * @param {import('./types.js').TaskNote | null | undefined} note
 */
function applyTask(session, note) {
  if (note?.status) {
    toldOf(session, note.task);
  } else if (note && !session.awaiting.includes(note.task)) {
    session.awaiting.push(note.task);
  }
}

/**
 * @param {TreeSession} session
 * @param {string} message
 */
function takeMessage(session, message) {
  session.queued = session.queued.filter((queued) => queued !== message);
}

/**
 * @param {TreeSession} session
 * @param {string} task
 */
function toldOf(session, task) {
  session.awaiting = session.awaiting.filter((awaited) => awaited !== task);
}
