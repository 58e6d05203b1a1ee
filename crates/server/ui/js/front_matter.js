// Reads and changes fields at the head of a Markdown file (front matter), touching only the lines of the changed field.
// @ts-check

/**
 * A field: its name as it is written, its first line and the line after its last one, and its value; null if the value is
 * more than a text or a list of texts.
 * @typedef {{name: string, from: number, to: number, value: string | string[] | null, style: Style, comment: string}} Field
 * @typedef {string | string[] | number | boolean} Value numbers and booleans are written without quotes
 * @typedef {'plain' | 'flow' | 'block' | 'commas' | 'other'} Style
 */

/** Names are compared as the server does: without case, `_` and `-`. @param {string} name */
function plainName(name) {
  return name.toLowerCase().replace(/[_-]/g, '');
}

/**
 * The fields of a text, and where the front matter ends (the line of its closing `---`); -1 if there is none.
 * @param {string} text
 * @returns {{fields: Field[], end: number}}
 */
export function readFields(text) {
  const lines = text.split('\n');
  if (trimEnd(lines[0]) !== '---') return {fields: [], end: -1};
  const end = lines.findIndex((line, at) => at > 0 && trimEnd(line) === '---');
  if (end < 0) return {fields: [], end: -1};
  /** @type {Field[]} */
  const fields = [];
  for (let at = 1; at < end; at += 1) {
    const found = /^([A-Za-z_][\w-]*)\s*:(?:\s+(.*)|\s*)$/.exec(trimEnd(lines[at]));
    if (!found) continue;
    let to = at + 1;
    while (to < end && (/^\s+\S/.test(lines[to]) || /^-(\s|$)/.test(lines[to]) || (lines[to].trim() === '' && belongs(lines, to, end)))) to += 1;
    fields.push({name: found[1], from: at, to, ...readValue(found[2] ?? '', lines.slice(at + 1, to))});
    at = to - 1;
  }
  return {fields, end};
}

/** Whether an empty line is followed by more of the same field. @param {string[]} lines @param {number} at @param {number} end */
function belongs(lines, at, end) {
  let next = at;
  while (next < end && lines[next].trim() === '') next += 1;
  return next < end && /^\s+\S/.test(lines[next]);
}

/**
 * @param {string} first what stands behind the colon @param {string[]} below
 * @returns {{value: string | string[] | null, style: Style, comment: string}}
 */
