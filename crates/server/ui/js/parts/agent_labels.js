// Words about agents: where a definition is written, who may use it, its model, its group.
// @ts-check

/** Level of a definition and its title, in the order of lists. @type {[string, string][]} */
export const LEVELS = [
  ['project', 'This project'], ['api', 'Made here'], ['user', 'Your own files'], ['config', 'Settings'], ['code', 'Program'], ['builtin', 'Built in'],
];

/** @param {string} level */
export function levelWords(level) {
  return LEVELS.find(([name]) => name === level)?.[1] ?? level;
}

/** @param {any} agent */
export function useWords(agent) {
  if (agent.hidden) return 'hidden';
  return {both: '', primary: 'only for you', subagent: 'helps other agents'}[/** @type {string} */ (agent.use_as)] ?? agent.use_as;
}

/** A model choice as it is written. @param {any} model */
export function modelWords(model) {
  if (!model) return 'model of its caller';
  return typeof model === 'string' ? model : `${model.provider}/${model.model}`;
}

/**
 * Agents in groups: by their own group if they name one, else by where they are written.
 * @param {any[]} agents
 * @returns {{title: string, agents: any[]}[]}
 */
export function groupAgents(agents) {
  /** @type {Map<string, any[]>} */
  const groups = new Map();
  for (const agent of agents) {
    const own = agent.look?.group;
    const title = typeof own === 'string' && own ? own : levelWords(agent.level);
    groups.set(title, [...(groups.get(title) ?? []), agent]);
  }
  const order = LEVELS.map(([, title]) => title);
  const place = (/** @type {string} */ title) => order.indexOf(title);
  return [...groups]
    .map(([title, found]) => ({title, agents: found.sort((one, other) => one.name.localeCompare(other.name))}))
    .sort((one, other) => place(one.title) - place(other.title) || one.title.localeCompare(other.title));
}

/** Whether a name can be an agent's. @param {string} name */
export function isAgentName(name) {
  return /^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/.test(name);
}
