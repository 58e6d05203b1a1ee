// Which screen belongs to the address, and moving between screens without loading the page anew.
// @ts-check

/** @typedef {{name: string, element: string, module: string, params: Record<string, string>}} Route */

/** Pattern of the path, name for the navigation, custom element, its module. */
const ROUTES = [
  ['/', 'board', 'rt-board', './views/board.js'],
  ['/sessions', 'sessions', 'rt-sessions', './views/sessions.js'],
  ['/s/:session', 'sessions', 'rt-session', './views/session.js'],
  ['/trace/:run', 'sessions', 'rt-trace', './views/trace.js'],
  ['/agents', 'agents', 'rt-agents', './views/agents.js'],
  ['/agents/:agent', 'agents', 'rt-agent-editor', './views/agent_editor.js'],
  ['/schedules', 'schedules', 'rt-schedules', './views/schedules.js'],
  ['/connectors', 'connectors', 'rt-connectors', './views/connectors.js'],
  ['/usage', 'usage', 'rt-usage', './views/usage.js'],
  ['/permissions', 'permissions', 'rt-permissions', './views/permissions.js'],
  ['/settings', 'settings', 'rt-settings', './views/settings.js'],
  ['/welcome', 'board', 'rt-welcome', './views/welcome.js'],
];

/** @param {string} path @returns {Route | null} */
export function match(path) {
  for (const [pattern, name, element, module] of ROUTES) {
    const params = matchPattern(pattern, path);
    if (params) return {name, element, module, params};
  }
  return null;
}

/** @param {string} pattern @param {string} path */
function matchPattern(pattern, path) {
  const wanted = pattern.split('/');
  const given = path.replace(/\/$/, '').split('/');
  if (pattern === '/') return path === '/' || path === '' ? {} : null;
  if (wanted.length !== given.length) return null;
  /** @type {Record<string, string>} */
  const params = {};
  for (let at = 0; at < wanted.length; at += 1) {
    if (wanted[at].startsWith(':')) params[wanted[at].slice(1)] = decodeURIComponent(given[at]);
    else if (wanted[at] !== given[at]) return null;
  }
  return params;
}

/** Goes to another screen. @param {string} path @param {{replace?: boolean}} [options] */
export function go(path, {replace = false} = {}) {
  if (replace) history.replaceState(null, '', path);
  else if (path !== location.pathname + location.search) history.pushState(null, '', path);
  window.dispatchEvent(new Event('rt-route'));
}

/** Links of this page change the screen; all others are left to the browser. */
export function followLinks() {
  document.addEventListener('click', event => {
    if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    const link = /** @type {Element} */ (event.target).closest?.('a[href]');
    const href = link?.getAttribute('href') ?? '';
    if (!link || !href.startsWith('/') || href.startsWith('/api/') || link.hasAttribute('download') || link.getAttribute('target')) return;
    event.preventDefault();
    go(href);
  });
  window.addEventListener('popstate', () => window.dispatchEvent(new Event('rt-route')));
}
