// Settings: appearance, notifications, keys, tokens and devices, persons, MCP servers, skills, hooks, shortcuts.
// @ts-check

import {get, post} from '../api.js';
import {app, may} from '../app.js';
import {appearance, applyAppearance} from '../appearance.js';
import {fill, h} from '../dom.js';
import {mayNotify, notificationState, setNotifications} from '../notifications.js';
import {shortcutList} from '../palette.js';
import {attempt} from '../toast.js';
import {View} from '../view.js';
import {keyList} from '../parts/key_list.js';
import {personList} from '../parts/person_list.js';
import {failure, loading} from '../parts/screen_state.js';
import {tokenList} from '../parts/token_list.js';

class Settings extends View {
  open() {
    this.title_ = 'Settings – Rooftree';
    const {is_owner: isOwner} = app.me;
    /** Anchor, title, content. @type {[string, string, () => any][]} */
    const sections = [
      ['you', 'You', () => youSection()],
      ['appearance', 'Appearance', () => appearanceSection()],
      ['notifications', 'Notifications', () => notificationSection()],
      ...(may('admin') ? /** @type {[string, string, () => any][]} */ ([
        ['keys', 'Model keys', () => keyList()],
        ['tokens', 'Tokens and devices', () => tokenList()]]) : []),
      ...(may('admin') && isOwner ? /** @type {[string, string, () => any][]} */ ([['persons', 'People', () => personList()]]) : []),
      ['mcp', 'MCP servers', () => listed('/mcp', 'servers', server => [server.name, `${server.transport}${server.enabled ? '' : ', switched off'}`], 'No MCP servers are set up. rooftree mcp add sets one up.')],
      ['skills', 'Skills', () => listed('/skills', 'skills', skill => [skill.name, skill.description], 'There are no skills.')],
      ['hooks', 'Hooks', () => listed('/hooks', 'hooks', hook => [hook.point, `${hook.matcher || 'everything'} · ${hook.level}`], 'No hooks are set up.')],
      ['shortcuts', 'Keyboard shortcuts', () => shortcutList()],
    ];
    fill(this, h('div', {class: 'screen settings'}, h('h1', null, 'Settings'),
      h('nav', {class: 'settings-nav', 'aria-label': 'Settings'}, sections.map(([anchor, title]) => h('button', {type: 'button', class: 'ghost', onclick: () => this.jump(anchor)}, title))),
      h('div', {class: 'settings-body'}, sections.map(([anchor, title, content]) => h('section', {id: `settings-${anchor}`, class: 'settings-section', tabindex: '-1', 'aria-label': title}, h('h2', null, title), content())))));
    if (location.hash) requestAnimationFrame(() => this.jump(location.hash.slice(1)));
  }

  /** @param {string} anchor */
  jump(anchor) {
    const section = document.getElementById(`settings-${anchor}`);
    section?.scrollIntoView({block: 'start'});
    section?.focus({preventScroll: true});
  }
}

function youSection() {
  const {me} = app;
  return h('div', null, h('p', null, `Logged in as ${me.name || me.person}. ${may('admin') ? 'This browser may do everything.' : `This browser may: ${me.scopes.join(', ')}.`}`),
    h('div', {class: 'form-buttons'}, h('button', {type: 'button', onclick: async () => { if (await attempt(() => post('/logout', {}))) location.assign('/'); }}, 'Log out')));
}

function appearanceSection() {
  const now = appearance();
  const choice = (/** @type {'theme' | 'density'} */ name, /** @type {string} */ title, /** @type {[string, string][]} */ values) =>
    h('fieldset', {class: 'choice-row'}, h('legend', null, title), h('div', {class: 'segments'}, values.map(([value, label]) => h('label', null,
      h('input', {type: 'radio', name, value, checked: now[name] === value, onchange: () => applyAppearance({[name]: value})}), h('span', null, label)))));
  return h('div', {class: 'choice-rows'},
    choice('theme', 'Theme', [['system', 'As the system'], ['light', 'Light'], ['dark', 'Dark']]),
    choice('density', 'Text size', [['compact', 'Small'], ['normal', 'Normal'], ['large', 'Large']]));
}

function notificationSection() {
  const place = h('div');
  const draw = () => {
    const state = notificationState();
    fill(place,
      h('p', null, 'This browser can tell you when an agent asks you something, and when longer work is done. A page must be open, and you hear nothing while you look at it.'),
      state === 'unsupported' ? h('p', {class: 'muted'}, 'This browser has no notifications for this page. They need HTTPS or this machine.')
        : state === 'denied' ? h('p', {class: 'muted'}, 'The browser refuses notifications of this page. Allow them in its settings for this address.')
          : h('div', {class: 'form-buttons'}, h('button', {type: 'button', class: mayNotify() ? '' : 'primary', 'aria-pressed': String(mayNotify()), onclick: async () => { await setNotifications(!mayNotify()); draw(); }}, mayNotify() ? 'Switch notifications off' : 'Switch notifications on')));
  };
  draw();
  return place;
}

/** A list that can only be read. @param {string} path @param {string} key @param {(item: any) => [string, string]} words @param {string} empty */
function listed(path, key, words, empty) {
  const place = h('div', null, loading());
  const load = async () => {
    try {
      const items = (await get(path))[key];
      fill(place, items.length ? h('ul', {class: 'lines'}, items.map((/** @type {any} */ item) => {
        const [name, text] = words(item);
        return h('li', {class: 'line'}, h('span', {class: 'line-main'}, h('strong', null, name), h('small', null, text)));
      })) : h('p', {class: 'muted'}, empty));
    } catch (error) {
      fill(place, failure(error, load));
    }
  };
  load();
  return place;
}
customElements.define('rt-settings', Settings);
