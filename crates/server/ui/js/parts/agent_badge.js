// The mark of an agent: its icon in its colour, with its name.
// @ts-check

import {app} from '../app.js';
import {h} from '../dom.js';

/** Colours that definitions may name; others must be `#rrggbb`. */
const COLORS = new Set(['red', 'orange', 'yellow', 'green', 'teal', 'cyan', 'blue', 'purple', 'pink', 'gray', 'grey']);

/** The colour of an agent: its own, else one that follows from its name. @param {string} name @param {string} [color] */
export function agentColor(name, color) {
  const own = color ?? app.agents.get(name)?.look?.color;
  if (typeof own === 'string' && COLORS.has(own)) return {class: `color-${own === 'grey' ? 'gray' : own}`};
  if (typeof own === 'string' && /^#[0-9a-fA-F]{6}$/.test(own)) return {class: 'color-own', style: {'--own': own}};
  let sum = 0;
  for (const letter of name) sum = (sum * 31 + /** @type {number} */ (letter.codePointAt(0))) >>> 0;
  return {class: `color-${['teal', 'blue', 'purple', 'orange', 'pink', 'green', 'cyan', 'red'][sum % 8]}`};
}

/** The glyph of an agent: its icon if that is one or two characters, else its first letter. @param {string} name @param {string} [icon] */
export function agentGlyph(name, icon) {
  const own = icon ?? app.agents.get(name)?.look?.icon;
  if (typeof own === 'string' && own && [...own].length <= 2) return own;
  return (name[0] ?? '?').toUpperCase();
}

/** @param {string} name @param {{icon?: string, color?: string, plain?: boolean}} [look] */
export function agentBadge(name, {icon, color, plain = false} = {}) {
  const {class: className, style = {}} = agentColor(name, color);
  return h('span', {class: `badge ${className}`, style},
    h('span', {class: 'badge-glyph', 'aria-hidden': 'true'}, agentGlyph(name, icon)),
    plain ? null : h('span', {class: 'badge-name'}, name));
}
