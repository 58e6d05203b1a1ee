// Requests to the API of the server this page comes from.
// @ts-check

const PREFIX = '/api/v1';

/** An error of the API, as `application/problem+json` tells it. */
export class ApiError extends Error {
  /** @param {number} status @param {any} problem */
  constructor(status, problem) {
    // The title says what is wrong, the detail why.
    super([problem?.title, problem?.detail].filter(Boolean).join(': ') || `the server answered ${status}`);
    this.status = status;
    this.code = problem?.code ?? '';
    this.hint = problem?.hint ?? '';
    this.pointer = problem?.pointer ?? '';
    /** @type {any} */
    this.problem = problem ?? {};
  }
}

/** The proof that a request comes from this page; the server tells it with `GET /me`. */
let csrf = '';

/** @param {string} token */
export function setCsrf(token) {
  csrf = token;
}

/**
 * @param {string} method
 * @param {string} path below the prefix
 * @param {{body?: any, query?: Record<string, any>, headers?: Record<string, string>, signal?: AbortSignal, raw?: boolean, key?: string}} [options]
 * @returns {Promise<any>}
 */
export async function request(method, path, options = {}) {
  const {body, query, signal, raw, key} = options;
  /** @type {Record<string, string>} */
  const headers = {...options.headers};
  if (csrf) headers['X-Rooftree-CSRF'] = csrf;
  if (key) headers['Idempotency-Key'] = key;
  const isBytes = body instanceof Blob || body instanceof ArrayBuffer;
  if (body !== undefined && !isBytes) headers['Content-Type'] = 'application/json';
  let response;
  try {
    response = await fetch(url(path, query), {
      method, headers, signal, credentials: 'same-origin', cache: 'no-store',
      body: body === undefined ? undefined : isBytes ? body : JSON.stringify(body),
    });
  } catch (error) {
    if (/** @type {any} */ (error)?.name === 'AbortError') throw error;
    throw new ApiError(0, {detail: 'The server cannot be reached', hint: 'Try again when the page is connected; what you typed stays'});
  }
  if (raw && response.ok) return response;
  const isJson = (response.headers.get('content-type') || '').includes('json');
  const content = isJson ? await response.json().catch(() => null) : await response.text();
  if (!response.ok) throw new ApiError(response.status, isJson ? content : {detail: content});
  return content;
}

/** @param {string} path @param {Record<string, any>} [query] */
export function url(path, query) {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query || {})) {
    if (value !== undefined && value !== null && value !== '') search.set(name, String(value));
  }
  const text = search.toString();
  return PREFIX + path + (text ? `?${text}` : '');
}

export const get = (/** @type {string} */ path, /** @type {Record<string, any>} */ query = {}, /** @type {any} */ options = {}) =>
  request('GET', path, {query, ...options});
export const post = (/** @type {string} */ path, /** @type {any} */ body = {}, /** @type {any} */ options = {}) =>
  request('POST', path, {body, ...options});
export const put = (/** @type {string} */ path, /** @type {any} */ body, /** @type {any} */ options = {}) =>
  request('PUT', path, {body, ...options});
export const patch = (/** @type {string} */ path, /** @type {any} */ body, /** @type {any} */ options = {}) =>
  request('PATCH', path, {body, ...options});
export const remove = (/** @type {string} */ path, /** @type {any} */ options = {}) => request('DELETE', path, options);

/** A name for something that is sent perhaps twice and must happen once. */
export function newKey() {
  return `page-${crypto.randomUUID()}`;
}

/** A path with its parts escaped: pathOf`/sessions/${id}`. @param {TemplateStringsArray} texts @param {...string} values */
export function pathOf(texts, ...values) {
  return texts.reduce((path, text, at) => path + text + (at < values.length ? encodeURIComponent(values[at]) : ''), '');
}
