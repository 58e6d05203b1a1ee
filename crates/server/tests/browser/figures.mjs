// Measures the page with a session of 10,000 events, for the benchmark: `node figures.mjs ROUNDS` prints JSON.
// Opening it, the tasks of the browser while a reply of 200 pieces per second comes, and the memory of the tab; each
// beside the same with a session of one message.

import fs from 'node:fs';
import {Bench} from './harness.mjs';
import {ended} from './example.mjs';
import {importRounds} from './generated.mjs';

const EVENTS = 10_000;
const PIECES_PER_SECOND = 200;
const SECONDS = 5;
/** What browsers call a long task. */
const LONG_MS = 50;

const rounds = Number(process.argv[2] ?? 3);
const bench = await Bench.start();
try {
  console.log(JSON.stringify(await measure()));
} finally {
  await bench.stop();
}
if (bench.problems.length) throw new Error(bench.problems.join('\n'));

async function measure() {
  const page = await bench.page();
  const {id: long, count} = await importRounds(bench, page, Math.ceil(EVENTS / 8), () => [], 'long');
  if (count < EVENTS) throw new Error(`the long session has ${count} events`);
  bench.model.answer = () => ({text: 'Done.'});
  const short = await bench.begin(page, 'begin');
  await ended(bench, page, short);
  await page.context().close();
  const opened = {long: [], short: []};
  // One round before, so that neither side pays for the first start of the browser.
  for (let round = -1; round < rounds; round += 1) {
    for (const [name, session] of [['short', short], ['long', long]]) {
      const ms = await openingTime(session);
      if (round >= 0) opened[name].push(ms);
    }
  }
  return {events: count, open_ms: {long: median(opened.long), short: median(opened.short)}, long: await streaming(long), short: await streaming(short)};
}

/** Milliseconds from the request for the page until the conversation is drawn and live. */
async function openingTime(session) {
  const page = await bench.page({at: `/s/${session}`});
  // Once before: a person opens a session with the scripts in the browser's cache.
  await drawn(page);
  await page.reload();
  const ms = await drawn(page);
  await page.context().close();
  return ms;
}

async function drawn(page) {
  return page.evaluate(() => new Promise(done => {
    const look = () => {
      const isThere = document.querySelector('.item.end') && /** @type {any} */ (document.querySelector('rt-session'))?.model?.waiting === null;
      requestAnimationFrame(isThere ? () => done(performance.now()) : look);
    };
    look();
  }));
}

/** Long tasks and pieces while a reply streams, and the tab's memory after it. */
async function streaming(session) {
  const pieces = PIECES_PER_SECOND * SECONDS;
  // A paragraph of twenty pieces each time, every piece of the same length.
  const paragraph = `${'A word is here. '.repeat(19)}A word is here\n\n`;
  bench.model.answer = () => ({text: paragraph.repeat(pieces / 20), pieces, perSecond: PIECES_PER_SECOND});
  const page = await bench.page({at: `/s/${session}`});
  await drawn(page);
  await page.evaluate(() => {
    const own = {tasks: [], frames: 0, from: 0, to: 0};
    /** @type {any} */ (window).__figures = own;
    new PerformanceObserver(list => { for (const one of list.getEntries()) own.tasks.push(one.duration); }).observe({type: 'longtask'});
    new MutationObserver(() => { own.frames += 1; own.from ||= performance.now(); own.to = performance.now(); }).observe(document.querySelector('.draft') ?? document.body, {childList: true, subtree: true, characterData: true});
  });
  await bench.api(page, 'POST', `/sessions/${session}/messages`, {text: 'write much'});
  await page.waitForFunction(count => {
    const last = [...document.querySelectorAll('.items > .item.reply')].at(-1)?.textContent ?? '';
    return last.split('A word is here').length > count;
  }, pieces, {timeout: 120_000});
  const {tasks, frames, from, to} = await page.evaluate(() => structuredClone(/** @type {any} */ (window).__figures));
  await provenProbe(page, tasks.length);
  const memory = await tabMemory(page);
  await page.context().close();
  return {longest_task_ms: Math.max(0, ...tasks), long_tasks: tasks.filter(ms => ms > LONG_MS).length, draws: frames, seconds: (to - from) / 1000, pieces, ...memory};
}

/** No long task counts only if one would have been noticed: one is made on purpose. */
async function provenProbe(page, before) {
  await page.evaluate(ms => setTimeout(() => { for (const end = performance.now() + ms; performance.now() < end;); }), LONG_MS * 2);
  await page.waitForFunction(count => /** @type {any} */ (window).__figures.tasks.length > count, before);
}

/** The JavaScript heap of the page after a collection, and the private memory of the largest process that shows pages. */
async function tabMemory(page) {
  const client = await page.context().newCDPSession(page);
  await client.send('HeapProfiler.collectGarbage');
  await client.send('Performance.enable');
  const {metrics} = await client.send('Performance.getMetrics');
  const heap = metrics.find(({name}) => name === 'JSHeapUsedSize').value;
  const browser = await bench.browser.newBrowserCDPSession();
  const {processInfo} = await browser.send('SystemInfo.getProcessInfo');
  const tabs = processInfo.filter(({type}) => type === 'renderer').map(({id}) => privateBytes(id));
  return {heap_bytes: heap, tab_bytes: Math.max(...tabs)};
}

/** What a process has that no other shares. */
function privateBytes(id) {
  const lines = fs.readFileSync(`/proc/${id}/smaps_rollup`, 'utf8').matchAll(/^Private_\w+:\s+(\d+) kB/gm);
  return [...lines].reduce((sum, [, kilobytes]) => sum + Number(kilobytes) * 1024, 0);
}

function median(figures) {
  return [...figures].sort((one, other) => one - other)[Math.floor((figures.length - 1) / 2)];
}
