// The command palette, the keyboard shortcuts of the page, and the sheet that lists them.
// @ts-check

import {ACTIONS, SHORTCUTS} from './actions.js';
import {get} from './api.js';
import {app, choosableAgents} from './app.js';
import {note} from './dialog.js';
import {fill, h} from './dom.js';
import {firstLine} from './format.js';
import {newSession} from './parts/sidebar.js';
import {go} from './router.js';
import {SCREENS} from './screens.js';
import {runShortcut} from './shortcuts.js';
import {runSlashCommand} from './slash_commands.js';

/** How long the second key of a sequence may take. */
const SEQUENCE_MS = 1500;
/** How long after typing the sessions are searched. */
const SEARCH_MS = 150;
/** Entries of each kind that are shown. */
const MOST = 8;

/** @typedef {{kind: string, label: string, hint: string, keys?: string, run: () => any}} Entry */

/** The keys of a sequence that were pressed. */
let begun = '';
let timer = 0;

/** Takes a key that was pressed anywhere on the page. @param {KeyboardEvent} event */
export function takeKey(event) {
  if (event.defaultPrevented || event.isComposing || event.altKey) return;
  const name = keyName(event);
  if (!name) return;
  const hasModifier = name.startsWith('Ctrl+');
  if (!hasModifier && (isTyping(event) || document.querySelector('dialog[open]'))) return;
  const wanted = begun ? `${begun} ${name}` : name;
  forget();
  const shortcut = SHORTCUTS.find(one => one.keys === wanted) ?? SHORTCUTS.find(one => one.keys === name);
  if (shortcut) {
    if (shortcut.name === 'palette' || shortcut.name === 'search') { event.preventDefault(); openPalette(); return; }
    if (shortcut.name === 'help') { event.preventDefault(); showShortcuts(); return; }
    if (runShortcut(shortcut.name)) event.preventDefault();
    return;
  }
  if (SHORTCUTS.some(one => one.keys.startsWith(`${name} `))) {
    begun = name;
    timer = window.setTimeout(forget, SEQUENCE_MS);
  }
}

function forget() {
  begun = '';
  clearTimeout(timer);
}

/** A key as the table writes it: `Ctrl+K`, `Shift+X`, `?`. @param {KeyboardEvent} event */
function keyName(event) {
  const {key} = event;
  if (key === 'Shift' || key === 'Control' || key === 'Meta') return '';
  if (event.ctrlKey || event.metaKey) return event.shiftKey ? '' : `Ctrl+${key.toUpperCase()}`;
  if (event.shiftKey && /^[a-z]$/i.test(key)) return `Shift+${key.toUpperCase()}`;
  return key.length === 1 ? key.toLowerCase() : key;
}

/** Whether the key belongs to what the person types into, or to a control. @param {KeyboardEvent} event */
function isTyping(event) {
  const target = /** @type {HTMLElement} */ (event.target);
  if (target.isContentEditable || target.closest?.('input, textarea, select')) return true;
  // Enter and the space bar press the button or follow the link that has the focus.
  return (event.key === 'Enter' || event.key === ' ') && Boolean(target.closest?.('button, a, summary'));
}

