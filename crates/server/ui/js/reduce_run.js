// Applies an event to a run of a run tree: text and deltas, calls, waits, verdicts, its end. Mirror of run.rs and
// apply_run_event.rs in crates/view.

import {
  FINISHED_CALLS, NOTICES, WAITS, addUsage, callEndedBy, callStartedBy, lastLine, noUsage, noticeOf, plus, pushBounded,
} from './reduce_parts.js';
import { addPiece, applyReply, clearStreamed } from './reduce_reply.js';

/** @typedef {import('./tree_types.js').TreeRun} TreeRun */
/** @typedef {import('./tree_types.js').TreeChange} TreeChange */
/** @typedef {import('./types.js').Event} Event */
/** @template {Event['type']} T @typedef {import('./types.js').EventOf<T>} EventOf */

/** Types of events that are not stored. */
const EPHEMERAL = new Set([
  'message.delta', 'thinking.delta', 'tool.output', 'tool.progress', 'inbox.queued', 'context.usage',
]);

/**
 * A run that was first heard of by this event.
 * @param {Event} event
 * @param {string} run
 * @returns {TreeRun}
 */
export function newRun(event, run) {
  return {
    run,
    session: event.session,
    agent: event.agent,
    parent_run: event.parent_run ?? null,
    parent: null,
    mode: null,
    message: null,
    title: '',
    first_model: '',
    model: '',
    phase: { is: 'working' },
    activity: { is: 'starting' },
    answer: { text: '', is_cut: false },
    streamed: '',
    is_reply_whole: false,
    coming: undefined,
    turns: 0,
    calls: 0,
    usage: noUsage(),
    by_model: new Map(),
    running: [],
    finished: [],
    waits: [],
    verdict: null,
    notices: [],
    started_at: event.ts,
    updated_at: event.ts,
    reported: null,
    end: null,
  };
}

/**
 * Whether a run has ended.
 * @param {TreeRun} run
 */
export function hasEnded(run) {
  return run.phase.is === 'ended';
}

/**
 * @param {TreeRun} run
 * @param {Event} event
 * @param {TreeChange} change
 */
export function applyToRun(run, event, change) {
  const isDelta = event.type === 'message.delta' || event.type === 'thinking.delta';
  if (isDelta && (run.is_reply_whole || hasEnded(run))) {
    return;
  }
  change.kind = 'updated';
  run.updated_at = event.ts;
  if (!EPHEMERAL.has(event.type)) {
    run.is_reply_whole = false;
  }
  switch (event.type) {
    case 'run.started':
      begin(run, event, change);
      break;
    case 'run.completed':
      complete(run, event, change);
      break;
    case 'message.completed':
      applyReply(run, event.data, change);
      break;
    case 'message.delta':
      addPiece(run, event.data.text, event.data, change);
      run.activity = { is: 'answering' };
      break;
    case 'thinking.delta':
      run.activity = { is: 'thinking' };
      break;
    case 'context.usage':
      applyReading(run, event.data.reading);
      break;
    case 'run.waiting':
      wait(run, event, change);
      break;
    case 'run.resumed':
      closeWait(run, event.ts);
      setPhase(run, { is: 'working' });
      run.activity = { is: 'thinking' };
      break;
    case 'run.verified':
      run.verdict = event.data;
      break;
    case 'permission.requested':
      run.activity = { is: 'asking', tool: event.data.tool, title: event.data.title };
      break;
    case 'notice':
      if (event.data.code === 'fallback') {
        clearStreamed(run, change);
      }
      pushBounded(run.notices, noticeOf(event), NOTICES);
      break;
    default:
      applyCall(run, event);
  }
}

/**
 * Takes in what a model has written so far.
 * @param {TreeRun} run
 * @param {import('./types.js').DraftText} draft
 */
export function applyDraft(run, draft) {
  if (hasEnded(run)) {
    return;
  }
  run.is_reply_whole = false;
  addPiece(run, draft.text, { message: draft.id, at: 0 }, null);
  run.activity = { is: draft.text === '' ? 'thinking' : 'answering' };
}

