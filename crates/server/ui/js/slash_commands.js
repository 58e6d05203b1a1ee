// Slash commands of the composer. They are client code: the server never interprets the text of a message.
// @ts-check

import {ACTIONS} from './actions.js';
import {get, newKey, pathOf, post} from './api.js';
import {app, choosableAgents} from './app.js';
import {note} from './dialog.js';
import {h} from './dom.js';
import {ago, firstLine, money, tokens} from './format.js';
import {stopSession} from './parts/board_row.js';
import {newSession} from './parts/sidebar.js';
import {go} from './router.js';
import {tellError, toast} from './toast.js';
import {totalUsage} from './tree_queries.js';

const MODES = ['plan', 'ask', 'accept-edits', 'auto', 'bypass'];
/** Commands that are offered at once. */
const MOST = 12;

/** Names of models for completion. @type {string[]} */
let models = [];
/** Command files and skills. @type {{name: string, arguments: string, description: string}[]} */
let prompts = [];
/** Fulfilled when names are loaded. @type {Promise<any> | null} */
let loaded = null;

/** @param {string} name */
function find(name) {
  const wanted = name.toLowerCase();
  return ACTIONS.find(action => action.name === wanted || action.aliases.includes(wanted));
}

/** Commands and their words that begin with what is typed. @param {string} text @returns {{typed: string, insert: string, help: string}[]} */
export function completions(text) {
  if (!text.startsWith('/') || text.includes('\n')) return [];
  loadNames();
  const [name, ...words] = text.slice(1).split(' ');
  if (words.length === 0) {
    const actions = ACTIONS.filter(action => [action.name, ...action.aliases].some(one => one.startsWith(name.toLowerCase())));
    const own = prompts.filter(prompt => prompt.name.toLowerCase().startsWith(name.toLowerCase()) && !find(prompt.name));
    return [
      ...actions.map(action => ({typed: `/${action.name} ${action.usage}`.trim(), insert: `/${action.name}`, help: action.help})),
      ...own.map(prompt => ({typed: `/${prompt.name} ${prompt.arguments}`.trim(), insert: `/${prompt.name}`, help: firstLine(prompt.description)})),
    ].slice(0, name ? MOST : undefined);
  }
  const action = find(name);
  if (!action || words.length > 1) return [];
  return argumentsOf(action.argument)
    .filter(({value}) => value.toLowerCase().startsWith(words[0].toLowerCase()) && value !== words[0])
    .map(({value, help}) => ({typed: `/${name} ${value}`, insert: `/${name} ${value}`, help})).slice(0, MOST);
}

/** What can follow a command. @param {string} kind @returns {{value: string, help: string}[]} */
function argumentsOf(kind) {
  if (kind === 'agent') return choosableAgents().map(agent => ({value: agent.name, help: agent.description ?? ''}));
  if (kind === 'mode') return MODES.map(value => ({value, help: ''}));
  if (kind === 'model') return models.map(value => ({value, help: ''}));
  if (kind === 'session') return [...app.board.rows.values()].map(row => ({value: row.session, help: row.title}));
  return [];
}

/** Loads names for completion once; `whenLoaded` is called after that. @param {() => void} [whenLoaded] */
export function loadNames(whenLoaded) {
  loaded ??= Promise.all([
    get('/models').then(answer => { models = answer.models.map((/** @type {any} */ one) => one.name); }).catch(() => {}),
    // Files come and go: a failed or old list is read again for the next session.
    get('/prompts').then(answer => { prompts = answer.prompts; }).catch(() => { loaded = null; }),
  ]);
  if (whenLoaded) loaded.then(whenLoaded);
  return loaded;
}

/** The next session reads the names again. */
export function forgetNames() {
  loaded = null;
}

/** The command file or skill that a text begins with, and its arguments. @param {string} text */
async function promptOf(text) {
  const [, name = '', rest = ''] = /^\/(\S+)\s*([^]*)$/.exec(text) ?? [];
  await loadNames();
  const known = prompts.find(prompt => prompt.name.toLowerCase() === name.toLowerCase());
  return known ? {name: known.name, arguments: rest.trim()} : null;
}

/**
 * Sends a command file or skill to the shown session; the server fills its text in and narrows the tools as it says.
 * @param {string} text @param {any} view @param {{blob: string, name: string}[]} attachments @param {string} key
 * @returns {Promise<'done' | 'kept' | 'text'>}
 */
export async function sendPrompt(text, view, attachments, key) {
  const prompt = await promptOf(text);
  if (!prompt) return isPath(text) ? 'text' : refuseUnknown(text);
  try {
    const {ignored} = await post(pathOf`/sessions/${view.shown}/prompts`, {...prompt, attachments}, {key});
    if (ignored.length) toast(`/${prompt.name} also says ${ignored.join(' and ')}: that holds only in rooftree run.`);
    return 'done';
  } catch (error) {
    tellError(error);
    return 'kept';
  }
}

