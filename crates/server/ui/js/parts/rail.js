// The column beside a conversation: live tree of sub-agents, todo list, context and cost.
// @ts-check

import {app} from '../app.js';
import {h, keyed, setText} from '../dom.js';
import {icon} from '../icons.js';
import {money, tokens} from '../format.js';
import {totalUsage} from '../tree_queries.js';
import {runRow} from './run_row.js';

export class Rail {
  /** @param {any} view */
  constructor(view) {
    this.view = view;
    this.tree = h('ul', {class: 'tree', role: 'tree', 'aria-label': 'Agents'});
    this.todos = h('ul', {class: 'todos'});
    this.todoTitle = h('h2', null, 'Todo');
    this.meter = h('meter', {min: '0', max: '1', value: 0, 'aria-label': 'Context in use'});
    this.contextWords = h('span');
    this.cost = h('span');
    this.sheetButton = h('button', {type: 'button', class: 'ghost sheet-close', 'aria-label': 'Close', onclick: () => this.toggle(false)}, icon('close'));
    this.context = h('div', {class: 'meters'}, h('div', null, 'Context ', this.meter, ' ', this.contextWords), h('div', null, 'Cost ', this.cost));
    this.element = h('aside', {class: 'rail', 'aria-label': 'Agents and progress'}, this.sheetButton, h('h2', null, 'Agents'), this.tree, this.todoTitle, this.todos, this.context);
    /** Rows of the tree by run. @type {Map<string, any>} */
    this.rows = new Map();
  }

  /** On a narrow screen the rail is a sheet. @param {boolean} [open] */
  toggle(open) {
    this.element.classList.toggle('open', open);
  }

  draw() {
    const {model, shown} = this.view;
    const rows = visibleRuns(model.tree, this.view.params.session);
    keyed(this.tree, rows, row => row.run.run, row => runRow(row, this.view), (element, row) => element.show(row));
    const session = model.tree.index.sessions.get(shown);
    const todos = session?.todos ?? [];
    this.todoTitle.hidden = todos.length === 0;
    keyed(this.todos, todos.map((/** @type {any} */ todo, /** @type {number} */ at) => ({...todo, at})), todo => `${todo.at}-${todo.status}-${todo.content ?? todo.text}`, todo =>
      h('li', {class: todo.status, 'aria-label': `${todo.status}: ${todo.content ?? todo.text}`}, {completed: '☑', in_progress: '◐'}[/** @type {string} */ (todo.status)] ?? '☐', ' ', todo.content ?? todo.text));
    const fill_ = session?.context;
    this.context.firstElementChild.hidden = !fill_;
    if (fill_) {
      this.meter.value = fill_.used / fill_.limit;
      setText(this.contextWords, `${Math.round((100 * fill_.used) / fill_.limit)} %, ${tokens(fill_.used)} of ${tokens(fill_.limit)}`);
    }
    setText(this.cost, this.costWords());
  }

  /** What the whole session used: as the board tells it, else the sum of the runs that are loaded. */
  costWords() {
    const {model, params} = this.view;
    const known = app.board.rows.get(params.session)?.usage;
    if (known) return `${money(known.cost_usd, known.complete)} · ${tokens(known.tokens)} tokens`;
    const own = model.tree.runs.filter((/** @type {any} */ run) => run.session === params.session);
    const sum = own.map((/** @type {any} */ run) => totalUsage(model.tree, run.run));
    const usd = sum.reduce((/** @type {number} */ total, /** @type {any} */ usage) => total + usage.cost_usd, 0);
    const used = sum.reduce((/** @type {number} */ total, /** @type {any} */ usage) => total + usage.input + usage.output, 0);
    return `${money(usd, sum.every((/** @type {any} */ usage) => usage.cost_complete))} · ${tokens(used)} tokens`;
  }

  /** Times of running agents go on. */
  tick() {
    for (const element of this.tree.children) /** @type {any} */ (element).tick?.();
  }
}

/**
 * The newest run of the session, earlier ones that delegated something or are open, and what they delegated, parents first.
 * @param {any} tree @param {string} root
 */
export function visibleRuns(tree, root) {
  const parents = new Set(tree.runs.map((/** @type {any} */ run) => run.parent?.run));
  const own = tree.runs.filter((/** @type {any} */ run) => run.session === root)
    .filter((/** @type {any} */ run, /** @type {number} */ at, /** @type {any[]} */ all) => at === all.length - 1 || parents.has(run.run) || run.phase.is !== 'ended').slice(-5);
  /** @type {{run: any, depth: number}[]} */
  const rows = [];
  const add = (/** @type {any} */ run, /** @type {number} */ depth) => {
    rows.push({run, depth});
    if (depth > 10 || rows.length > 300) return;
    for (const below of tree.runs) if (below.parent?.run === run.run) add(below, depth + 1);
  };
  for (const run of own) add(run, 0);
  return rows;
}

