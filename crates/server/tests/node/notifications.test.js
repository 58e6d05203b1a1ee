// What is told when the board changes: requests at once, long work when it ends, nothing twice.

import assert from 'node:assert/strict';
import test from 'node:test';
import {NoticeFinder} from './js/notifications.js';

const START = Date.parse('2026-01-01T10:00:00Z');
const at = seconds => new Date(START + seconds * 1000).toISOString();
const row = (state, more = {}) => ({session: 'ses_1', state, agent: {name: 'lead'}, title: 'Refactor', headline: '', why: [], started: at(0), ended: null, ...more});
const asks = (...ids) => ids.map(id => ({kind: 'permission', id, title: 'cargo test'}));

test('what waits when the page opens is not told, what comes later is told once and at once', () => {
  const finder = new NoticeFinder();
  assert.deepEqual(finder.take([row('needs_you', {why: asks('per_1')})], START), []);
  const told = finder.take([row('needs_you', {why: asks('per_1', 'per_2')})], START + 1);
  assert.deepEqual(told.map(one => one.key), ['per_2']);
  assert.equal(told[0].title, 'lead asks in “Refactor”');
  assert.deepEqual(finder.take([row('needs_you', {why: asks('per_1', 'per_2')})], START + 2), []);
  // Requests have no pause between them.
  assert.equal(finder.take([row('needs_you', {why: asks('per_2', 'per_3')})], START + 3).length, 1);
});

test('only work of at least 30 seconds is told when it ends', () => {
  for (const [seconds, count] of [[29, 0], [30, 1]]) {
    const finder = new NoticeFinder();
    finder.take([row('working')], START);
    assert.equal(finder.take([row('done', {ended: at(seconds)})], START + seconds * 1000).length, count, `${seconds} s`);
  }
});

test('a session is told of at most once a minute, a failure says so', () => {
  const finder = new NoticeFinder();
  finder.take([row('working')], START);
  assert.equal(finder.take([row('failed', {ended: at(40)})], START)[0].title, 'lead failed: Refactor');
  finder.take([row('working')], START + 1000);
  assert.deepEqual(finder.take([row('done', {ended: at(50)})], START + 59_000), []);
  finder.take([row('working')], START + 60_000);
  assert.equal(finder.take([row('done', {ended: at(60)})], START + 60_000).length, 1);
});
