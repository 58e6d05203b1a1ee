// Where messages are written: text, attachments, context chip, slash commands, drafts that survive a reload.
// @ts-check

import {newKey, pathOf, post} from '../api.js';
import {may} from '../app.js';
import {fill, h} from '../dom.js';
import {bytes} from '../format.js';
import {icon} from '../icons.js';
import {contextLine} from '../context_line.js';
import {completions, forgetNames, loadNames, runSlashCommand, sendPrompt} from '../slash_commands.js';
import {attempt} from '../toast.js';
import {stopSession} from './board_row.js';

/** The most characters of a message. */
const MOST_TEXT = 120_000;
/** Drafts that are kept in this browser. */
const MOST_DRAFTS = 20;
const DRAFTS = 'rooftree.drafts';

export class Composer {
  /** @param {any} view */
  constructor(view) {
    this.view = view;
    /** Uploaded files. @type {{blob: string, name: string, bytes: number}[]} */
    this.files = [];
    this.uploading = 0;
    this.isBrief = false;
    /** Whether the chip was removed. */
    this.hasContext = false;
    this.key = newKey();
    const isTouch = matchMedia('(pointer: coarse)').matches;
    this.text = h('textarea', {rows: '1', 'aria-label': 'Message', placeholder: 'Message, / for commands', maxlength: String(MOST_TEXT), 'aria-controls': 'completions',
      oninput: () => this.typed(), onpaste: (/** @type {any} */ event) => this.paste(event),
      onkeydown: (/** @type {KeyboardEvent} */ event) => this.key_(event, isTouch)});
    this.chips = h('div', {class: 'chips'});
    this.suggestions = h('div', {id: 'completions', class: 'suggestions', role: 'listbox', 'aria-label': 'Commands', hidden: true});
    this.picker = h('input', {type: 'file', multiple: true, hidden: true, onchange: () => { this.upload([...this.picker.files]); this.picker.value = ''; }});
    this.steer = h('button', {type: 'button', title: 'The running agent reads it at its next turn', onclick: () => this.send('steer')}, 'Steer');
    this.send_ = h('button', {type: 'submit', class: 'primary'}, 'Send');
    this.stop = h('button', {type: 'button', class: 'danger', onclick: () => attempt(() => stopSession(this.view.shown))}, 'Stop');
    this.brief = h('button', {type: 'button', class: 'ghost small', 'aria-pressed': 'false', title: 'Ask for a short answer', onclick: () => { this.isBrief = !this.isBrief; this.hasContext = this.hasContext || this.isBrief; this.drawChips(); }}, 'Brief');
    this.element = may('chat') ? h('form', {class: 'composer', onsubmit: (/** @type {Event} */ event) => { event.preventDefault(); this.send('queue'); },
      ondragover: (/** @type {DragEvent} */ event) => event.preventDefault(),
      ondrop: (/** @type {DragEvent} */ event) => { event.preventDefault(); this.upload([...(event.dataTransfer?.files ?? [])]); }},
    this.suggestions,
    h('div', {class: 'composer-box'}, this.chips, this.text,
      h('div', {class: 'composer-row'},
        h('button', {type: 'button', class: 'ghost', 'aria-label': 'Attach a file', title: 'Attach a file or a photo', onclick: () => this.picker.click()}, icon('attach')),
        this.picker, this.brief, h('span', {class: 'spacer'}), this.stop, this.steer, this.send_))) : h('p', {class: 'composer read-only'}, 'You may read this session, and not write.');
  }

  draw() {
    const isAtWork = Boolean(this.view.model.openRun(this.view.shown));
    this.steer.hidden = !isAtWork;
    this.stop.hidden = !isAtWork;
    this.send_.textContent = isAtWork ? 'Queue' : 'Send';
  }

  /** @param {KeyboardEvent} event @param {boolean} isTouch */
  key_(event, isTouch) {
    if (!this.suggestions.hidden && ['ArrowDown', 'ArrowUp', 'Tab'].includes(event.key)) { event.preventDefault(); this.moveSuggestion(event.key === 'ArrowUp' ? -1 : 1, event.key === 'Tab'); return; }
    if (event.key === 'Escape') this.suggestions.hidden = true;
    if (event.key !== 'Enter' || event.isComposing) return;
    // On a touch screen Enter is a new line: there is a button for sending.
    const sends = isTouch ? event.ctrlKey || event.metaKey : !event.shiftKey;
    if (!sends) return;
    event.preventDefault();
    this.send('queue');
  }

  typed() {
    this.text.style.height = 'auto';
    this.text.style.height = `${Math.min(this.text.scrollHeight, 260)}px`;
    this.keep();
    this.suggest();
    // Names that are still being loaded are shown as soon as they are there.
    if (this.text.value.startsWith('/')) loadNames(() => { if (document.activeElement === this.text) this.suggest(); });
  }

