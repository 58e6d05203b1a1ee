// How people get to the page: links that log in once, links that are of no use, addresses that lead nowhere.

import assert from 'node:assert/strict';
import {execFileSync} from 'node:child_process';
import {after, afterEach, before, test} from 'node:test';
import {Bench} from './harness.mjs';

/** @type {Bench} */
let bench;
before(async () => { bench = await Bench.start(); });
after(async () => { await bench.stop(); });
afterEach(() => { assert.deepEqual(bench.problems.splice(0), []); });

/** A link that nobody has used yet. */
function newLink() {
  const words = ['person', 'link', '--url', bench.url];
  return String(execFileSync(process.env.ROOFTREE_BIN ?? '', words, {env: bench.environment(), stdio: ['ignore', 'pipe', 'ignore']})).trim();
}

test('a link that was used already opens the page in a browser that is logged in', async () => {
  const page = await bench.page();
  await page.goto('about:blank');
  await page.goto(bench.link ?? '');
  await page.waitForSelector('rt-board');
  assert.equal(new URL(page.url()).hash, '');
  await page.context().close();
});

test('a link that was used already says so, and a new one pasted into the same window logs in', async () => {
  await (await bench.page()).context().close();
  const context = await bench.browser.newContext();
  const page = await context.newPage();
  await page.goto(bench.link ?? '');
  await page.waitForSelector('.login');
  assert.match(await page.locator('.login').innerText(), /This link is used, has expired, or never was one/);
  assert.equal(new URL(page.url()).hash, '');
  const link = newLink();
  // As the address bar does it: only what follows the `#` changes.
  await page.evaluate(hash => { location.hash = hash; }, new URL(link).hash);
  await page.waitForSelector('rt-board');
  assert.equal(new URL(page.url()).hash, '');
  await context.close();
});

test('the address of a session that is not there says so, and leads to the others', async () => {
  const page = await bench.page({at: '/s/ses_nosuch'});
  await page.getByText('There is no such session').waitFor();
  assert.equal(await page.getByRole('textbox', {name: 'Message'}).count(), 0);
  await page.getByRole('link', {name: 'All sessions'}).click();
  await page.waitForSelector('rt-sessions');
  await page.context().close();
});

test('the column of agents names a conversation once, and earlier runs only if they delegated', async () => {
  bench.model.answer = ({text, results}) => (/^ask/.test(text) && results === 0 ? {calls: [['Task', {subagent_type: 'explore', description: 'look', prompt: 'look'}]]} : {text: 'Done.'});
  const page = await bench.page();
  const session = await bench.watchFromStart(page, 'ask somebody');
  await page.locator('.item.end').nth(0).waitFor();
  for (const [at, text] of ['one', 'two', 'three'].entries()) {
    await bench.api(page, 'POST', `/sessions/${session}/messages`, {text});
    await page.locator('.item.end').nth(at + 1).waitFor();
  }
  const agents = await page.locator('.tree .run').evaluateAll(rows => rows.map(row => [row.querySelector('.agent-name, .badge-name, .run-open')?.textContent ?? '', row.getAttribute('aria-selected')]));
  assert.equal(agents.length, 3, JSON.stringify(agents));
  assert.match(agents[0][0], /lead.*ask somebody/);
  assert.match(agents[1][0], /explore/);
  assert.match(agents[2][0], /lead.*three/);
  assert.deepEqual(agents.map(([, selected]) => selected), ['false', 'false', 'true']);
  await page.context().close();
});
