// The head of a conversation: path of agents, model and mode, and what can be done with the session.
// @ts-check

import {get, newKey, patch, pathOf, post, remove} from '../api.js';
import {app, choosableAgents, may} from '../app.js';
import {askText, choose, confirmAction, dialog} from '../dialog.js';
import {fill, h, setText} from '../dom.js';
import {shortModel} from '../format.js';
import {icon} from '../icons.js';
import {go} from '../router.js';
import {attempt, toast} from '../toast.js';
import {agentBadge} from './agent_badge.js';
import {newSession} from './sidebar.js';

const MODES = ['plan', 'ask', 'accept-edits', 'auto', 'bypass'];

export class SessionHeader {
  /** @param {any} view */
  constructor(view) {
    this.view = view;
    this.path = h('div', {class: 'crumbs'});
    /** What the path shows. @type {string} */
    this.shownPath = '';
    this.title = h('h1', {class: 'session-title'});
    this.model = h('button', {type: 'button', class: 'ghost', title: 'Change the model', onclick: () => this.changeModel()});
    this.mode = h('button', {type: 'button', class: 'ghost', title: 'How much may happen without asking', onclick: () => this.changeMode()});
    this.pin = h('button', {type: 'button', class: 'ghost pin', onclick: () => this.togglePin()}, icon('star'));
    this.menu = h('button', {type: 'button', class: 'ghost', 'aria-haspopup': 'dialog', title: 'Rename, switch agent, fork, delete …', 'aria-label': 'More', onclick: () => this.openMenu()}, icon('more'));
    this.railButton = h('button', {type: 'button', class: 'ghost rail-button', onclick: () => view.rail.toggle(true)}, 'Agents');
    this.element = h('header', {class: 'session-head'}, this.path, this.title,
      h('div', {class: 'session-tools'}, this.model, this.mode, this.pin, this.railButton, this.menu));
  }

  get id() {
    return this.view.params.session;
  }

  draw() {
    const {model, shown} = this.view;
    const meta = model.meta.get(shown);
    const row = app.board.rows.get(shown);
    const isChild = shown !== this.id;
    const run = model.tree.runs.findLast((/** @type {any} */ one) => one.session === shown);
    const key = `${shown} ${meta?.agent}`;
    if (this.shownPath !== key) {
      this.shownPath = key;
      fill(this.path, isChild ? h('a', {href: `/s/${this.id}`}, '← ', model.meta.get(this.id)?.agent ?? 'the root') : null, agentBadge(meta?.agent ?? run?.agent ?? ''));
    }
    setText(this.title, meta?.name || row?.title || run?.title || (isChild ? this.view.agentPath(shown) : 'New session'));
    fact(this.model, 'Model', shortModel(run?.model || run?.first_model || meta?.model || 'model'));
    fact(this.mode, 'Mode', (model.tree.index.sessions.get(shown)?.mode ?? model.modes.get(shown) ?? 'mode').replace('_', '-'));
    this.pin.setAttribute('aria-label', meta?.pinned_at ? 'Unpin' : 'Pin');
    this.pin.title = meta?.pinned_at ? 'Unpin' : 'Pin to the top of the list';
    this.pin.setAttribute('aria-pressed', String(Boolean(meta?.pinned_at)));
    // What is not known of an agent below is left out: it cannot be changed here either.
    this.mode.hidden = isChild && !model.tree.index.sessions.get(shown)?.mode && !model.modes.get(shown);
    this.pin.hidden = isChild || !may('chat');
    this.menu.hidden = isChild || !may('chat');
    this.model.disabled = isChild || !may('chat');
    this.mode.disabled = isChild || !may('approve');
  }

  /** @param {any} change */
  async change(change) {
    const isDone = await attempt(() => patch(pathOf`/sessions/${this.id}`, change));
    this.view.model.loadMeta(this.id);
    return isDone;
  }

  togglePin() {
    return this.change({pinned: !this.view.model.meta.get(this.id)?.pinned_at});
  }

  async changeModel() {
    const {models} = await get('/models');
    const chosen = await choose('Model from the next message on', [{value: '', label: 'As the agent says'}, ...models.map((/** @type {any} */ one) => ({value: one.model ?? one.id ?? one.name, label: one.model ?? one.id ?? one.name}))]);
    if (chosen !== null) this.change({model: chosen || null});
  }

  async changeMode() {
    const chosen = await choose('What may happen without asking', MODES.map(value => ({value, label: value, hint: MODE_HINTS[value]})));
    if (chosen !== null) this.change({mode: chosen});
  }

