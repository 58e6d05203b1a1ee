// Folds journals with the page's reducer: reads one step per line, writes the canonical JSON of the tree after each.
//
// `{"root": …}` begins a new tree, `{"event": …}`, `{"snapshot": …}` and `{"meta": …}` are applied to it.

import { createInterface } from 'node:readline';
import { pathToFileURL } from 'node:url';

const folder = pathToFileURL(`${process.argv[2]}/`);
const { applyEvent, applyMeta, applySnapshot, newTree } = await import(new URL('reduce.js', folder).href);
const { canonicalJson } = await import(new URL('canonical_json.js', folder).href);

let tree = newTree(null);
for await (const line of createInterface({ input: process.stdin, crlfDelay: Infinity })) {
  const step = JSON.parse(line);
  if ('root' in step) {
    tree = newTree(step.root);
  } else if ('event' in step) {
    applyEvent(tree, step.event);
  } else if ('meta' in step) {
    applyMeta(tree, step.meta);
  } else {
    applySnapshot(tree, step.snapshot);
  }
  process.stdout.write(`${canonicalJson(tree)}\n`);
}
