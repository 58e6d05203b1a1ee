// Plots of usage: bars by day, stacked by agent, and bars by name; each with the same numbers as a table.
// @ts-check

import {h} from '../dom.js';
import {count, money, tokens} from '../format.js';
import {roundUp} from '../usage_sums.js';
import {agentColor} from './agent_badge.js';

const HEIGHT = 180;
/** The most bars of a plot by name; the table has all. */
const MOST_BARS = 12;

/** @typedef {import('../usage_sums.js').Sum} Sum */

/** A sum in the measure of the plot. @param {Sum} sum @param {'cost' | 'tokens'} measure */
export function measured(sum, measure) {
  return measure === 'cost' ? money(sum.cost, sum.isPriced) : `${tokens(sum.tokens)}`;
}

/** The day without its year. @param {string} day */
function dayWords(day) {
  return new Date(`${day}T12:00:00Z`).toLocaleDateString(undefined, {day: 'numeric', month: 'short', timeZone: 'UTC'});
}

/**
 * @param {{day: string, sum: Sum, parts: {name: string, sum: Sum}[]}[]} days @param {string[]} names @param {'cost' | 'tokens'} measure
 * @returns {any}
 */
export function dayPlot(days, names, measure) {
  const top = roundUp(Math.max(...days.map(({sum}) => sum[measure]), 0));
  const slot = 100 / days.length;
  const bars = days.flatMap(({day, sum, parts}, at) => {
    let below = 0;
    return parts.map(part => {
      const height = (part.sum[measure] / top) * HEIGHT;
      below += height;
      return h('svg:rect', {class: `part ${part.name ? agentColor(part.name).class : 'color-gray'}`, style: part.name ? agentColor(part.name).style ?? {} : {},
        x: `${at * slot + slot * 0.12}%`, width: `${slot * 0.76}%`, y: HEIGHT - below, height: Math.max(height, part.sum[measure] > 0 ? 1 : 0)},
      h('svg:title', null, `${dayWords(day)}: ${part.name || 'others'} ${measured(part.sum, measure)}, all ${measured(sum, measure)}`));
    });
  });
  const grid = [0, 0.5, 1].map(part => h('svg:line', {class: 'grid', x1: '0', x2: '100%', y1: HEIGHT * part + (part === 0 ? 0.5 : part === 1 ? -0.5 : 0), y2: HEIGHT * part + (part === 0 ? 0.5 : part === 1 ? -0.5 : 0)}));
  const each = Math.ceil(days.length / (window.innerWidth < 720 ? 4 : 10));
  return h('figure', {class: 'plot'}, h('figcaption', null, 'By day'),
    h('div', {class: 'day-plot'},
      h('div', {class: 'plot-scale', 'aria-hidden': 'true'}, [top, top / 2, 0].map(value => h('span', null, measure === 'cost' ? money(value) : tokens(Math.round(value))))),
      h('svg:svg', {class: 'plot-area', width: '100%', height: HEIGHT, role: 'img', 'aria-label': `${measure === 'cost' ? 'Cost' : 'Tokens'} by day; the table below has the numbers`}, grid, bars),
      h('div', {class: 'plot-days', 'aria-hidden': 'true'}, days.map(({day}, at) => (at % each === 0 ? h('span', {style: {'--at': `${at * slot}%`}}, dayWords(day)) : null)))),
    h('ul', {class: 'legend', 'aria-hidden': 'true'}, names.map(name => h('li', null, h('i', {class: `swatch ${agentColor(name).class}`, style: agentColor(name).style ?? {}}), name))),
    sumTable('Day', [...days].reverse().filter(({sum}) => sum.replies || sum.tokens).map(({day, sum}) => [day, sum])));
}

/**
 * @param {string} title @param {string} head @param {[string, Sum][]} sums @param {'cost' | 'tokens'} measure @param {(name: string) => {class: string, style?: any}} colorOf
 * @returns {any}
 */
export function namePlot(title, head, sums, measure, colorOf) {
  const most = Math.max(...sums.map(([, sum]) => sum[measure]), 0) || 1;
  const rest = sums.length - MOST_BARS;
  return h('figure', {class: 'plot'}, h('figcaption', null, title),
    h('div', {class: 'name-plot', 'aria-hidden': 'true'}, sums.slice(0, MOST_BARS).map(([name, sum]) => {
      const color = colorOf(name);
      return h('div', {class: 'name-bar'}, h('span', {class: 'name-label', title: name}, name),
        h('svg:svg', {width: '100%', height: '12'}, h('svg:rect', {class: `part ${color.class}`, style: color.style ?? {}, x: '0', y: '0', rx: '2', height: '12', width: `${Math.max((sum[measure] / most) * 100, 0.5)}%`},
          h('svg:title', null, `${name}: ${money(sum.cost, sum.isPriced)}, ${tokens(sum.tokens)} tokens, ${count(sum.replies, 'reply', 'replies')}`))),
        h('span', {class: 'name-value'}, measured(sum, measure)));
    }), rest > 0 ? h('p', {class: 'cut'}, `${rest} more in the table`) : null),
    sumTable(head, sums));
}

/** @param {string} head @param {[string, Sum][]} rows */
function sumTable(head, rows) {
  return h('details', {class: 'plot-table'}, h('summary', null, 'Table'), h('div', {class: 'table-scroll', tabindex: '0', role: 'region', 'aria-label': `Usage by ${head.toLowerCase()}`}, h('table', {class: 'plain-table'},
    h('caption', {class: 'visually-hidden'}, `Usage by ${head.toLowerCase()}`),
    h('thead', null, h('tr', null, h('th', {scope: 'col'}, head), ['Cost', 'Input', 'From cache', 'Output', 'Replies'].map(name => h('th', {scope: 'col', class: 'number'}, name)))),
    h('tbody', null, rows.map(([name, sum]) => h('tr', null, h('th', {scope: 'row'}, name),
      [money(sum.cost, sum.isPriced), tokens(sum.input), tokens(sum.cacheRead), tokens(sum.output), String(sum.replies)].map(text => h('td', {class: 'number'}, text))))))));
}
