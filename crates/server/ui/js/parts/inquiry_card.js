// The card of a permission request or a question. It changes to "answered" only when the server says so.
// @ts-check

import {ApiError, newKey, pathOf, post} from '../api.js';
import {may} from '../app.js';
import {announce, fill, h} from '../dom.js';
import {ago, clock} from '../format.js';
import {agentBadge} from './agent_badge.js';
import {diffView} from './diff_view.js';
import {spawnList} from './spawn_list.js';

const SCOPES = {once: 'Allow once', session: 'Allow in this session', project: 'Allow in this project', always: 'Always allow'};

/**
 * @param {string} kind `permission` or `question`
 * @param {any} inquiry as the API or an event tells it
 * @param {{compact?: boolean, number?: string, path?: string}} [options]
 */
export function inquiryCard(kind, inquiry, {compact = false, number = '', path = ''} = {}) {
  const status = h('p', {class: 'card-status', role: 'status'});
  const controls = h('div', {class: 'card-controls'});
  const title = kind === 'permission' ? `${inquiry.agent} asks to use ${inquiry.tool}` : `${inquiry.agent} asks`;
  const card = h('section', {class: `card ${kind}`, role: 'group', tabindex: '-1', 'aria-label': title, data: {inquiry: inquiry.id}},
    h('header', {class: 'card-head'},
      agentBadge(inquiry.agent), h('span', {class: 'card-kind'}, kind === 'permission' ? `asks to use ${inquiry.tool}` : 'asks'),
      path ? h('span', {class: 'card-path'}, path) : null,
      h('span', {class: 'card-when'}, number ? `${number} · ` : '', ago(inquiry.asked_at))),
    kind === 'permission' ? permissionBody(inquiry, compact) : null, controls, status);
  card.inquiry = inquiry;
  if (inquiry.state && inquiry.state !== 'pending') showSettled(card, status, controls, inquiry);
  else if (!may('approve')) fill(status, 'You may not answer this. Ask the owner for a token with the scope approve.');
  else fill(controls, kind === 'permission' ? permissionButtons(inquiry, answer) : questionForm(inquiry, answer));
  return card;

  /** Sends an answer and shows what came of it. @param {string} path @param {any} body @param {string} words */
  async function answer(path, body, words) {
    for (const control of controls.querySelectorAll('button, input, textarea')) control.disabled = true;
    fill(status, 'Sent, waiting for the server…');
    const late = setTimeout(() => fill(status, 'The server has not answered yet. ', h('button', {type: 'button', onclick: () => answer(path, body, words)}, 'Send again')), 5000);
    try {
      const settled = await post(path, body, {key: newKey()});
      clearTimeout(late);
      showSettled(card, status, controls, settled ?? inquiry, words);
      announce(words);
    } catch (error) {
      clearTimeout(late);
      if (error instanceof ApiError && error.problem.answered) {
        showSettled(card, status, controls, {...inquiry, state: 'answered', answered: error.problem.answered});
        return;
      }
      for (const control of controls.querySelectorAll('button, input, textarea')) control.disabled = false;
      const {message, hint} = /** @type {any} */ (error);
      fill(status, h('span', {class: 'error'}, message, hint ? ` ${hint}` : ''));
    }
  }
}

/** @param {any} card @param {Element} status @param {Element} controls @param {any} inquiry @param {string} [words] */
function showSettled(card, status, controls, inquiry, words) {
  fill(controls);
  card.classList.add('settled');
  fill(status, words ?? settledWords(inquiry));
}

/** Who answered what, and when. @param {any} inquiry */
export function settledWords(inquiry) {
  const {answered, state} = inquiry;
  if (!answered) return {expired: 'Nobody answered in time; it was denied.', withdrawn: 'It is not needed any more.'}[/** @type {string} */ (state)] ?? 'Answered.';
  const decision = answered.decision ? `${answered.decision === 'allow' ? 'Allowed' : 'Denied'}${answered.scope && answered.scope !== 'once' ? ` (${answered.scope})` : ''}` : 'Answered';
  return `${decision} by ${answered.by}${answered.via ? ` (${answered.via})` : ''}, ${clock(answered.at)}`;
}

/** @param {string} detail @param {string} title */
function withoutTitle(detail, title) {
  const rest = detail.startsWith(title) ? detail.slice(title.length) : detail;
  return rest === '' || rest.startsWith('\n') ? rest.trim() : detail;
}

/** Words between backquotes as code. @param {string} text */
function withCode(text) {
  return text.split('`').map((part, at) => (at % 2 ? h('code', null, part) : part));
}

