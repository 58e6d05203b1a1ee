// Editor of one agent: form and Markdown text side by side, checked while typing; shows the change before it is saved.
// @ts-check

import {ApiError, get, pathOf, post, put, remove, url} from '../api.js';
import {app, loadAgents, may} from '../app.js';
import {confirmAction, dialog} from '../dialog.js';
import {fill, h, setText} from '../dom.js';
import {findField, setField} from '../front_matter.js';
import {unifiedDiff} from '../line_diff.js';
import {go} from '../router.js';
import {attempt, toast} from '../toast.js';
import {View} from '../view.js';
import {agentBadge} from '../parts/agent_badge.js';
import {AgentForm} from '../parts/agent_form.js';
import {effectiveSection} from '../parts/agent_effective.js';
import {levelWords, modelWords, useWords} from '../parts/agent_labels.js';
import {diagnosticList, focusLine} from '../parts/agent_problems.js';
import {diffView} from '../parts/diff_view.js';
import {newSession} from '../parts/sidebar.js';
import {askNewAgent} from './agents.js';

/** How long typing rests before the text is checked. */
const CHECK_AFTER_MS = 400;
const TEMPLATE = `---
description: What it is for, and when to ask it
---
You are …

- What it does, step by step.
- What it must not do.

End with what whoever asked needs to know.
`;

class AgentEditor extends View {
  constructor() {
    super();
    this.name = '';
    this.isNew = false;
    /** The text as it is saved, and as it is here. */
    this.saved = '';
    this.text = '';
    /** @type {string | null} */
    this.etag = null;
    this.canEdit = false;
    /** The answer of `GET /agents/{agent}`. @type {any} */
    this.detail = null;
    /** What is wrong with the text. @type {any[]} */
    this.found = [];
    this.isValid = true;
  }

  open() {
    this.name = this.params.agent;
    this.title_ = `${this.name} – Rooftree`;
    this.isNew = new URLSearchParams(location.search).has('new');
    fill(this, h('div', {class: 'screen wide'}, h('p', {class: 'empty-line', 'aria-busy': 'true'}, 'Loading…')));
    this.listen(window, 'beforeunload', event => { if (this.isChanged()) event.preventDefault(); });
    this.load();
  }

  close() {
    clearTimeout(this.timer);
  }

  get draftKey() {
    return `rooftree.agent.${this.name}`;
  }

  isChanged() {
    return this.canEdit && (this.isNew || this.text !== this.saved);
  }

  async load() {
    try {
      const [{models}, {tools}] = await Promise.all([get('/models'), get('/tools')]);
      if (this.isNew) await this.beginNew();
      else await this.read();
      if (!this.isConnected) return;
      this.build(models, tools);
    } catch (error) {
      this.showProblem(/** @type {any} */ (error));
    }
  }

  async beginNew() {
    const from = new URLSearchParams(location.search).get('from');
    this.canEdit = may('admin');
    this.text = from ? await get(pathOf`/agents/${from}/file`) : TEMPLATE;
    if (from && findField(this.text, 'name', 'agent_id')) this.text = setField(this.text, ['name', 'agent_id'], this.name);
    this.takeDraft();
  }

  /** Reads what is saved. The etag is read first: what changes in between is found when it is sent. */
  async read() {
    this.detail = await get(pathOf`/agents/${this.name}`);
    this.etag = this.detail.etag ?? null;
    this.canEdit = Boolean(this.detail.editable) && may('admin');
    this.saved = may('admin') ? await get(pathOf`/agents/${this.name}/file`) : '';
    this.text = this.saved;
    this.takeDraft();
  }

  /** Text that was typed before and not saved. */
  takeDraft() {
    const draft = this.canEdit ? sessionStorage.getItem(this.draftKey) : null;
    if (draft === null || draft === this.text) return;
    this.text = draft;
    toast('This is your text from before; it is not saved yet.', {action: 'Discard', act: () => this.discard()});
  }

  /** @param {any} error */
  showProblem(error) {
    const isMissing = error instanceof ApiError && error.status === 404;
    fill(this, h('div', {class: 'empty', role: 'alert'}, h('h1', null, isMissing ? 'There is no such agent' : 'The agent cannot be shown'),
      h('p', {class: 'error'}, error.message), h('p', null, error.hint ?? ''),
      h('p', null, h('a', {href: '/agents'}, 'All agents'), ' ', isMissing ? null : h('button', {type: 'button', onclick: () => this.load()}, 'Try again'))));
  }

