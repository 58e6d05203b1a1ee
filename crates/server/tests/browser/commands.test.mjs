// Command files and skills in the composer: offered while a name is typed, filled in and narrowed by the server.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import {after, afterEach, before, test} from 'node:test';
import {Bench} from './harness.mjs';
import {ended} from './example.mjs';

/** @type {Bench} */
let bench;
before(async () => {
  bench = await Bench.start();
  const settings = path.join(bench.folder, 'home/.config/rooftree');
  fs.mkdirSync(path.join(settings, 'commands'));
  fs.writeFileSync(path.join(settings, 'commands/fix-issue.md'), '---\ndescription: Fixes an issue\nargument-hint: NUMBER\nallowed-tools: Read\nmodel: fast\n---\nFix issue $ARGUMENTS at once.\n');
  fs.mkdirSync(path.join(settings, 'skills/release-notes'), {recursive: true});
  fs.writeFileSync(path.join(settings, 'skills/release-notes/SKILL.md'), '---\nname: release-notes\ndescription: Writes the notes of a release\n---\nCollect what changed in $ARGUMENTS.\n');
});
after(async () => { await bench.stop(); });
afterEach(() => { assert.deepEqual(bench.problems.splice(0), []); });

/** An empty session whose composer has the focus. */
async function composer(options = {}) {
  const page = await bench.page(options);
  const session = (await bench.api(page, 'POST', '/sessions', {agent: 'lead'})).body.id;
  await page.goto(`${bench.url}/s/${session}`);
  await page.waitForFunction(() => /** @type {any} */ (document.querySelector('rt-session'))?.model?.waiting === null);
  const text = page.getByRole('textbox', {name: 'Message'});
  await text.focus();
  return {page, session, text};
}

/** What models were told, and the calls they made. */
function watchModel(answers) {
  const asked = [];
  bench.model.answer = ask => { asked.push(ask); return answers(ask); };
  return asked;
}

test('names of command files and skills are offered and completed with the keyboard', async () => {
  const {page, text} = await composer();
  await text.pressSequentially('/fix');
  await page.waitForSelector('.suggestion');
  assert.match(await page.locator('.suggestions').innerText(), /\/fix-issue NUMBER\s+Fixes an issue/);
  await page.keyboard.press('Tab');
  assert.equal(await text.inputValue(), '/fix-issue ');
  await text.fill('/');
  await page.waitForFunction(() => /release-notes/.test(document.querySelector('.suggestions')?.textContent ?? ''));
  await page.context().close();
});

test('a command file is filled in by the server, and its run may use only the tools that the file names', async () => {
  fs.writeFileSync(path.join(bench.project, 'secret.txt'), 'kept');
  const asked = watchModel(({results}) => (results === 0 ? {calls: [['Bash', {command: 'rm secret.txt', description: 'Remove'}], ['Read', {file_path: 'secret.txt'}]]} : {text: 'Done.'}));
  const {page, session, text} = await composer();
  await text.fill('/FIX-issue 12 and 13');
  await page.keyboard.press('Enter');
  await page.waitForSelector('.item.end');
  assert.equal(await text.inputValue(), '');
  assert.match(asked[0].text, /^\/fix-issue 12 and 13\s+Fix issue 12 and 13 at once\.$/);
  assert.match(await page.locator('.toast').innerText(), /\/fix-issue also says model: fast/);
  const {events} = (await bench.api(page, 'GET', `/sessions/${session}/events?after=0&limit=200`)).body;
  const ends = events.filter(event => event.type === 'tool.completed').map(event => [event.data.tool, event.data.outcome.is]);
  assert.deepEqual(ends, [['Bash', 'denied'], ['Read', 'done']]);
  assert.ok(fs.existsSync(path.join(bench.project, 'secret.txt')));
  // Nobody was asked: what a file leaves out cannot be allowed by a click.
  assert.equal(events.some(event => event.type === 'permission.requested'), false);
  await page.context().close();
});

test('a skill is sent with its text, and a path is sent as it is', async () => {
  const asked = watchModel(() => ({text: 'Done.'}));
  const {page, session, text} = await composer();
  for (const [typed, expected] of [['/release-notes 1.2', /^\/release-notes 1\.2[^]*Collect what changed in 1\.2\.$/], ['/etc/hosts is wrong', /^\/etc\/hosts is wrong$/]]) {
    const before = asked.length;
    await text.fill(String(typed));
    await page.keyboard.press('Enter');
    await page.waitForFunction(() => /** @type {any} */ (document.querySelector('rt-session textarea')).value === '');
    while (asked.length === before) await page.waitForTimeout(20);
    await ended(bench, page, session);
    assert.match(asked[before].text, /** @type {RegExp} */ (expected));
  }
  await page.context().close();
});

test('a misspelt command is no message: it is refused with the nearest one, and stays in the box', async () => {
  const asked = watchModel(() => ({text: 'Done.'}));
  const {page, session, text} = await composer();
  await text.fill('/fix-isue 12');
  await page.keyboard.press('Enter');
  assert.match(await page.locator('.toast').innerText(), /There is no command or skill \/fix-isue\. Did you mean \/fix-issue\?/);
  assert.equal(await text.inputValue(), '/fix-isue 12');
  assert.equal((await bench.api(page, 'GET', `/runs?session=${session}`)).body.runs.length, 0);
  assert.equal(asked.length, 0);
  await page.context().close();
});

test('over the API a name that is unknown is refused with the nearest one', async () => {
  const {page, session} = await composer();
  const refused = await bench.api(page, 'POST', `/sessions/${session}/prompts`, {name: 'fix-isue'});
  assert.equal(refused.status, 400);
  assert.match(JSON.stringify(refused.body), /did you mean `\/fix-issue`/);
  assert.equal((await bench.api(page, 'GET', `/runs?session=${session}`)).body.runs.length, 0);
  await page.context().close();
});