function readValue(first, below) {
  const content = below.filter(line => line.trim() !== '' && !/^\s*#/.test(line));
  if (first === '' || first.startsWith('#')) {
    const items = content.map(line => /^\s*-\s+(.*)$/.exec(line)?.[1]);
    if (content.length && items.every(item => item !== undefined)) {
      const texts = items.map(item => readScalar(/** @type {string} */ (item)));
      if (texts.every(item => item !== null)) return {value: texts.map(item => /** @type {any} */ (item).text), style: 'block', comment: first};
    }
    return {value: content.length ? null : '', style: content.length ? 'other' : 'plain', comment: first};
  }
  if (content.length) return {value: null, style: 'other', comment: ''};
  if (first.startsWith('[')) {
    const list = readFlow(first);
    return list ? {value: list.items, style: 'flow', comment: list.comment} : {value: null, style: 'other', comment: ''};
  }
  const scalar = readScalar(first);
  return scalar ? {value: scalar.text, style: 'plain', comment: scalar.comment} : {value: null, style: 'other', comment: ''};
}

/** A text, quoted or not, and the comment behind it. @param {string} source @returns {{text: string, comment: string} | null} */
function readScalar(source) {
  if (source.startsWith('"')) {
    const found = /^("(?:[^"\\]|\\.)*")\s*(#.*)?$/.exec(source);
    if (!found) return null;
    try {
      return {text: String(JSON.parse(found[1])), comment: found[2] ?? ''};
    } catch {
      return null;
    }
  }
  if (source.startsWith("'")) {
    const found = /^'((?:[^']|'')*)'\s*(#.*)?$/.exec(source);
    return found ? {text: found[1].replace(/''/g, "'"), comment: found[2] ?? ''} : null;
  }
  if (/^[{&*!|>%@`]/.test(source)) return null;
  const comment = source.search(/\s#/);
  if (comment < 0) return {text: source, comment: ''};
  return {text: source.slice(0, comment).trimEnd(), comment: source.slice(comment).trim()};
}

/** `[a, "b, c"]`. @param {string} source @returns {{items: string[], comment: string} | null} */
function readFlow(source) {
  /** @type {string[]} */
  const items = [];
  let rest = source.slice(1).trimStart();
  while (rest && !rest.startsWith(']')) {
    const found = /^("(?:[^"\\]|\\.)*"|'(?:[^']|'')*'|[^,\]"'{[][^,\]{[]*)\s*(,|(?=\]))\s*/.exec(rest);
    const scalar = found ? readScalar(found[1].trim()) : null;
    if (!found || !scalar) return null;
    items.push(scalar.text);
    rest = rest.slice(found[0].length);
  }
  const tail = /^\]\s*(#.*)?$/.exec(rest);
  return tail ? {items, comment: tail[1] ?? ''} : null;
}

/** The field with one of these names. @param {string} text @param {...string} names @returns {Field | undefined} */
export function findField(text, ...names) {
  const wanted = new Set(names.map(plainName));
  return readFields(text).fields.find(field => wanted.has(plainName(field.name)));
}

/**
 * The text with this field changed; null removes it. The first name is used if the field is new.
 * @param {string} text @param {string[]} names @param {Value | null} value
 */
export function setField(text, names, value) {
  const {end} = readFields(text);
  const field = findField(text, ...names);
  if (end < 0) return value === null ? text : `---\n${write(names[0], value, 'plain', '').join('\n')}\n---\n${text}`;
  const lines = text.split('\n');
  const [at, count] = field ? [field.from, field.to - field.from] : [end, 0];
  const written = value === null ? [] : write(field?.name ?? names[0], value, styleOf(field, value), field?.comment ?? '');
  lines.splice(at, count, ...written);
  return lines.join('\n');
}

/** A list keeps the way it is written in. @param {Field | undefined} field @param {Value} value @returns {Style} */
function styleOf(field, value) {
  if (!Array.isArray(value)) return 'plain';
  if (field?.style === 'block' && value.length) return 'block';
  if (field?.style === 'plain' && typeof field.value === 'string' && field.value !== '' && value.length) return 'commas';
  return 'flow';
}

/** @param {string} name @param {Value} value @param {Style} style @param {string} comment @returns {string[]} */
function write(name, value, style, comment) {
  const tail = comment ? `  ${comment}` : '';
  if (!Array.isArray(value)) return [`${name}: ${typeof value === 'string' ? writeScalar(value) : value}${tail}`];
  if (style === 'block') return [`${name}:${tail}`, ...value.map(item => `  - ${writeScalar(item)}`)];
  if (style === 'commas') return [`${name}: ${value.join(', ')}${tail}`];
  return [`${name}: [${value.map(item => writeScalar(item, true)).join(', ')}]${tail}`];
}

/** Quotes what would be read as something else. @param {string} text @param {boolean} [inList] */
function writeScalar(text, inList = false) {
  const isPlain = /^[\p{L}\p{N}_./~$(][^\n\r\t]*$/u.test(text)
    && !/:(\s|$)|\s#|^\s|\s$/.test(text)
    && !/^(true|false|yes|no|on|off|null|~|[-+.\d][\d_.eE+-]*)$/i.test(text)
    && !(inList && /[,[\]{}"']/.test(text));
  return isPlain ? text : JSON.stringify(text);
}

/** The items of a value: a list, or a text with commas. @param {string | string[] | null | undefined} value @returns {string[]} */
export function itemsOf(value) {
  if (Array.isArray(value)) return value;
  return (value ?? '').split(',').map(item => item.trim()).filter(Boolean);
}

/** @param {string | undefined} line */
function trimEnd(line) {
  return (line ?? '').trimEnd();
}