  /** @param {any[]} models @param {any[]} tools */
  build(models, tools) {
    const button = (/** @type {string} */ label, /** @type {() => any} */ act, kind = '') => h('button', {type: 'button', class: kind, onclick: act}, label);
    const source = this.detail?.definition.source;
    const canChat = may('chat') && this.detail && !this.detail.definition.hidden && this.detail.definition.use_as !== 'subagent';
    this.badge = h('span');
    this.state = h('span', {class: 'edit-state', role: 'status'});
    this.saveButton = button('Save…', () => this.save(), 'primary');
    this.discardButton = button('Discard', () => this.discard(), 'ghost');
    const head = h('div', {class: 'screen-head'}, this.badge, h('h1', null, this.isNew ? `New agent ${this.name}` : this.name),
      h('p', {class: 'agent-facts'}, source ? [levelWords(source.level), source.path ? ` · ${source.path}` : ''] : 'It is made when you save it.'),
      h('div', {class: 'head-buttons'},
        this.canEdit ? [this.state, this.discardButton, this.saveButton] : null,
        canChat ? button('New session', () => newSession(this.name)) : null,
        may('admin') && !this.isNew ? button('Copy as new agent', () => askNewAgent(this.name)) : null,
        may('admin') && !this.isNew ? h('a', {class: 'button', href: url(pathOf`/agents/${this.name}/file`), download: `${this.name}.md`}, 'Export') : null,
        this.canEdit && source?.level === 'api' ? button('Delete', () => this.deleteAgent(), 'danger-text') : null));
    this.conflict = h('div');
    this.effective = this.isNew ? null : effectiveSection(this.name);
    fill(this, h('div', {class: 'screen wide'}, h('a', {class: 'back', href: '/agents'}, '← Agents'), head, this.notice(), this.conflict,
      may('admin') ? this.editor(models, tools) : this.readOnly(), this.effective));
    this.takeText(this.text, null);
  }

  notice() {
    if (this.canEdit) return null;
    const why = !may('admin') ? 'Only an administrator may change agents.'
      : this.detail?.definition.source.level === 'builtin' ? 'It comes with the program and cannot be changed. Copy it as a new agent to make your own.'
        : 'It comes from settings or a file that is not Markdown, and cannot be changed here. Copy it as a new agent to make your own.';
    return h('p', {class: 'notice-line'}, why);
  }

  /** @param {any[]} models @param {any[]} tools */
  editor(models, tools) {
    this.form = new AgentForm({models, tools, isFixed: !this.canEdit, change: text => this.takeText(text, 'form')});
    this.raw = h('textarea', {class: 'raw', id: 'raw', spellcheck: 'false', autocapitalize: 'none', wrap: 'soft', readonly: !this.canEdit,
      oninput: () => this.takeText(this.raw.value, 'raw'), onselect: () => this.showPlace(), onclick: () => this.showPlace(), onkeyup: () => this.showPlace()});
    this.place = h('small', {'aria-hidden': 'true'});
    this.problems = h('div', {class: 'problems', role: 'status'});
    return h('div', {class: 'editor'},
      h('section', {class: 'editor-form', 'aria-label': 'Form'}, h('h2', null, 'Form'), this.form.element),
      h('section', {class: 'editor-text', 'aria-label': 'Text'}, h('div', {class: 'raw-head'}, h('label', {for: 'raw'}, h('strong', null, 'Text')), this.place), this.raw, this.problems));
  }

  /** For those who may not read the file. */
  readOnly() {
    const {definition} = this.detail;
    return h('section', {class: 'panel'}, h('p', null, definition.description),
      h('p', {class: 'agent-facts'}, `${modelWords(definition.model)} · ${useWords(definition)}`),
      definition.prompt ? h('pre', {class: 'prompt', tabindex: '0', 'aria-label': 'Prompt'}, definition.prompt) : null);
  }