  async openMenu() {
    const chosen = await choose('Session', [
      {value: 'rename', label: 'Rename'}, {value: 'new', label: 'New session with this agent'},
      {value: 'switch', label: 'Switch to another agent', hint: 'It gets the context of this conversation'},
      {value: 'back', label: 'Back to the agent before', hint: 'With a summary of what happened here'},
      {value: 'clear', label: 'Clear the context', hint: 'The agent forgets; the journal stays'},
      {value: 'fork', label: 'Fork here', hint: 'A new session that knows everything up to now'},
      {value: 'undo', label: 'Take back file changes of the last turn'},
      {value: 'export', label: 'Export'}, {value: 'delete', label: 'Delete'},
    ]);
    if (chosen) this.act(chosen);
  }

  /** @param {string} action @param {string} [argument] */
  async act(action, argument = '') {
    const path = (/** @type {string} */ name) => pathOf`/sessions/${this.id}` + name;
    const meta = this.view.model.meta.get(this.id);
    switch (action) {
      case 'rename': {
        const name = argument || await askText('Rename', 'Name', meta?.name ?? '');
        if (name !== null) await this.change({name: name || null});
        break;
      }
      case 'new': await newSession(argument || meta?.agent); break;
      case 'clear': if (await confirmAction('Clear the context?', 'The agent forgets what was said. The journal stays, and nothing can be lost.', 'Clear')) await attempt(() => post(path('/clear'), {})); break;
      case 'fork': await this.fork(); break;
      case 'switch': await this.switchAgent(argument); break;
      case 'back': await this.goBack(); break;
      case 'undo': await this.undo(); break;
      case 'export': location.assign(`/api/v1${path('/export')}`); break;
      case 'delete': await this.deleteSession(); break;
    }
  }

  /** @param {number} [event] the message before which the new session begins */
  async fork(event) {
    await attempt(async () => {
      const forked = await post(pathOf`/sessions/${this.id}/fork`, event ? {at: event - 1} : {});
      go(`/s/${forked.id ?? forked.session}`);
    });
  }

  /** @param {string} [named] */
  async switchAgent(named) {
    const agent = named || await choose('Switch to', choosableAgents().map(({name, description}) => ({value: name, label: name, hint: description})));
    if (!agent) return;
    await attempt(async () => {
      const next = await post(pathOf`/sessions/${this.id}/switch`, {agent}, {key: newKey()});
      go(`/s/${next.id ?? next.session}`);
    });
  }

  async goBack() {
    const summary = await choose('What should the agent before be told?', [
      {value: 'extract', label: 'The last answer', hint: 'Costs nothing'}, {value: 'model', label: 'A summary by a model'}]);
    if (!summary) return;
    await attempt(async () => {
      // Nothing is told if nothing was said since; then the answer is empty.
      const told = await post(pathOf`/sessions/${this.id}/back`, {summary}, {key: newKey()});
      go(`/s/${told?.session ?? this.view.model.meta.get(this.id)?.forked_from?.session}`);
    });
  }

  async undo() {
    await attempt(async () => {
      const preview = await get(pathOf`/sessions/${this.id}/undo`);
      const files = preview.files ?? [];
      if (files.length === 0) return toast('The last turn changed no files.');
      const list = h('ul', null, files.map((/** @type {any} */ file) => h('li', null, `${file.path}: ${file.action ?? file.what ?? ''}`)));
      if (await dialog('Take these changes back?', [list], {submit: 'Take back', danger: true})) await post(pathOf`/sessions/${this.id}/undo`, {});
    });
  }

  async deleteSession() {
    const {id} = this;
    if (!await attempt(() => remove(pathOf`/sessions/${id}`))) return;
    toast('Deleted.', {action: 'Undo', act: () => attempt(async () => { await post(pathOf`/sessions/${id}/restore`, {}); go(`/s/${id}`); }), ms: 15_000});
    go('/');
  }
}

/** @type {Record<string, string>} */
const MODE_HINTS = {
  plan: 'It only looks and makes a plan', ask: 'Asks before it changes anything', 'accept-edits': 'May change files, asks for the rest',
  auto: 'Asks only for what is risky', bypass: 'Never asks',
};

/** A value with its name in front, which narrow screens leave out. @param {any} button @param {string} name @param {string} value */
function fact(button, name, value) {
  if (!button.firstChild) fill(button, h('span', {class: 'fact-name'}, `${name} `), h('span'));
  setText(button.lastChild, value);
}
