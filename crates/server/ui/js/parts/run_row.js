// One run in the tree of agents: state, agent, model, last tool, time, tokens, cost; opens the agent in place.
// @ts-check

import {newKey, pathOf, post} from '../api.js';
import {may} from '../app.js';
import {askText} from '../dialog.js';
import {fill, h, setText} from '../dom.js';
import {duration, money, shortModel, tokens} from '../format.js';
import {go} from '../router.js';
import {attempt} from '../toast.js';
import {durationOf, ownUsage} from '../tree_queries.js';
import {agentBadge} from './agent_badge.js';

const MARKS = {completed: '✓', failed: '✗', cancelled: '■', interrupted: '■', truncated: '…', limit: '■', queued: '○', working: '◌', waiting: '◔', asks: '?'};

/** @param {{run: any, depth: number}} row @param {any} view */
export function runRow(row, view) {
  const mark = h('span', {class: 'run-mark'});
  const badge = h('span');
  const doing = h('span', {class: 'run-doing'});
  const facts = h('span', {class: 'run-facts'});
  const open = h('button', {type: 'button', class: 'run-open', onclick: () => {
    const {session} = row.run;
    go(session === view.params.session ? `/s/${session}` : `/s/${view.params.session}?child=${session}`);
  }}, mark, badge, doing, facts);
  const controls = h('span', {class: 'run-controls'});
  const element = h('li', {class: 'run', role: 'treeitem', style: {'--depth': row.depth}, 'aria-level': String(row.depth + 1)}, open, controls);
  element.show = (/** @type {{run: any, depth: number}} */ next) => {
    row = next;
    const {run} = row;
    const state = stateOf(run);
    element.dataset.state = state;
    // Of several runs of a session the newest one stands for it.
    const newest = view.model.tree.runs.findLast((/** @type {any} */ one) => one.session === run.session);
    element.setAttribute('aria-selected', String(run.session === view.shown && newest?.run === run.run));
    setText(mark, /** @type {any} */ (MARKS)[state] ?? '·');
    mark.setAttribute('aria-label', state);
    if (!badge.firstChild) fill(badge, agentBadge(run.agent));
    setText(doing, doingWords(run, state, view));
    element.tick();
    const isOpen = run.phase.is !== 'ended';
    if (isOpen !== (controls.childElementCount > 0) && may('chat')) fill(controls, isOpen ? runControls(run, view) : null);
  };
  element.tick = () => {
    const {run} = row;
    const usage = ownUsage(run);
    const time = durationOf(run) ?? (run.phase.is === 'ended' ? null : Date.now() - Date.parse(run.started_at));
    const used = usage.input + usage.output;
    setText(facts, [shortModel(run.model || run.first_model || ''), time === null ? '' : duration(time), used ? tokens(used) : '', usage.cost_usd ? money(usage.cost_usd, usage.cost_complete) : ''].filter(Boolean).join(' · '));
  };
  element.show(row);
  return element;
}

/** @param {any} run */
function stateOf(run) {
  if (run.phase.is === 'ended') return run.phase.status;
  if (run.phase.is === 'waiting') return ['permission', 'question'].includes(run.phase.reason) ? 'asks' : 'waiting';
  return run.phase.is;
}

/** @param {any} run @param {string} state @param {any} view */
function doingWords(run, state, view) {
  if (state === 'asks') return 'asks you';
  if (state === 'waiting') return run.phase.detail || 'waits';
  if (state === 'queued') return 'waits to begin';
  if (state === 'working') {
    const {activity} = run;
    return {calling: `${activity.tool} ${activity.title}`, asking: `${activity.tool} ${activity.title}`, thinking: 'thinks', answering: 'writes', reading: 'reads', starting: 'begins'}[/** @type {string} */ (activity.is)] ?? '';
  }
  return run.title || callTitle(run, view);
}

/** What a run was asked, as the call that started it says; its own events may not have been loaded. @param {any} run @param {any} view */
function callTitle(run, view) {
  const call = run.parent ? view.model.transcripts.get(run.parent.session)?.byKey.get(run.parent.call) : null;
  const title = call?.title ?? '';
  return title.startsWith(`${run.agent}: `) ? title.slice(run.agent.length + 2) : title;
}

/** @param {any} run @param {any} view */
function runControls(run, view) {
  const isChild = run.session !== view.params.session;
  return [
    isChild ? h('button', {type: 'button', class: 'ghost small', title: 'Say something that it reads at its next turn', onclick: async () => {
      const text = await askText(`To ${run.agent}`, 'It is read at the next turn.', '', 'Send');
      if (text) attempt(() => post(pathOf`/sessions/${run.session}/messages`, {text, delivery: 'steer'}, {key: newKey()}));
    }}, 'Steer') : null,
    isChild && run.mode === 'foreground' ? h('button', {type: 'button', class: 'ghost small', title: 'The agent above goes on; the answer comes later', onclick: () => attempt(() => post(pathOf`/runs/${run.run}/background`, {}))}, 'To background') : null,
    h('button', {type: 'button', class: 'ghost small danger-text', onclick: () => attempt(() => post(pathOf`/runs/${run.run}/cancel`, {}))}, 'Stop'),
  ];
}
