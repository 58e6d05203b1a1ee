// The reply of a run as it comes: its pieces, and the whole of it. Mirror of run.rs in crates/view.

import { addUsage, noUsage, plus } from './reduce_parts.js';
import { byteLength, fromByte } from './utf8.js';

/** @typedef {import('./tree_types.js').TreeRun} TreeRun */
/** @typedef {import('./tree_types.js').TreeChange} TreeChange */

/** Bytes of the text of the reply that is coming: counting them anew for each piece would cost the whole reply. */
const streamedBytes = new WeakMap();

/**
 * @param {TreeRun} run
 * @param {import('./types.js').ReplyRecord} reply
 * @param {TreeChange} change
 */
export function applyReply(run, reply, change) {
  // Only a reply that the output limit cut is continued without an event in between. One that makes calls is not.
  const isCut = reply.stop === 'max_output' && !reply.parts.some((part) => part.type === 'call');
  takeAnswer(run.answer, reply.text, isCut);
  clearStreamed(run, change);
  run.is_reply_whole = !isCut;
  run.turns = plus(run.turns, 1);
  addUsage(run.usage, reply.usage);
  run.model = reply.model;
  const ofModel = run.by_model.get(reply.model) ?? noUsage();
  addUsage(ofModel, reply.usage);
  run.by_model.set(reply.model, ofModel);
}

/**
 * Pieces of a reply that was cut are joined; another reply replaces the text, unless it has none.
 * @param {TreeRun['answer']} answer
 * @param {string} text
 * @param {boolean} isCut
 */
function takeAnswer(answer, text, isCut) {
  if (!answer.is_cut && (isCut || text !== '')) {
    answer.text = '';
  }
  answer.text += text;
  answer.is_cut = isCut;
}

/**
 * No reply is coming, or another one than before.
 * @param {TreeRun} run
 * @param {TreeChange | null} change
 */
export function clearStreamed(run, change) {
  if (change && run.streamed !== '') {
    change.restarted = true;
  }
  run.streamed = '';
  run.coming = undefined;
  streamedBytes.delete(run);
}

/**
 * Takes a piece of the reply that is coming. A piece of another reply begins anew: the one before broke off. What is
 * known of a piece already is not appended again, and a piece after a gap is left out: the whole reply will have it.
 * @param {TreeRun} run
 * @param {string} text
 * @param {{ message?: string | null, at?: number | null }} place
 * @param {TreeChange | null} change
 */
export function addPiece(run, text, { message, at }, change) {
  let rest = text;
  if (message !== undefined && message !== null && at !== undefined && at !== null) {
    if (run.coming !== message) {
      clearStreamed(run, change);
      run.coming = message;
    }
    rest = fromByte(text, (streamedBytes.get(run) ?? 0) - at);
  }
  run.streamed += rest;
  streamedBytes.set(run, (streamedBytes.get(run) ?? 0) + byteLength(rest));
  if (change) {
    change.appended = rest;
  }
}