/** @param {any} inquiry @param {boolean} compact */
function permissionBody(inquiry, compact) {
  // The detail of a command begins with the command, which is the title already.
  const detail = withoutTitle(inquiry.detail ?? '', inquiry.title);
  const isDiff = /^(---|\+\+\+|@@) /m.test(detail);
  return h('div', {class: 'card-body'},
    h('pre', {class: 'card-title'}, inquiry.title),
    inquiry.spawn ? spawnList(inquiry.spawn) : null,
    detail && isDiff ? (compact ? h('details', null, h('summary', null, 'Show the change'), diffView(detail)) : diffView(detail)) : null,
    detail && !isDiff ? h('pre', {class: 'card-detail'}, detail) : null,
    h('p', {class: 'card-reason'}, withCode((inquiry.reason ?? '').split('; --', 1)[0])));
}

/** @param {any} inquiry @param {(path: string, body: any, words: string) => void} answer */
function permissionButtons(inquiry, answer) {
  const path = pathOf`/permissions/${inquiry.id}`;
  const allow = (/** @type {string} */ scope) => answer(path, {decision: 'allow', scope, digest: inquiry.digest}, scope === 'once' ? 'You allowed it.' : `You allowed it (${scope}).`);
  const scopes = inquiry.scopes?.length ? inquiry.scopes : ['once'];
  const because = h('input', {type: 'text', placeholder: 'Why not? (optional)', 'aria-label': 'Reason for no', maxlength: '2000'});
  const deny = () => answer(path, {decision: 'deny', digest: inquiry.digest, because: because.value.trim() || null}, 'You denied it.');
  because.addEventListener('keydown', (/** @type {KeyboardEvent} */ event) => { if (event.key === 'Enter') { event.preventDefault(); deny(); } });
  return [
    h('div', {class: 'card-buttons'},
      scopes.map((/** @type {string} */ scope, /** @type {number} */ at) =>
        h('button', {type: 'button', class: at === 0 ? 'primary' : '', data: {answer: `allow-${scope}`}, onclick: () => allow(scope)}, /** @type {any} */ (SCOPES)[scope] ?? scope))),
    h('div', {class: 'card-deny'}, h('button', {type: 'button', class: 'danger', data: {answer: 'deny'}, onclick: deny}, 'Deny'), because),
    inquiry.rule && scopes.length > 1 ? h('p', {class: 'card-rule'}, 'A wider answer saves the rule ', h('code', null, inquiry.rule)) : null,
  ];
}

/** @param {any} inquiry @param {(path: string, body: any, words: string) => void} answer */
function questionForm(inquiry, answer) {
  const path = pathOf`/questions/${inquiry.id}`;
  const fields = inquiry.questions.map((/** @type {any} */ question) => questionField(question, inquiry.id));
  const send = (/** @type {Event} */ event) => {
    event.preventDefault();
    /** @type {Record<string, string[]>} */
    const answers = {};
    for (const {name, read} of fields) answers[name] = read();
    const missing = fields.find((/** @type {any} */ field) => answers[field.name].length === 0);
    if (missing) return missing.focus();
    answer(path, {reply: 'answered', answers}, `You answered: ${Object.values(answers).flat().join(', ')}`);
  };
  return h('form', {class: 'question-form', onsubmit: send}, fields.map((/** @type {any} */ field) => field.element),
    h('div', {class: 'card-buttons'},
      h('button', {type: 'submit', class: 'primary'}, 'Answer'),
      h('button', {type: 'button', onclick: () => answer(path, {reply: 'declined'}, 'You declined.')}, 'Decline')));
}

/** @param {any} question @param {string} id */
function questionField(question, id) {
  const {name, text, choices = [], several, free} = question;
  const inputs = choices.map((/** @type {any} */ choice) => h('input', {type: several ? 'checkbox' : 'radio', name: `${id}-${name}`, value: choice.label}));
  const hasText = free || choices.length === 0;
  const words = hasText ? h('textarea', {rows: '2', 'aria-label': choices.length ? 'Something else' : text, placeholder: choices.length ? 'Something else' : ''}) : null;
  const element = h('fieldset', {class: 'question'}, h('legend', null, text),
    choices.map((/** @type {any} */ choice, /** @type {number} */ at) => h('label', {class: 'option'}, inputs[at], h('span', null, choice.label, choice.description ? h('small', null, choice.description) : null))),
    words);
  return {
    name, element,
    focus: () => (inputs[0] ?? words)?.focus(),
    read: () => {
      const chosen = inputs.filter((/** @type {any} */ input) => input.checked).map((/** @type {any} */ input) => input.value);
      const own = words?.value.trim();
      return own ? (several ? [...chosen, own] : [own]) : chosen;
    },
  };
}