/** Whether a text begins with a path such as `/etc/hosts`, or with a slash alone. @param {string} text */
function isPath(text) {
  return !/^\/[^\s/]+(\s|$)/.test(text);
}

/** A misspelt command must not become a message to the agent. @param {string} text @returns {'kept'} */
function refuseUnknown(text) {
  const [name] = text.slice(1).toLowerCase().split(/\s/);
  const known = [...ACTIONS.flatMap(action => [action.name, ...action.aliases]), ...prompts.map(prompt => prompt.name)];
  const near = known.map(one => ({one, far: distance(name, one.toLowerCase())})).sort((one, other) => one.far - other.far)[0];
  const hint = near && near.far <= Math.max(1, Math.floor(name.length / 3)) ? `Did you mean /${near.one}?` : '/help lists the commands.';
  tellError({message: `There is no command or skill /${name}`, hint: `${hint} To say it to the agent, put a word before the slash.`});
  return 'kept';
}

/** How many letters must be changed, added or removed. @param {string} one @param {string} other */
function distance(one, other) {
  let row = Array.from({length: other.length + 1}, (_, at) => at);
  for (const [at, letter] of [...one].entries()) {
    const next = [at + 1];
    for (const [column, wanted] of [...other].entries()) next.push(Math.min(row[column] + Number(letter !== wanted), row[column + 1] + 1, next[column] + 1));
    row = next;
  }
  return row[row.length - 1];
}

/**
 * Carries a command out: `done`, `kept` if it could not be carried out and what was typed should stay, `text` if it is no
 * command and is to be sent as it is.
 * @param {string} text
 * @param {any} view the open session
 * @returns {Promise<'done' | 'kept' | 'text'>}
 */
export async function runSlashCommand(text, view) {
  const [, name = '', rest = ''] = /^\/(\S+)\s*([^]*)$/.exec(text) ?? [];
  const action = find(name);
  if (!action) return 'text';
  try {
    return (await carryOut(action.name, rest.trim(), view)) === false ? 'kept' : 'done';
  } catch (error) {
    tellError(error);
    return 'kept';
  }
}

/** @param {string} name @param {string} words @param {any} view @returns {Promise<any>} */
async function carryOut(name, words, view) {
  const {header, model} = view;
  const id = view.params.session;
  const [first, ...others] = words.split(/\s+/);
  const message = others.join(' ');
  switch (name) {
    case 'help': return showHelp();
    case 'model': return words ? header.change({model: words}) : header.changeModel();
    case 'mode': return setMode(words, header);
    case 'agent': return words ? beginWith(first, message) : go('/agents');
    case 'new': return words ? beginWith(model.meta.get(id)?.agent, words) : header.act('new');
    case 'clear': return header.act('clear');
    case 'compact': return compact(id, words);
    case 'sessions': return go('/sessions');
    case 'resume': return resume(words);
    case 'rename': return words ? header.change({name: words}) : header.act('rename');
    case 'switch': return words ? switchTo(id, first, message) : header.act('switch');
    case 'back': return words ? backWith(model.meta.get(id), words) : header.act('back');
    case 'tasks': return showTasks();
    case 'stop': return stop(words, view);
    case 'undo': return header.act('undo');
    case 'permissions': return go('/permissions');
    case 'cost': return showCost(view);
    case 'status': return showStatus(view);
    case 'quit': return go('/');
    default: return refuse(`/${name} is a command of the terminal.`);
  }
}

/** Says what is wrong; what was typed stays. @param {string} words */
function refuse(words) {
  toast(words, {kind: 'error'});
  return false;
}

/** @param {string} words @param {any} header */
function setMode(words, header) {
  if (!words) return header.changeMode();
  const mode = words.toLowerCase();
  if (!MODES.includes(mode)) return refuse(`There is no mode ${words}: ${MODES.join(', ')}.`);
  return header.change({mode});
}

/** @param {string} agent @param {string} message */
async function beginWith(agent, message) {
  if (!app.agents.has(agent)) return refuse(`There is no agent ${agent}: ${choosableAgents().map(one => one.name).join(', ')}.`);
  if (!message) return newSession(agent);
  const session = await post('/sessions', {agent}, {key: newKey()});
  await post(pathOf`/sessions/${session.id}/messages`, {text: message}, {key: newKey()});
  go(`/s/${session.id}`);
}

/** @param {string} session @param {string} focus */
async function compact(session, focus) {
  await post('/commands', {command: 'compact', session, ...(focus ? {focus} : {})});
  toast('The older part of the conversation is being summarised.');
}

