// Numbers, times and names as people read them.
// @ts-check

/** @param {number} ms */
export function duration(ms) {
  if (ms < 1000) return `${Math.max(0, Math.round(ms))} ms`;
  if (ms < 10_000) return `${(ms / 1000).toFixed(1)} s`;
  const seconds = Math.round(ms / 1000);
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min ${seconds % 60} s`;
  const hours = Math.floor(minutes / 60);
  if (hours < 48) return `${hours} h ${minutes % 60} min`;
  return `${Math.floor(hours / 24)} days`;
}

/** Tokens: 950, 4.1k, 1.2M. @param {number} count */
export function tokens(count) {
  if (count < 1000) return String(count);
  if (count < 100_000) return `${(count / 1000).toFixed(1)}k`;
  if (count < 1_000_000) return `${Math.round(count / 1000)}k`;
  return `${(count / 1_000_000).toFixed(1)}M`;
}

/** Money; `≈` says that not every price was known. @param {number} usd @param {boolean} [complete] */
export function money(usd, complete = true) {
  const sign = complete ? '' : '≈';
  if (!usd) return `${sign}$0`;
  return `${sign}$${usd < 0.01 ? usd.toFixed(4) : usd < 10 ? usd.toFixed(2) : usd.toFixed(0)}`;
}

/** Bytes: 12 kB. @param {number} count */
export function bytes(count) {
  if (count < 1000) return `${count} B`;
  if (count < 1_000_000) return `${Math.round(count / 1000)} kB`;
  return `${(count / 1_000_000).toFixed(1)} MB`;
}

/** How long ago: now, 5 min, 3 h, 12 Nov. @param {string | null | undefined} at @param {number} [now] */
export function ago(at, now = Date.now()) {
  if (!at) return '';
  const time = Date.parse(at);
  const seconds = Math.round((now - time) / 1000);
  if (seconds < 45) return 'now';
  if (seconds < 3600) return `${Math.max(1, Math.round(seconds / 60))} min`;
  if (seconds < 86_400) return `${Math.round(seconds / 3600)} h`;
  if (seconds < 6 * 86_400) return `${Math.round(seconds / 86_400)} d`;
  return new Date(time).toLocaleDateString(undefined, {day: 'numeric', month: 'short'});
}

/** The same in a sentence: "5 min ago", "now", "12 Nov". @param {string} at */
export function agoWords(at) {
  const words = ago(at);
  return /^\d+ (min|h|d)$/.test(words) ? `${words} ago` : words;
}

/** The time of day, with the date if it is another day. @param {string} at */
export function clock(at) {
  const time = new Date(at);
  const today = new Date().toDateString() === time.toDateString();
  const hour = time.toLocaleTimeString(undefined, {hour: '2-digit', minute: '2-digit'});
  return today ? hour : `${time.toLocaleDateString(undefined, {day: 'numeric', month: 'short'})}, ${hour}`;
}

/** "1 file", "7 files". @param {number} count @param {string} word @param {string} [many] */
export function count(count, word, many = `${word}s`) {
  return `${count} ${count === 1 ? word : many}`;
}

/** The first line, shortened. @param {string} text @param {number} [most] */
export function firstLine(text, most = 120) {
  const line = text.trim().split('\n', 1)[0] ?? '';
  return line.length > most ? `${line.slice(0, most - 1)}…` : line;
}

/** The first line without the marks of headings, emphasis, code and links. @param {string} text @param {number} [most] */
export function plainLine(text, most = 120) {
  return firstLine(text.trimStart().replace(/^[#> ]+/, '').replace(/\[([^[\]\n]*)\]\(([^)\s]*)\)/g, '$1').replace(/\*\*|`/g, ''), most);
}

/** A model's short name: what stands after the provider. @param {string} model */
export function shortModel(model) {
  return model.slice(model.indexOf('/') + 1);
}

/** States of the board in words. */
export const STATE_WORDS = {
  needs_you: 'needs you', failed: 'failed', working: 'working', waiting: 'waiting', idle: 'idle', done: 'done', stopped: 'stopped',
};
