// Spans of a trace as rows: a flat list, a waterfall with folds, groups by name, and marks of the time axis. Pure.
// @ts-check

/**
 * One span of the flat list.
 * @typedef {{key: string, kind: 'run' | 'model' | 'tool' | 'wait', name: string, title: string, agent: string, run: string, session: string,
 *   from: number, to: number, isOpen: boolean, state: string, tokens: number, cost: number, isPriced: boolean, began?: number, ended?: number, failure: string, task?: string}} Span
 * @typedef {{from: number, to: number, kind: string, state: string}} Bar
 * @typedef {{key: string, kind: string, name: string, title: string, agent: string, depth: number, bars: Bar[], waits: Bar[], spans: Span[],
 *   done: number, canFold: boolean, isFolded: boolean}} Row
 */

/** Who is waited for, in words. @type {Record<string, string>} */
export const WAIT_WORDS = {person: 'waits for you', provider: 'waits for the provider', child: 'waits for an agent'};

/** All spans in the order of the trace: each run, its waits and steps. @param {any[]} runs @returns {Span[]} */
export function flatSpans(runs) {
  return runs.flatMap(run => [runSpan(run), ...run.waits.map((/** @type {any} */ wait, /** @type {number} */ at) => waitSpan(run, wait, at)),
    ...run.steps.map((/** @type {any} */ step, /** @type {number} */ at) => stepSpan(run, step, run.earlier_steps + at))]);
}

/** @param {any} run @returns {Span} */
function runSpan(run) {
  return {
    ...common(run), key: run.run, kind: 'run', name: run.agent, title: run.title, from: Date.parse(run.from), to: Date.parse(run.to), isOpen: !run.status,
    state: run.status ?? 'working', ...used(run.usage), failure: run.failure,
  };
}

/** @param {any} run @param {any} wait @param {number} at @returns {Span} */
function waitSpan(run, wait, at) {
  return {
    ...common(run), key: `${run.run}/wait/${at}`, kind: 'wait', name: WAIT_WORDS[wait.cause] ?? wait.cause, from: Date.parse(wait.from), to: Date.parse(wait.to),
    isOpen: !run.status && wait.to === run.to, state: wait.cause, ...used(null),
  };
}

/** @param {any} run @param {any} step @param {number} at @returns {Span} */
function stepSpan(run, step, at) {
  return {
    ...common(run), key: `${run.run}/step/${at}`, kind: step.kind, name: step.name, title: step.title ?? '', from: Date.parse(step.from), to: Date.parse(step.to ?? run.to),
    isOpen: !step.to, state: step.to ? step.outcome?.is ?? 'done' : run.status ? 'unknown' : 'working', ...used(step.usage), began: step.began, ended: step.ended, task: step.task,
  };
}

/** @param {any} run */
function common(run) {
  return {agent: run.agent, run: run.run, session: run.session, title: '', failure: ''};
}

/** @param {any} usage */
function used(usage) {
  return {tokens: (usage?.input ?? 0) + (usage?.output ?? 0), cost: usage?.cost_usd ?? 0, isPriced: usage?.cost_complete ?? true};
}

/** First and last moment. @param {Span[]} spans */
export function extent(spans) {
  const from = spans.reduce((least, span) => Math.min(least, span.from), Infinity);
  const to = spans.reduce((most, span) => Math.max(most, span.to), -Infinity);
  return spans.length ? {from, to: Math.max(to, from + 1)} : {from: 0, to: 1};
}

/**
 * Rows of the waterfall.
 * @param {any[]} runs @param {{folded: Set<string>, isAggregated: boolean}} options
 * @returns {Row[]}
 */
