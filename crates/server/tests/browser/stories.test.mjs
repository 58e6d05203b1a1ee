// Stories of people with the page: cuts, kills, several browsers, many permissions, many tabs, keyboard and touch.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import {after, afterEach, before, test} from 'node:test';
import {Bench, cuttingRelay, gate, shownText} from './harness.mjs';

/** @type {Bench} */
let bench;
before(async () => { bench = await Bench.start(); });
after(async () => { await bench.stop(); });
afterEach(async () => {
  await bench.closePages();
  assert.deepEqual(bench.problems.splice(0), []);
});

/** A lead that reads, asks an explorer, and answers in many pieces. */
function delegating({text, results, request}) {
  // The number of the story makes each question a new one: answers of the same question are kept.
  const story = /story \d+/.exec(text)?.[0];
  const isChild = /number \d/.test(text);
  if (isChild) return results === 0 ? {text: 'I look.', calls: [['Read', {file_path: 'a.txt'}], ['Read', {file_path: 'b.txt'}]]} : {text: `Found it: ${text}.`};
  if (results === 0) return {text: 'I begin.', calls: [['Read', {file_path: 'a.txt'}], ['Read', {file_path: 'b.txt'}], ['Read', {file_path: 'c.txt'}]]};
  if (results === 3) return {text: 'Now the others.', calls: [1].map(number => ['Task', {subagent_type: 'explore', description: `look ${number}`, prompt: `number ${number} (${story})`}])};
  return {text: Array.from({length: 40}, (_, line) => `Line ${line} of the **answer**.\n\n`).join(''), pieces: 60, ...(request.hold ?? {})};
}

function plant() {
  for (const name of ['a', 'b', 'c']) fs.writeFileSync(path.join(bench.project, `${name}.txt`), `${name}\n`);
}

const isDone = page => page.waitForFunction(() => document.querySelector('.item.end'), null, {timeout: 30_000});

test('reloads and cuts of the stream change nothing of what is shown, and a lost frame does', async () => {
  plant();
  bench.model.answer = delegating;
  const page = await bench.page();
  await bench.watchFromStart(page, 'go, story 0');
  await isDone(page);
  await page.reload();
  await isDone(page);
  const golden = await shownText(page);
  assert.match(golden, /Line 39 of the/);
  assert.match(golden, /explore: look 1/);
  // Live, with a stream that is cut again and again.
  for (const every of [7, 10]) {
    const relay = await cuttingRelay(bench.port, every);
    const via = `http://127.0.0.1:${relay.port}`;
    const cut = await bench.page({via});
    await bench.watchFromStart(cut, `go, story ${every}`, {via});
    await isDone(cut);
    assert.ok(relay.cuts() > 0, 'the stream was cut');
    assert.equal(await shownText(cut), golden);
    await cut.context().close();
    relay.close();
  }
  // The comparison notices a frame that is lost behind the check of the cursors.
  const lossy = await bench.page();
  await lossy.route('**/session_model.js', async route => {
    const response = await route.fetch();
    const body = (await response.text()).replace('applyEvent(event) {', "applyEvent(event) { if (event.type === 'tool.completed') return;");
    await route.fulfill({response, body});
  });
  await bench.watchFromStart(lossy, 'go, story 99');
  await isDone(lossy);
  assert.notEqual(await shownText(lossy), golden);
});

test('a server that is killed in the middle of a reply comes back, and the page shows every word once', async () => {
  const wait = gate();
  const text = Array.from({length: 100}, (_, number) => `Word ${number} is here. `).join('');
  bench.model.answer = () => ({text, pieces: 50, hold: {after: 25, until: wait.promise}});
  const page = await bench.page();
  await bench.watchFromStart(page, 'long');
  await page.waitForFunction(() => (document.querySelector('.draft')?.textContent ?? '').length > 100);
  await bench.kill();
  bench.model.answer = () => ({text, pieces: 50});
  wait.open();
  await page.waitForFunction(() => document.querySelector('.connection')?.getAttribute('data-state') !== 'live');
  await bench.serve();
  await isDone(page);
  const shown = await page.locator('.item.reply .prose').allInnerTexts();
  assert.equal(shown.filter(words => words.trim()).join('').trim(), text.trim());
});

test('two browsers show a request, one answers, and the other shows who', async () => {
  bench.model.answer = ({results}) => (results === 0 ? {text: 'I write.', calls: [['Write', {file_path: 'n.md', content: 'hello\n'}]]} : {text: 'Written.'});
  const one = await bench.page();
  const session = await bench.begin(one, 'write');
  await one.goto(`${bench.url}/s/${session}`);
  const other = await bench.page({at: `/s/${session}`});
  const third = await bench.page();
  for (const page of [one, other]) await page.waitForSelector('.card.permission .diff');
  await third.waitForSelector(`.row[data-session="${session}"] .card`);
  await one.click('[data-answer="allow-once"]');
  await other.waitForFunction(() => document.querySelector('.item.answer')?.textContent?.includes('Allowed by'));
  await isDone(other);
  assert.equal(await other.locator('.card').count(), 0);
  assert.equal(fs.readFileSync(path.join(bench.project, 'n.md'), 'utf8'), 'hello\n');
  // An answer that comes second is told who was first.
  const card = (await bench.api(other, 'GET', '/permissions?state=answered')).body.permissions[0];
  const late = await bench.api(other, 'POST', `/permissions/${card.id}`, {decision: 'deny', digest: card.digest});
  assert.equal(late.status, 409);
  assert.equal(late.body.answered.decision, 'allow');
});

