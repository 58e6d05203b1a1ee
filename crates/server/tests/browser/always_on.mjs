// Answers of the API about schedules, connectors and the outbox, as the page expects them; kept in memory, changed by
// what the page sends, and told by a stream in the page.

const NOW = Date.now();
const text = at => new Date(at).toISOString();
const HOUR = 3_600_000;
const DAY = 24 * HOUR;

const past = (days, change) => Array.from({length: days}, (_, at) => {
  const due = NOW - (days - at) * DAY;
  return {due, execution: 'completed', delivery: 'sent', reason: null, run: `run_${at}`, session: null, ended: due + 60_000, ...change(at)};
});

function schedules() {
  const common = {zone: 'Europe/Berlin', spec: {}, command: null, session: 'new', enabled: true, disabled_reason: null, overlap: 'skip', catch_up: 'once', target: 'telegram', budget: null, streak: 0, rev: 1};
  const report = past(20, at => (at === 4 ? {execution: 'failed', delivery: 'sent', reason: 'rate_limit'} : at === 9 ? {execution: 'skipped', delivery: 'none', reason: 'overlap'} : at === 15 ? {delivery: 'failed'} : {}));
  const backup = past(7, at => (at > 3 ? {execution: 'failed', delivery: 'none', reason: 'budget'} : {delivery: 'none'}));
  return [
    {...common, id: 'sch_1', name: 'Morning report', kind: 'cron', words: 'weekdays at 09:00 Europe/Berlin', agent: 'lead', prompt: 'Sum up what happened since yesterday: builds, issues, mail.', next_due: NOW + 3 * HOUR, next: [1, 2, 3, 4, 5].map(at => NOW + at * DAY), last: report.at(-1), history: report},
    {...common, id: 'sch_2', name: 'Check the backups', kind: 'every', words: 'every 6 hours', agent: 'bash', prompt: 'Verify the newest backup.', target: null, enabled: false, disabled_reason: 'failed_3_times', next_due: null, next: [], streak: 3, last: backup.at(-1), history: backup},
    {...common, id: 'sch_3', name: 'Tidy the inbox', kind: 'heartbeat', words: 'every 30 minutes, 08:00 to 20:00', agent: 'lead', prompt: 'Look whether something needs me.', next_due: NOW + 12 * 60_000, next: [], last: null, history: []},
    {...common, id: 'sch_4', name: 'Release notes', kind: 'at', words: 'on 1 December at 10:00', agent: 'lead', prompt: 'Write the notes of the release.', enabled: false, next_due: null, next: [], last: null, history: []},
  ];
}

function connectors() {
  return [
    {id: 'telegram', platform: 'telegram', agent: 'lead', enabled: true, health: {state: 'up', reason: null}, people: [{sender: '4711', name: 'Anna', person: 'owner', may_send: true, may_approve: true}, {sender: '4712', name: 'Family group', person: 'guest', may_send: true, may_approve: false}], pending_pairing: [{sender: '99', name: 'Ben', expires: NOW + HOUR}], last_error: null, outbox: {queued: 1, failed: 0, dead: 2}, rev: 3},
    {id: 'alerts', platform: 'webhook', agent: 'bash', enabled: true, health: {state: 'degraded', reason: 'the address answers 502'}, people: [], pending_pairing: [], last_error: '502 Bad Gateway, 4 times', outbox: {queued: 0, failed: 3, dead: 0}, rev: 1},
  ];
}

function outbox() {
  return [
    {id: 'out_1', state: 'dead', connector: 'telegram', target: 'Anna', text: 'Morning report: three builds failed', error: 'the chat is gone', created: NOW - 2 * HOUR},
    {id: 'out_2', state: 'dead', connector: 'telegram', target: 'Family group', text: 'The backup is done', error: 'the bot was removed', created: NOW - DAY},
    {id: 'out_3', state: 'sent', connector: 'telegram', target: 'Anna', text: 'Fine', created: NOW},
  ];
}