export function waterfallRows(runs, {folded, isAggregated}) {
  const known = new Set(runs.map(run => run.run));
  /** @type {Row[]} */
  const rows = [];
  const add = (/** @type {number} */ at) => {
    const run = runs[at];
    const below = childrenOf(runs, at);
    const all = flatSpans([run]);
    // A call that waits for a run of this trace is drawn as a wait of its own run: the other run has its row.
    const isChildWait = (/** @type {Span} */ span) => span.task !== undefined && known.has(span.task);
    const steps = all.filter(span => (span.kind === 'model' || span.kind === 'tool') && !isChildWait(span));
    const waits = [...merged(all.filter(isChildWait).map(span => bar(span, 'child'))), ...all.filter(span => span.kind === 'wait').map(span => bar(span))];
    const {depth} = run;
    const isFolded = folded.has(run.run);
    rows.push({...row(all[0], depth), waits, canFold: steps.length + below.length > 0, isFolded});
    if (isFolded) return;
    const own = isAggregated ? groups(steps, `${run.run}/`).map(group => ({...group, depth: depth + 1})) : steps.map(step => row(step, depth + 1));
    const items = [...own.map(one => ({from: one.bars[0].from, show: () => { rows.push(one); }})),
      ...below.map(place => ({from: Date.parse(runs[place].from), show: () => add(place)}))];
    // Groups stand before what was delegated: they last as long as the run itself.
    if (!isAggregated) items.sort((one, other) => one.from - other.from);
    for (const item of items) item.show();
  };
  runs.forEach((run, at) => { if (run.depth === 0) add(at); });
  return rows;
}

/** Bars that overlap as one. @param {Bar[]} bars @returns {Bar[]} */
function merged(bars) {
  /** @type {Bar[]} */
  const found = [];
  for (const next of [...bars].sort((one, other) => one.from - other.from)) {
    const last = found.at(-1);
    if (last && next.from <= last.to) last.to = Math.max(last.to, next.to);
    else found.push({...next});
  }
  return found;
}

/** Places of the runs that a run delegated to. @param {any[]} runs @param {number} at */
function childrenOf(runs, at) {
  /** @type {number[]} */
  const found = [];
  for (let next = at + 1; next < runs.length && runs[next].depth > runs[at].depth; next += 1) {
    if (runs[next].depth === runs[at].depth + 1) found.push(next);
  }
  return found;
}

/** @param {Span} span @param {number} depth @returns {Row} */
function row(span, depth) {
  return {
    key: span.key, kind: span.kind, name: span.name, title: span.title, agent: span.agent, depth, bars: [bar(span)], waits: [], spans: [span],
    done: isDone(span) ? 1 : 0, canFold: false, isFolded: false,
  };
}

/** @param {Span} span @param {string} [state] @returns {Bar} */
function bar(span, state = span.state) {
  return {from: span.from, to: span.to, kind: span.kind, state};
}

/** @param {Span} span */
function isDone(span) {
  return span.state === 'done' || span.state === 'completed';
}

/** Spans of the same kind and name as one row each. @param {Span[]} spans @param {string} [prefix] of keys @returns {Row[]} */
export function groups(spans, prefix = '') {
  /** @type {Map<string, Row>} */
  const found = new Map();
  for (const span of spans) {
    const key = `${prefix}${span.kind}/${span.name}`;
    const known = found.get(key);
    if (!known) found.set(key, {...row(span, 0), key, title: ''});
    else {
      known.bars.push(bar(span));
      known.spans.push(span);
      known.done += isDone(span) ? 1 : 0;
    }
  }
  return [...found.values()];
}

/** How long a row took in all. @param {Row} row */
export function totalTime(row) {
  return row.spans.reduce((sum, span) => sum + span.to - span.from, 0);
}

/** @param {Row} row */
export function totalUse(row) {
  return row.spans.reduce((sum, span) => ({tokens: sum.tokens + span.tokens, cost: sum.cost + span.cost, isPriced: sum.isPriced && span.isPriced}), {tokens: 0, cost: 0, isPriced: true});
}

/**
 * Rows sorted by start, duration or cost.
 * @param {Row[]} rows @param {'start' | 'duration' | 'cost'} by @param {boolean} isDown
 */
export function sortRows(rows, by, isDown) {
  const value = by === 'start' ? (/** @type {Row} */ one) => one.spans[0].from : by === 'duration' ? totalTime : (/** @type {Row} */ one) => totalUse(one).cost;
  return rows.map((one, at) => ({one, at, value: value(one)}))
    .sort((left, right) => (isDown ? right.value - left.value : left.value - right.value) || left.at - right.at)
    .map(({one}) => one);
}

/** Distances between marks that people read easily, in milliseconds. */
const STEPS = [10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 30_000, 60_000, 120_000, 300_000, 600_000, 1_800_000, 3_600_000, 7_200_000, 21_600_000, 86_400_000];

/** Where the axis has marks. @param {number} length @param {number} most */
export function axisMarks(length, most) {
  const step = STEPS.find(one => length / one < most) ?? Math.ceil(length / most / 86_400_000) * 86_400_000;
  return Array.from({length: Math.floor(length / step) + 1}, (_, at) => at * step);
}
