// The frame around all screens: navigation, state of the connection, dialogs, notices at the edge.
// @ts-check

import {app} from './app.js';
import {fill, h, setText} from './dom.js';
import {choose} from './dialog.js';
import {icon} from './icons.js';
import {go, match} from './router.js';
import {View} from './view.js';
import {openPalette, takeKey} from './palette.js';
import {IN_BAR, SCREENS} from './screens.js';
import {watchNotifications} from './notifications.js';

class Shell extends View {
  open() {
    this.more = h('button', {type: 'button', class: 'nav-item nav-more', 'aria-haspopup': 'dialog', onclick: () => this.showMore()}, icon('more'), h('span', {class: 'nav-label'}, 'More'));
    this.nav = h('nav', {class: 'nav', 'aria-label': 'Screens'}, SCREENS.map(([name, path, label], at) =>
      h('a', {href: path, class: `nav-item${at < IN_BAR ? '' : ' nav-late'}`, data: {screen: name}},
        icon(name), h('span', {class: 'nav-label'}, label),
        name === 'board' ? (this.needed = h('span', {class: 'count', hidden: true})) : null)), this.more);
    this.connection = h('button', {class: 'connection', type: 'button', onclick: () => app.live.send({do: 'wake'})});
    this.main = h('main', {id: 'main', tabindex: '-1'});
    fill(this,
      h('a', {class: 'skip', href: '#main', onclick: (/** @type {Event} */ event) => { event.preventDefault(); this.main.focus(); }}, 'Skip to content'),
      h('header', {class: 'top'},
        h('a', {class: 'brand', href: '/', 'aria-label': 'Rooftree, board'}, h('img', {src: '/ui/icon.svg', alt: '', width: '32', height: '32'})),
        this.nav,
        h('button', {class: 'nav-item search-button', type: 'button', title: 'Search and commands (Ctrl K)', onclick: () => openPalette(), 'aria-keyshortcuts': 'Control+K'}, icon('search'), h('span', {class: 'nav-label'}, 'Search')),
        this.connection),
      this.main,
      h('div', {id: 'announcements', class: 'visually-hidden', 'aria-live': 'polite'}),
      h('div', {id: 'toasts', class: 'toasts', role: 'status'}));
    this.listen(window, 'rt-route', () => this.show());
    this.listen(document, 'keydown', event => takeKey(event));
    this.listen(app.live, 'connection', () => this.changed());
    this.listen(app.board, 'change', () => this.changed());
    watchNotifications(app.board);
    this.show();
  }

  /** The screens that do not fit into the bar of a narrow screen. */
  async showMore() {
    const late = SCREENS.slice(IN_BAR);
    const chosen = await choose('Go to', [...late.map(([, value, label]) => ({value, label})), {value: 'search', label: 'Search and commands'}]);
    if (chosen === 'search') openPalette();
    else if (chosen) go(chosen);
  }

  async show() {
    const route = match(location.pathname);
    for (const item of this.nav.children) {
      if (item.dataset.screen === route?.name) item.setAttribute('aria-current', 'page');
      else item.removeAttribute('aria-current');
    }
    this.more.classList.toggle('current', SCREENS.slice(IN_BAR).some(([name]) => name === route?.name));
    if (!route) {
      fill(this.main, h('div', {class: 'empty'}, h('h1', null, 'There is no such page'), h('a', {href: '/'}, 'To the board')));
      return;
    }
    // The same screen with other parameters is kept, if it can take them.
    const shown = /** @type {any} */ (this.main.firstElementChild);
    if (shown?.localName === route.element && shown.update?.(route.params)) return;
    await import(route.module);
    if (match(location.pathname)?.element !== route.element) return;
    const view = /** @type {any} */ (document.createElement(route.element));
    view.params = route.params;
    fill(this.main, view);
    this.main.scrollTop = 0;
  }

  draw() {
    const needed = app.board.needed();
    this.needed.hidden = needed === 0;
    setText(this.needed, String(needed));
    this.needed.setAttribute('aria-label', `${needed} need you`);
    document.title = `${needed ? `(${needed}) ` : ''}${this.main.firstElementChild?.title_ ?? 'Rooftree'}`;
    const {is, attempt} = app.live.connection;
    const words = {live: 'live', connecting: 'connecting', idle: 'connecting', offline: 'offline', blocked: 'logged out', reconnecting: attempt > 1 ? 'reconnecting' : 'live'}[/** @type {string} */ (is)] ?? is;
    this.connection.dataset.state = is === 'reconnecting' && attempt <= 1 ? 'live' : is;
    setText(this.connection, words);
    this.connection.setAttribute('aria-label', `Connection: ${words}`);
    if (is === 'blocked') window.dispatchEvent(new Event('rt-logged-out'));
  }
}
customElements.define('rt-shell', Shell);
