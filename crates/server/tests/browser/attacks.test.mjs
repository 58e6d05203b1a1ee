// Hostile words in everything that models, tools, files and people name, and a hostile page: nothing runs or leaks.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import http from 'node:http';
import path from 'node:path';
import {after, before, test} from 'node:test';
import {Bench} from './harness.mjs';
import {ended, pending} from './example.mjs';
import {importRounds} from './generated.mjs';

const load = name => JSON.parse(fs.readFileSync(new URL(name, import.meta.url), 'utf8'));
const ATTACKS = [...load('../../../markdown/tests/attacks.json'), ...load('./attacks.json')];

/** @type {Bench} */
let bench;
before(async () => { bench = await Bench.start(); });
after(async () => { await bench.stop(); });

/** A page that notices everything an attack could do. */
async function guarded(at = '/') {
  const page = await bench.page({at});
  const seen = {requests: [], problems: []};
  page.on('request', request => { if (!/^(data|blob):/.test(request.url()) && new URL(request.url()).origin !== bench.url) seen.requests.push(request.url()); });
  page.context().on('page', other => seen.problems.push(`a window: ${other.url()}`));
  await page.addInitScript(() => {
    document.addEventListener('securitypolicyviolation', event => { /** @type {any} */ (window).__violations = [...(/** @type {any} */ (window).__violations ?? []), `${event.violatedDirective} ${event.blockedURI}`]; });
    window.alert = () => { /** @type {any} */ (window).__xss = 'alert'; };
  });
  await page.reload();
  await page.waitForSelector('rt-shell');
  return {page, seen};
}

/** What an attack has left in the document. */
async function traces(page) {
  return page.evaluate(() => {
    const found = [...document.querySelectorAll('script:not([src^="/ui/"]), iframe, object, embed, base, meta[http-equiv], form[action], [formaction], math, frame, template, svg script, svg a')].map(one => one.outerHTML.slice(0, 200));
    for (const element of document.querySelectorAll('*')) {
      for (const {name, value} of element.attributes) {
        if (name.startsWith('on')) found.push(`${element.localName} ${name}=${value}`);
        if (['href', 'src', 'srcset', 'action', 'xlink:href', 'poster', 'background'].includes(name) && /^[\s\u0000-\u001f]*(javascript|vbscript|data:text|file|blob:http)/i.test(value)) found.push(`${element.localName} ${name}=${value}`);
      }
      if (element.localName === 'img' && new URL(/** @type {HTMLImageElement} */ (element).src).origin !== location.origin) found.push(element.outerHTML);
    }
    const {__xss, __violations} = /** @type {any} */ (window);
    if (__xss) found.push(`it ran: ${__xss}`);
    return [...found, ...(__violations ?? [])];
  });
}

async function assertQuiet({page, seen}, where) {
  assert.deepEqual(await traces(page), [], where);
  assert.deepEqual([...seen.requests, ...seen.problems, ...bench.problems], [], where);
}

test('there are enough attacks', () => {
  assert.ok(new Set(ATTACKS).size >= 150, String(new Set(ATTACKS).size));
});

