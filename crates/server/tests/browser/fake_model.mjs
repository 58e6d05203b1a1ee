// A model server on loopback that speaks the chat-completions wire and answers as a test says.

import http from 'node:http';

/** @typedef {{status?: number, text?: string, calls?: [string, any][], pieces?: number, perSecond?: number, gate?: Promise<any>, hold?: {after: number, until: Promise<any>}}} Answer */

export class FakeModel {
  constructor() {
    /** Decides the answer to a request. @type {(ask: {text: string, results: number, request: any}) => Answer} */
    this.answer = () => ({text: 'Done.'});
    this.server = http.createServer((request, response) => this.handle(request, response));
    this.calls = 0;
  }

  async listen() {
    await new Promise(ready => this.server.listen(0, '127.0.0.1', () => ready(undefined)));
    this.port = /** @type {any} */ (this.server.address()).port;
  }

  close() {
    this.server.closeAllConnections();
    this.server.close();
  }

  async handle(request, response) {
    if (request.method === 'GET') {
      response.setHeader('content-type', 'application/json');
      return response.end(JSON.stringify({object: 'list', data: [{id: 'fake', object: 'model'}]}));
    }
    const chunks = [];
    for await (const chunk of request) chunks.push(chunk);
    const body = JSON.parse(Buffer.concat(chunks).toString());
    const answer = this.answer(asked(body));
    if (answer.status) {
      response.writeHead(answer.status, {'content-type': 'application/json'});
      return response.end(JSON.stringify({error: {message: answer.text ?? 'refused', type: 'invalid_request_error'}}));
    }
    response.writeHead(200, {'content-type': 'text/event-stream'});
    const send = data => response.write(`data: ${typeof data === 'string' ? data : JSON.stringify(data)}\n\n`);
    const delta = (content, finish = null) => send({id: 'x', object: 'chat.completion.chunk', created: 1, model: 'fake', choices: [{index: 0, delta: content, finish_reason: finish}]});
    if (answer.gate) await answer.gate;
    await this.sendText(answer, delta);
    const calls = answer.calls ?? [];
    calls.forEach(([name, input], index) => {
      this.calls += 1;
      delta({tool_calls: [{index, id: `call${this.calls}`, type: 'function', function: {name, arguments: JSON.stringify(input)}}]});
    });
    delta({}, calls.length ? 'tool_calls' : 'stop');
    send({id: 'x', object: 'chat.completion.chunk', created: 1, model: 'fake', choices: [], usage: {prompt_tokens: 1200, completion_tokens: 80, total_tokens: 1280}});
    send('[DONE]');
    response.end();
  }

  /** Sends the text in pieces; may hold in the middle until the test goes on. */
  async sendText(answer, delta) {
    const text = answer.text ?? '';
    const pieces = Math.max(1, answer.pieces ?? 4);
    const size = Math.max(1, Math.ceil(text.length / pieces));
    const began = performance.now();
    for (let at = 0, piece = 0; at < text.length; at += size, piece += 1) {
      // By the time since the beginning: timers that are late do not add up.
      const early = answer.perSecond ? piece * 1000 / answer.perSecond - (performance.now() - began) : 0;
      if (early > 0) await new Promise(next => setTimeout(next, early));
      if (answer.hold && piece === answer.hold.after) await answer.hold.until;
      delta({content: text.slice(at, at + size)});
      if (pieces > 4 && !answer.perSecond) await new Promise(next => setTimeout(next, 2));
    }
  }
}

/** The last words of a person without what the runtime adds, and how many results of calls came after them. */
function asked(request) {
  const {messages} = request;
  const textOf = message => (typeof message.content === 'string' ? message.content : (message.content ?? []).map(part => part.text ?? '').join('\n'));
  const own = message => textOf(message).replace(/<system_message\b[^]*?<\/system_message>/g, '').trim();
  const at = messages.findLastIndex(message => message.role === 'user' && own(message));
  return {text: at < 0 ? '' : own(messages[at]), results: messages.slice(at + 1).filter(message => message.role === 'tool').length, request};
}
