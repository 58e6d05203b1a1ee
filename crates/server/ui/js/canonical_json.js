// Canonical JSON of a run tree, byte for byte as `RunTreeView::to_canonical_json` of crates/view writes it.

import { totalUsage } from './tree_queries.js';

/** @typedef {import('./tree_types.js').Tree} Tree */

/** Fields that hold numbers with a fraction, which Rust writes with a point even if they are whole. */
const FRACTIONS = new Set(['cost_usd', 'share']);

/**
 * The whole state as JSON with a stable order of fields.
 * @param {Tree} tree
 */
export function canonicalJson(tree) {
  const { root, sessions, runs, inquiries } = tree;
  const totals = runs.map(({ run }) => ({ run, usage: totalUsage(tree, run) }));
  return write({ root, sessions, runs, inquiries, totals });
}

/**
 * @param {unknown} value
 * @returns {string}
 */
function write(value) {
  if (Array.isArray(value)) {
    return `[${value.map(write).join(',')}]`;
  }
  if (value instanceof Map) {
    const entries = [...value].sort(([one], [other]) => compareCodePoints(one, other));
    return `{${entries.map(writeField).join(',')}}`;
  }
  if (value !== null && typeof value === 'object') {
    const isWritten = (/** @type {[string, unknown]} */ [key, field]) =>
      field !== undefined && !(key === 'searches' && field === 0);
    return `{${Object.entries(value).filter(isWritten).map(writeField).join(',')}}`;
  }
  return JSON.stringify(value);
}

/**
 * @param {[string, unknown]} field
 */
function writeField([key, value]) {
  const text = FRACTIONS.has(key) && typeof value === 'number' ? writeFraction(value) : write(value);
  return `${JSON.stringify(key)}:${text}`;
}

/**
 * A number as Rust writes a float: the shortest digits, with an exponent below 1e-5 and from 1e16 on.
 * @param {number} value
 */
export function writeFraction(value) {
  if (value === 0) {
    return Object.is(value, -0) ? '-0.0' : '0.0';
  }
  const sign = value < 0 ? '-' : '';
  const [mantissa, exponent] = Math.abs(value).toExponential().split('e');
  const digits = mantissa.replace('.', '');
  const point = Number(exponent) + 1;
  if (point > 16 || point <= -5) {
    const rest = digits.length > 1 ? `.${digits.slice(1)}` : '';
    return `${sign}${digits[0]}${rest}e${point - 1}`;
  }
  if (point <= 0) {
    return `${sign}0.${'0'.repeat(-point)}${digits}`;
  }
  return `${sign}${digits.slice(0, point).padEnd(point, '0')}.${digits.slice(point) || '0'}`;
}

/**
 * Compares texts as Rust does, by code points: units of UTF-16 have another order.
 * @param {string} one
 * @param {string} other
 */
function compareCodePoints(one, other) {
  const [left, right] = [Array.from(one), Array.from(other)];
  const at = left.findIndex((char, index) => char !== right[index]);
  if (at < 0) {
    return left.length - right.length;
  }
  return (left[at].codePointAt(0) ?? 0) - (right[at]?.codePointAt(0) ?? -1);
}