test('attacks in messages, replies, titles, calls, outputs, paths, diffs, todos, notices of a journal do nothing', async () => {
  const watcher = await guarded();
  const {page} = watcher;
  const {id, count} = await importRounds(bench, page, ATTACKS.length, (event, at) => {
    const attack = ATTACKS[at];
    const {data} = event;
    if (event.type === 'message.user') data.message.parts = [{type: 'text', text: attack}];
    if (event.type === 'run.started') data.title = attack;
    if (event.type === 'message.completed') {
      data.text = attack;
      data.parts = [{type: 'text', text: attack}, ...data.parts.filter(part => part.type === 'call').map(part => ({...part, input: {path: attack}}))];
    }
    if (event.type === 'tool.started') Object.assign(data, {title: attack, input: {file_path: attack, content: attack}, permitted: attack});
    if (event.type === 'tool.completed') Object.assign(data, {title: attack, content: [{type: 'text', text: attack}], diff: `--- a/${attack}\n+++ b/${attack}\n@@ -1 +1 @@\n-${attack}\n+${attack}!\n`, files: [{path: `/${attack}`, action: 'changed', added: 1, removed: 1}]});
    if (event.type !== 'run.completed') return [];
    Object.assign(data, {task: attack, text: attack});
    return [{...event, type: 'notice', data: {level: 'warning', code: 'x', message: attack, hint: attack}}, {...event, type: 'todo.updated', data: {items: [{content: attack, status: 'pending', active_form: attack}]}}];
  }, '<img src=x onerror=window.__xss=1>');
  await page.goto(`${bench.url}/s/${id}`);
  await page.waitForSelector('.item.end');
  const shown = new Set();
  for (let round = 0; round < count / 200 + 2; round += 1) {
    // What is folded is drawn too.
    await page.evaluate(() => { for (let pass = 0; pass < 2; pass += 1) for (const one of document.querySelectorAll('.items details:not([open])')) /** @type {any} */ (one).open = true; });
    await page.waitForTimeout(50);
    await page.evaluate(() => { for (const one of document.querySelectorAll('.items details:not([open])')) /** @type {any} */ (one).open = true; });
    await page.waitForTimeout(50);
    for (const text of await page.locator('.item.own').allTextContents()) shown.add(text);
    await assertQuiet(watcher, `part ${round}`);
    if (await page.locator('button.older').isHidden()) break;
    await page.evaluate(() => document.querySelector('.transcript')?.scrollTo(0, 0));
    const first = await page.evaluate(() => /** @type {any} */ (document.querySelector('rt-session')).model.transcripts.values().next().value.first);
    await page.evaluate(() => /** @type {any} */ (document.querySelector('button.older')).click());
    await page.waitForFunction(before => /** @type {any} */ (document.querySelector('rt-session')).model.transcripts.values().next().value.first !== before, first);
  }
  assert.ok(await page.locator('button.older').isHidden(), 'the whole session was walked through');
  // Every attack was in the document, as text.
  const missing = ATTACKS.filter(attack => ![...shown].some(text => text.includes(attack.trim().split('\n')[0].slice(0, 12))));
  assert.deepEqual(missing, []);
  const run = (await bench.api(page, 'GET', `/runs?session=${id}`)).body.runs[0]?.run;
  for (const at of ['/', '/sessions', '/usage', ...(run ? [`/trace/${run}`] : [])]) {
    await page.goto(bench.url + at);
    await page.waitForTimeout(300);
    await assertQuiet(watcher, at);
  }
  await page.context().close();
});

test('attacks in a live reply, in paths, questions, todos, agents and names of sessions do nothing', async () => {
  const every = ATTACKS.join('\n\n');
  const some = ATTACKS.filter((_, at) => at % 8 === 0).map(attack => attack.replaceAll('\0', '').slice(0, 80));
  bench.model.answer = ({text, results}) => {
    if (/^ask/.test(text)) return results === 0 ? {calls: [['AskUser', {questions: some.slice(0, 3).map((attack, at) => ({question: `${at} ${attack}?`, header: `H${at}<b>`, multiSelect: false, options: some.slice(3, 6).map((label, option) => ({label: `${option}${label}`, description: label}))}))}]]} : {text: 'ok'};
    if (/^todo/.test(text)) return results === 0 ? {calls: [['TodoWrite', {todos: some.map(content => ({content, status: 'pending', activeForm: content}))}]]} : {text: 'ok'};
    if (/^write/.test(text)) return results === 0 ? {calls: [['Write', {file_path: text.slice(6), content: every}]]} : {text: 'ok'};
    if (/^run/.test(text)) return results === 0 ? {calls: [['Bash', {command: every.replaceAll('\0', ''), description: '<img src=x onerror=window.__xss=1>'}]]} : {text: 'ok'};
    return {text: every, pieces: 200};
  };
  const watcher = await guarded();
  const {page} = watcher;
  const visit = async at => {
    await page.goto(bench.url + at);
    await page.waitForTimeout(300);
    await assertQuiet(watcher, at);
  };
  await bench.watchFromStart(page, 'live');
  for (let looks = 0; looks < 400 && await page.locator('.item.end').count() === 0; looks += 1) {
    await assertQuiet(watcher, 'live');
    await page.waitForTimeout(20);
  }
  assert.ok(await page.locator('.item.end').count() > 0, 'the reply ended');
  await assertQuiet(watcher, 'after the reply');
  const sessions = [];
  for (const text of ['ask', 'todo', 'run', ...some.slice(0, 12).map(attack => `write ${attack.replace(/[\n\r]/g, ' ')}`)]) sessions.push(await bench.begin(page, text));
  await ended(bench, page, sessions[1]);
  await pending(bench, page, sessions[2]);
  for (const [at, session] of sessions.entries()) {
    await bench.api(page, 'PATCH', `/sessions/${session}`, {name: some[at % some.length].replace(/[\u0000-\u001f]/g, ' ').slice(0, 60)});
    await visit(`/s/${session}`);
  }
  assert.ok(await page.evaluate(async () => (await (await fetch('/api/v1/sessions')).json()).sessions.some(one => /[<]/.test(one.name ?? ''))), 'a hostile name was taken');
  const made = await bench.api(page, 'POST', '/agents', {name: 'hostile', text: `---\nname: hostile\ndescription: ${JSON.stringify(some.slice(0, 20).join(' ').replace(/[\u0000-\u001f]/g, ' ').slice(0, 900))}\n---\n\n${every.replaceAll('\0', '').slice(0, 4000)}\n`});
  for (const at of ['/', '/sessions', '/agents', '/agents/hostile', '/agents/%3Cimg%20src=x%20onerror=window.__xss=1%3E', '/permissions', '/usage', '/settings', '/welcome', '/trace/%3Cscript%3E', '/s/%3Cimg%20src=x%20onerror=alert(1)%3E', '/s/x?child=%22%3E%3Cscript%3Ealert(1)%3C/script%3E', '/#%3Cscript%3E', '/settings#%22%3E%3Cimg%3E']) await visit(at);
  assert.equal(made.status, 201, JSON.stringify(made.body));
  await page.goto(bench.url);
  await page.keyboard.press('Control+k');
  await page.keyboard.type('<');
  await page.waitForTimeout(500);
  await assertQuiet(watcher, 'palette');
  await page.context().close();
});