/** @param {string} words an id, or a part of a name */
async function resume(words) {
  if (!words) return go('/sessions');
  if (words.startsWith('ses_')) return go(`/s/${words}`);
  const {sessions} = await get('/sessions', {q: words, limit: 5});
  const exact = sessions.find((/** @type {any} */ one) => one.name?.toLowerCase() === words.toLowerCase());
  const found = exact ?? (sessions.length === 1 ? sessions[0] : null);
  if (found) return go(`/s/${found.id}`);
  if (sessions.length === 0) return refuse(`No session is called ${words}.`);
  go(`/sessions?q=${encodeURIComponent(words)}`);
}

/** @param {string} session @param {string} agent @param {string} text */
async function switchTo(session, agent, text) {
  const next = await post(pathOf`/sessions/${session}/switch`, {agent, ...(text ? {text} : {})}, {key: newKey()});
  go(`/s/${next.id}`);
}

/** Goes back to the agent before, with the last answer as a summary and a message. @param {any} meta @param {string} text */
async function backWith(meta, text) {
  // Nothing is told if nothing was said since; then the answer is empty.
  const told = await post(pathOf`/sessions/${meta.id}/back`, {summary: 'extract'}, {key: newKey()});
  const before = told?.session ?? meta.forked_from?.session;
  await post(pathOf`/sessions/${before}/messages`, {text}, {key: newKey()});
  go(`/s/${before}`);
}

/** @param {string} task @param {any} view */
async function stop(task, view) {
  if (!task) return stopSession(view.shown);
  await post(pathOf`/tasks/${task}/stop`, {});
  toast(`${task} is being stopped.`);
}

async function showTasks() {
  const {tasks} = await get('/tasks');
  const row = (/** @type {any} */ task) => {
    const button = h('button', {type: 'button', class: 'small', onclick: async () => {
      button.disabled = true;
      await post(pathOf`/tasks/${task.task}/stop`, {}).then(() => { button.textContent = 'Stopping'; }).catch(tellError);
    }}, 'Stop');
    return h('li', {class: 'line'},
      h('span', {class: 'line-main'}, h('strong', null, task.title), h('small', null, `${task.kind} · ${task.state}${task.detail ? ` · ${task.detail}` : ''} · ${ago(task.started_at)} · ${task.task}`)),
      task.ended_at ? null : button);
  };
  note('In background', tasks.length ? h('ul', {class: 'lines'}, tasks.map(row)) : h('p', {class: 'muted'}, 'Nothing works in background.'));
}

/** What a session used. @param {any} view */
function usageOf(view) {
  const own = view.model.tree.runs.filter((/** @type {any} */ run) => run.session === view.params.session);
  return own.map((/** @type {any} */ run) => totalUsage(view.model.tree, run.run)).reduce((/** @type {any} */ sum, /** @type {any} */ one) => ({
    input: sum.input + one.input, output: sum.output + one.output, cost_usd: sum.cost_usd + one.cost_usd, cost_complete: sum.cost_complete && one.cost_complete,
  }), {input: 0, output: 0, cost_usd: 0, cost_complete: true});
}

/** @param {any} view */
function showCost(view) {
  const usage = usageOf(view);
  note('Used by the runs that are loaded here', facts([
    ['Read', `${tokens(usage.input)} tokens`], ['Written', `${tokens(usage.output)} tokens`], ['Cost', money(usage.cost_usd, usage.cost_complete)],
  ]), h('a', {href: '/usage'}, 'All usage'));
}

/** @param {any} view */
function showStatus(view) {
  const meta = view.model.meta.get(view.params.session) ?? {};
  const run = view.model.tree.runs.findLast((/** @type {any} */ one) => one.session === view.params.session);
  note('Status', facts([
    ['Agent', meta.agent], ['Model', run?.model || meta.model || 'as the agent says'], ['Mode', view.model.tree.index.sessions.get(view.params.session)?.mode ?? 'as the agent says'],
    ['Folder', meta.cwd], ['Session', view.params.session], ['Connection', app.live.connection.is],
  ]));
}

/** @param {[string, any][]} rows */
function facts(rows) {
  return h('dl', {class: 'facts'}, rows.filter(([, value]) => value).map(([name, value]) => [h('dt', null, name), h('dd', null, value)]).flat());
}

async function showHelp() {
  await loadNames();
  const rows = [...ACTIONS.map(({name, usage, help}) => [`/${name} ${usage}`, help]), ...prompts.map(({name, arguments: usage, description}) => [`/${name} ${usage}`, firstLine(description)])];
  note('Commands', h('dl', {class: 'facts'}, rows.map(([typed, help]) => [h('dt', null, h('code', null, typed.trim())), h('dd', null, help)]).flat()),
  h('p', {class: 'muted'}, 'A text that begins with a path, such as /etc/hosts, is sent as it is. ', h('kbd', null, '?'), ' lists the keyboard shortcuts.'));
}
