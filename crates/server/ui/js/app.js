// What all screens share: who the person is, the agents, the live connection, the board, messages at the edge.
// @ts-check

import {get, setCsrf} from './api.js';
import {BoardStore} from './board_store.js';
import {Live} from './live.js';

export const app = {
  /** Who uses the page: answer of `GET /me`. @type {any} */
  me: null,
  /** Agents by name. @type {Map<string, any>} */
  agents: new Map(),
  live: new Live(),
  board: new BoardStore(),
  events: new EventTarget(),
};

/** Learns who uses the page; throws an `ApiError` with status 401 if nobody is logged in. */
export async function begin() {
  app.me = await get('/me');
  setCsrf(app.me.csrf ?? '');
  await loadAgents();
  await app.live.start(app.me.csrf ?? '');
  app.board.watch(app.live);
}

export async function loadAgents() {
  const {agents} = await get('/agents');
  app.agents = new Map(agents.map((/** @type {any} */ agent) => [agent.name, agent]));
  app.events.dispatchEvent(new Event('agents'));
}

/** Whether the person may do what needs this scope. @param {string} scope */
export function may(scope) {
  const scopes = app.me?.scopes ?? [];
  return scopes.includes(scope) || scopes.includes('admin');
}

/** Agents that people may choose, by name. */
export function choosableAgents() {
  return [...app.agents.values()]
    .filter(agent => !agent.hidden && agent.use_as !== 'subagent')
    .sort((one, other) => one.name.localeCompare(other.name));
}
