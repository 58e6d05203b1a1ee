// Sessions that a test makes up and imports: a real one is exported, and its events are repeated or changed.

import {ended} from './example.mjs';

/** Exports a session with a message, two calls and a reply. */
async function pattern(bench, page) {
  bench.model.answer = ({results}) => (results === 0 ? {text: 'I look.', calls: [['List', {path: '.'}], ['List', {path: '.'}]]} : {text: 'Seen.'});
  const session = await bench.begin(page, 'look');
  await ended(bench, page, session);
  return (await bench.api(page, 'GET', `/sessions/${session}/export`)).body;
}

/** Imports a session of so many rounds, each changed by `change(event, round)`, which may return events to put before it; `more` changes the session itself. */
export async function importRounds(bench, page, rounds, change, name, more = {}) {
  const {session, events} = await pattern(bench, page);
  const [opened, ...round] = events;
  const all = [opened];
  for (let at = 0; at < rounds; at += 1) {
    // Ids of runs, messages and calls are unique in a journal.
    const own = JSON.parse(JSON.stringify(round).replace(/\b(run|msg|call)_([a-z0-9]{20})[a-z0-9]{4}\b/g, (_, kind, start) => `${kind}_${start}${at.toString(36).padStart(4, '0')}`));
    for (const event of own) all.push(...change(event, at) ?? [], event);
  }
  all.forEach((event, index) => { event.id = index + 1; });
  const answer = await bench.api(page, 'POST', '/sessions/import', {session: {...session, head: all.length, ...more}, events: all, blobs: [], name});
  if (answer.status !== 201) throw new Error(`import: ${answer.status} ${JSON.stringify(answer.body)}`);
  return {id: answer.body.id, count: all.length};
}
