// Every screen, light and dark, on a phone and on a desk: axe finds nothing, and nothing is wider than the screen.

import assert from 'node:assert/strict';
import {after, before, test} from 'node:test';
import {Bench, axeSource} from './harness.mjs';
import {furnish, pageFor, screens, show} from './example.mjs';

/** @type {Bench} */
let bench;
/** @type {any[]} */
let all;
before(async () => { bench = await Bench.start(); all = screens(await furnish(bench)); });
after(async () => { await bench.stop(); });

/** What axe says, in lines. */
async function violations(page) {
  await page.evaluate(axeSource);
  return page.evaluate(async () => {
    const {violations} = await /** @type {any} */ (window).axe.run(document, {resultTypes: ['violations']});
    return violations.flatMap(one => one.nodes.map(node => `${one.id}: ${node.target.join(' ')}: ${node.failureSummary.split('\n').slice(1).join(';')}`));
  });
}

/** Elements that reach beyond the right edge and are not inside of something that scrolls. */
async function tooWide(page) {
  return page.evaluate(() => {
    if (document.documentElement.scrollWidth > innerWidth) return ['the document'];
    const main = document.querySelector('main');
    return main && main.scrollWidth > main.clientWidth ? [`main: ${main.scrollWidth} in ${main.clientWidth}`] : [];
  });
}

for (const dark of [false, true]) {
  for (const width of [390, 1280]) {
    test(`${dark ? 'dark' : 'light'}, ${width} px: axe finds nothing on any screen, and none is too wide`, async () => {
      const found = [];
      for (const screen of all) {
        const page = await pageFor(bench, screen, {width, height: 844, dark});
        await show(bench, page, screen);
        for (const one of [...await violations(page), ...await tooWide(page)]) found.push(`${screen.name}: ${one}`);
        await page.context().close();
      }
      assert.deepEqual(found, []);
      assert.deepEqual(bench.problems.splice(0), []);
    });
  }
}

test('the checks notice what is wrong', async () => {
  const page = await pageFor(bench, all[0], {width: 390, height: 844});
  await show(bench, page, all[0]);
  await page.evaluate(() => {
    const main = /** @type {HTMLElement} */ (document.querySelector('main'));
    const button = document.createElement('button');
    button.style.width = '600px';
    main.append(button);
  });
  assert.match((await violations(page)).join('\n'), /button-name/);
  assert.notDeepEqual(await tooWide(page), []);
});
