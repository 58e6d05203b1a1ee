// The agents there are, in groups, with search; each can be talked to and edited, and new ones made.
// @ts-check

import {app, loadAgents, may} from '../app.js';
import {dialog} from '../dialog.js';
import {fill, h, setText} from '../dom.js';
import {count} from '../format.js';
import {go} from '../router.js';
import {View} from '../view.js';
import {agentBadge} from '../parts/agent_badge.js';
import {groupAgents, isAgentName, modelWords, useWords} from '../parts/agent_labels.js';
import {newSession} from '../parts/sidebar.js';

class Agents extends View {
  open() {
    this.title_ = 'Agents – Rooftree';
    /** @type {any} */
    this.problem = null;
    this.isLoaded = app.agents.size > 0;
    this.search = h('input', {type: 'search', 'aria-label': 'Search agents', placeholder: 'Search agents', oninput: () => this.changed()});
    this.list = h('div', {class: 'agent-groups'});
    this.found = h('p', {class: 'visually-hidden', role: 'status'});
    fill(this, h('div', {class: 'screen'},
      h('div', {class: 'screen-head'}, h('h1', null, 'Agents'), this.search,
        may('admin') ? h('button', {type: 'button', class: 'primary', onclick: () => askNewAgent()}, 'New agent') : null),
      this.found, this.list));
    this.listen(app.events, 'agents', () => this.changed());
    this.load();
  }

  async load() {
    try {
      await loadAgents();
      this.problem = null;
    } catch (error) {
      this.problem = error;
    }
    this.isLoaded = true;
    this.changed();
  }

  draw() {
    if (this.problem && app.agents.size === 0) return this.drawProblem();
    if (!this.isLoaded) return fill(this.list, h('p', {class: 'empty-line', 'aria-busy': 'true'}, 'Loading…'));
    const words = this.search.value.toLowerCase().split(/\s+/).filter(Boolean);
    const all = [...app.agents.values()];
    // Agents that are hidden belong to demos and other agents: they are found by their name.
    const agents = all.filter(agent => {
      if (agent.hidden && words.length === 0) return false;
      const text = `${agent.name} ${agent.description} ${modelWords(agent.model)} ${agent.level}`.toLowerCase();
      return words.every((/** @type {string} */ word) => text.includes(word));
    });
    setText(this.found, words.length ? `${count(agents.length, 'agent')} found` : '');
    if (agents.length === 0) return fill(this.list, h('p', {class: 'empty-line'}, words.length ? 'No agent fits these words.' : 'There are no agents that you may use.'));
    return fill(this.list, groupAgents(agents).map(group => h('section', {class: 'agent-group', 'aria-label': group.title},
      h('h2', null, group.title, ' ', h('span', {class: 'group-count'}, group.agents.length)),
      h('ul', {class: 'agent-list'}, group.agents.map(agent => agentCard(agent))))));
  }

  drawProblem() {
    fill(this.list, h('div', {class: 'empty', role: 'alert'}, h('p', {class: 'error'}, this.problem.message), h('p', null, this.problem.hint),
      h('button', {type: 'button', onclick: () => this.load()}, 'Try again')));
  }
}
customElements.define('rt-agents', Agents);

/** @param {any} agent */
function agentCard(agent) {
  const isChoosable = may('chat') && !agent.hidden && agent.use_as !== 'subagent';
  const path = `/agents/${encodeURIComponent(agent.name)}`;
  return h('li', {class: 'agent-card'},
    h('div', {class: 'agent-card-head'}, agentBadge(agent.name, {plain: true}), h('a', {class: 'agent-name', href: path}, agent.name),
      h('span', {class: 'agent-use'}, useWords(agent))),
    h('p', {class: 'agent-description'}, agent.description || 'No description.'),
    h('div', {class: 'agent-card-foot'},
      h('span', {class: 'agent-facts'}, agent.model ? modelWords(agent.model) : ''),
      isChoosable ? h('button', {type: 'button', class: 'small', 'aria-label': `New session with ${agent.name}`, onclick: () => newSession(agent.name)}, 'New session') : null));
}

/** Asks for a name and opens the editor; nothing is made before it is saved there. @param {string} [from] the agent to copy */
export async function askNewAgent(from = '') {
  const name = h('input', {type: 'text', value: from ? `${from}-copy` : '', autofocus: true, maxlength: '64', required: true, pattern: '[A-Za-z0-9][A-Za-z0-9_\\-]*', autocapitalize: 'none', spellcheck: 'false'});
  const start = h('select', null, h('option', {value: ''}, 'An empty page'), [...app.agents.keys()].sort().map(agent => h('option', {value: agent, selected: agent === from}, `A copy of ${agent}`)));
  const chosen = await dialog('New agent', [
    h('label', {class: 'field'}, h('span', null, 'Name: letters, digits, - and _'), name),
    h('label', {class: 'field'}, h('span', null, 'Begin with'), start),
  ], {submit: 'Open the editor', read: () => ({name: name.value.trim(), from: start.value})});
  if (!chosen || !isAgentName(chosen.name)) return;
  const search = new URLSearchParams({new: '1', ...(chosen.from ? {from: chosen.from} : {})});
  go(`/agents/${encodeURIComponent(chosen.name)}?${search}`);
}