  /** Shows the commands that begin with what is typed. */
  suggest() {
    const found = completions(this.text.value);
    this.suggestions.hidden = found.length === 0;
    fill(this.suggestions, found.map(({typed, insert, help}, at) => h('button', {type: 'button', role: 'option', class: 'suggestion', data: {insert}, 'aria-selected': String(at === 0), onclick: () => this.accept(insert)}, h('code', null, typed), ' ', help)));
  }

  /** @param {number} by @param {boolean} accept */
  moveSuggestion(by, accept) {
    const all = [...this.suggestions.children];
    const at = all.findIndex(one => one.getAttribute('aria-selected') === 'true');
    if (accept) { const insert = /** @type {HTMLElement | undefined} */ (all[Math.max(at, 0)])?.dataset.insert; if (insert) this.accept(insert); return; }
    all.forEach((one, index) => one.setAttribute('aria-selected', String(index === (at + by + all.length) % all.length)));
  }

  /** @param {string} insert */
  accept(insert) {
    this.text.value = `${insert} `;
    this.suggestions.hidden = true;
    this.text.focus();
  }

  /** @param {ClipboardEvent} event */
  paste(event) {
    const files = [...(event.clipboardData?.files ?? [])];
    if (files.length === 0) return;
    event.preventDefault();
    this.upload(files);
  }

  /** @param {File[]} files */
  async upload(files) {
    for (const file of files) {
      this.uploading += 1;
      this.drawChips();
      await attempt(async () => {
        const stored = await post('/attachments', file, {headers: {'Content-Type': file.type || 'application/octet-stream'}});
        this.files.push({blob: stored.blob, name: file.name || 'picture.png', bytes: file.size});
      });
      this.uploading -= 1;
    }
    this.drawChips();
  }

  drawChips() {
    const chip = (/** @type {string} */ label, /** @type {() => void} */ remove) => h('span', {class: 'chip'}, label, h('button', {type: 'button', class: 'ghost small', 'aria-label': `Remove ${label}`, onclick: remove}, icon('close')));
    this.brief.setAttribute('aria-pressed', String(this.isBrief));
    const line = this.context();
    fill(this.chips,
      line ? chip(line, () => { this.hasContext = false; this.isBrief = false; this.drawChips(); }) : null,
      this.files.map(file => chip(`${file.name} (${bytes(file.bytes)})`, () => { this.files = this.files.filter(one => one !== file); this.drawChips(); })),
      this.uploading ? h('span', {class: 'chip'}, 'Uploading…') : null);
  }

  /** The context line that goes with the message, if there is one. */
  context() {
    if (!this.hasContext) return null;
    const meta = this.view.model.meta.get(this.view.shown);
    return contextLine({panelId: this.view.shown, panelType: 'session', panelTitle: meta?.name || meta?.title || '', mode: this.isBrief ? 'brief' : ''});
  }

  /** @param {string} delivery */
  async send(delivery) {
    const text = this.text.value.trim();
    if ((!text && this.files.length === 0) || this.uploading || this.isSending) return;
    this.suggestions.hidden = true;
    const command = text.startsWith('/') ? await this.sendCommand(text) : 'text';
    // A command that could not be carried out stays in the box.
    if (command === 'done') this.clear();
    if (command !== 'text') return;
    this.isSending = true;
    this.send_.disabled = true;
    const body = {text, delivery, attachments: this.files.map(({blob, name}) => ({blob, name})), ...(this.context() ? {context: this.context()} : {})};
    // The same key until it was accepted: a repeated attempt posts nothing twice.
    const sent = await attempt(() => post(pathOf`/sessions/${this.view.shown}/messages`, body, {key: this.key}));
    this.isSending = false;
    this.send_.disabled = false;
    if (sent) this.clear();
  }

  /** @param {string} text @returns {Promise<'done' | 'kept' | 'text'>} */
  async sendCommand(text) {
    this.isSending = true;
    const own = await runSlashCommand(text, this.view);
    const done = own === 'text' ? await sendPrompt(text, this.view, this.files.map(({blob, name}) => ({blob, name})), this.key) : own;
    this.isSending = false;
    return done;
  }

  clear() {
    this.text.value = '';
    this.text.style.height = '';
    this.files = [];
    this.isBrief = false;
    this.hasContext = false;
    this.key = newKey();
    this.keep();
    this.drawChips();
    this.view.transcriptView.isFollowing = true;
    this.text.focus();
  }

  /** Keeps what is typed in this browser, the newest drafts of some sessions. */
  keep() {
    try {
      const drafts = JSON.parse(localStorage.getItem(DRAFTS) ?? '{}');
      delete drafts[this.view.shown];
      if (this.text.value) drafts[this.view.shown] = this.text.value;
      localStorage.setItem(DRAFTS, JSON.stringify(Object.fromEntries(Object.entries(drafts).slice(-MOST_DRAFTS))));
    } catch { /* A full or forbidden storage costs only the draft. */ }
  }

  restore() {
    try {
      this.text.value = JSON.parse(localStorage.getItem(DRAFTS) ?? '{}')[this.view.shown] ?? '';
    } catch { /* See above. */ }
    if (!matchMedia('(pointer: coarse)').matches) this.text.focus();
  }

  close() {
    forgetNames();
  }
}
