// Reads server-sent events from the body of a response.
// @ts-check

/** @typedef {{name: string, id: string, data: any}} Frame */

/** The most characters of one frame; more is an error of the server. */
const MAX_FRAME = 32 * 1024 * 1024;

/**
 * Yields frames until the body ends. Lines may be cut anywhere between two chunks.
 * @param {ReadableStream<Uint8Array>} body
 * @returns {AsyncGenerator<Frame>}
 */
export async function* readFrames(body) {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let rest = '';
  let frame = {name: 'message', id: '', data: ''};
  try {
    for (;;) {
      const {done, value} = await reader.read();
      if (done) return;
      rest += decoder.decode(value, {stream: true});
      if (rest.length > MAX_FRAME) throw new Error('a frame of the stream is too long');
      let begin = 0;
      for (let end = rest.indexOf('\n', begin); end >= 0; end = rest.indexOf('\n', begin)) {
        const line = rest.slice(begin, rest[end - 1] === '\r' ? end - 1 : end);
        begin = end + 1;
        if (line === '') {
          if (frame.data) yield {name: frame.name, id: frame.id, data: JSON.parse(frame.data)};
          frame = {name: 'message', id: '', data: ''};
        } else {
          takeLine(frame, line);
        }
      }
      rest = rest.slice(begin);
    }
  } finally {
    reader.cancel().catch(() => {});
  }
}

/** @param {{name: string, id: string, data: string}} frame @param {string} line */
function takeLine(frame, line) {
  const colon = line.indexOf(':');
  if (colon === 0) return;
  const field = colon < 0 ? line : line.slice(0, colon);
  const value = colon < 0 ? '' : line.slice(line[colon + 1] === ' ' ? colon + 2 : colon + 1);
  if (field === 'event') frame.name = value;
  else if (field === 'id') frame.id = value;
  else if (field === 'data') frame.data += frame.data ? `\n${value}` : value;
}