test('twenty requests at once on a phone: each can be answered, none is lost by a reload', async () => {
  bench.model.answer = ({text, results}) => {
    if (/^part \d/.test(text)) return results === 0 ? {calls: [['Write', {file_path: `many-${text.slice(5)}.md`, content: 'x\n'}]]} : {text: 'ok'};
    return results === 0 ? {calls: Array.from({length: 20}, (_, at) => ['Task', {subagent_type: 'lead', description: `part ${at}`, prompt: `part ${at}`, run_in_background: true}])} : {text: 'all'};
  };
  const page = await bench.page({width: 390, height: 844, touch: true});
  const sessions = [];
  for (let at = 0; at < 20; at += 1) sessions.push(await bench.begin(page, `part ${at}`));
  await page.goto(`${bench.url}/`);
  await page.waitForFunction(() => document.querySelectorAll('.card.permission').length === 20);
  await page.reload();
  await page.waitForFunction(() => document.querySelectorAll('.card.permission').length === 20);
  assert.equal(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), true, 'nothing is wider than the screen');
  for (let left = 20; left > 0; left -= 1) {
    await page.locator('.card.permission [data-answer="allow-once"]:enabled').first().tap();
    await page.waitForFunction(count => document.querySelectorAll('.card.permission:not(.settled)').length < count, left);
  }
  await page.waitForFunction(() => document.querySelectorAll('.row[data-state="needs_you"]').length === 0);
  for (let at = 0; at < 20; at += 1) assert.ok(fs.existsSync(path.join(bench.project, `many-${at}.md`)), `many-${at}.md`);
});

test('eight tabs of one browser share one stream; the eighth answers and shows text as it comes', async () => {
  bench.model.answer = ({text, results}) => (results === 0 && text !== 'again' ? {calls: [['Write', {file_path: 't.md', content: 't\n'}]]} : {text: 'A word here. '.repeat(100), pieces: 100});
  const first = await bench.page();
  const context = first.context();
  const session = await bench.begin(first, 'tabs');
  const tabs = [first];
  for (let at = 1; at < 8; at += 1) tabs.push(await bench.page({context, at: `/s/${session}`}));
  const eighth = tabs[7];
  await eighth.waitForSelector('.card.permission');
  await eighth.click('[data-answer="allow-once"]');
  await eighth.waitForFunction(() => (document.querySelector('.draft')?.textContent ?? '').includes('word here'));
  for (const tab of tabs.slice(1)) await isDone(tab);
  const streams = await first.evaluate(() => performance.getEntriesByType('resource').filter(entry => entry.name.endsWith('/stream')).length);
  assert.equal(streams, 0, 'the stream belongs to the shared worker');
  // A tab that is closed is forgotten, and the others go on.
  await tabs[3].close();
  await bench.api(first, 'POST', `/sessions/${session}/messages`, {text: 'again'});
  await eighth.waitForFunction(() => document.querySelectorAll('.item.end').length === 2);
});

test('the keyboard alone: board, answer, open a child, stop, new session', async () => {
  const wait = gate();
  bench.model.answer = ({text, results}) => {
    if (/^child/.test(text)) return {text: 'I wait.', gate: wait.promise};
    if (results === 0) return {calls: [['Write', {file_path: 'k.md', content: 'k\n'}]]};
    return results === 1 ? {calls: [['Task', {subagent_type: 'explore', description: 'child', prompt: 'child'}]]} : {text: 'end'};
  };
  const page = await bench.page();
  const session = await bench.begin(page, 'keys');
  await page.waitForSelector(`.row[data-session="${session}"] .card`);
  await focusWithTab(page, `.row[data-session="${session}"] [data-answer="allow-once"]`);
  await page.keyboard.press('Enter');
  await page.waitForFunction(id => document.querySelector(`.row[data-session="${id}"]`)?.getAttribute('data-state') !== 'needs_you', session);
  await focusWithTab(page, `.row[data-session="${session}"] .row-title`);
  await page.keyboard.press('Enter');
  await page.waitForSelector('.run[aria-level="2"]');
  await focusWithTab(page, '.run[aria-level="2"] .run-open');
  await page.keyboard.press('Enter');
  await page.waitForFunction(() => location.search.startsWith('?child='));
  await focusWithTab(page, '.composer .danger');
  await page.keyboard.press('Enter');
  await page.waitForFunction(() => document.querySelector('.run[aria-level="2"]')?.getAttribute('data-state') === 'cancelled');
  wait.open();
  await focusWithTab(page, '.sidebar h3 button');
  await page.keyboard.press('Enter');
  await page.waitForFunction(before => location.pathname.startsWith('/s/') && !location.pathname.endsWith(before), session);
});

/** Presses Tab until an element has the focus. */
async function focusWithTab(page, selector) {
  await page.waitForSelector(selector);
  for (let presses = 0; presses < 200; presses += 1) {
    if (await page.evaluate(wanted => document.activeElement?.matches(wanted), selector)) return;
    await page.keyboard.press('Tab');
  }
  assert.fail(`${selector} cannot be reached with the keyboard`);
}
