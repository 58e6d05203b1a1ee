// Starts the page: logs in with a one-time link, connects, shows the screen of the address.
// @ts-check

import {ApiError, post} from './api.js';
import {app, begin} from './app.js';
import {fill, h} from './dom.js';
import {followLinks, go} from './router.js';
import './shell.js';
import {applyAppearance} from './appearance.js';

applyAppearance();
// A link that is pasted into a window of the page changes only what follows the `#`, and loads nothing by itself.
window.addEventListener('hashchange', () => { if (location.hash.startsWith('#k=')) location.reload(); });
start();

async function start() {
  const link = new URLSearchParams(location.hash.slice(1)).get('k');
  // The secret is good for one login; it must not stay in the address or the history.
  if (link) history.replaceState(null, '', location.pathname + location.search);
  /** Why the link is of no use. It does not matter in a browser that is logged in already. @type {any} */
  let refused = null;
  if (link) await post('/login', {link, device: deviceName()}).catch(error => { refused = error; });
  try {
    await begin();
  } catch (error) {
    return showLogin(refused ?? error, Boolean(refused));
  }
  followLinks();
  fill(document.body, h('rt-shell'));
  if (location.pathname === '/login') go('/', {replace: true});
  window.addEventListener('rt-logged-out', () => location.reload());
}

/** What people call this browser in the list of devices. */
function deviceName() {
  const agent = navigator.userAgent;
  const system = /Android|iPhone|iPad|Mac OS|Windows|Linux/.exec(agent)?.[0] ?? 'device';
  const browser = /Firefox|Edg|Chrome|Safari/.exec(agent)?.[0] ?? 'browser';
  return `${browser} on ${system}`;
}

/** @param {any} error @param {boolean} byLink whether a link was refused */
function showLogin(error, byLink) {
  const isRefused = error instanceof ApiError && (error.status === 401 || error.status === 403 || error.status === 404 || error.status === 410);
  const why = isRefused && error.status === 401 && !byLink ? 'This browser is not logged in.' : error.message;
  fill(document.body, h('main', {class: 'login'},
    h('img', {src: '/ui/icon.svg', alt: '', width: '56', height: '56'}),
    h('h1', null, 'Rooftree'),
    h('p', {role: 'status'}, why.charAt(0).toUpperCase() + why.slice(1)),
    isRefused
      ? h('p', null, 'Open a one-time link: ', h('code', null, 'rooftree person link'), ' prints one on the machine where the server runs. A guest gets one from the owner.')
      : h('p', null, error.hint || 'Is the server running?'),
    h('button', {class: 'primary', onclick: () => location.reload()}, 'Try again')));
}

export {app};
