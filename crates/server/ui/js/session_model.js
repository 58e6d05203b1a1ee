// One open root session: its run tree, the transcripts of it and of sessions below it, kept up to date by the stream.
// @ts-check

import {get, pathOf} from './api.js';
import {app} from './app.js';
import {applyEvent, applySnapshot, newTree} from './reduce.js';
import {Transcript} from './transcript.js';

export class SessionModel extends EventTarget {
  /** @param {string} root */
  constructor(root) {
    super();
    this.root = root;
    this.tree = newTree(root);
    /** Metadata of sessions. @type {Map<string, any>} */
    this.meta = new Map();
    /** @type {Map<string, Transcript>} */
    this.transcripts = new Map();
    /** Heads of sessions as the stream told them. @type {Map<string, number>} */
    this.heads = new Map();
    /** Permission modes in which runs began. @type {Map<string, string>} */
    this.modes = new Map();
    /** Messages that wait, as `GET …/queue` tells them. @type {any[]} */
    this.queue = [];
    /** @type {any} */
    this.problem = null;
    /** Frames that came before the history was loaded. @type {any[] | null} */
    this.waiting = [];
    /** Whether the server knows no such session, or does not show it to this person. */
    this.isMissing = false;
    this.stop = () => {};
  }

  open() {
    this.stop = app.live.watch(this.root, frame => this.take(frame));
  }

  close() {
    this.stop();
  }

  /** @param {import('./sse.js').Frame} frame */
  take(frame) {
    if (this.waiting) {
      this.waiting.push(frame);
      if (frame.name === 'session.removed' && frame.data.session === this.root && frame.data.reason !== 'removed') {
        this.isMissing = true;
        this.dispatchEvent(new Event('change'));
      }
      if (frame.name === 'session.snapshot' && frame.data.session === this.root) this.load(frame.data);
      return;
    }
    this.apply(frame);
  }

  /** Loads the newest part of the history, up to where the stream begins. @param {any} snapshot */
  async load(snapshot) {
    try {
      const transcript = new Transcript(this.root);
      const events = await transcript.fetchPage(snapshot.head + 1);
      transcript.first = events[0]?.id ?? 1;
      for (const event of events) {
        transcript.apply(event);
        applyEvent(this.tree, event);
        this.takeMode(event);
      }
      transcript.head = Math.max(transcript.head, snapshot.head);
      transcript.isLoaded = true;
      this.transcripts.set(this.root, transcript);
      this.meta.set(this.root, snapshot.meta);
      await this.loadQueue();
    } catch (error) {
      this.problem = error;
    }
    /** @type {any[]} */
    const waiting = this.waiting ?? [];
    this.waiting = null;
    for (const frame of waiting) this.apply(frame);
    this.dispatchEvent(new Event('change'));
  }

  /** @param {import('./sse.js').Frame} frame */
  apply({name, data}) {
    if (name === 'session.snapshot') {
      this.meta.set(data.session, data.meta);
      this.heads.set(data.session, data.head);
      if (data.run) this.takeMode(data.run);
      applySnapshot(this.tree, data);
      this.transcripts.get(data.session)?.applySnapshot(data);
    } else if (name === 'session.added') {
      this.meta.set(data.session, data.meta);
      this.heads.set(data.session, Math.max(this.heads.get(data.session) ?? 0, data.after));
    } else if (name === 'session.meta') {
      this.meta.set(data.id, data);
    } else if (name === 'message.block') {
      this.transcripts.get(data.session)?.applyBlock(data);
    } else if (name === 'message.html') {
      this.transcripts.get(data.session)?.applyHtml(data);
    } else if (name === 'session.removed') {
      if (data.session === this.root) this.problem = new Error('This session is not there any more.');
    } else if (data.type) {
      this.applyEvent(data);
    }
    this.dispatchEvent(new Event('change'));
  }

  /** @param {any} event */
  applyEvent(event) {
    if (typeof event.id === 'number') this.heads.set(event.session, event.id);
    applyEvent(this.tree, event);
    this.transcripts.get(event.session)?.apply(event);
    this.takeMode(event);
    if (event.session === this.root && (event.type.startsWith('inbox.') || event.type === 'message.user')) this.loadQueue();
    if (event.type === 'session.updated') this.loadMeta(event.session);
  }

  /** @param {any} event */
  takeMode(event) {
    const mode = event.type === 'run.started' ? event.data.policy?.mode ?? event.data.bounds?.mode : null;
    if (mode) this.modes.set(event.session, mode);
  }

  /** The transcript of a session below; loaded when it is first asked for. @param {string} session */
  transcript(session) {
    const known = this.transcripts.get(session);
    if (known) return known;
    const transcript = new Transcript(session);
    this.transcripts.set(session, transcript);
    this.loadTranscript(transcript);
    return transcript;
  }

  /** @param {Transcript} transcript */
  async loadTranscript(transcript) {
    try {
      const meta = this.meta.get(transcript.session) ?? await get(pathOf`/sessions/${transcript.session}`);
      this.meta.set(transcript.session, meta);
      const {head} = await get(pathOf`/sessions/${transcript.session}/events`, {limit: 1});
      await transcript.load(head);
    } catch (error) {
      this.problem = error;
    }
    this.dispatchEvent(new Event('change'));
  }

  async loadQueue() {
    const {queued = [], steering = []} = await get(pathOf`/sessions/${this.root}/queue`).catch(() => ({}));
    this.queue = [...steering, ...queued].filter(message => !message.withdrawn);
    this.dispatchEvent(new Event('change'));
  }

  /** @param {string} session */
  async loadMeta(session) {
    const meta = await get(pathOf`/sessions/${session}`).catch(() => null);
    if (meta) this.meta.set(session, meta);
    this.dispatchEvent(new Event('change'));
  }

  /** The open run of a session, if there is one. @param {string} session */
  openRun(session) {
    for (let at = this.tree.runs.length - 1; at >= 0; at -= 1) {
      const run = this.tree.runs[at];
      if (run.session === session && run.phase.is !== 'ended') return run;
    }
    return null;
  }
}
