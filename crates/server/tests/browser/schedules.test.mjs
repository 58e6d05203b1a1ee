// Schedules and connectors: what is shown of them, and what their buttons and forms send.

import assert from 'node:assert/strict';
import {after, afterEach, before, test} from 'node:test';
import {Bench} from './harness.mjs';
import {alwaysOn} from './always_on.mjs';

/** @type {Bench} */
let bench;
before(async () => { bench = await Bench.start(); });
after(async () => { await bench.stop(); });
afterEach(() => { assert.deepEqual(bench.problems.splice(0), []); });

async function opened(at, ready, options = {}) {
  const page = await bench.page(options);
  const state = await alwaysOn(page);
  await page.goto(bench.url + at);
  await page.waitForSelector(ready);
  return {page, state};
}

/** What the page sent last, without keys. */
const last = state => state.sent.at(-1);

test('a schedule tells its time in words, what is next, and runs and messages of the past apart', async () => {
  const {page} = await opened('/schedules', '.dot-link');
  assert.deepEqual(await page.locator('.schedule-name').allTextContents(), ['Check the backups', 'Tidy the inbox', 'Morning report', 'Release notes']);
  const report = page.locator('.schedule', {hasText: 'Morning report'});
  assert.match(await report.innerText(), /Weekdays at 09:00 Europe\/Berlin[^]*Last: done, message sent/);
  const labels = await report.locator('.dot-link').evaluateAll(all => all.map(one => one.getAttribute('aria-label')));
  assert.equal(labels.length, 20);
  assert.match(labels[4] ?? '', /: failed \(rate limit\), message sent$/);
  assert.match(labels[9] ?? '', /: skipped \(overlap\)$/);
  assert.match(labels[15] ?? '', /: done, message not delivered$/);
  assert.match(await page.locator('.schedule', {hasText: 'Check the backups'}).innerText(), /Switched off: failed 3 times[^]*3 failures in a row/);
  await page.context().close();
});

test('a schedule is run, paused, resumed and deleted from the list', async () => {
  const {page, state} = await opened('/schedules', '.dot-link');
  await page.getByRole('button', {name: 'Run now: Morning report'}).click();
  await page.waitForSelector('.toast');
  assert.deepEqual(last(state), ['POST', 'schedules/sch_1/run', {}]);
  await page.getByRole('button', {name: 'Pause Morning report'}).click();
  await page.getByRole('button', {name: 'Resume Morning report'}).click();
  await page.getByRole('button', {name: 'Pause Morning report'}).waitFor();
  assert.deepEqual(last(state), ['POST', 'schedules/sch_1/resume', {}]);
  await page.getByRole('button', {name: 'Delete Release notes'}).click();
  await page.getByRole('dialog').getByRole('button', {name: 'Delete'}).click();
  await page.waitForFunction(() => document.querySelectorAll('.schedule').length === 3);
  assert.equal(last(state)?.[0], 'DELETE');
  await page.context().close();
});

test('what failed is shown by its cause, and told no more if a person says so', async () => {
  const {page, state} = await opened('/schedules', '.dot-link');
  assert.equal(await page.getByRole('button', {name: /^What failed/}).count(), 1, 'only where something failed');
  await page.getByRole('button', {name: 'What failed: Check the backups'}).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByText('budget: 900 tokens of a day are used').waitFor();
  assert.match(await dialog.innerText(), /3 times, last .*, told/);
  await dialog.getByRole('button', {name: 'Do not tell me again'}).click();
  await dialog.getByText('told to nobody').waitFor();
  assert.deepEqual(last(state), ['POST', 'schedules/sch_2/acknowledge', {signature: 'budget: # tokens'}]);
  await page.context().close();
});

test('the form shows the time in words with five next times, and what is wrong with it, while it is typed', async () => {
  const {page, state} = await opened('/schedules', '.dot-link');
  await page.getByRole('button', {name: 'New schedule'}).press('Enter');
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('When').fill('never');
  await page.waitForSelector('.preview .error');
  assert.match(await dialog.locator('.preview').innerText(), /never/);
  assert.equal(await dialog.getByLabel('When').getAttribute('aria-invalid'), 'true');
  await dialog.getByLabel('When').fill('every 2h');
  await page.waitForSelector('.preview li');
  assert.equal(await dialog.locator('.preview li').count(), 5);
  // What the server refuses stays in the form, and the field has the focus.
  await dialog.getByLabel('Name').fill('Taken');
  await dialog.getByLabel('Task').fill('Look around.');
  await dialog.getByRole('button', {name: 'Create'}).click();
  await dialog.getByText('another schedule has this name').waitFor();
  assert.ok(await dialog.getByLabel('Name').evaluate(input => input === document.activeElement));
  await dialog.getByLabel('Name').fill('Rounds');
  await dialog.getByRole('button', {name: 'Create'}).click();
  await page.locator('.schedule', {hasText: 'Rounds'}).waitFor();
  const [, , body] = /** @type {any} */ (last(state));
  assert.deepEqual({...body, zone: ''}, {name: 'Rounds', when: 'every 2h', zone: '', agent: 'lead', prompt: 'Look around.', target: null, overlap: 'skip', catch_up: 'once'});
  await page.context().close();
});

test('a change of the task leaves the time alone and names the revision it was made from', async () => {
  const {page, state} = await opened('/schedules', '.dot-link');
  await page.getByRole('button', {name: 'Edit Morning report'}).click();
  const dialog = page.getByRole('dialog');
  assert.equal(await dialog.locator('.preview li').count(), 5);
  await dialog.getByLabel('Task').fill('Only builds.');
  await dialog.getByRole('button', {name: 'Save'}).click();
  await page.waitForFunction(() => !document.querySelector('dialog'));
  const [method, path, body] = /** @type {any} */ (last(state));
  assert.deepEqual([method, path, body.prompt, body.rev, body.when], ['PATCH', 'schedules/sch_1', 'Only builds.', 1, undefined]);
  await page.context().close();
});