/** Opens the palette. */
export function openPalette() {
  if (document.querySelector('dialog.palette')) return;
  const input = h('input', {type: 'search', placeholder: 'Search sessions, agents, screens, commands', 'aria-label': 'Search', role: 'combobox', 'aria-expanded': 'true', 'aria-controls': 'palette-list', autocomplete: 'off'});
  const list = h('div', {id: 'palette-list', class: 'palette-list', role: 'listbox', 'aria-label': 'Results'});
  const box = h('dialog', {class: 'palette', 'aria-label': 'Command palette', onclose: () => box.remove()}, input, list);
  /** @type {Entry[]} */
  let entries = [];
  let at = 0;
  let asked = 0;

  const choose = (/** @type {Entry | undefined} */ entry) => { if (entry) { box.close(); entry.run(); } };
  const mark = () => {
    [...list.querySelectorAll('[role="option"]')].forEach((element, index) => {
      element.setAttribute('aria-selected', String(index === at));
      if (index === at) { input.setAttribute('aria-activedescendant', element.id); element.scrollIntoView({block: 'nearest'}); }
    });
  };
  const draw = () => {
    let kind = '';
    fill(list, entries.length ? entries.map((entry, index) => {
      const title = entry.kind === kind ? null : h('div', {class: 'palette-kind', role: 'presentation'}, entry.kind);
      kind = entry.kind;
      return [title, h('div', {id: `palette-${index}`, class: 'palette-entry', role: 'option', 'aria-selected': String(index === at), onclick: () => choose(entry)},
        h('span', {class: 'palette-label'}, entry.label), h('span', {class: 'palette-hint'}, entry.hint), entry.keys ? h('kbd', null, entry.keys) : null)];
    }).flat() : h('p', {class: 'muted'}, 'Nothing was found.'));
    mark();
  };
  const search = (/** @type {string} */ text) => {
    entries = entriesFor(text);
    at = 0;
    draw();
    clearTimeout(asked);
    if (text.trim()) asked = window.setTimeout(async () => {
      const {sessions = []} = await get('/sessions', {q: text.trim(), limit: MOST}).catch(() => ({}));
      if (input.value !== text) return;
      const known = new Set(entries.map(entry => entry.hint));
      entries = [...entries, ...sessions.filter((/** @type {any} */ one) => !app.board.rows.has(one.id) && !known.has(one.id)).map(sessionEntry)];
      draw();
    }, SEARCH_MS);
  };
  input.addEventListener('input', () => search(input.value));
  input.addEventListener('keydown', (/** @type {KeyboardEvent} */ event) => {
    const by = {ArrowDown: 1, ArrowUp: -1}[event.key];
    if (by) { event.preventDefault(); at = (at + by + entries.length) % Math.max(1, entries.length); mark(); }
    if (event.key === 'Enter') { event.preventDefault(); choose(entries[at]); }
  });
  box.addEventListener('click', (/** @type {Event} */ event) => { if (event.target === box) box.close(); });
  document.body.append(box);
  box.showModal();
  search('');
  input.focus();
}

/** @param {any} session @returns {Entry} */
function sessionEntry(session) {
  return {kind: 'Sessions', label: session.name || firstLine(session.last_snippet, 80) || 'Untitled', hint: session.agent, run: () => go(`/s/${session.id}`)};
}

/** All that is known here and contains the words. @param {string} text @returns {Entry[]} */
function entriesFor(text) {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  const has = (/** @type {string[]} */ ...texts) => words.every(word => texts.some(one => (one ?? '').toLowerCase().includes(word)));
  const rows = [...app.board.rows.values()].filter(row => has(row.title, row.agent.name, row.headline));
  const shown = /** @type {any} */ (document.querySelector('rt-session'));
  const actions = shown ? ACTIONS.filter(action => !['help', 'quit', 'resume', 'sessions', 'permissions'].includes(action.name) && has(action.name, action.help)) : [];
  return [
    ...rows.slice(0, words.length ? MOST : 5).map(row => ({kind: 'Sessions', label: row.title || 'Untitled', hint: row.agent.name, run: () => go(`/s/${row.session}`)})),
    ...SCREENS.filter(([, , label]) => has(label, 'go to')).map(([name, path, label]) => ({kind: 'Screens', label, hint: '', keys: SHORTCUTS.find(one => one.name === `go-${name}`)?.keys, run: () => go(path)})),
    ...choosableAgents().filter(agent => has(agent.name, agent.description, 'new session')).slice(0, MOST).map(agent => ({kind: 'New session', label: agent.name, hint: agent.description ?? '', run: () => newSession(agent.name)})),
    ...actions.slice(0, words.length ? MOST : 4).map(action => ({kind: 'This session', label: `/${action.name}`, hint: action.help, run: () => runSlashCommand(`/${action.name}`, shown)})),
    ...(has('shortcuts', 'keyboard', 'help') ? [{kind: 'Help', label: 'Keyboard shortcuts', hint: '', keys: '?', run: showShortcuts}] : []),
  ];
}

/** The sheet of shortcuts. */
export function showShortcuts() {
  note('Keyboard shortcuts', shortcutList());
}

/** The shortcuts, by where they work. */
export function shortcutList() {
  const titles = {everywhere: 'Everywhere', lists: 'In lists', session: 'In a session'};
  return h('div', {class: 'shortcuts'}, Object.entries(titles).map(([where, title]) => h('section', null, h('h3', null, title),
    h('dl', {class: 'facts'}, SHORTCUTS.filter(one => one.where === where).map(one => [
      h('dt', null, one.keys.split(' ').map((key, index) => [index ? ' then ' : null, h('kbd', null, key)]).flat()), h('dd', null, one.help)]).flat()))));
}
