// A server with work of every kind on it, and the list of all screens: for the checks and pictures of each screen.

import fs from 'node:fs';
import path from 'node:path';
import {alwaysOn} from './always_on.mjs';

const REPLY = `The retry loop gave up too early. I raised the limit and made the pause grow.

- \`src/retry.rs\` waits **twice as long** after each failure
- the tests cover both ends

\`\`\`rust
fn pause(attempt: u32) -> Duration {
    Duration::from_millis(100 << attempt.min(6))
}
\`\`\`

| attempt | pause |
|---|---|
| 1 | 200 ms |
| 6 | 6.4 s |

See [the notes](https://example.com/notes) for the reasons.
`;
const SOURCE = 'fn limit() -> u32 {\n    3\n}\n\nfn pause() -> u64 {\n    100\n}\n';
const TODOS = [['Read the loop', 'completed'], ['Raise the limit', 'in_progress'], ['Run the tests', 'pending']];

/** What the models say in the example. */
function answer({text, results, request}) {
  const hasTool = name => (request.tools ?? []).some(tool => tool.function.name === name);
  if (/^Look for/.test(text)) return results === 0 ? {text: 'I look.', calls: [['Read', {file_path: 'src/retry.rs'}]]} : {text: 'Only `src/retry.rs` calls it.'};
  if (/^Watch/.test(text)) return {text: 'The build of the main branch is at step 3 of 7.', gate: new Promise(() => {})};
  if (/^Translate/.test(text)) return {status: 400, text: 'the model is not available for this account'};
  if (/^Write/.test(text)) return results === 0 ? {text: 'I add a page on retries.', calls: [['Write', {file_path: 'docs/retries.md', content: '# Retries\n\nA call is tried again up to five times.\nThe pause doubles each time.\n'}]]} : {text: 'Written.'};
  if (/^Which/.test(text)) return results === 0 && hasTool('AskUser') ? {calls: [['AskUser', {questions: [{question: 'Which database should the tests use?', header: 'Database', multiSelect: false, options: [{label: 'SQLite', description: 'No server is needed'}, {label: 'PostgreSQL', description: 'As in production'}]}]}]]} : {text: 'Understood.'};
  if (/^Fix/.test(text)) {
    if (results === 0) return {text: 'I read the code first.', calls: [['Read', {file_path: 'src/retry.rs'}], ['Read', {file_path: 'src/main.rs'}], ['TodoWrite', {todos: TODOS.map(([content, status]) => ({content, status, activeForm: content}))}]]};
    if (results === 3) return {text: 'Somebody should look who else calls it.', calls: [['Task', {subagent_type: 'explore', description: 'callers of limit', prompt: 'Look for callers of limit()'}]]};
    if (results === 4) return {calls: [['Edit', {file_path: 'src/retry.rs', old_string: '    3\n', new_string: '    5\n'}]]};
    return {text: REPLY};
  }
  if (/^Now run/.test(text) && results === 0) return {text: 'I run the tests.', calls: [['Bash', {command: 'cargo test --workspace', description: 'Run all tests'}]]};
  return {text: 'There are 12 open issues; three are older than a year.'};
}

/** Fills a bench with sessions in every state. @returns what the screens are about */
export async function furnish(bench) {
  fs.mkdirSync(path.join(bench.project, 'src'));
  fs.writeFileSync(path.join(bench.project, 'src/retry.rs'), SOURCE);
  fs.writeFileSync(path.join(bench.project, 'src/main.rs'), 'fn main() {}\n');
  bench.model.answer = answer;
  const page = await bench.page();
  for (const text of ['Sum up the open issues', 'Count the issues of this month']) await ended(bench, page, await bench.begin(page, text));
  const rich = await bench.begin(page, 'Fix the retry loop');
  await allow(bench, page, rich);
  await ended(bench, page, rich);
  await bench.api(page, 'POST', `/sessions/${rich}/messages`, {text: 'Now run the tests'});
  await pending(bench, page, rich);
  for (const text of ['Then update the changelog', 'And open a pull request']) await bench.api(page, 'POST', `/sessions/${rich}/messages`, {text});
  const failed = await bench.begin(page, 'Translate the manual');
  await ended(bench, page, failed);
  await bench.begin(page, 'Watch the build');
  const asking = await bench.begin(page, 'Write a page on retries');
  await pending(bench, page, asking);
  await bench.begin(page, 'Which database should we test with?');
  const child = (await bench.api(page, 'GET', `/sessions?parent=${rich}`)).body.sessions[0].id;
  const run = (await bench.api(page, 'GET', `/runs?session=${rich}`)).body.runs.at(-1);
  await page.context().close();
  return {rich, child, run: run.run, failed};
}

