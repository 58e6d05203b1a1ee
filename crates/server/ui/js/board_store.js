// The rows of the board, as the stream tells them.
// @ts-check

/** The order of states: what asks most for attention comes first. */
const STATES = ['needs_you', 'failed', 'working', 'waiting', 'idle', 'done', 'stopped'];

export class BoardStore extends EventTarget {
  constructor() {
    super();
    /** @type {Map<string, any>} */
    this.rows = new Map();
    this.isLoaded = false;
  }

  /** @param {import('./live.js').Live} live */
  watch(live) {
    live.watch('board', frame => this.take(frame));
  }

  /** @param {import('./sse.js').Frame} frame */
  take({name, data}) {
    if (name === 'board.snapshot') {
      this.rows = new Map(data.rows.map((/** @type {any} */ row) => [row.session, row]));
      this.isLoaded = true;
    } else if (name === 'board.row') {
      this.rows.set(data.session, data);
    } else if (name === 'board.gone') {
      this.rows.delete(data.session);
    }
    this.dispatchEvent(new Event('change'));
  }

  /** Rows of some states, sorted as the server sorts them. @param {...string} states */
  inStates(...states) {
    return [...this.rows.values()].filter(row => states.includes(row.state)).sort(compareRows);
  }

  /** What needs the person: reasons of all rows. */
  needed() {
    return [...this.rows.values()].filter(row => row.state === 'needs_you').reduce((sum, row) => sum + row.why.length, 0);
  }
}

/** @param {any} one @param {any} other */
function compareRows(one, other) {
  const latest = (/** @type {any} */ row) => [row.ended, row.started].filter(Boolean).sort().at(-1) ?? '';
  const byState = STATES.indexOf(one.state) - STATES.indexOf(other.state);
  if (byState) return byState;
  if (one.pinned !== other.pinned) return one.pinned ? -1 : 1;
  if (one.state === 'needs_you') return (one.why[0]?.since ?? '').localeCompare(other.why[0]?.since ?? '');
  return latest(other).localeCompare(latest(one)) || one.session.localeCompare(other.session);
}
