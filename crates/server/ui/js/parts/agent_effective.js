// What an agent would have if it ran now: each tool with the reason, its settings with their source.
// @ts-check

import {get, pathOf} from '../api.js';
import {fill, h} from '../dom.js';
import {count} from '../format.js';

/** A section that loads when it is first opened. @param {string} agent */
export function effectiveSection(agent) {
  const body = h('div', {class: 'effective'});
  const load = async () => {
    fill(body, h('p', {class: 'muted', 'aria-busy': 'true'}, 'Loading…'));
    try {
      fill(body, report(await get(pathOf`/agents/${agent}/effective`)));
    } catch (error) {
      fill(body, h('p', {class: 'error', role: 'alert'}, /** @type {any} */ (error).message), h('button', {type: 'button', onclick: load}, 'Try again'));
    }
  };
  const details = h('details', {class: 'panel', ontoggle: () => { if (details.open) load(); }},
    h('summary', null, h('h2', null, 'Effective tools'), h('small', null, 'as it is saved, each with its reason')), body);
  /** Called after a save. */
  details.reload = () => { if (details.open) load(); };
  return details;
}

/** @param {any} report @returns {any[]} */
function report({tools, values, asks, missing}) {
  const [has, lacks] = [tools.filter((/** @type {any} */ tool) => tool.has), tools.filter((/** @type {any} */ tool) => !tool.has)];
  return [
    missing.length ? h('p', {class: 'error'}, `Named, but not there: ${missing.join(', ')}`) : null,
    tools.length ? table(`${count(has.length, 'tool')} it has`, ['Tool', 'Why'], has.map((/** @type {any} */ tool) => [h('code', null, tool.tool), tool.because])) : h('p', {class: 'muted'}, 'It has no tools.'),
    lacks.length ? h('details', null, h('summary', null, `${count(lacks.length, 'tool')} it has not`),
      table('Tools it has not', ['Tool', 'Why not'], lacks.map((/** @type {any} */ tool) => [h('code', null, tool.tool), tool.because]))) : null,
    values.length ? table('Settings', ['Setting', 'Value', 'From'], values.map((/** @type {any} */ value) => [value.name, h('code', null, value.value), value.from])) : null,
    asks.length ? h('p', null, h('strong', null, 'May ask: '), asks.join(', ')) : null,
  ].filter(Boolean);
}

/** @param {string} caption @param {string[]} heads @param {any[][]} rows */
function table(caption, heads, rows) {
  return h('table', {class: 'plain-table'}, h('caption', null, caption),
    h('thead', null, h('tr', null, heads.map(head => h('th', {scope: 'col'}, head)))),
    h('tbody', null, rows.map(row => h('tr', null, row.map(cell => h('td', null, cell))))));
}
