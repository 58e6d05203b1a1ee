// Lookup tables beside the lists of a run tree, so that applying an event searches no list of runs.

/** @typedef {import('./tree_types.js').Tree} Tree */
/** @typedef {import('./tree_types.js').TreeIndex} TreeIndex */
/** @typedef {import('./tree_types.js').TreeRun} TreeRun */

/** @returns {TreeIndex} */
export function newIndex() {
  return { sessions: new Map(), runs: new Map(), order: new Map(), parents: new Map(), below: new Map() };
}

/**
 * The run with this id; a new one is added to the end of the list.
 * @param {Tree} tree
 * @param {string} id
 * @param {() => TreeRun} create
 * @returns {TreeRun}
 */
export function knowRun(tree, id, create) {
  const known = tree.index.runs.get(id);
  if (known) {
    return known;
  }
  const run = create();
  tree.runs.push(run);
  tree.index.runs.set(id, run);
  tree.index.order.set(id, tree.index.order.size);
  moveRun(tree, run);
  return run;
}

/**
 * Puts a run below the run that delegated it, if that is another one than before.
 * @param {Tree} tree
 * @param {TreeRun} run
 */
export function moveRun(tree, run) {
  const { parents, below } = tree.index;
  const parent = run.parent?.run;
  const before = parents.get(run.run);
  if (parent === before) {
    return;
  }
  if (before !== undefined) {
    below.set(before, (below.get(before) ?? []).filter((other) => other !== run));
  }
  if (parent !== undefined) {
    parents.set(run.run, parent);
    const list = below.get(parent) ?? [];
    list.splice(placeIn(tree, list, run), 0, run);
    below.set(parent, list);
  }
}

/**
 * Where a run stands among its siblings: in the order in which runs were first heard of.
 * @param {Tree} tree
 * @param {TreeRun[]} list
 * @param {TreeRun} run
 */
function placeIn(tree, list, run) {
  const order = tree.index.order;
  const rank = order.get(run.run) ?? 0;
  let at = list.length;
  while (at > 0 && (order.get(list[at - 1].run) ?? 0) > rank) {
    at -= 1;
  }
  return at;
}
