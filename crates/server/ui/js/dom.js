// Small helpers for the DOM: make elements, keep keyed lists up to date, one place that turns text into HTML.
// @ts-check

/** @typedef {Node | string | number | null | undefined | false} Child */

const SVG = 'http://www.w3.org/2000/svg';
const WORKER = '/ui/js/stream_worker.js';
const policy = /** @type {any} */ (globalThis).trustedTypes?.createPolicy('server-html', {
  createHTML: (/** @type {string} */ html) => html,
  createScriptURL: (/** @type {string} */ url) => {
    if (url !== WORKER) throw new TypeError('only the worker of this page may be started');
    return url;
  },
});

/** The address of the worker that all tabs share. */
export function workerUrl() {
  return policy ? policy.createScriptURL(WORKER) : WORKER;
}

/**
 * Makes an element. Properties: `class`, `on…` listeners, `data` (object), `style` (custom properties), else attributes;
 * false, null and undefined leave an attribute out.
 * @param {string} tag
 * @param {Record<string, any> | null} [properties]
 * @param {...(Child | Child[])} children
 * @returns {any}
 */
export function h(tag, properties, ...children) {
  const element = tag.startsWith('svg:')
    ? document.createElementNS(SVG, tag.slice(4))
    : document.createElement(tag);
  setProperties(element, properties || {});
  element.append(...nodes(children));
  return element;
}

/** @param {Element} element @param {Record<string, any>} properties */
export function setProperties(element, properties) {
  for (const [name, value] of Object.entries(properties)) {
    if (name.startsWith('on') && typeof value === 'function') {
      element.addEventListener(name.slice(2).toLowerCase(), value);
    } else if (name === 'data') {
      for (const [key, text] of Object.entries(value)) {
        if (text !== undefined && text !== null) /** @type {HTMLElement} */ (element).dataset[key] = String(text);
      }
    } else if (name === 'style') {
      for (const [key, text] of Object.entries(value)) /** @type {HTMLElement} */ (element).style.setProperty(key, String(text));
    } else if (name === 'value' || name === 'checked' || name === 'disabled' || name === 'selected' || name === 'hidden' || name === 'open') {
      /** @type {any} */ (element)[name] = value;
    } else if (value !== false && value !== null && value !== undefined) {
      element.setAttribute(name, value === true ? '' : String(value));
    }
  }
}

/** @param {(Child | Child[])[]} children @returns {(Node | string)[]} */
function nodes(children) {
  /** @type {(Node | string)[]} */
  const list = [];
  for (const child of children.flat()) {
    if (child === null || child === undefined || child === false) continue;
    list.push(typeof child === 'number' ? String(child) : child);
  }
  return list;
}

/** Replaces all children. @param {Element} element @param {...(Child | Child[])} children */
export function fill(element, ...children) {
  element.replaceChildren(...nodes(children));
}

/** Sets text only where it differs, so that selections survive. @param {Node} node @param {string} text */
export function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

/**
 * Shows HTML that the server rendered and sanitized. Nothing else may be passed here.
 * @param {Element} element @param {string} html
 */
export function setServerHtml(element, html) {
  element.innerHTML = /** @type {any} */ (policy ? policy.createHTML(html) : html);
}

/** Elements that a keyed list made, by key. @type {WeakMap<Element, Map<string, any>>} */
const lists = new WeakMap();

/**
 * Brings the children of `parent` in line with `items`: elements of known keys are kept and updated in place.
 * @template T
 * @param {Element} parent
 * @param {T[]} items
 * @param {(item: T) => string} keyOf
 * @param {(item: T) => any} make
 * @param {(element: any, item: T) => void} [update]
 */
export function keyed(parent, items, keyOf, make, update) {
  const known = lists.get(parent) || new Map();
  const next = new Map();
  let place = parent.firstChild;
  for (const item of items) {
    const key = keyOf(item);
    if (next.has(key)) continue;
    let element = known.get(key);
    if (element && element.parentNode !== parent) element = undefined;
    if (!element) element = make(item);
    else if (update) update(element, item);
    next.set(key, element);
    if (element === place) place = place?.nextSibling ?? null;
    else parent.insertBefore(element, place);
  }
  for (const [key, element] of known) if (!next.has(key)) element.remove();
  lists.set(parent, next);
}

/** Calls `draw` once per animation frame, however often it is asked. @param {() => void} draw */
export function scheduler(draw) {
  let asked = false;
  return () => {
    if (asked) return;
    asked = true;
    const go = () => { asked = false; draw(); };
    if (document.hidden) setTimeout(go, 200);
    else requestAnimationFrame(go);
  };
}

/** Says something to people who use a screen reader. @param {string} text */
export function announce(text) {
  const place = document.getElementById('announcements');
  if (place) place.textContent = text;
}
