// The trace screen: the graph of delegations by keyboard, its table, and the picture that can be saved.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import {after, before, test} from 'node:test';
import {Bench} from './harness.mjs';
import {ended} from './example.mjs';

/** @type {Bench} */
let bench;
/** @type {string} */
let run;
before(async () => {
  bench = await Bench.start();
  const explore = prompt => ['Task', {subagent_type: 'explore', description: prompt, prompt}];
  bench.model.answer = ({text, results}) => (/^look/.test(text) || results > 0 ? {text: 'Seen.'} : {calls: [explore('look here'), explore('look there'), explore('look again')]});
  const page = await bench.page();
  const session = await bench.begin(page, 'ask three');
  await ended(bench, page, session);
  run = (await bench.api(page, 'GET', `/runs?session=${session}`)).body.runs[0].run;
  await page.context().close();
});
after(async () => { await bench.stop(); assert.deepEqual(bench.problems, []); });

async function graph() {
  const page = await bench.page({at: `/trace/${run}`});
  await page.waitForSelector('.wf-row');
  await page.getByRole('button', {name: 'Graph', exact: true}).press('Enter');
  await page.waitForSelector('.graph .node');
  return page;
}

test('three runs of one agent are one box and one arrow, expanded they are three', async () => {
  const page = await graph();
  assert.deepEqual(await page.locator('.node-name').allTextContents(), ['lead', 'explore']);
  assert.deepEqual(await page.locator('.edge-label').allTextContents(), ['3×']);
  assert.match((await page.locator('.graph tbody').innerText()).replace(/\s+/g, ' '), /lead explore 3 3/);
  await page.getByRole('button', {name: 'Aggregated'}).press('Enter');
  await page.waitForFunction(() => document.querySelectorAll('.graph .node').length === 4);
  assert.equal(await page.locator('.edge-line').count(), 3);
  await page.context().close();
});

test('a box is reached and opened with the keyboard, and keeps the focus while the trace is read again', async () => {
  const page = await graph();
  const box = page.getByRole('button', {name: /^explore 3\/3 runs · [\d.]+k · \$/});
  assert.match(await box.getAttribute('aria-description') ?? '', /^3 runs, 3 done, 0 tool calls, [\d.]+k tokens, \$/);
  await box.focus();
  await page.keyboard.press('Enter');
  await page.waitForSelector('.span-detail');
  // The graph is drawn again with the next frame.
  await page.waitForSelector('.graph .node[data-key="explore"][aria-pressed="true"]');
  await box.focus();
  await page.evaluate(() => /** @type {any} */ (document.querySelector('rt-trace')).load());
  await page.evaluate(() => new Promise(drawn => requestAnimationFrame(() => requestAnimationFrame(() => drawn(undefined)))));
  assert.equal(await page.evaluate(() => /** @type {any} */ (document.activeElement).dataset.key), 'explore');
  await page.context().close();
});

test('the saved picture is a whole SVG file with its own colours and no scripts', async () => {
  const page = await graph();
  const [saved] = await Promise.all([page.waitForEvent('download'), page.getByRole('link', {name: 'SVG'}).click()]);
  assert.equal(saved.suggestedFilename(), `${run}-graph.svg`);
  const text = fs.readFileSync(await saved.path(), 'utf8');
  for (const word of ['<svg xmlns="http://www.w3.org/2000/svg"', '>lead<', '>explore<', '>3×<', 'fill="rgb(']) assert.ok(text.includes(word), `${word} in ${text}`);
  assert.doesNotMatch(text, /<script|class=|tabindex/);
  await page.context().close();
});