/** Runs in the page: a stream that tells the rows of each topic as they are in the test. */
function streamOfRows() {
  const page = /** @type {any} */ (window);
  // Without one, the hub is part of the page.
  delete page.SharedWorker;
  const [real, encoder, watched] = [window.fetch, new TextEncoder(), new Set()];
  let [count, controller] = [0, /** @type {any} */ (null)];
  const send = (/** @type {string} */ name, /** @type {any} */ data, id = '') => controller.enqueue(encoder.encode(`event: ${name}\n${id && `id: ${id}\n`}data: ${JSON.stringify(data)}\n\n`));
  const snapshot = async (/** @type {string} */ topic) => {
    const rev = `boot_t:${count += 1}`;
    send(`${topic}.snapshot`, topic === 'board' ? {rev, rows: []} : {rev, items: await page.rowsOf(topic)}, `${topic}:${rev}`);
  };
  page.tellRows = () => Promise.all([...watched].map(snapshot));
  page.fetch = async (/** @type {any} */ url, /** @type {any} */ options) => {
    if (!String(url).startsWith('/api/v1/stream')) return real(url, options);
    const topics = Object.entries(JSON.parse(options.body).topics ?? {});
    for (const [topic, after] of topics) after === null ? watched.delete(topic) : watched.add(topic);
    if (options.method === 'PATCH') {
      for (const [topic] of topics) if (watched.has(topic)) await snapshot(topic);
      return new Response('{}', {headers: {'Content-Type': 'application/json'}});
    }
    const body = new ReadableStream({start: one => { controller = one; }});
    send('hello', {v: 1, server: 'test', boot: 'boot_t', stream: 'str_t', now: new Date().toISOString(), beat: 600, limits: {sessions: 64, streams: 8}});
    setTimeout(page.tellRows);
    return new Response(body, {headers: {'Content-Type': 'text/event-stream'}});
  };
}

/** Lets a page see them. @returns what the page sent and the state it changed */
export async function alwaysOn(page) {
  const state = {schedules: schedules(), connectors: connectors(), outbox: outbox(), sent: /** @type {[string, string, any][]} */ ([])};
  await page.exposeFunction('rowsOf', topic => written(state[topic]));
  await page.addInitScript(streamOfRows);
  await page.route(/\/api\/v1\/(schedules|connectors|outbox)\b/, async route => {
    const request = route.request();
    const [, kind, id, act, which] = /v1\/(\w+)(?:\/(\w+))?(?:\/(\w+))?(?:\/(\w+))?/.exec(request.url()) ?? [];
    const body = request.postDataJSON();
    if (id === 'preview') return route.continue();
    state.sent.push([request.method(), [kind, id, act, which].filter(Boolean).join('/'), body]);
    const [status, answer] = answered(state, request.method(), {kind, id, act, which}, body);
    await route.fulfill({status, contentType: status >= 400 ? 'application/problem+json' : 'application/json', body: JSON.stringify(answer)});
    await page.evaluate(() => /** @type {any} */ (window).tellRows());
  });
  return state;
}

/** As the server writes moments. */
function written(value) {
  return JSON.parse(JSON.stringify(value, (_, one) => (typeof one === 'number' && one > 1e12 ? text(one) : one)));
}

/** @returns {[number, any]} */
function answered(state, method, {kind, id, act, which}, body) {
  const list = state[kind];
  const one = list.find(item => item.id === id);
  if (method === 'POST' && !id) {
    if (body.name === 'Taken') return [409, {title: 'another schedule has this name', pointer: '/name'}];
    list.push({...list[2], ...body, id: 'sch_9', words: body.when});
    return [201, list.at(-1)];
  }
  if (method === 'PATCH') return [200, Object.assign(act === 'people' ? one.people.find(person => person.sender === which) : one, body)];
  if (method === 'DELETE') {
    if (act === 'people') one.people = one.people.filter(person => person.sender !== which);
    else state[kind] = list.filter(item => item !== one);
    return [200, {}];
  }
  if (act === 'incidents') return [200, {items: [{signature: 'budget: # tokens', state: 'alerted', words: 'budget: 900 tokens of a day are used', count: 3, first: text(NOW - 3 * DAY), last: text(NOW - DAY)}]}];
  if (act === 'pause' || act === 'resume') one.enabled = act === 'resume';
  if (act === 'confirm') {
    if (body.code !== 'K7PM2QXA') return [400, {title: 'no sender waits with this code'}];
    const [{sender, name}] = one.pending_pairing.splice(0);
    one.people.push({sender, name, person: body.person, may_send: true, may_approve: body.may_approve});
  }
  if (act === 'pair') return [200, {code: 'K7PM-2QXA', expires: text(Date.now() + 600_000)}];
  if (act === 'retry' || act === 'drop') state.outbox = list.filter(item => item !== one);
  return [200, {}];
}
