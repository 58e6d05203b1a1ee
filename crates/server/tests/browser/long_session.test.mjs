// A session of 10,000 events: little is loaded at first, little is kept, and a reply costs what it costs in a short one.

import assert from 'node:assert/strict';
import {after, afterEach, before, test} from 'node:test';
import {Bench} from './harness.mjs';
import {importRounds} from './generated.mjs';

const EVENTS = 10_000;
const MOST_BYTES = 256 * 1024;
const MOST_ELEMENTS = 6000;

/** @type {Bench} */
let bench;
/** @type {string} */
let long;
before(async () => {
  bench = await Bench.start();
  const page = await bench.page();
  const rounds = Math.ceil(EVENTS / 8);
  const made = await importRounds(bench, page, rounds, (event, at) => {
    if (event.type === 'message.user') event.data.message.parts = [{type: 'text', text: `Question ${at}`}];
    if (event.type === 'message.completed' && event.data.stop !== 'calls') Object.assign(event.data, {text: `Answer **${at}**.`, parts: [{type: 'text', text: `Answer **${at}**.`}]});
    return [];
  }, 'long');
  assert.ok(made.count >= EVENTS, `${made.count} events`);
  long = made.id;
  await page.context().close();
});
after(async () => { await bench.stop(); });
afterEach(() => { assert.deepEqual(bench.problems.splice(0), []); });

const elements = page => page.evaluate(() => document.querySelectorAll('*').length);

test('the first sight of a long session asks for at most 200 events and 256 KB', async () => {
  const page = await bench.page();
  const sizes = [];
  page.on('response', async response => {
    if (/\/api\/v1\/(?!stream)/.test(response.url())) sizes.push({url: response.url(), bytes: (await response.body().catch(() => Buffer.alloc(0))).length, body: await response.json().catch(() => null)});
  });
  await page.goto(`${bench.url}/s/${long}`);
  await page.waitForSelector('.item.end');
  await page.waitForFunction(() => /** @type {any} */ (document.querySelector('rt-session')).model.waiting === null);
  await page.waitForTimeout(500);
  const events = sizes.filter(({url}) => url.includes('/events'));
  assert.ok(events.length > 0);
  assert.ok(events.reduce((sum, {body}) => sum + body.events.length, 0) <= 200);
  const bytes = sizes.reduce((sum, one) => sum + one.bytes, 0);
  assert.ok(bytes <= MOST_BYTES, `${bytes} bytes: ${sizes.map(one => `${one.bytes} ${one.url}`).join('\n')}`);
  await page.context().close();
});

test('scrolling up through all of it keeps the document small, and the newest is one button away', async () => {
  const page = await bench.page({at: `/s/${long}`});
  await page.waitForSelector('.item.end');
  const first = () => page.evaluate(() => /** @type {any} */ (document.querySelector('rt-session')).model.transcripts.values().next().value.first);
  let most = 0;
  let pages = 0;
  for (let at = await first(); at > 1; at = await first()) {
    await page.evaluate(() => { const view = /** @type {any} */ (document.querySelector('.transcript')); view.scrollTop = 300; view.scrollTop = 0; });
    await page.waitForFunction(before => /** @type {any} */ (document.querySelector('rt-session')).model.transcripts.values().next().value.first < before, at);
    most = Math.max(most, await elements(page));
    pages += 1;
    assert.ok(pages <= EVENTS / 100, 'every page brings something');
  }
  assert.ok(pages >= EVENTS / 200 - 1, `${pages} pages`);
  assert.ok(most <= MOST_ELEMENTS, `${most} elements`);
  assert.match(await page.locator('.items').innerText(), /Question 0\b/);
  await page.click('button.jump');
  await page.waitForFunction(() => /Question \d{4}/.test(/** @type {any} */ (document.querySelector('.items')).innerText));
  assert.ok(await elements(page) <= MOST_ELEMENTS);
  await page.context().close();
});

/** Changes of the document and requests during a reply of 200 pieces. */
async function workOfReply(page, session) {
  await page.goto(`${bench.url}/s/${session}`);
  await page.waitForFunction(() => /** @type {any} */ (document.querySelector('rt-session'))?.model?.waiting === null);
  await page.evaluate(() => {
    const counts = {changes: 0};
    /** @type {any} */ (window).__counts = counts;
    for (const [type, names] of /** @type {[any, string[]][]} */ ([[Element.prototype, ['append', 'prepend', 'replaceChildren', 'remove', 'setAttribute']], [Node.prototype, ['insertBefore', 'appendChild', 'removeChild']]])) {
      for (const name of names) {
        const before = type[name];
        type[name] = function (...given) { counts.changes += 1; return before.apply(this, given); };
      }
    }
  });
  bench.model.answer = () => ({text: 'A word is here. '.repeat(200), pieces: 200});
  let requests = 0;
  page.on('request', () => { requests += 1; });
  await bench.api(page, 'POST', `/sessions/${session}/messages`, {text: 'write much'});
  await page.waitForFunction(() => [...document.querySelectorAll('.items > .item.reply')].at(-1)?.textContent?.includes('A word is here. A word') && !document.querySelector('.draft:not([hidden])'));
  await page.waitForFunction(() => document.querySelector('.items')?.lastElementChild?.matches('.end'));
  return {changes: await page.evaluate(() => /** @type {any} */ (window).__counts.changes), requests};
}

test('a reply of 200 pieces costs no more in a long session than in a short one', async () => {
  const page = await bench.page();
  const short = (await bench.api(page, 'POST', '/sessions', {agent: 'lead'})).body.id;
  const inShort = await workOfReply(page, short);
  const other = await bench.page();
  const inLong = await workOfReply(other, long);
  assert.ok(inShort.changes > 0);
  // The list itself is compared when a message or a reply is complete, never for a piece of one.
  assert.ok(inLong.changes <= 3 * inShort.changes + 200, `${inLong.changes} changes against ${inShort.changes}`);
  assert.ok(inLong.requests <= inShort.requests + 5, `${inLong.requests} requests against ${inShort.requests}`);
});