  /** Takes a new text from the form or the text field, and shows it in the other. @param {string} text @param {'form' | 'raw' | null} from */
  takeText(text, from) {
    this.text = text;
    const own = (/** @type {string} */ name) => { const value = findField(text, name)?.value; return typeof value === 'string' && value ? value : undefined; };
    const look = this.detail?.definition.look ?? {};
    fill(this.badge, agentBadge(this.name, {plain: true, icon: own('icon') ?? (this.raw ? '' : look.icon), color: own('color') ?? own('colour') ?? (this.raw ? '' : look.color)}));
    if (!this.raw) return;
    if (from !== 'raw') this.raw.value = text;
    if (from !== 'form') this.form?.show(text);
    else this.form?.scope.show(findField(text, 'tools', 'tool_allowlist', 'allowed_tools'), !this.canEdit);
    if (!this.canEdit) return;
    if (from && this.isChanged()) sessionStorage.setItem(this.draftKey, text);
    else if (from) sessionStorage.removeItem(this.draftKey);
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.check(), from ? CHECK_AFTER_MS : 0);
    this.changed();
  }

  showPlace() {
    const before = this.raw.value.slice(0, this.raw.selectionStart);
    const line = before.split('\n').length;
    setText(this.place, `line ${line}, column ${before.length - before.lastIndexOf('\n')}`);
  }

  async check() {
    const {text} = this;
    try {
      const {valid, diagnostics} = await post('/agents/validate', {name: this.name, text});
      // A later text has its own answer.
      if (text !== this.text || !this.isConnected) return;
      this.isValid = valid;
      this.showDiagnostics(diagnostics);
    } catch (error) {
      if (this.isConnected) fill(this.problems, h('p', {class: 'error'}, `It could not be checked: ${/** @type {any} */ (error).message}`));
    }
    this.changed();
  }

  /** @param {any[]} diagnostics */
  showDiagnostics(diagnostics) {
    this.found = diagnostics;
    fill(this.problems, diagnosticList(diagnostics, line => focusLine(this.raw, line)));
  }

  draw() {
    if (!this.canEdit || !this.saveButton) return;
    const isChanged = this.isChanged();
    setText(this.state, isChanged ? (this.isValid ? 'not saved' : 'has errors') : 'saved');
    this.state.dataset.state = isChanged ? (this.isValid ? 'changed' : 'wrong') : 'saved';
    this.saveButton.disabled = !isChanged || !this.isValid;
    this.discardButton.hidden = !isChanged || this.isNew;
  }

  async save() {
    const {text} = this;
    const diff = unifiedDiff(this.saved, text, `${this.name}.md`);
    const warnings = this.found.filter(one => one.warning).length;
    const content = [diff ? diffView(diff) : h('p', null, 'Only the line end at the end of the file differs.'),
      warnings ? h('p', {class: 'hint'}, `${warnings === 1 ? 'One warning is' : `${warnings} warnings are`} told below the text.`) : null];
    if (!await dialog(this.isNew ? `Make ${this.name}?` : `Save ${this.name}?`, content.filter(Boolean), {submit: 'Save', wide: true})) return;
    this.saveButton.disabled = true;
    try {
      const path = pathOf`/agents/${this.name}`;
      const detail = this.isNew ? await post('/agents', {name: this.name, text}) : await put(path, {text}, {headers: {'If-Match': this.etag ?? ''}});
      sessionStorage.removeItem(this.draftKey);
      toast(this.isNew ? `${this.name} is there and can be used.` : `${this.name} is saved.`);
      await loadAgents().catch(() => {});
      if (this.isNew) { this.canEdit = false; go(path, {replace: true}); return; }
      this.detail = detail;
      this.etag = detail.etag ?? null;
      this.saved = text;
      fill(this.conflict);
      this.effective?.reload();
    } catch (error) {
      await this.notSaved(/** @type {any} */ (error));
    }
    this.changed();
  }

  /** What was typed stays. @param {any} error */
  async notSaved(error) {
    if (error.status === 412) return this.showConflict();
    if (error.problem?.diagnostics) this.showDiagnostics(error.problem.diagnostics);
    await attempt(() => Promise.reject(error));
  }

  /** Somebody else saved meanwhile: shows what changed, and keeps the text that is here. */
  async showConflict() {
    await attempt(async () => {
      const detail = await get(pathOf`/agents/${this.name}`);
      const theirs = await get(pathOf`/agents/${this.name}/file`);
      const diff = unifiedDiff(this.saved, theirs, `${this.name}.md`);
      this.etag = detail.etag ?? null;
      this.saved = theirs;
      fill(this.conflict, h('section', {class: 'conflict', role: 'alert', 'aria-label': 'Changed meanwhile'},
        h('h2', null, 'It was changed meanwhile'),
        h('p', null, 'Your text is kept here and is not saved. This is what changed there; take it over where you want it. Saving shows the difference to it, and then replaces it.'),
        diffView(diff),
        h('div', {class: 'buttons'}, h('button', {type: 'button', onclick: () => this.discard()}, 'Discard mine'), h('button', {type: 'button', onclick: () => fill(this.conflict)}, 'Close'))));
      this.conflict.scrollIntoView({block: 'start'});
    });
  }

  discard() {
    sessionStorage.removeItem(this.draftKey);
    fill(this.conflict);
    this.takeText(this.isNew ? TEMPLATE : this.saved, null);
  }

  async deleteAgent() {
    if (!await confirmAction(`Delete ${this.name}?`, 'Its sessions stay. If it hid another agent of this name, that one counts again.', 'Delete')) return;
    await attempt(async () => {
      await remove(pathOf`/agents/${this.name}`, {headers: {'If-Match': this.etag ?? ''}});
      sessionStorage.removeItem(this.draftKey);
      this.canEdit = false;
      app.agents.delete(this.name);
      go('/agents');
    });
  }
}
customElements.define('rt-agent-editor', AgentEditor);
