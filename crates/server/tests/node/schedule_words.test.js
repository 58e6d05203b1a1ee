// Tests of js/schedule_words.js.
import assert from 'node:assert/strict';
import test from 'node:test';
import {countdown, healthKind, healthWords, isTrouble, moment, nextWords, occurrenceWords, occurrences, sortSchedules, until} from './js/schedule_words.js';

const NOW = Date.UTC(2026, 10, 18, 8, 0);

test('a run and its message are told apart', () => {
  for (const [occurrence, words] of [
    [{execution: 'completed', delivery: 'sent'}, 'done, message sent'],
    [{execution: 'completed', delivery: 'failed'}, 'done, message not delivered'],
    [{execution: 'failed', delivery: 'none', reason: 'rate_limit'}, 'failed (rate limit)'],
    [{execution: 'skipped', delivery: 'none', reason: 'inactive_hours'}, 'skipped (inactive hours)'],
    [{execution: 'unknown', delivery: 'unverified'}, 'outcome unknown, message sent, not confirmed'],
    [{execution: 'new state', delivery: 'new state'}, 'new state'],
  ]) assert.equal(occurrenceWords(occurrence), words);
});

test('a message that was not delivered needs somebody, a skipped run does not', () => {
  assert.ok(isTrouble({execution: 'completed', delivery: 'failed'}) && isTrouble({execution: 'failed', delivery: 'sent'}));
  assert.ok(!isTrouble({execution: 'skipped', delivery: 'none'}) && !isTrouble({execution: 'completed', delivery: 'sent'}));
});

test('the next time is told in the zone of the schedule', () => {
  assert.equal(moment(NOW, 'Europe/Berlin'), 'Wed 18 Nov, 09:00');
  assert.equal(moment(NOW, 'Asia/Tokyo'), 'Wed 18 Nov, 17:00');
  assert.match(moment(NOW, 'Nowhere/Town'), /18 Nov/);
  const schedule = {enabled: true, kind: 'cron', zone: 'UTC', next_due: NOW + 90 * 60_000};
  assert.deepEqual(nextWords(schedule, NOW), {words: 'Wed 18 Nov, 09:30 · in 2 h', kind: 'due'});
  assert.equal(nextWords({...schedule, last: {execution: 'running'}}, NOW).words, 'At work now');
  assert.equal(nextWords({...schedule, next_due: null}, NOW).words, 'Not again');
  assert.equal(nextWords({...schedule, next_due: null, kind: 'event'}, NOW).words, 'When something happens');
  assert.deepEqual(nextWords({...schedule, enabled: false}, NOW), {words: 'Paused', kind: 'paused'});
  assert.deepEqual(nextWords({...schedule, enabled: false, disabled_reason: 'failed_5_times'}, NOW), {words: 'Switched off: failed 5 times', kind: 'off'});
});

test('times until are short', () => {
  assert.deepEqual([0, 40, 300, 7200, 200_000].map(seconds => until(NOW + seconds * 1000, NOW)), ['now', 'in 1 min', 'in 5 min', 'in 2 h', 'in 2 d']);
  assert.deepEqual([-5, 0.4, 65, 600].map(seconds => countdown(NOW + seconds * 1000, NOW)), ['0:00', '0:01', '1:05', '10:00']);
});

test('what switched itself off comes first, paused ones last; the others by their next time', () => {
  const all = [{name: 'paused', enabled: false}, {name: 'late', enabled: true, next_due: 9}, {name: 'off', enabled: false, disabled_reason: 'x'}, {name: 'soon', enabled: true, next_due: 1}, {name: 'never', enabled: true, next_due: null}];
  assert.deepEqual(sortSchedules(all).map(one => one.name), ['off', 'soon', 'late', 'never', 'paused']);
});

test('the newest occurrences are shown, oldest first', () => {
  const history = Array.from({length: 30}, (_, at) => ({due: 30 - at}));
  assert.deepEqual(occurrences({history}).map(one => one.due), Array.from({length: 20}, (_, at) => 11 + at));
  assert.deepEqual(occurrences({}), []);
});

test('states of connectors are told in words, unknown ones as they are', () => {
  assert.equal(healthWords({state: 'up'}), 'Connected');
  assert.equal(healthWords({state: 'stopped', reason: 'the token was refused'}), 'Stopped: the token was refused');
  assert.equal(healthWords({state: 'odd'}), 'odd');
  assert.deepEqual(['up', 'connecting', 'off', 'stopped', 'odd'].map(healthKind), ['ok', 'busy', 'off', 'bad', 'bad']);
});
