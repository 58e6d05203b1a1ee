// Providers and where the key of each comes from; a key can be stored or removed, and is never shown.
// @ts-check

import {get, pathOf, put, remove} from '../api.js';
import {confirmAction, dialog} from '../dialog.js';
import {fill, h} from '../dom.js';
import {attempt, toast} from '../toast.js';
import {failure, loading} from './screen_state.js';

/** @returns {HTMLElement} */
export function keyList() {
  const list = h('div', null, loading());
  /** @type {any} */
  let known = {providers: []};
  let showsAll = false;
  load();
  return list;

  async function load() {
    try {
      known = await get('/providers');
      draw();
    } catch (error) {
      fill(list, failure(error, load));
    }
  }

  function draw() {
    const shown = known.providers.filter((/** @type {any} */ one) => showsAll || one.key);
    fill(list,
      h('p', {class: 'muted'}, known.default_model ? ['Default model: ', h('code', null, known.default_model)] : ['There is no default model. ', h('a', {href: '/welcome'}, 'Set one up')]),
      shown.length ? h('ul', {class: 'lines'}, shown.map(row)) : h('p', {class: 'muted'}, 'No provider has a key.'),
      h('div', {class: 'form-buttons'},
        h('button', {type: 'button', class: 'ghost small', 'aria-pressed': String(showsAll), onclick: () => { showsAll = !showsAll; draw(); }}, showsAll ? 'Only those with a key' : `All ${known.providers.length} providers`)));
  }

  /** @param {any} provider */
  function row(provider) {
    return h('li', {class: 'line'},
      h('span', {class: 'line-main'}, h('strong', null, provider.title), h('small', null, sourceWords(provider))),
      h('span', {class: 'session-buttons'},
        h('button', {type: 'button', class: 'small', 'aria-label': `${provider.key ? 'Replace' : 'Add'} the key of ${provider.title}`, onclick: async () => { const next = await askKey(provider); if (next) { known = next; draw(); } }}, provider.key?.from === 'file' ? 'Replace' : 'Add key'),
        provider.key?.from === 'file' ? h('button', {type: 'button', class: 'small danger', 'aria-label': `Remove the key of ${provider.title}`, onclick: () => removeKey(provider)}, 'Remove') : null));
  }

  /** @param {any} provider */
  async function removeKey(provider) {
    if (!await confirmAction(`Remove the stored key of ${provider.title}?`, 'The key itself stays valid at the provider.', 'Remove')) return;
    await attempt(async () => { known = await remove(pathOf`/providers/${provider.name}/key`); draw(); });
  }
}

/** @param {any} provider */
function sourceWords(provider) {
  if (!provider.key) return provider.variables.length ? `no key (${provider.variables.join(', ')})` : 'no key';
  return provider.key.from === 'environment' ? `from the variable ${provider.key.variable}` : 'from the file of stored keys';
}

/** Asks for a key and stores it; the new list, or null. @param {any} provider */
export async function askKey(provider) {
  const key = h('input', {type: 'password', autocomplete: 'off', required: true, autofocus: true});
  const given = await dialog(`Key for ${provider.title}`, [
    provider.page ? h('p', null, 'Make one at ', h('a', {href: provider.page, target: '_blank', rel: 'noopener noreferrer'}, provider.page), '.') : null,
    h('label', {class: 'field'}, h('span', null, 'Key'), key),
    h('p', {class: 'muted'}, 'It is stored on the machine of the server, where only its owner can read it, and is never shown again.'),
  ], {submit: 'Store', read: () => key.value});
  if (!given) return null;
  /** @type {any} */
  let next = null;
  await attempt(async () => {
    next = await put(pathOf`/providers/${provider.name}/key`, {key: given});
    toast(`Stored the key for ${provider.title}.`);
  });
  return next;
}
