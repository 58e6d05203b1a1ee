// Sums of usage by day, agent and model, from the rows of `GET /usage?by=day&also=agent,model`. Pure.
// @ts-check

/**
 * @typedef {{name: string, also: string[], replies: number, usage: any}} UsageRow
 * @typedef {{replies: number, input: number, output: number, cacheRead: number, tokens: number, cost: number, isPriced: boolean}} Sum
 */

const DAY = 86_400_000;

/** @returns {Sum} */
export function noUsage() {
  return {replies: 0, input: 0, output: 0, cacheRead: 0, tokens: 0, cost: 0, isPriced: true};
}

/** @param {Sum} sum @param {UsageRow} row @returns {Sum} */
function plus(sum, {replies, usage}) {
  return {
    replies: sum.replies + replies, input: sum.input + usage.input, output: sum.output + usage.output, cacheRead: sum.cacheRead + usage.cache_read,
    tokens: sum.tokens + usage.input + usage.output, cost: sum.cost + usage.cost_usd, isPriced: sum.isPriced && usage.cost_complete,
  };
}

/** @param {UsageRow[]} rows @returns {Sum} */
export function total(rows) {
  return rows.reduce(plus, noUsage());
}

/** Sums by what a row is named, the largest first. @param {UsageRow[]} rows @param {(row: UsageRow) => string} nameOf @param {'cost' | 'tokens'} measure @returns {[string, Sum][]} */
export function sumsBy(rows, nameOf, measure) {
  /** @type {Map<string, Sum>} */
  const sums = new Map();
  for (const row of rows) sums.set(nameOf(row), plus(sums.get(nameOf(row)) ?? noUsage(), row));
  return [...sums].sort(([one, left], [other, right]) => right[measure] - left[measure] || right.tokens - left.tokens || one.localeCompare(other));
}

/** Every day from the first one on, also those without usage. @param {string} since @param {number} count */
export function daysFrom(since, count) {
  const first = Date.parse(`${since}T00:00:00Z`);
  return Array.from({length: count}, (_, at) => new Date(first + at * DAY).toISOString().slice(0, 10));
}

/**
 * For each day its sum, and the part of each of these names; the rest is the part called ''.
 * @param {UsageRow[]} rows @param {string[]} days @param {string[]} names @param {(row: UsageRow) => string} nameOf
 * @returns {{day: string, sum: Sum, parts: {name: string, sum: Sum}[]}[]}
 */
export function dailyParts(rows, days, names, nameOf) {
  const known = new Set(names);
  /** @type {Map<string, UsageRow[]>} */
  const byDay = new Map();
  for (const row of rows) byDay.set(row.name, [...(byDay.get(row.name) ?? []), row]);
  return days.map(day => {
    const own = byDay.get(day) ?? [];
    const parts = [...names, ''].map(name => ({name, sum: total(own.filter(row => (known.has(nameOf(row)) ? nameOf(row) === name : name === '')))}));
    return {day, sum: total(own), parts: parts.filter(part => part.sum.replies || part.sum.tokens)};
  });
}

/** A round number at or above this one, for the top of an axis. @param {number} value */
export function roundUp(value) {
  if (value <= 0) return 1;
  const unit = 10 ** Math.floor(Math.log10(value));
  return ([1, 2, 2.5, 5, 10].find(step => step * unit >= value * (1 - 1e-9)) ?? 10) * unit;
}
