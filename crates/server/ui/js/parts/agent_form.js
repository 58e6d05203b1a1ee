// The form of an agent's definition: reads fields out of its text and changes only their lines.
// @ts-check

import {fill, h} from '../dom.js';
import {findField, itemsOf, setField} from '../front_matter.js';
import {ToolScope} from './tool_scope.js';

/**
 * @typedef {{names: string[], label: string, kind: 'text' | 'long' | 'number' | 'list' | 'flag' | 'select' | 'model', hint?: string, choices?: [string, string][], most?: number}} FormField
 */

/** @type {FormField[]} */
const LOOK = [
  {names: ['display_name', 'title'], label: 'Shown name', kind: 'text', most: 80},
  {names: ['icon'], label: 'Icon: one sign', kind: 'text', most: 2},
  {names: ['color', 'colour'], label: 'Colour', kind: 'select', choices: [['', 'By its name'],
    ...['teal', 'green', 'cyan', 'blue', 'purple', 'pink', 'red', 'orange', 'yellow', 'gray'].map(color => /** @type {[string, string]} */ ([color, color]))]},
];
/** @type {FormField[]} */
const WORK = [
  {names: ['model'], label: 'Model', kind: 'model', hint: 'provider/model, fast, standard, powerful or inherit. Empty: that of its caller'},
  {names: ['effort', 'model_reasoning_effort', 'thinking'], label: 'Effort', kind: 'select', choices: [['', 'As usual'], ['low', 'low'], ['medium', 'medium'], ['high', 'high']]},
  {names: ['permission_mode', 'approval_mode'], label: 'Permission mode', kind: 'select', choices: [['', 'As the session says'], ['plan', 'plan: only looks'], ['ask', 'ask before changes'], ['accept-edits', 'accept-edits: may change files'], ['auto', 'auto: asks if risky'], ['bypass', 'bypass: never asks']]},
  {names: ['max_turns', 'max_iterations', 'steps'], label: 'Most turns of a run', kind: 'number'},
];
/** @type {FormField[]} */
const OTHERS = [
  {names: ['disallowed_tools', 'tool_denylist', 'denied_tools'], label: 'Tools it must not have', kind: 'list'},
  {names: ['agents', 'agent_allowlist'], label: 'Agents it may ask', kind: 'list', hint: 'With commas; empty: all'},
  {names: ['use_as', 'mode'], label: 'Who may use it', kind: 'select', choices: [['', 'You and agents'], ['primary', 'Only you'], ['subagent', 'Only agents']]},
  {names: ['api_exposed'], label: 'Can be asked over HTTP as a model', kind: 'flag'},
  {names: ['hidden'], label: 'Left out of lists', kind: 'flag'},
];

export class AgentForm {
  /** @param {{models: any[], tools: any[], change: (text: string) => void, isFixed: boolean}} options */
  constructor({models, tools, change, isFixed}) {
    this.text = '';
    this.isFixed = isFixed;
    this.change = change;
    /** @type {{field: FormField, control: any, hint: any}[]} */
    this.controls = [];
    this.scope = new ToolScope(tools, value => this.set(['tools', 'tool_allowlist', 'allowed_tools'], value));
    const names = [...models.map(model => model.name), 'fast', 'standard', 'powerful', 'inherit'];
    this.models = h('datalist', {id: 'agent-models'}, names.map(name => h('option', {value: name})));
    const description = this.make({names: ['description', 'when_to_use'], label: 'Description: when to use it', kind: 'long'});
    this.element = h('form', {class: 'agent-form', 'aria-label': 'Fields', onsubmit: (/** @type {Event} */ event) => event.preventDefault()},
      this.models, description,
      h('div', {class: 'form-row'}, LOOK.map(field => this.make(field))),
      h('div', {class: 'form-row'}, WORK.map(field => this.make(field))),
      this.scope.element,
      h('div', {class: 'form-row'}, OTHERS.map(field => this.make(field))));
  }

  /** @param {FormField} field */
  make(field) {
    const control = this.control(field);
    const hint = h('small', null, field.hint);
    this.controls.push({field, control, hint});
    const isFlag = field.kind === 'flag';
    return h('label', {class: `field${isFlag ? ' flag' : ''}${['model', 'list', 'flag'].includes(field.kind) ? ' broad' : ''}`}, isFlag ? [control, h('span', null, field.label)] : [h('span', null, field.label), control], hint);
  }

  /** @param {FormField} field */
  control(field) {
    const oninput = () => this.set(field.names, this.read(field, control));
    const common = {spellcheck: 'false', autocapitalize: 'none', maxlength: field.most};
    const control = field.kind === 'long' ? h('textarea', {rows: '2', oninput})
      : field.kind === 'select' ? h('select', {onchange: oninput}, (field.choices ?? []).map(([value, label]) => h('option', {value}, label)))
        : field.kind === 'flag' ? h('input', {type: 'checkbox', onchange: oninput})
          : field.kind === 'number' ? h('input', {type: 'number', min: '1', max: '10000', inputmode: 'numeric', oninput})
            : h('input', {type: 'text', ...common, list: field.kind === 'model' ? 'agent-models' : null, oninput});
    return control;
  }

  /** What a control says; null for nothing. @param {FormField} field @param {any} control */
  read(field, control) {
    if (field.kind === 'flag') return control.checked ? true : null;
    const text = control.value.replace(/\s*\n\s*/g, ' ').trimStart();
    if (text.trim() === '') return null;
    if (field.kind === 'number') return Math.max(1, Math.trunc(Number(text)) || 1);
    return field.kind === 'list' ? itemsOf(text) : text;
  }

  /** @param {string[]} names @param {import('../front_matter.js').Value | null} value */
  set(names, value) {
    this.text = setField(this.text, names, value);
    this.change(this.text);
  }

  /** Shows the fields of a text; what is being typed into is left alone. @param {string} text */
  show(text) {
    this.text = text;
    for (const {field, control, hint} of this.controls) {
      const found = findField(text, ...field.names);
      const isOdd = found?.value === null;
      control.disabled = this.isFixed || isOdd;
      fill(hint, isOdd ? 'Written in a way that only the text shows.' : field.hint ?? '');
      if (control === document.activeElement && control.isConnected && !isOdd) continue;
      showValue(field, control, found?.value ?? '');
    }
    this.scope.show(findField(text, 'tools', 'tool_allowlist', 'allowed_tools'), this.isFixed);
  }
}

/** @param {FormField} field @param {any} control @param {string | string[]} value */
function showValue(field, control, value) {
  const text = Array.isArray(value) ? value.join(', ') : value;
  if (field.kind === 'flag') {
    control.checked = text === 'true';
  } else if (field.kind === 'select') {
    const plain = text.toLowerCase().replace(/_/g, '-');
    const known = (field.choices ?? []).find(([choice]) => choice.replace(/_/g, '-') === plain)?.[0];
    for (const option of [...control.options]) if (option.dataset.own) option.remove();
    if (known === undefined) control.append(h('option', {value: text, data: {own: 1}}, text));
    control.value = known ?? text;
  } else if (control.value !== text) {
    control.value = text;
  }
}
