// What a person reads of one session: messages, replies, calls, notices. A window of its journal that grows upwards.
// @ts-check

import {get, pathOf} from './api.js';

/** Events of one page. */
const PAGE = 200;
/** The most items that are kept; beyond that the far end is dropped and can be loaded again. */
export const MOST_ITEMS = 600;

/** @typedef {{key: string, kind: string, at: string, run: string | null, [field: string]: any}} Item */

export class Transcript {
  /** @param {string} session */
  constructor(session) {
    this.session = session;
    /** @type {Item[]} */
    this.items = [];
    /** Items by key. @type {Map<string, Item>} */
    this.byKey = new Map();
    /** The lowest event that was loaded; 1 is the first of a journal. */
    this.first = 0;
    this.head = 0;
    /** Whether newer items were dropped while reading older ones. */
    this.isCut = false;
    this.isLoaded = false;
    /** Counts changes of items; deltas of the draft do not count. */
    this.version = 0;
    /**
     * The reply that is being written: its text, HTML of its closed blocks, and the text after them.
     * @type {{message: string, text: string, thinking: string, html: string[], open: string} | null}
     */
    this.draft = null;
  }

  /** Loads the newest page up to an event. @param {number} head */
  async load(head) {
    const page = await this.fetchPage(head + 1);
    this.items = [];
    this.byKey.clear();
    this.head = 0;
    this.first = page[0]?.id ?? 1;
    this.isCut = false;
    this.version += 1;
    for (const event of page) this.apply(event);
    this.head = Math.max(this.head, head);
    this.isLoaded = true;
  }

  /** Loads the page before the first item. Returns whether there was one. */
  async loadOlder() {
    if (this.first <= 1) return false;
    const page = await this.fetchPage(this.first);
    if (page.length === 0) { this.first = 1; return false; }
    const older = new Transcript(this.session);
    for (const event of page) older.apply(event);
    this.first = page[0].id;
    this.version += 1;
    this.items = [...older.items.filter(item => !this.merge(item)), ...this.items];
    for (const item of older.items) if (!this.byKey.has(item.key)) this.byKey.set(item.key, item);
    while (this.items.length > MOST_ITEMS) {
      const dropped = /** @type {Item} */ (this.items.pop());
      this.byKey.delete(dropped.key);
      this.isCut = true;
    }
    return true;
  }

  /** A call whose end was loaded before its beginning: the beginning is added to it. @param {Item} older */
  merge(older) {
    const known = this.byKey.get(older.key);
    if (!known) return false;
    for (const [field, value] of Object.entries(older)) if (known[field] === undefined || known[field] === null) known[field] = value;
    known.at = older.at;
    return true;
  }

  /** @param {number} before @returns {Promise<any[]>} */
  async fetchPage(before) {
    const {events, html} = await get(pathOf`/sessions/${this.session}/events`, {before, limit: PAGE, html: true});
    for (const event of events) event.html = html?.[event.id];
    return events;
  }

  /** Takes an event. Returns whether something that is shown has changed. @param {any} event */
  apply(event) {
    if (typeof event.id === 'number') {
      if (event.id <= this.head) return false;
      this.head = event.id;
    }
    // Newer events than the window are loaded when the person goes there.
    if (this.isCut && typeof event.id === 'number') return false;
    const take = TAKERS[event.type];
    if (!take) return false;
    take(this, event, event.data);
    if (!EPHEMERAL.has(event.type)) this.version += 1;
    return true;
  }

  /** @param {string} key @param {string} kind @param {any} event @param {Record<string, any>} fields */
  put(key, kind, event, fields) {
    const known = this.byKey.get(key);
    if (known) return Object.assign(known, fields);
    /** @type {Item} */
    const item = {key, kind, at: event.ts, run: event.run, event: event.id, ...fields};
    this.items.push(item);
    this.byKey.set(key, item);
    return item;
  }

  /** Takes what a snapshot tells of the reply that is being written. @param {any} snapshot */
  applySnapshot(snapshot) {
    const draft = snapshot.messages[0];
    if (!draft) this.draft = null;
    else if (!this.draft || this.draft.message !== draft.id || this.draft.text.length <= draft.text.length) {
      this.draft = {message: draft.id, text: draft.text, thinking: draft.thinking ?? '', html: [], open: draft.text};
    }
  }

  /** Takes HTML of blocks that the reply has closed. @param {any} block */
  applyBlock({message, index, html, open}) {
    if (this.draft?.message !== message) this.draft = {message, text: open, thinking: '', html: [], open};
    const draft = /** @type {any} */ (this.draft);
    if (index === 0) draft.html = [];
    draft.html[index] = html;
    draft.open = open;
  }

  /** Takes the HTML of a whole reply. @param {{event: number, html: string}} reply */
  applyHtml({event, html}) {
    const item = this.byKey.get(`reply-${event}`);
    if (!item) return;
    item.html = html;
    this.version += 1;
  }
}

/** Events that change only the draft. */
const EPHEMERAL = new Set(['message.delta', 'thinking.delta']);

/** How many bytes a text has on the wire. @param {string} text */
function byteLength(text) {
  return encoder.encode(text).length;
}
const encoder = new TextEncoder();

