// Which tools a definition names: all of its caller, some, or none.
// @ts-check

import {fill, h} from '../dom.js';
import {itemsOf} from '../front_matter.js';

export class ToolScope {
  /** @param {{name: string, description: string}[]} tools @param {(value: string[] | null) => void} change */
  constructor(tools, change) {
    this.tools = tools;
    this.change = change;
    this.mode = h('select', {'aria-label': 'Tools', onchange: () => this.choose()},
      h('option', {value: 'all'}, 'All of its caller'), h('option', {value: 'some'}, 'Only these'), h('option', {value: 'none'}, 'None'));
    this.boxes = tools.map(tool => {
      const box = h('input', {type: 'checkbox', value: tool.name, onchange: () => this.tell()});
      return {name: tool.name, box, label: h('label', {class: 'tool-choice', title: tool.description.split('\n', 1)[0].slice(0, 200)}, box, h('span', null, tool.name))};
    });
    this.others = h('input', {type: 'text', placeholder: 'mcp__server__*', spellcheck: 'false', autocapitalize: 'none', onchange: () => this.tell()});
    this.some = h('div', {class: 'tool-choices', tabindex: '0', role: 'group', 'aria-label': 'Tools it has'}, this.boxes.map(({label}) => label),
      h('label', {class: 'field tool-others'}, h('span', null, 'Others and patterns, with commas'), this.others));
    this.hint = h('small');
    this.element = h('div', {class: 'field'}, h('span', null, 'Tools'), this.mode, this.some, this.hint);
  }

  /** @param {import('../front_matter.js').Field | undefined} field @param {boolean} isFixed */
  show(field, isFixed) {
    const isOdd = field?.value === null;
    for (const control of [this.mode, this.others, ...this.boxes.map(({box}) => box)]) control.disabled = isFixed || isOdd;
    fill(this.hint, isOdd ? 'Written in a way that only the text shows.' : '');
    const items = field ? itemsOf(field.value) : [];
    // "Only these" stays chosen while nothing is chosen yet.
    this.mode.value = !field ? 'all' : items.length ? 'some' : this.mode.value === 'some' ? 'some' : 'none';
    this.some.hidden = this.mode.value !== 'some';
    const known = new Map(this.tools.map(({name}) => [name.toLowerCase(), name]));
    const named = new Set(items.map(item => known.get(item.toLowerCase())).filter(Boolean));
    for (const {name, box} of this.boxes) box.checked = named.has(name);
    const others = items.filter(item => !known.has(item.toLowerCase()));
    if (document.activeElement !== this.others) this.others.value = others.join(', ');
  }

  choose() {
    if (this.mode.value === 'some') {
      this.some.hidden = false;
      const usual = ['Read', 'Glob', 'Grep'];
      for (const {name, box} of this.boxes) box.checked = usual.includes(name);
      this.tell();
    } else {
      this.change(this.mode.value === 'all' ? null : []);
    }
  }

  tell() {
    this.change([...this.boxes.filter(({box}) => box.checked).map(({name}) => name), ...itemsOf(this.others.value)]);
  }
}