async function until(check) {
  for (let tries = 0; tries < 600; tries += 1) {
    const found = await check();
    if (found) return found;
    await new Promise(next => setTimeout(next, 50));
  }
  throw new Error(`this never came: ${check}`);
}

export async function ended(bench, page, session) {
  return until(async () => {
    const {runs} = (await bench.api(page, 'GET', `/runs?session=${session}`)).body;
    return runs.length > 0 && runs.every(run => run.state === 'ended');
  });
}

/** The first request of a session that waits for a person. */
export async function pending(bench, page, session) {
  return until(async () => (await bench.api(page, 'GET', '/permissions?state=pending')).body.permissions.find(one => one.session === session));
}

export async function allow(bench, page, session) {
  const {id, digest} = await pending(bench, page, session);
  return bench.api(page, 'POST', `/permissions/${id}`, {decision: 'allow', scope: 'once', digest});
}

/** All screens: name, path, what shows that it is drawn, and what to do then. */
export function screens({rich, child, run}) {
  const press = key => async page => { await page.keyboard.press(key); await page.waitForSelector('dialog[open]'); };
  const choose = name => async page => { await page.getByRole('button', {name, exact: true}).click(); };
  const unfold = async page => { for (const one of await page.locator('.items details > summary').all()) await one.click(); };
  return [
    {name: 'board', path: '/', ready: '.row .card.permission'},
    {name: 'session', path: `/s/${rich}`, ready: '.card.permission'},
    {name: 'session-unfolded', path: `/s/${rich}`, ready: '.card.permission', act: unfold},
    {name: 'child', path: `/s/${rich}?child=${child}`, ready: '.item.end'},
    {name: 'sessions', path: '/sessions', ready: '.state-word.needs_you'},
    {name: 'agents', path: '/agents', ready: 'rt-agents a[href^="/agents/"]'},
    {name: 'agent-editor', path: '/agents/lead', ready: 'rt-agent-editor h1'},
    {name: 'trace', path: `/trace/${run}`, ready: 'rt-trace .agent-badge, rt-trace .badge, rt-trace [role="row"]'},
    {name: 'trace-table', path: `/trace/${run}`, ready: 'rt-trace .wf-row', act: choose('Table')},
    {name: 'trace-graph', path: `/trace/${run}`, ready: 'rt-trace .wf-row', act: choose('Graph')},
    {name: 'schedules', path: '/schedules', ready: 'rt-schedules .dot-link', prepare: alwaysOn},
    {name: 'schedule-form', path: '/schedules', ready: 'rt-schedules .dot-link', prepare: alwaysOn, act: async page => { await page.getByRole('button', {name: 'New schedule'}).click(); await page.getByRole('button', {name: 'weekdays at 9'}).click(); await page.waitForSelector('.preview li'); }},
    {name: 'connectors', path: '/connectors', ready: 'rt-connectors .health', prepare: alwaysOn, act: async page => { await page.getByRole('button', {name: 'Let a person in'}).first().click(); await page.getByRole('button', {name: 'Make a code'}).click(); await page.waitForSelector('.code-text'); }},
    {name: 'pairing-dialog', path: '/connectors', ready: 'rt-connectors .health', prepare: alwaysOn, act: async page => { await page.getByRole('button', {name: 'Enter the code'}).click(); await page.waitForSelector('dialog[open]'); }},
    {name: 'usage', path: '/usage', ready: 'rt-usage table'},
    {name: 'permissions', path: '/permissions', ready: '.card.permission'},
    {name: 'settings', path: '/settings', ready: '.settings-section .line'},
    {name: 'welcome', path: '/welcome', ready: '.welcome-cards button'},
    {name: 'palette', path: '/', ready: '.row .card.permission', act: press('Control+k')},
    {name: 'help', path: '/', ready: '.row .card.permission', act: press('?')},
    {name: 'login', path: '/', ready: 'main.login', isLoggedOut: true},
  ];
}

/** Opens a screen and waits until what it loads is there. */
export async function show(bench, page, {path: at, ready, prepare, act}) {
  await prepare?.(page);
  await page.goto(bench.url + at);
  await page.waitForSelector(ready, {state: 'attached'});
  await page.waitForFunction(() => !document.querySelector('.loading'));
  await act?.(page);
  await page.evaluate(() => new Promise(drawn => requestAnimationFrame(() => requestAnimationFrame(() => drawn(undefined)))));
}

/** A page for a screen; the one for the login has no cookie. */
export async function pageFor(bench, screen, options) {
  if (!screen.isLoggedOut) return bench.page(options);
  const context = await bench.browser.newContext({viewport: {width: options.width, height: options.height}, colorScheme: options.dark ? 'dark' : 'light', reducedMotion: 'reduce'});
  return context.newPage();
}