test('attacks in names, titles, descriptions, icons and colours of agents, and in names of their files, do nothing', async () => {
  const folder = path.join(bench.folder, 'home/.config/rooftree/agents');
  fs.mkdirSync(folder, {recursive: true});
  const short = ATTACKS.map(attack => attack.replace(/[\u0000-\u001f]/g, ' ').trim()).filter(attack => attack && attack.length <= 120);
  short.slice(0, 60).forEach((attack, at) => {
    const text = JSON.stringify(attack);
    fs.writeFileSync(path.join(folder, `hostile-${at}.md`), `---\nname: ${text}\ndescription: ${text}\ntitle: ${text}\nicon: ${text}\ncolor: ${text}\n---\n${attack}\n`);
    // A definition whose file has such a name, or that names such a model, is refused; what is said about it is shown.
    fs.writeFileSync(path.join(folder, `${attack.replace(/[/\\]/g, '_').slice(0, 100)}.md`), `---\ndescription: ${text}\nmodel: ${text}\n---\nx\n`);
  });
  // Signs and colours that are short enough to be shown, and break out of an attribute or a style sheet.
  const looks = [['"', 'red;}*{background:url(//127.0.0.1:1/x)}'], ['<b', '#ffffff;background:url(//127.0.0.1:1/x)'], ["'>", 'url(//127.0.0.1:1/x)'], ['&', 'var(--x)'], ['`', 'expression(alert(1))']];
  looks.forEach(([icon, color], at) => fs.writeFileSync(path.join(folder, `look-${at}.md`), `---\nname: look-${at}\ndescription: x\nicon: ${JSON.stringify(icon)}\ncolor: ${JSON.stringify(color)}\n---\nx\n`));
  await bench.kill();
  await bench.serve();
  const watcher = await guarded('/agents');
  const {page} = watcher;
  const agents = (await bench.api(page, 'GET', '/agents')).body.agents;
  const hostile = agents.filter(agent => /[<>"'&]/.test(`${agent.description}`));
  assert.ok(hostile.length >= 40, `${hostile.length} agents have hostile words`);
  assert.ok(agents.some(agent => agent.name === 'look-0'));
  // What journals name as an agent need not be one, and its name is not checked.
  bench.model.answer = () => ({text: 'Seen.'});
  const names = short.slice(60, 90);
  const sessions = [];
  for (const [at, name] of names.entries()) {
    const made = await importRounds(bench, page, 1, event => { if (event.type === 'run.started') Object.assign(event.data, {agent: name, model: name}); return []; }, `hostile ${at}`, {agent: name});
    sessions.push(made.id);
  }
  assert.equal((await bench.api(page, 'GET', `/sessions/${sessions[0]}`)).body.agent, names[0]);
  const visit = async at => {
    await page.goto(bench.url + at);
    await page.waitForTimeout(150);
    await assertQuiet(watcher, at);
  };
  for (const agent of [...hostile.slice(0, 25), {name: 'look-0'}, {name: 'look-4'}]) await visit(`/agents/${encodeURIComponent(agent.name)}`);
  for (const at of ['/', '/agents', '/sessions', '/usage', '/settings']) await visit(at);
  for (const session of sessions) {
    await visit(`/s/${session}`);
    const [run] = (await bench.api(page, 'GET', `/runs?session=${session}`)).body.runs;
    if (!run) continue;
    await visit(`/trace/${run.run}`);
    await page.getByRole('button', {name: 'Graph', exact: true}).click();
    await page.waitForSelector('.graph .node');
    await assertQuiet(watcher, 'graph');
  }
  await page.goto(bench.url);
  await page.keyboard.press('Control+k');
  await page.keyboard.type('hostile');
  await page.waitForTimeout(300);
  await assertQuiet(watcher, 'palette');
  await page.context().close();
});

test('the traps work: an attack that gets into the document is noticed', async () => {
  const {page} = await guarded();
  await page.evaluate(() => {
    const link = document.createElement('a');
    link.setAttribute('href', 'javascript:window.__xss=1');
    document.body.append(link, document.createElement('iframe'));
  });
  assert.equal((await traces(page)).length >= 2, true);
  await page.context().close();
});

test('a hostile page on another port reads nothing, frames nothing and changes nothing', async () => {
  const hostile = http.createServer((_, response) => response.setHeader('content-type', 'text/html').end('<!doctype html><title>x</title><body></body>'));
  await new Promise(ready => hostile.listen(0, '127.0.0.1', () => ready(undefined)));
  const own = await bench.page();
  const state = async () => JSON.stringify([(await bench.api(own, 'GET', '/sessions')).body, (await bench.api(own, 'GET', '/agents')).body.agents.map(agent => agent.name)]);
  const session = (await bench.api(own, 'POST', '/sessions', {agent: 'lead'})).body.id;
  const before = await state();
  const page = await own.context().newPage();
  // Browsers count ports of one host as one site: the cookie is sent, and only the server can refuse.
  await page.goto(`http://127.0.0.1:${/** @type {any} */ (hostile.address()).port}/`);
  const got = await page.evaluate(async ({url, session}) => {
    const found = [];
    const paths = ['/api/v1/me', '/api/v1/sessions', `/api/v1/sessions/${session}/events`, '/api/openapi.json', '/'];
    for (const at of paths) for (const mode of /** @type {RequestMode[]} */ (['cors', 'no-cors'])) {
      const text = await fetch(url + at, {credentials: 'include', mode}).then(response => response.text()).catch(() => '');
      if (text) found.push(`${mode} ${at}: ${text.slice(0, 100)}`);
    }
    const body = JSON.stringify({text: 'hostile', agent: 'lead'});
    for (const at of ['/api/v1/sessions', `/api/v1/sessions/${session}/messages`, `/api/v1/sessions/${session}/clear`, '/api/v1/logout']) {
      for (const type of ['text/plain', 'application/json', 'application/x-www-form-urlencoded']) {
        for (const mode of /** @type {RequestMode[]} */ (['cors', 'no-cors'])) await fetch(url + at, {method: 'POST', credentials: 'include', mode, headers: {'Content-Type': type}, body}).catch(() => {});
      }
    }
    const loads = element => new Promise(done => { element.onload = () => done(true); element.onerror = () => done(false); document.body.append(element); setTimeout(() => done(false), 2000); });
    for (const at of ['/api/v1/me', '/api/v1/sessions', '/ui/js/main.js']) {
      const script = document.createElement('script');
      script.src = url + at;
      if (await loads(script)) found.push(`script ${at}`);
    }
    const frame = document.createElement('iframe');
    frame.name = 'target';
    frame.src = `${url}/`;
    await loads(frame);
    const form = document.createElement('form');
    Object.assign(form, {method: 'POST', action: `${url}/api/v1/sessions/${session}/messages`, enctype: 'text/plain', target: 'target'});
    const field = document.createElement('input');
    Object.assign(field, {name: '{"text":"hostile","x":"', value: '"}'});
    form.append(field);
    document.body.append(form);
    form.submit();
    const other = window.open(`${url}/`);
    await new Promise(next => setTimeout(next, 1500));
    for (const message of [{do: 'wake'}, {type: 'login', k: 'x'}, '<img src=x onerror=window.__xss=1>']) other?.postMessage(message, '*');
    let answered = null;
    window.addEventListener('message', event => { answered = event.data; });
    await new Promise(next => setTimeout(next, 500));
    if (answered) found.push(`message: ${JSON.stringify(answered)}`);
    try { if (other?.document.body.innerHTML) found.push('window.open could be read'); } catch { /* refused, as it must be */ }
    return found;
  }, {url: bench.url, session});
  assert.deepEqual(got, []);
  const frames = page.frames().filter(frame => frame !== page.mainFrame());
  for (const frame of frames) assert.equal(await frame.locator('rt-shell, main.login').count().catch(() => 0), 0, 'the page was shown in a frame');
  assert.equal(await state(), before);
  assert.equal((await bench.api(own, 'GET', '/me')).status, 200, 'nobody was logged out');
  hostile.closeAllConnections();
  hostile.close();
  await own.context().close();
});
