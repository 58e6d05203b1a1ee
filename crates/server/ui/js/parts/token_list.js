// Access tokens and devices: list, create (shown once), revoke.
// @ts-check

import {get, pathOf, post, remove} from '../api.js';
import {app, choosableAgents} from '../app.js';
import {confirmAction, dialog} from '../dialog.js';
import {fill, h} from '../dom.js';
import {agoWords, clock} from '../format.js';
import {attempt} from '../toast.js';
import {failure, loading} from './screen_state.js';
import {showSecret} from './secret_dialog.js';

/** Scope and what it allows. */
const SCOPES = [
  ['read', 'Read sessions'], ['chat', 'Read and write, start agents'], ['approve', 'Answer permission requests, make rules'],
  ['metrics', 'Read figures of the server'], ['admin', 'Everything, also tokens, persons and keys'],
];
/** Days until a token ends; 0 is never. */
const DAYS = [[30, '30 days'], [90, '90 days'], [365, 'a year'], [0, 'never']];

/** @returns {HTMLElement} */
export function tokenList() {
  const list = h('div', null, loading());
  const revoked = h('button', {type: 'button', class: 'ghost small', 'aria-pressed': 'false', onclick: () => { revoked.setAttribute('aria-pressed', String(revoked.getAttribute('aria-pressed') !== 'true')); draw(); }}, 'Show ended');
  /** @type {any[]} */
  let tokens = [];
  load();
  return h('div', null, list, h('div', {class: 'form-buttons'}, h('button', {type: 'button', onclick: create}, 'New token'), revoked));

  async function load() {
    try {
      ({tokens} = await get('/tokens'));
      draw();
    } catch (error) {
      fill(list, failure(error, load));
    }
  }

  function draw() {
    const all = revoked.getAttribute('aria-pressed') === 'true';
    const shown = tokens.filter(token => all || !hasEnded(token)).reverse();
    fill(list, shown.length === 0 ? h('p', {class: 'muted'}, 'There are no tokens.') : h('ul', {class: 'lines'}, shown.map(token => h('li', {class: 'line'},
      h('span', {class: 'line-main'},
        h('span', null, h('strong', null, token.name), token.id === app.me.token?.id ? h('span', {class: 'tag'}, 'this browser') : null, hasEnded(token) ? h('span', {class: 'tag'}, token.revoked_at ? 'revoked' : 'expired') : null),
        h('small', null, [token.person, token.scopes.join(', '), token.agents ? `only ${token.agents.join(', ')}` : '', `made ${clock(token.created_at)}`, token.used_at ? `used ${agoWords(token.used_at)}` : 'never used', token.expires_at ? `ends ${clock(token.expires_at)}` : ''].filter(Boolean).join(' · '))),
      hasEnded(token) ? null : h('button', {type: 'button', class: 'small danger', 'aria-label': `Revoke ${token.name}`, onclick: () => revoke(token)}, 'Revoke')))));
  }

  async function create() {
    const name = h('input', {type: 'text', required: true, maxlength: '100', autofocus: true});
    const scopes = SCOPES.map(([value, words]) => ({value, input: h('input', {type: 'checkbox', checked: value === 'chat'}), words}));
    const agents = choosableAgents().map(agent => ({name: agent.name, input: h('input', {type: 'checkbox'})}));
    const days = h('select', null, DAYS.map(([value, words]) => h('option', {value: String(value)}, words)));
    const made = await dialog('New token', [
      h('label', {class: 'field'}, h('span', null, 'Name'), name),
      h('fieldset', {class: 'question'}, h('legend', null, 'It may'), scopes.map(({input, value, words}) => h('label', {class: 'option'}, input, h('span', null, value, h('small', null, words))))),
      h('details', null, h('summary', null, 'Only for some agents'), agents.map(agent => h('label', {class: 'option'}, agent.input, agent.name))),
      h('label', {class: 'field'}, h('span', null, 'Ends after'), days),
    ], {submit: 'Create', read: () => ({
      name: name.value.trim(), scopes: scopes.filter(one => one.input.checked).map(one => one.value),
      ...(agents.some(agent => agent.input.checked) ? {agents: agents.filter(agent => agent.input.checked).map(agent => agent.name)} : {}),
      ...(days.value === '0' ? {} : {expires_at: new Date(Date.now() + Number(days.value) * 86_400_000).toISOString()}),
    })});
    if (!made) return;
    await attempt(async () => {
      const {secret} = await post('/tokens', made);
      await showSecret(`Token ${made.name}`, secret, 'It is shown only now. Send it as "Authorization: Bearer …".');
      await load();
    });
  }

  /** @param {any} token */
  async function revoke(token) {
    const own = token.id === app.me.token?.id;
    if (!await confirmAction(`Revoke ${token.name}?`, own ? 'This browser is logged out at once.' : 'It ends at once. This cannot be undone.', 'Revoke')) return;
    await attempt(() => remove(pathOf`/tokens/${token.id}`));
    if (own) location.reload();
    await load();
  }
}

/** @param {any} token */
function hasEnded(token) {
  return Boolean(token.revoked_at) || (token.expires_at && Date.parse(token.expires_at) < Date.now());
}
