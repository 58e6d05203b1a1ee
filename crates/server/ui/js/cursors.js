// What was received of each session and topic, so that a new connection continues there.
// The same rules as `stream_cursors.rs` of the crate `client`.
// @ts-check

/** @typedef {import('./sse.js').Frame} Frame */
/** @typedef {{root: string, position: number}} Received */

/** The topic that a frame with this name would be of: `board` of `board.row`. @param {string} name */
export function topicOf(name) {
  return name.split('.')[0];
}

/** Whether something that is watched is a topic, and not a session. @param {string} key */
export function isTopic(key) {
  return !key.startsWith('ses_');
}

export class Cursors {
  constructor() {
    /** Watched roots. @type {Set<string>} */
    this.roots = new Set();
    /** @type {Map<string, Received>} */
    this.sessions = new Map();
    /** Watched topics and the revision of each. @type {Map<string, string>} */
    this.topics = new Map();
    /** The server's time when the first connection was made. */
    this.joinedAt = '';
  }

  /** The body of `POST /stream` that continues after what was received. */
  request() {
    /** @type {Record<string, any>} */
    const sessions = {};
    for (const root of this.roots) sessions[root] = this.start(root);
    return {sessions, html: true, topics: Object.fromEntries(this.topics)};
  }

  /** Where the stream of a root begins. @param {string} root */
  start(root) {
    const received = this.sessions.get(root);
    if (!received) return {tree: true};
    /** @type {Record<string, number>} */
    const below = {};
    for (const [session, one] of this.sessions) {
      if (one.root === root && session !== root) below[session] = one.position;
    }
    return {after: received.position, tree: true, below, ...(this.joinedAt ? {since: this.joinedAt} : {})};
  }

  /** @param {string} root */
  add(root) {
    this.roots.add(root);
  }

  /** @param {string} root */
  remove(root) {
    this.roots.delete(root);
    for (const [session, one] of this.sessions) if (one.root === root) this.sessions.delete(session);
  }

  /** The root that a session belongs to. @param {string} session */
  rootOf(session) {
    return this.sessions.get(session)?.root ?? session;
  }

  /**
   * Takes a frame into account: whether it is new, was received before, or tells that frames before it were lost.
   * @param {Frame} frame
   * @returns {'deliver' | 'repeated' | 'missed'}
   */
  take(frame) {
    const {name, data} = frame;
    if (name === 'hello') {
      this.joinedAt ||= data.now;
    } else if (name === 'session.added') {
      this.join(data.session, data.root, data.after);
    } else if (name === 'session.snapshot') {
      this.join(data.session, data.session, data.head);
      if (this.position(data.session) < data.head) return 'missed';
    } else if (name === 'beat') {
      for (const [session, head] of Object.entries(data.heads)) {
        if (this.sessions.has(session) && this.position(session) < head) return 'missed';
      }
    } else if (this.topics.has(topicOf(name))) {
      this.topics.set(topicOf(name), frame.id.slice(topicOf(name).length + 1));
    } else if (typeof data.id === 'number' && data.session) {
      return this.takeEvent(data.session, data.id);
    }
    return 'deliver';
  }

  /** @param {string} session @param {number} id @returns {'deliver' | 'repeated' | 'missed'} */
  takeEvent(session, id) {
    this.join(session, session, id - 1);
    const received = /** @type {Received} */ (this.sessions.get(session));
    if (id <= received.position) return 'repeated';
    if (id > received.position + 1) return 'missed';
    received.position = id;
    return 'deliver';
  }

  /** @param {string} session @param {string} root @param {number} position */
  join(session, root, position) {
    if (!this.sessions.has(session)) this.sessions.set(session, {root, position});
  }

  /** @param {string} session */
  position(session) {
    return this.sessions.get(session)?.position ?? 0;
  }
}
