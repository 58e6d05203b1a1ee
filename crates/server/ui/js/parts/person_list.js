// Persons who may use this server: list, invite by a link that is shown once, disable.
// @ts-check

import {get, pathOf, post, remove} from '../api.js';
import {askText, confirmAction} from '../dialog.js';
import {fill, h} from '../dom.js';
import {clock} from '../format.js';
import {attempt} from '../toast.js';
import {failure, loading} from './screen_state.js';
import {showSecret} from './secret_dialog.js';

/** @returns {HTMLElement} */
export function personList() {
  const list = h('div', null, loading());
  load();
  return h('div', null, list, h('div', {class: 'form-buttons'}, h('button', {type: 'button', onclick: invite}, 'Invite a person')));

  async function load() {
    try {
      const {persons} = await get('/persons');
      fill(list, h('ul', {class: 'lines'}, persons.map((/** @type {any} */ person) => h('li', {class: 'line'},
        h('span', {class: 'line-main'}, h('span', null, h('strong', null, person.name || person.id), person.is_owner ? h('span', {class: 'tag'}, 'owner') : null, person.disabled_at ? h('span', {class: 'tag'}, 'disabled') : null),
          h('small', null, `${person.id} · since ${clock(person.invited_at)}`)),
        person.disabled_at ? null : h('span', {class: 'session-buttons'},
          h('button', {type: 'button', class: 'small', onclick: () => link(person)}, 'New link'),
          person.is_owner ? null : h('button', {type: 'button', class: 'small danger', 'aria-label': `Disable ${person.name}`, onclick: () => disable(person)}, 'Disable'))))));
    } catch (error) {
      fill(list, failure(error, load));
    }
  }

  async function invite() {
    const name = await askText('Invite a person', 'Name', '', 'Invite');
    if (!name) return;
    await attempt(async () => {
      const invited = await post('/persons', {name});
      await showLink(name, invited.link);
      await load();
    });
  }

  /** @param {any} person */
  async function link(person) {
    await attempt(async () => showLink(person.name || person.id, await post(pathOf`/persons/${person.id}/links`, {})));
  }

  /** @param {any} person */
  async function disable(person) {
    if (!await confirmAction(`Disable ${person.name}?`, 'All tokens and links of this person end at once. Sessions stay.', 'Disable')) return;
    await attempt(() => remove(pathOf`/persons/${person.id}`));
    await load();
  }
}

/** @param {string} name @param {{secret: string, expires_at: string}} link */
function showLink(name, link) {
  return showSecret(`Link for ${name}`, `${location.origin}/#k=${link.secret}`, `It logs in one browser, once, until ${clock(link.expires_at)}. It is shown only now.`);
}
