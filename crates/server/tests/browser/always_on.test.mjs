// Schedules, chats and the outbox on the page, with the real server, a model and a Bot API on loopback.

import assert from 'node:assert/strict';
import {after, afterEach, before, test} from 'node:test';
import {Bench} from './harness.mjs';
import {FakeTelegram} from './fake_telegram.mjs';

/** @type {Bench} */
let bench;
/** @type {FakeTelegram} */
let telegram;
const ANNA = 4711;

before(async () => {
  bench = await Bench.start();
  telegram = new FakeTelegram();
  await telegram.listen();
});
after(async () => {
  await bench.stop();
  telegram.close();
});
afterEach(() => { assert.deepEqual(bench.problems.splice(0), []); });

/** Waits until something that the page does not show is so. @param {() => any} check */
async function until(check) {
  for (let tries = 0; tries < 400; tries += 1) {
    const found = await check();
    if (found) return found;
    await new Promise(next => setTimeout(next, 50));
  }
  throw new Error(`this never came: ${check}\n${JSON.stringify(telegram.sent)}`);
}

test('a schedule is made with a preview, run, followed to its session, changed, paused and deleted', async () => {
  bench.model.answer = () => ({text: 'There are **12** open issues.'});
  const page = await bench.page({at: '/schedules'});
  await page.getByText('Nothing is scheduled').waitFor();
  await page.getByRole('button', {name: 'New schedule'}).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('When').fill('whenever');
  await page.waitForSelector('.preview .error');
  assert.equal(await dialog.getByLabel('When').getAttribute('aria-invalid'), 'true');
  await dialog.getByLabel('Time zone').fill('Europe/Berlin');
  await dialog.getByLabel('When').fill('weekdays at 9');
  await page.waitForSelector('.preview li');
  const next = await dialog.locator('.preview li').allTextContents();
  assert.equal(next.length, 5);
  for (const one of next) assert.match(one, /^(Mon|Tue|Wed|Thu|Fri) .*09:00/);
  await dialog.getByLabel('Name').fill('Morning report');
  await dialog.getByLabel('Task').fill('Count the issues.');
  await dialog.getByRole('button', {name: 'Create'}).click();
  const row = page.locator('.schedule', {hasText: 'Morning report'});
  await row.waitFor();
  assert.match(await row.innerText(), /Weekdays at 09:00[^]*It has not run yet/i);

  await row.getByRole('button', {name: 'Run now'}).click();
  await row.getByText(/Last: done/).waitFor();
  assert.equal(await row.locator('.dot-run.completed').count(), 1);
  bench.model.answer = () => ({status: 400, text: 'no such model'});
  await row.getByRole('button', {name: 'Run now'}).click();
  await row.locator('.dot-run.failed').waitFor();
  assert.match(await row.locator('.dot-link').last().getAttribute('aria-label') ?? '', /failed/);

  // A name that is taken stays in the form.
  await page.getByRole('button', {name: 'New schedule'}).click();
  await dialog.getByLabel('When').fill('every 2h');
  await page.waitForSelector('.preview li');
  await dialog.getByLabel('Name').fill('Morning report');
  await dialog.getByLabel('Task').fill('Look around.');
  await dialog.getByRole('button', {name: 'Create'}).click();
  await dialog.locator('.error:visible', {hasText: 'Morning report'}).waitFor();
  assert.ok(await dialog.getByLabel('Name').evaluate(input => input === document.activeElement));
  await page.keyboard.press('Escape');
  await page.waitForFunction(() => !document.querySelector('dialog[open]'));

  await row.getByRole('button', {name: 'Edit'}).click();
  await dialog.getByLabel('Task').fill('Only builds.');
  await dialog.getByRole('button', {name: 'Save'}).click();
  await row.getByText('Only builds.').waitFor();
  assert.match(await row.innerText(), /Weekdays at 09:00/i);
  await row.getByRole('button', {name: 'Pause'}).click();
  await row.getByRole('button', {name: 'Resume'}).click();
  await row.getByRole('button', {name: 'Pause'}).waitFor();

  // The answer of the first run is in the session that its circle leads to.
  await row.locator('.dot-link').first().click();
  await page.locator('rt-session').getByText('open issues').waitFor();
  await page.goto(`${bench.url}/schedules`);
  await row.getByRole('button', {name: 'Delete'}).click();
  await dialog.getByRole('button', {name: 'Delete'}).click();
  await page.getByText('Nothing is scheduled').waitFor();
  await page.context().close();
});

