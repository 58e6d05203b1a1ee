// Starts the real server against a fake model, and browsers that are logged in.

import {execFileSync, spawn} from 'node:child_process';
import fs from 'node:fs';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import {createRequire} from 'node:module';
import {FakeModel} from './fake_model.mjs';

const packages = createRequire(path.join(process.env.ROOFTREE_NPM ?? process.cwd(), 'package.json'));
const {chromium} = packages('playwright-core');
export const axeSource = fs.readFileSync(packages.resolve('axe-core/axe.min.js'), 'utf8');
const BINARY = process.env.ROOFTREE_BIN;
const CHROMIUM = process.env.CHROMIUM ?? '/usr/bin/chromium';
const FLAGS = ['--no-sandbox', '--disable-gpu', '--disable-background-networking', '--disable-component-update', '--disable-sync', '--no-first-run', '--disable-quic'];

/** A server, its model and a browser. `stop` ends all. */
export class Bench {
  static async start() {
    const bench = new Bench();
    bench.folder = fs.mkdtempSync(path.join(os.tmpdir(), 'rooftree-page-'));
    bench.project = path.join(bench.folder, 'project');
    fs.mkdirSync(path.join(bench.project, '.rooftree/agents'), {recursive: true});
    fs.mkdirSync(path.join(bench.folder, 'home/.config/rooftree'), {recursive: true});
    fs.mkdirSync(path.join(bench.folder, 'run'));
    bench.model = new FakeModel();
    await bench.model.listen();
    fs.writeFileSync(path.join(bench.folder, 'home/.config/rooftree/config.toml'), `model = "mine/fake"\n[providers.mine]\nbase_url = "http://127.0.0.1:${bench.model.port}/v1"\nwire = "chat"\n`);
    fs.writeFileSync(path.join(bench.folder, 'home/.config/rooftree/models.toml'), '[[model]]\nid = "mine/fake"\nwindow = 128000\noutput = 16000\nprice = { input = 1.5, output = 6 }\ntools = true\n');
    bench.port = await freePort();
    await bench.serve();
    bench.browser = await chromium.launch({executablePath: CHROMIUM, args: FLAGS});
    bench.problems = [];
    return bench;
  }

  environment() {
    return {PATH: process.env.PATH, HOME: path.join(this.folder, 'home'), XDG_RUNTIME_DIR: path.join(this.folder, 'run'), RUST_BACKTRACE: '1'};
  }

  get url() {
    return `http://127.0.0.1:${this.port}`;
  }

