// The form of a schedule: what is typed as "when" is shown in words with its next five times while it is typed.
// @ts-check

import {newKey, patch, pathOf, post} from '../api.js';
import {choosableAgents} from '../app.js';
import {fill, h} from '../dom.js';
import {millis, moment} from '../schedule_words.js';

/** How long after typing the preview is asked for. */
const PREVIEW_MS = 250;
const EXAMPLES = ['weekdays at 9', 'every 2h', 'in 20m', '0 7 * * mon'];
/** What happens if the one before still runs. @type {[string, string][]} */
const OVERLAPS = [['skip', 'Leave this one out'], ['queue', 'Wait, then run']];
/** What happens with times that were missed. @type {[string, string][]} */
const MISSED = [['none', 'Leave them out'], ['once', 'Run once, late']];

/** Asks for a schedule and saves it; true if it was saved. @param {any} schedule the one to change, or null @returns {Promise<boolean>} */
export function editSchedule(schedule) {
  return new Promise(resolve => {
    let isSaved = false;
    const form = new ScheduleForm(schedule, () => { isSaved = true; box.close(); }, () => box.close());
    const box = h('dialog', {class: 'schedule-dialog', 'aria-labelledby': 'schedule-title', onclose: () => { form.close(); box.remove(); resolve(isSaved); }}, form.element);
    document.body.append(box);
    box.showModal();
    form.preview();
  });
}

class ScheduleForm {
  /** @param {any} schedule @param {() => void} saved @param {() => void} cancel */
  constructor(schedule, saved, cancel) {
    this.schedule = schedule;
    this.saved = saved;
    this.asked = 0;
    this.key = newKey();
    const zone = schedule?.zone || Intl.DateTimeFormat().resolvedOptions().timeZone;
    const choice = (/** @type {[string, string][]} */ values, /** @type {string} */ value) => h('select', null, values.map(([name, label]) => h('option', {value: name, selected: name === value}, label)));
    this.name = h('input', {type: 'text', required: true, maxlength: '100', value: schedule?.name ?? '', placeholder: 'Morning report', autofocus: !schedule});
    this.when = h('input', {type: 'text', required: true, maxlength: '200', value: schedule?.words ?? '', placeholder: EXAMPLES[0], autocapitalize: 'none', autocomplete: 'off', 'aria-describedby': 'schedule-preview', oninput: () => this.later()});
    this.zone = h('input', {type: 'text', required: true, value: zone, list: 'zones', autocomplete: 'off', oninput: () => this.later()});
    this.agent = h('select', null, agentNames(schedule).map(name => h('option', {value: name, selected: name === (schedule?.agent ?? 'lead')}, name)));
    this.prompt = h('textarea', {rows: '4', maxlength: '20000', required: !schedule?.command, placeholder: 'What should the agent do?'}, schedule?.prompt ?? '');
    this.target = h('input', {type: 'text', maxlength: '200', value: schedule?.target ?? '', placeholder: 'telegram', autocapitalize: 'none'});
    this.overlap = choice(OVERLAPS, schedule?.overlap ?? 'skip');
    this.missed = choice(MISSED, schedule?.catch_up ?? 'once');
    this.times = h('div', {id: 'schedule-preview', class: 'preview', role: 'status'});
    this.error = h('p', {class: 'error', role: 'alert', hidden: true});
    this.save = h('button', {type: 'submit', class: 'primary'}, schedule ? 'Save' : 'Create');
    this.element = this.build(cancel);
  }