test('a stranger who writes to the bot is let in on the page, and what could not be delivered is sent again', async () => {
  bench.model.answer = () => ({text: 'Good morning, Anna.'});
  const page = await bench.page({at: '/connectors', width: 390, height: 844});
  await page.getByText('No connectors').waitFor();
  bench.run('connectors', 'add', 'telegram', '--name', 'phone', '--agent', 'lead', '--base-url', telegram.url, '--unchecked', {input: '42:AAE-test-token-of-a-bot-on-loopback00\n'});
  await page.locator('.health[data-kind="ok"]').waitFor();
  telegram.write(ANNA, 'Anna', 'hello');
  const code = await until(() => telegram.texts(ANNA).map(text => /\b([A-Z2-9]{4}-?[A-Z2-9]{4})\b/.exec(text)?.[1]).find(Boolean));
  const dialog = page.getByRole('dialog');
  await page.getByRole('button', {name: 'Enter the code of Anna'}).click();
  await dialog.getByLabel('The code that the bot told').fill('WRNG2345');
  await dialog.getByRole('button', {name: 'Let in'}).click();
  await page.locator('.toast, dialog .error, dialog [role="alert"]').first().waitFor();
  if (await dialog.count()) await page.keyboard.press('Escape');
  await page.getByRole('button', {name: 'Enter the code of Anna'}).click();
  await dialog.getByLabel('The code that the bot told').fill(code);
  await dialog.getByLabel('May answer permission requests').check();
  await dialog.getByRole('button', {name: 'Let in'}).click();
  await page.locator('.line', {hasText: 'Anna'}).getByText('may answer permission requests').waitFor();
  assert.equal(await page.getByRole('button', {name: 'Enter the code'}).count(), 0);

  telegram.write(ANNA, 'Anna', 'good morning');
  await until(() => telegram.texts(ANNA).includes('Good morning, Anna.'));
  await page.getByRole('button', {name: 'Send a test message'}).click();
  await until(() => telegram.texts(ANNA).some(text => /test/i.test(text)));

  // The bot is blocked: the answer is given up, and stands on the page until somebody decides.
  telegram.refusal = {status: 403, description: 'Forbidden: bot was blocked by the user'};
  bench.model.answer = () => ({text: 'It is ten.'});
  telegram.write(ANNA, 'Anna', 'what time is it?');
  await page.locator('.dead-letters .line', {hasText: 'It is ten.'}).waitFor();
  telegram.refusal = null;
  await page.getByRole('button', {name: /^Send again: It is ten/}).click();
  await page.waitForSelector('.dead-letters', {state: 'hidden'});
  await until(() => telegram.texts(ANNA).includes('It is ten.'));

  await page.getByRole('button', {name: 'Rights of Anna'}).click();
  await dialog.getByLabel('May write to agents').uncheck();
  await dialog.getByRole('button', {name: 'Save'}).click();
  await page.locator('.line', {hasText: 'Anna'}).getByText('may only read').waitFor();
  await page.getByRole('button', {name: 'Remove Anna'}).click();
  await dialog.getByRole('button', {name: 'Remove'}).click();
  await page.getByText('Nobody may write to it yet.').waitFor();
  await page.getByRole('button', {name: 'Switch off phone'}).click();
  await page.getByRole('button', {name: 'Switch on phone'}).waitFor();
  assert.equal(await page.locator('.health').first().innerText(), 'Switched off');
  bench.run('connectors', 'rm', 'phone');
  await page.getByText('No connectors').waitFor();
  await page.context().close();
});

test('what a scheduled agent asks is answered in the chat though the server is killed, and its result comes once to chat and page', async () => {
  const done = 'The build is green again.';
  bench.model.answer = ({text, results, request}) => {
    const said = JSON.stringify(request.messages);
    const isLead = (request.tools ?? []).some((/** @type {any} */ tool) => tool.function.name === 'Task');
    if (/^hello/.test(text)) return {text: 'Hello.'};
    if (!isLead) return results === 0 ? {calls: [['Bash', {command: 'echo built > built.txt'}]]} : {text: 'The build passed.'};
    if (said.includes('The build passed.')) return {text: done};
    return results === 0 ? {calls: [['Task', {subagent_type: 'task', description: 'the build', prompt: 'Run the build', run_in_background: true}]]} : {text: 'I began the build.'};
  };
  const page = await bench.page({at: '/connectors'});
  bench.run('connectors', 'add', 'telegram', '--name', 'chat', '--agent', 'lead', '--base-url', telegram.url, '--unchecked', {input: '42:AAE-test-token-of-a-bot-on-loopback00\n'});
  await page.locator('.health[data-kind="ok"]').waitFor();
  telegram.sent = [];
  telegram.write(ANNA, 'Anna', 'hello');
  const code = await until(() => telegram.texts(ANNA).map(text => /\b([A-Z2-9]{4}-?[A-Z2-9]{4})\b/.exec(text)?.[1]).find(Boolean));
  assert.equal((await bench.api(page, 'POST', '/connectors/chat/confirm', {code, person: 'owner', may_approve: true})).status, 200);
  const made = await bench.api(page, 'POST', '/schedules', {name: 'Nightly build', when: 'every 24h', agent: 'lead', prompt: 'Build the project.', target: `chat:${ANNA}`});
  assert.equal(made.status, 201, JSON.stringify(made.body));
  await bench.api(page, 'POST', `/schedules/${made.body.id}/run`, {});
  await until(() => telegram.sent.some(one => one.body.reply_markup));
  await page.goto(`${bench.url}/permissions`);
  await page.locator('.card.permission', {hasText: 'built.txt'}).waitFor();

  await bench.kill();
  await bench.serve();
  telegram.press(ANNA, 'Anna', 'Allow');
  await until(() => telegram.texts(ANNA).includes(done));
  await page.locator('.card.permission').waitFor({state: 'detached'});
  await page.goto(`${bench.url}/schedules`);
  await page.locator('.schedule', {hasText: 'Nightly build'}).locator('.dot-link').last().click();
  await page.locator('rt-session').getByText(done).first().waitFor();
  assert.equal(await page.locator('rt-session').getByText(done).count(), 1);
  assert.deepEqual(telegram.texts(ANNA).filter(text => text.includes(done)), [done]);
  await page.context().close();
});
