// Makes a picture of every screen, on a desk and on a phone, light and dark: `node screenshots.mjs FOLDER [SCREEN…]`.

import fs from 'node:fs';
import path from 'node:path';
import {Bench} from './harness.mjs';
import {furnish, pageFor, screens, show} from './example.mjs';

const SIZES = [['desk', 1280, 800], ['phone', 390, 844]];
const [folder, ...wanted] = process.argv.slice(2);
if (!folder) throw new Error('say into which folder the pictures go');
fs.mkdirSync(folder, {recursive: true});
const bench = await Bench.start();
try {
  const all = screens(await furnish(bench)).filter(({name}) => wanted.length === 0 || wanted.includes(name));
  for (const [size, width, height] of SIZES) for (const dark of [false, true]) for (const screen of all) {
    const page = await pageFor(bench, screen, {width, height, dark});
    await show(bench, page, screen);
    await page.screenshot({path: path.join(folder, `${screen.name}-${size}-${dark ? 'dark' : 'light'}.png`)});
    await page.context().close();
  }
} finally {
  await bench.stop();
}
if (bench.problems.length) throw new Error(bench.problems.join('\n'));