  /** @param {() => void} cancel */
  build(cancel) {
    const field = (/** @type {string} */ label, /** @type {any} */ control, kind = '') => h('label', {class: `field ${kind}`}, h('span', null, label), control);
    const example = (/** @type {string} */ text) => h('button', {type: 'button', class: 'chip-button', onclick: () => { this.when.value = text; this.preview(); this.when.focus(); }}, text);
    return h('form', {onsubmit: (/** @type {Event} */ event) => { event.preventDefault(); this.send(); }},
      h('h2', {id: 'schedule-title'}, this.schedule ? `Edit ${this.schedule.name}` : 'New schedule'),
      field('Name', this.name),
      h('div', {class: 'form-row'}, field('When', this.when), field('Time zone', this.zone)),
      this.schedule ? null : h('p', {class: 'examples'}, EXAMPLES.map(example)),
      this.times,
      h('div', {class: 'form-row'}, field('Agent', this.agent), field('Send the answer to (optional)', this.target)),
      field('Task', this.prompt),
      h('details', {class: 'more-fields'}, h('summary', null, 'More'), h('div', {class: 'form-row'}, field('If the last one still runs', this.overlap), field('Times that were missed', this.missed))),
      h('datalist', {id: 'zones'}, zones().map((/** @type {string} */ name) => h('option', {value: name}))),
      this.error,
      h('div', {class: 'buttons'}, h('button', {type: 'button', onclick: cancel}, 'Cancel'), this.save));
  }

  later() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.preview(), PREVIEW_MS);
  }

  /** Shows what was typed in words, and the next times; or what is wrong with it. */
  async preview() {
    const number = ++this.asked;
    const [when, zone] = [this.when.value.trim(), this.zone.value.trim()];
    if (!when) return fill(this.times, h('p', {class: 'muted'}, 'Say it in words or as a cron line.'));
    // What is saved already needs no parsing, and its words may not be what was typed.
    if (this.schedule && when === this.schedule.words && zone === this.schedule.zone) return this.showTimes(this.schedule, zone);
    try {
      const found = await post('/schedules/preview', {when, zone});
      if (number === this.asked) this.showTimes(found, zone);
    } catch (error) {
      if (number !== this.asked) return;
      const {message, hint} = /** @type {any} */ (error);
      this.when.setAttribute('aria-invalid', 'true');
      fill(this.times, h('p', {class: 'error'}, message, hint ? `. ${hint}` : ''));
    }
  }

  /** @param {any} found @param {string} zone */
  showTimes({words, next = []}, zone) {
    this.when.removeAttribute('aria-invalid');
    fill(this.times, h('p', null, h('strong', null, words)), next.length ? h('ul', {'aria-label': 'Next times'}, next.slice(0, 5).map((/** @type {number} */ at) => h('li', null, moment(millis(at), zone)))) : h('p', {class: 'muted'}, 'It has no next time.'));
  }

  async send() {
    const [when, zone] = [this.when.value.trim(), this.zone.value.trim()];
    const isSameTime = this.schedule && when === this.schedule.words && zone === this.schedule.zone;
    const body = {
      name: this.name.value.trim(), ...(isSameTime ? {} : {when, zone}), agent: this.agent.value, prompt: this.prompt.value.trim(),
      target: this.target.value.trim() || null, overlap: this.overlap.value, catch_up: this.missed.value, ...(this.schedule ? {rev: this.schedule.rev} : {}),
    };
    this.save.disabled = true;
    this.error.hidden = true;
    try {
      await (this.schedule ? patch(pathOf`/schedules/${this.schedule.id}`, body) : post('/schedules', body, {key: this.key}));
      this.saved();
    } catch (error) {
      this.tell(/** @type {any} */ (error));
    }
    this.save.disabled = false;
  }

  /** What the server refused, at the field it is about. @param {any} error */
  tell(error) {
    const fields = /** @type {Record<string, any>} */ ({'/name': this.name, '/when': this.when, '/zone': this.zone, '/agent': this.agent, '/prompt': this.prompt, '/target': this.target});
    fill(this.error, error.status === 409 && error.pointer !== '/name' ? 'It was changed elsewhere meanwhile. Close this and open it again. ' : '', error.message, error.hint ? `. ${error.hint}` : '');
    this.error.hidden = false;
    (fields[error.pointer] ?? this.save).focus();
  }

  close() {
    clearTimeout(this.timer);
  }
}

/** @param {any} schedule */
function agentNames(schedule) {
  const names = choosableAgents().map(agent => agent.name);
  return schedule && !names.includes(schedule.agent) ? [schedule.agent, ...names] : names;
}

/** Names of time zones that this browser knows. */
function zones() {
  return /** @type {any} */ (Intl).supportedValuesOf?.('timeZone') ?? [];
}