/**
 * The delegating call tells how the run ended, if it does and the run has not said so itself.
 * @param {TreeRun} run
 * @param {import('./types.js').TaskNote} note
 * @param {import('./types.js').ToolRecord} record
 */
export function reportEnd(run, note, record) {
  const status = note.status;
  if (!status || hasEnded(run)) {
    return;
  }
  run.phase = { is: 'ended', status };
  run.reported = {
    status,
    verified: note.verified ?? null,
    usage: note.usage ?? null,
    duration_ms: record.duration_ms,
  };
}

/**
 * @param {TreeRun} run
 * @param {EventOf<'run.started'>} event
 * @param {TreeChange} change
 */
function begin(run, event, change) {
  const { mode, message, model, title, parent } = event.data;
  run.mode = mode;
  run.message = message;
  run.started_at = event.ts;
  run.first_model = model;
  run.model = model;
  run.title = title;
  run.parent = parent ?? run.parent;
  run.parent_run = event.parent_run ?? run.parent_run;
  setPhase(run, { is: 'working' });
  change.kind = 'began';
}

/**
 * @param {TreeRun} run
 * @param {EventOf<'run.completed'>} event
 * @param {TreeChange} change
 */
function complete(run, event, change) {
  closeWait(run, event.ts);
  change.kind = run.end === null ? 'ended' : 'updated';
  run.phase = { is: 'ended', status: event.data.status };
  run.end = event.data;
  run.answer = { text: '', is_cut: false };
  clearStreamed(run, change);
  run.running = [];
}

/**
 * A prompt is being read, or the first word of the reply has come.
 * @param {TreeRun} run
 * @param {number | null | undefined} tokens
 */
function applyReading(run, tokens) {
  if (tokens !== undefined && tokens !== null) {
    run.activity = { is: 'reading', tokens };
  } else if (run.activity.is === 'reading') {
    run.activity = { is: 'thinking' };
  }
}

/**
 * @param {TreeRun} run
 * @param {EventOf<'run.waiting'>} event
 * @param {TreeChange} change
 */
function wait(run, event, change) {
  const { for: reason, until = null, detail } = event.data;
  closeWait(run, event.ts);
  pushBounded(run.waits, { reason, from: event.ts, to: null }, WAITS);
  setPhase(run, { is: 'waiting', reason, until, detail });
  if (reason === 'rate_limit' || reason === 'retry') {
    // What had come of a reply that broke off will come again.
    clearStreamed(run, change);
  }
  if (reason !== 'child') {
    run.activity = { is: 'waiting', detail };
  }
}

/**
 * @param {TreeRun} run
 * @param {string} at
 */
function closeWait(run, at) {
  const last = run.waits.at(-1);
  if (last) {
    last.to ??= at;
  }
}

/**
 * @param {TreeRun} run
 * @param {Event} event
 */
function applyCall(run, event) {
  switch (event.type) {
    case 'tool.started': {
      const { call, tool, title } = event.data;
      run.activity = { is: 'calling', tool, title };
      // A call that is made again after a crash runs once.
      run.running = run.running.filter((one) => one.call !== call);
      run.running.push(callStartedBy(event));
      break;
    }
    case 'tool.output': {
      const running = run.running.find((one) => one.call === event.data.call);
      if (running) {
        running.output = lastLine(event.data.text);
      }
      break;
    }
    case 'tool.completed': {
      const at = run.running.findIndex((one) => one.call === event.data.call);
      const [started] = at < 0 ? [] : run.running.splice(at, 1);
      pushBounded(run.finished, callEndedBy(started, event), FINISHED_CALLS);
      run.calls = plus(run.calls, 1);
      addUsage(run.usage, event.data.usage ?? noUsage());
      break;
    }
    default:
  }
}

/**
 * A run that has ended stays ended.
 * @param {TreeRun} run
 * @param {TreeRun['phase']} phase
 */
function setPhase(run, phase) {
  if (!hasEnded(run)) {
    run.phase = phase;
  }
}