/** @param {Transcript} transcript @param {any} data @param {'text' | 'thinking'} field */
function takeDelta(transcript, data, field) {
  if (transcript.draft?.message !== data.message) {
    if (data.at > 0) return;
    transcript.draft = {message: data.message, text: '', thinking: '', html: [], open: ''};
  }
  const draft = /** @type {any} */ (transcript.draft);
  // A draft keeps its length in bytes, so that a delta costs what it is long, not what the reply is long.
  const known = draft[`${field}Bytes`] ?? byteLength(draft[field]);
  if (data.at === known) {
    draft[field] += data.text;
    if (field === 'text') draft.open += data.text;
    draft[`${field}Bytes`] = known + byteLength(data.text);
  } else {
    draft[`${field}Bytes`] = known;
  }
}

/** What each type of event does to a transcript. @type {Record<string, (transcript: Transcript, event: any, data: any) => void>} */
const TAKERS = {
  'message.user': (transcript, event, {message, lane}) => {
    transcript.put(message.id, 'user', event, {
      parts: message.parts, origin: message.origin, context: message.context ?? null, lane, who: event.who ?? null, silent: message.silent ?? false,
    });
  },
  'message.delta': (transcript, _event, data) => { if (data.message) takeDelta(transcript, data, 'text'); },
  'thinking.delta': (transcript, _event, data) => { if (data.message) takeDelta(transcript, data, 'thinking'); },
  'message.completed': (transcript, event, data) => {
    if (transcript.draft && (!data.message || transcript.draft.message === data.message)) transcript.draft = null;
    const thinking = data.parts.filter((/** @type {any} */ part) => part.type === 'thinking' && part.text).map((/** @type {any} */ part) => part.text).join('\n\n');
    if (data.text || thinking) {
      transcript.put(`reply-${event.id}`, 'reply', event, {text: data.text, thinking, html: event.html ?? null, model: data.model, stop: data.stop, usage: data.usage, message: data.message ?? null});
    }
    for (const part of data.parts) {
      if (part.type === 'call') transcript.put(part.id, 'call', event, {tool: part.tool, input: part.input, state: 'asked'});
    }
  },
  'tool.started': (transcript, event, data) => {
    transcript.put(data.call, 'call', event, {
      tool: data.tool, toolKind: data.kind, title: data.title, input: data.input, state: 'running', permitted: data.permitted ?? '', inside: data.inside ?? null, began: event.ts,
    });
  },
  'tool.output': (transcript, _event, {call, text}) => {
    const item = transcript.byKey.get(call);
    if (item) item.output = ((item.output ?? '') + text).slice(-4000);
  },
  'tool.progress': (transcript, _event, {call, elapsed_ms}) => {
    const item = transcript.byKey.get(call);
    if (item) item.elapsed = elapsed_ms;
  },
  'tool.completed': (transcript, event, data) => {
    transcript.put(data.call, 'call', event, {
      tool: data.tool, title: data.title, state: 'ended', outcome: data.outcome, content: data.content, duration: data.duration_ms,
      diff: data.diff ?? null, files: data.files ?? [], task: data.task ?? null, full: data.full ?? null, inside: data.inside ?? null, output: null,
    });
  },
  'permission.resolved': (transcript, event, {id, answer, by}) => {
    transcript.put(id, 'answer', event, {words: `${answer.decision === 'allow' ? 'Allowed' : 'Denied'} by ${event.who?.person ?? by}${answer.because ? `: ${answer.because}` : ''}`});
  },
  'question.answered': (transcript, event, {id, reply, by}) => {
    const said = reply.reply === 'answered' ? Object.values(reply.answers).flat().join(', ') : 'declined';
    transcript.put(id, 'answer', event, {words: `${event.who?.person ?? by} answered: ${said}`});
  },
  'session.cleared': (transcript, event) => { transcript.put(`cleared-${event.id}`, 'mark', event, {words: 'Context cleared. The agent does not remember what is above.'}); },
  'context.compacted': (transcript, event, data) => {
    transcript.put(`compacted-${event.id}`, 'mark', event, {words: `Context made smaller: ${data.before} → ${data.after} tokens.`, detail: data.summary ?? ''});
  },
  'inbox.dropped': (transcript, event, {message}) => { transcript.put(message, 'mark', event, {words: 'A message was withdrawn.'}); },
  'permission.mode': (transcript, event, {mode, by}) => { transcript.put(`mode-${event.id}`, 'mark', event, {words: `Mode ${mode ?? 'as started'} (${by}).`}); },
  'files.undone': (transcript, event) => { transcript.put(`undone-${event.id}`, 'mark', event, {words: 'File changes were taken back.'}); },
  'run.verified': (transcript, event, data) => {
    transcript.put(`verified-${event.id}`, 'verdict', event, {passed: data.passed, again: data.again, reports: data.reports});
  },
  notice: (transcript, event, data) => {
    transcript.put(`notice-${event.id}`, 'notice', event, {level: data.level, words: data.message, hint: data.hint ?? ''});
  },
  'run.completed': (transcript, event, data) => {
    transcript.draft = null;
    for (const item of transcript.items) if (item.kind === 'call' && item.run === event.run && item.state !== 'ended') item.state = 'dropped';
    transcript.put(`end-${event.run}`, 'end', event, {status: data.status, error: data.error ?? null, duration: data.duration_ms, usage: data.usage, delegated: data.delegated, verified: data.verified ?? null, calls: data.calls});
  },
};
