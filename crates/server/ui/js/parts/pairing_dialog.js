// Pairing dialogs of a connector: makes a pairing code, confirms the code of an unknown sender, changes rights.
// @ts-check

import {get, newKey, patch, pathOf, post} from '../api.js';
import {dialog} from '../dialog.js';
import {h} from '../dom.js';
import {attempt} from '../toast.js';

/**
 * Asks who somebody is and what he may do; null if it was closed.
 * @param {string} title
 * @param {string} submit
 * @param {any} known what is chosen at first
 * @param {{code?: boolean, write?: boolean}} [more]
 */
async function ask(title, submit, known, {code = false, write = false} = {}) {
  const {persons} = await get('/persons').catch(() => ({persons: []}));
  const choices = new Map([...(known.person ? [[known.person, known.person]] : []), ['owner', 'you'], ...persons.filter((/** @type {any} */ one) => !one.disabled_at).map((/** @type {any} */ one) => [one.id, one.name || one.id])]);
  const person = h('select', null, [...choices].map(([id, name]) => h('option', {value: id, selected: id === (known.person ?? 'owner')}, name)));
  const box = (/** @type {string} */ label, /** @type {boolean} */ checked) => { const input = h('input', {type: 'checkbox', checked}); return {input, field: h('label', {class: 'option'}, input, label)}; };
  const send = box('May write to agents', known.may_send ?? true);
  const approve = box('May answer permission requests', Boolean(known.may_approve));
  const typed = h('input', {type: 'text', autofocus: true, required: true, maxlength: '12', autocomplete: 'off', spellcheck: 'false'});
  return dialog(title, [code ? h('label', {class: 'field'}, 'The code that the bot told', typed) : null, h('label', {class: 'field'}, 'Who it is', person), write ? send.field : null, approve.field].filter(Boolean),
    {submit, read: () => ({person: person.value, may_approve: approve.input.checked, ...(write ? {may_send: send.input.checked} : {}), ...(code ? {code: typed.value} : {})})});
}

/** Makes a code that somebody sends to the bot: the code and when it ends. @param {any} connector */
export async function letIn(connector) {
  const body = await ask('Let a person in', 'Make a code', {});
  /** @type {any} */
  let made = null;
  if (body) await attempt(async () => { made = await post(pathOf`/connectors/${connector.id}/pair`, body, {key: newKey()}); });
  return made;
}

/** Lets a sender in who was told a code. @param {any} connector @param {any} waiting */
export async function confirmCode(connector, waiting) {
  const body = await ask(`Let ${waiting.name || waiting.sender} in`, 'Let in', {}, {code: true});
  return body && attempt(() => post(pathOf`/connectors/${connector.id}/confirm`, body, {key: newKey()}));
}

/** Changes who a sender is and what he may do. @param {any} connector @param {any} person */
export async function changeRights(connector, person) {
  const body = await ask(`Rights of ${person.name || person.sender}`, 'Save', person, {write: true});
  return body && attempt(() => patch(pathOf`/connectors/${connector.id}/people/${person.sender}`, body));
}
