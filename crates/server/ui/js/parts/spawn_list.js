// The list of agents that a large fan-out would start: models, tools they get and lose, forecast.
// @ts-check

import {h} from '../dom.js';
import {money, shortModel, tokens} from '../format.js';

/** @param {any} spawn */
export function spawnList(spawn) {
  const agents = spawn.agents ?? [];
  return h('table', {class: 'spawn'},
    h('thead', null, h('tr', null, ['Agent', 'Model', 'Task', 'Tools', 'Forecast'].map(text => h('th', {scope: 'col'}, text)))),
    h('tbody', null, agents.map((/** @type {any} */ agent) => h('tr', null,
      h('td', null, agent.agent), h('td', null, shortModel(agent.model ?? '')), h('td', null, agent.title ?? ''),
      h('td', null, h('details', null, h('summary', null, `${agent.tools?.length ?? 0}`), h('p', null, (agent.tools ?? []).join(', ')),
        agent.lost?.length ? h('p', null, `Without: ${agent.lost.join(', ')}`) : null)),
      h('td', null, forecast(agent.forecast))))));
}

/** @param {any} known */
function forecast(known) {
  if (!known || !known.runs) return 'no past runs';
  return `${tokens(known.tokens)} tokens, ${money(known.cost_usd, known.complete)} (${known.runs} past runs)`;
}