test('a connector tells its health; a code is shown with the time it is valid, people can be removed', async () => {
  const {page, state} = await opened('/connectors', '.health', {width: 390, height: 844});
  assert.deepEqual(await page.locator('.health').allTextContents(), ['Connected', 'Not connected now: the address answers 502']);
  await page.getByRole('button', {name: 'Let a person in'}).first().click();
  await page.getByRole('dialog').getByRole('button', {name: 'Make a code'}).click();
  await page.waitForSelector('.code-text');
  assert.deepEqual(last(state), ['POST', 'connectors/telegram/pair', {person: 'owner', may_approve: false}]);
  assert.equal(await page.locator('.code-text').innerText(), 'K7PM-2QXA');
  assert.match(await page.locator('.code-left').innerText(), /^valid for (10:00|9:\d\d)$/);
  await page.getByRole('button', {name: 'Send a test message'}).first().click();
  await page.waitForSelector('.toast');
  assert.deepEqual(last(state), ['POST', 'connectors/telegram/test', {}]);
  await page.getByRole('button', {name: 'Remove Family group'}).click();
  await page.getByRole('dialog').getByRole('button', {name: 'Remove'}).click();
  await page.waitForFunction(() => !document.querySelector('rt-connectors')?.textContent?.includes('Family groupas guest'));
  assert.deepEqual(last(state)?.slice(0, 2), ['DELETE', 'connectors/telegram/people/4712']);
  await page.context().close();
});

test('an unknown sender is let in by his code with the rights that are chosen, which can be changed; a connector is switched off', async () => {
  const {page, state} = await opened('/connectors', '.health');
  const dialog = page.getByRole('dialog');
  await page.getByRole('button', {name: 'Enter the code'}).click();
  await dialog.getByLabel('The code that the bot told').fill('WRNG2345');
  await dialog.getByRole('button', {name: 'Let in'}).click();
  await page.getByText('no sender waits with this code').waitFor();
  await page.getByRole('button', {name: 'Enter the code'}).click();
  await dialog.getByLabel('The code that the bot told').fill('K7PM2QXA');
  await dialog.getByLabel('May answer permission requests').check();
  await dialog.getByRole('button', {name: 'Let in'}).click();
  await page.locator('.line', {hasText: 'Ben'}).getByText('may answer permission requests').waitFor();
  assert.deepEqual(last(state), ['POST', 'connectors/telegram/confirm', {person: 'owner', may_approve: true, code: 'K7PM2QXA'}]);
  assert.equal(await page.getByRole('button', {name: 'Enter the code'}).count(), 0);
  await page.getByRole('button', {name: 'Rights of Family group'}).click();
  await dialog.getByLabel('May write to agents').uncheck();
  await dialog.getByRole('button', {name: 'Save'}).click();
  await page.locator('.line', {hasText: 'Family group'}).getByText('may only read').waitFor();
  assert.deepEqual(last(state), ['PATCH', 'connectors/telegram/people/4712', {person: 'guest', may_approve: false, may_send: false}]);
  await page.getByRole('button', {name: 'Switch off telegram'}).click();
  await page.getByRole('button', {name: 'Switch on telegram'}).waitFor();
  assert.deepEqual(last(state), ['PATCH', 'connectors/telegram', {rev: 3, enabled: false}]);
  assert.equal(await page.locator('.health').first().innerText(), 'Switched off');
  await page.context().close();
});

test('messages that were not delivered are sent again or dropped', async () => {
  const {page, state} = await opened('/connectors', '.dead-letters .line');
  assert.equal(await page.locator('.dead-letters .line').count(), 2);
  await page.getByRole('button', {name: /^Send again: Morning report/}).click();
  await page.waitForFunction(() => document.querySelectorAll('.dead-letters .line').length === 1);
  assert.deepEqual(last(state), ['POST', 'outbox/out_1/retry', {}]);
  await page.getByRole('button', {name: /^Drop: The backup/}).click();
  await page.waitForSelector('.dead-letters', {state: 'hidden'});
  assert.deepEqual(last(state), ['POST', 'outbox/out_2/drop', {}]);
  await page.context().close();
});

test('what another program changes is shown without asking again', async () => {
  const page = await bench.page({at: '/connectors'});
  await page.getByText('No connectors').waitFor();
  const asked = [];
  page.on('request', request => { if (/\/api\/v1\/(connectors|schedules|outbox)/.test(request.url())) asked.push(request.url()); });
  bench.run('connectors', 'add', 'webhook', '--name', 'builds', '--agent', 'lead', '--generate-secret');
  await page.locator('.schedule-name', {hasText: 'builds'}).waitFor();
  await page.locator('.health[data-kind="ok"]').waitFor();
  bench.run('connectors', 'set', 'builds', '--disable');
  await page.getByRole('button', {name: 'Switch on builds'}).click();
  await page.getByRole('button', {name: 'Switch off builds'}).waitFor();
  bench.run('connectors', 'rm', 'builds');
  await page.getByText('No connectors').waitFor();
  assert.deepEqual(asked.filter(url => !url.endsWith('/connectors/builds')), []);
  await page.goto(`${bench.url}/schedules`);
  await page.getByText('Nothing is scheduled').waitFor();
  bench.run('schedules', 'add', 'every 2h', 'Look around.', '--name', 'Rounds');
  await page.locator('.schedule-name', {hasText: 'Rounds'}).waitFor();
  await page.context().close();
});