  /** Starts the server and keeps the one-time link that it prints. */
  async serve() {
    this.server = spawn(BINARY, ['serve', '--port', String(this.port), '--print-link', ...(process.env.ROOFTREE_UI ? ['--ui-dir', process.env.ROOFTREE_UI] : [])], {cwd: this.project, env: this.environment(), stdio: ['ignore', 'pipe', 'pipe']});
    this.log = '';
    this.server.stderr.on('data', data => { this.log += data; });
    await new Promise((ready, failed) => {
      this.server.stdout.on('data', data => {
        this.log += data;
        this.link = /http:\S+#k=\S+/.exec(this.log)?.[0] ?? this.link;
        if (/#k=/.test(String(this.log))) ready(undefined);
      });
      this.server.on('exit', code => failed(new Error(`the server ended with ${code}: ${this.log}`)));
    });
  }

  /** Runs a command of the program beside the server; a last argument `{input}` is what it reads. @param {...any} words */
  run(...words) {
    const input = typeof words.at(-1) === 'object' ? words.pop().input : undefined;
    return execFileSync(/** @type {string} */ (BINARY), words, {cwd: this.project, env: this.environment(), encoding: 'utf8', input});
  }

  /** Ends the server as a power failure would, and waits until it is gone. */
  async kill() {
    const gone = new Promise(done => this.server.once('exit', done));
    this.server.kill('SIGKILL');
    await gone;
  }

  /** A browser of its own with a page that is logged in. Problems in the page fail the test. */
  async page({width = 1280, height = 800, dark = false, touch = false, at = '/', via = this.url, context = null} = {}) {
    const own = context ?? await this.browser.newContext({viewport: {width, height}, colorScheme: dark ? 'dark' : 'light', hasTouch: touch, isMobile: touch, reducedMotion: 'reduce'});
    if (!context && !this.cookies) {
      const login = await own.newPage();
      await login.goto(this.link);
      await login.waitForSelector('rt-shell');
      this.cookies = await own.cookies();
      await login.close();
    } else if (!context) {
      await own.addCookies(this.cookies);
    }
    const page = await own.newPage();
    page.on('pageerror', error => this.problems.push(`${page.url()}: ${error.message}`));
    page.on('console', message => { if (message.type() === 'error' && !/Failed to load resource|net::ERR/.test(message.text())) this.problems.push(`${page.url()}: ${message.text()}`); });
    page.on('dialog', dialog => { this.problems.push(`a dialog: ${dialog.message()}`); dialog.dismiss(); });
    await page.goto(via + at);
    await page.waitForSelector('rt-shell');
    return page;
  }

  /** A request as the person of the browser. */
  async api(page, method, route, body) {
    return page.evaluate(async ([method, route, body]) => {
      const me = await (await fetch('/api/v1/me')).json();
      const response = await fetch(`/api/v1${route}`, {method, headers: {'Content-Type': 'application/json', 'X-Rooftree-CSRF': me.csrf}, body: body === null ? undefined : JSON.stringify(body)});
      return {status: response.status, body: await response.json().catch(() => null)};
    }, [method, route, body ?? null]);
  }

  /** Opens a session with a message and returns its id. */
  async begin(page, text, agent = 'lead') {
    const session = (await this.api(page, 'POST', '/sessions', {agent})).body.id;
    await this.api(page, 'POST', `/sessions/${session}/messages`, {text});
    return session;
  }

  /** Closes all browsers' windows: a person may have eight streams at once. */
  async closePages() {
    await Promise.all(this.browser.contexts().map(context => context.close()));
  }

  /** Opens a session in the page, and posts only then: all of it is seen live. */
  async watchFromStart(page, text, {agent = 'lead', via = this.url} = {}) {
    const session = (await this.api(page, 'POST', '/sessions', {agent})).body.id;
    await page.goto(`${via}/s/${session}`);
    await page.waitForFunction(() => /** @type {any} */ (document.querySelector('rt-session'))?.model?.waiting === null);
    await this.api(page, 'POST', `/sessions/${session}/messages`, {text});
    return session;
  }

  async stop() {
    await this.browser?.close();
    this.model.close();
    if (this.server.exitCode === null) await this.kill();
    fs.rmSync(this.folder, {recursive: true, force: true});
  }
}

async function freePort() {
  const server = net.createServer();
  await new Promise(ready => server.listen(0, '127.0.0.1', () => ready(undefined)));
  const {port} = /** @type {any} */ (server.address());
  await new Promise(closed => server.close(closed));
  return port;
}

/** A promise and what fulfils it. */
export function gate() {
  let open = () => {};
  const promise = new Promise(done => { open = () => done(undefined); });
  return {promise, open};
}

/**
 * A relay before the server that cuts the stream after so many durable frames, each time anew.
 * @param {number} target port @param {number} every frames
 */
export async function cuttingRelay(target, every) {
  let cuts = 0;
  const relay = net.createServer(client => {
    const upstream = net.connect(target, '127.0.0.1');
    let frames = 0;
    upstream.on('data', data => {
      // Only durable events count: they are what a new connection continues after.
      for (const match of data.toString('latin1').matchAll(/\nid: ses_\w+:\d+\ndata: \{"v":/g)) {
        frames += 1;
        if (frames <= every) continue;
        cuts += 1;
        upstream.destroy();
        client.end(data.subarray(0, match.index));
        return;
      }
      client.write(data);
    });
    client.on('data', data => upstream.write(data));
    for (const one of [client, upstream]) one.on('error', () => {});
    client.on('close', () => upstream.destroy());
    upstream.on('close', () => client.destroy());
  });
  await new Promise(ready => relay.listen(0, '127.0.0.1', () => ready(undefined)));
  return {port: /** @type {any} */ (relay.address()).port, cuts: () => cuts, close: () => relay.close()};
}

/** What the conversation and the tree of agents say, without times and costs. */
export async function shownText(page) {
  return page.evaluate(() => {
    const text = [];
    const walk = (/** @type {any} */ node) => {
      if (node.nodeType === 3) { if (node.data.trim()) text.push(node.data.trim()); return; }
      if (node.hidden || node.matches?.('.call-time, .run-facts, time, .item-head, .meters, .connection, .fork, .card-when, .activity, .sidebar')) return;
      for (const child of node.childNodes) walk(child);
    };
    walk(document.querySelector('rt-session'));
    return text.join('\n').replace(/story \d+/g, 'story').replace(/\d+(\.\d+)? (ms|s)\b/g, 'TIME').replace(/TIME · [\d.k]+ tokens · \S+/g, 'FIGURES');
  });
}
