// Saved permission rules: list, add, remove with confirmation and undo.
// @ts-check

import {get, pathOf, post, remove} from '../api.js';
import {may} from '../app.js';
import {confirmAction} from '../dialog.js';
import {fill, h} from '../dom.js';
import {clock} from '../format.js';
import {attempt, toast} from '../toast.js';
import {failure, loading} from './screen_state.js';

/** Where a rule can hold. @type {Record<string, string>} */
const PLACES = {always: 'everywhere', project: 'in a folder', session: 'in a session'};

/** @returns {{element: HTMLElement, load: () => Promise<void>}} */
export function ruleList() {
  const list = h('div', {class: 'rules'}, loading());
  const filter = h('input', {type: 'search', placeholder: 'Filter rules', 'aria-label': 'Filter rules', oninput: () => draw()});
  /** @type {any[]} */
  let rules = [];
  const element = h('section', {'aria-label': 'Rules'}, h('div', {class: 'section-head'}, h('h2', null, 'Rules'), filter), list, may('approve') ? addForm(() => load()) : null);
  return {element, load};

  async function load() {
    try {
      ({rules} = await get('/permission-rules'));
      draw();
    } catch (error) {
      fill(list, failure(error, load));
    }
  }

  function draw() {
    const words = filter.value.trim().toLowerCase();
    filter.hidden = rules.length < 8 && !words;
    const shown = rules.filter(rule => `${rule.kind} ${rule.rule} ${rule.by} ${rule.place ?? ''}`.toLowerCase().includes(words));
    fill(list, shown.length === 0 ? h('p', {class: 'empty'}, words ? 'No rule contains these words.' : 'No rules are saved. An answer for longer than once adds one.')
      : h('ul', {class: 'lines'}, shown.map(rule => h('li', {class: 'line rule-row'},
        h('span', {class: `rule-kind ${rule.kind}`}, rule.kind),
        h('span', {class: 'line-main'}, h('code', null, rule.rule), h('small', null, `${placeWords(rule)} · by ${rule.by}, ${clock(rule.at)}`)),
        may('approve') ? h('button', {type: 'button', class: 'small', 'aria-label': `Remove the rule ${rule.rule}`, onclick: () => removeRule(rule)}, 'Remove') : null))));
  }

  /** @param {any} rule */
  async function removeRule(rule) {
    if (!await confirmAction('Remove this rule?', `${rule.kind} ${rule.rule} (${placeWords(rule)})`, 'Remove')) return;
    if (!await attempt(() => remove(pathOf`/permission-rules/${String(rule.number)}`))) return;
    const {kind, rule: text, scope, place} = rule;
    toast('Removed.', {action: 'Undo', ms: 15_000, act: () => attempt(async () => { await post('/permission-rules', {kind, rule: text, scope, place}); await load(); })});
    await load();
  }
}

/** @param {any} rule */
function placeWords(rule) {
  return rule.place ? `${PLACES[rule.scope]} ${rule.place}` : PLACES[rule.scope];
}

/** @param {() => Promise<void>} added */
function addForm(added) {
  const kind = h('select', {'aria-label': 'What the rule does'}, ['allow', 'ask', 'deny'].map(value => h('option', {value}, value)));
  const rule = h('input', {type: 'text', placeholder: 'Bash(make *)', 'aria-label': 'Rule', required: true, maxlength: '500'});
  const scope = h('select', {'aria-label': 'Where it holds', onchange: () => show()}, ['always', 'project'].map(value => h('option', {value}, PLACES[value])));
  const place = h('input', {type: 'text', placeholder: '/path/of/the/folder', 'aria-label': 'Folder', hidden: true});
  const show = () => { place.hidden = scope.value === 'always'; };
  const add = async (/** @type {Event} */ event) => {
    event.preventDefault();
    const body = {kind: kind.value, rule: rule.value.trim(), scope: scope.value, ...(scope.value === 'always' ? {} : {place: place.value.trim()})};
    // What could not be saved stays in the form.
    if (await attempt(() => post('/permission-rules', body))) { rule.value = ''; await added(); }
  };
  return h('form', {class: 'inline-form', onsubmit: add}, kind, rule, scope, place, h('button', {type: 'submit'}, 'Add rule'));
}
