// A Bot API of Telegram on loopback: people write to the bot, press buttons, and what the bot sends is kept.

import http from 'node:http';

export class FakeTelegram {
  constructor() {
    /** What the bot sent: method and arguments. @type {{method: string, body: any, message: number}[]} */
    this.sent = [];
    this.updates = /** @type {any[]} */ ([]);
    this.numbers = 1;
    /** Why messages are refused, if they are. @type {{status: number, description: string} | null} */
    this.refusal = null;
    this.server = http.createServer((request, response) => this.handle(request, response));
  }

  async listen() {
    await new Promise(ready => this.server.listen(0, '127.0.0.1', () => ready(undefined)));
    this.url = `http://127.0.0.1:${/** @type {any} */ (this.server.address()).port}`;
  }

  close() {
    this.server.closeAllConnections();
    this.server.close();
  }

  /** A person writes to the bot. @param {number} from @param {string} name @param {string} text */
  write(from, name, text) {
    const chat = {id: from, type: 'private', first_name: name};
    this.deliver({message: {message_id: this.numbers, date: 1_800_000_000, text, from: {id: from, is_bot: false, first_name: name}, chat}});
  }

  /** A person presses the button of a message that says so. @param {number} from @param {string} name @param {string} words */
  press(from, name, words) {
    const {message, body} = /** @type {any} */ (this.sent.findLast(one => JSON.stringify(one.body.reply_markup ?? '').includes(words)));
    const data = body.reply_markup.inline_keyboard.flat().find((/** @type {any} */ button) => button.text.includes(words)).callback_data;
    this.deliver({callback_query: {id: `press${this.numbers}`, chat_instance: '1', data, from: {id: from, is_bot: false, first_name: name},
      message: {message_id: message, date: 1_800_000_000, chat: {id: from, type: 'private'}}}});
  }

  /** @param {any} update */
  deliver(update) {
    this.updates.push({update_id: this.numbers, ...update});
    this.numbers += 1;
    this.arrived?.();
  }

  /** The texts that the bot wrote to a person. @param {number} to */
  texts(to) {
    return this.sent.filter(({method, body}) => method === 'sendMessage' && Number(body.chat_id) === to).map(({body}) => body.text);
  }

  async handle(request, response) {
    const chunks = [];
    for await (const chunk of request) chunks.push(chunk);
    const raw = Buffer.concat(chunks).toString();
    const body = raw.startsWith('{') ? JSON.parse(raw) : Object.fromEntries(new URLSearchParams(raw));
    const method = request.url.split('?')[0].split('/').at(-1);
    const [status, answer] = await this.answer(method, body);
    response.writeHead(status, {'content-type': 'application/json'});
    response.end(JSON.stringify(answer));
  }

  /** @returns {Promise<[number, any]>} */
  async answer(method, body) {
    if (method === 'getMe') return [200, {ok: true, result: {id: 42, is_bot: true, first_name: 'Test', username: 'test_bot'}}];
    if (method === 'getUpdates') {
      this.updates = this.updates.filter(one => one.update_id >= Number(body.offset ?? 0));
      if (this.updates.length === 0) await new Promise(done => { this.arrived = () => done(undefined); setTimeout(done, 1000, undefined); });
      return [200, {ok: true, result: this.updates.filter(one => one.update_id >= Number(body.offset ?? 0))}];
    }
    if (method.startsWith('send') && method !== 'sendChatAction' && this.refusal) return [this.refusal.status, {ok: false, error_code: this.refusal.status, description: this.refusal.description}];
    const message = 500 + this.sent.length;
    this.sent.push({method, body, message});
    return [200, {ok: true, result: /^(send|edit)/.test(method) ? {message_id: message, date: 1_800_000_000, chat: {id: Number(body.chat_id), type: 'private'}, text: body.text} : true}];
  }
}
