// Icons of the page, drawn on a grid of 24: lines of one width that take the colour of the text around them.
// @ts-check

import {h} from './dom.js';

/** Paths of each icon. @type {Record<string, string>} */
const PATHS = {
  board: 'M4 5h7v6H4zM13 5h7v9h-7zM4 13h7v6H4zM13 16h7v3h-7z',
  sessions: 'M4 5h16v11H9l-5 4zM8 9h8M8 12h5',
  agents: 'M12 3l8 4.5v9L12 21l-8-4.5v-9zM12 12l8-4.5M12 12v9M12 12L4 7.5',
  schedules: 'M12 4a8 8 0 1 0 0 16a8 8 0 1 0 0-16M12 8v4l3 2',
  connectors: 'M9 15l6-6M10 6l2-2a4 4 0 0 1 6 6l-2 2M14 18l-2 2a4 4 0 0 1-6-6l2-2',
  permissions: 'M12 3l7 3v5c0 5-3 8-7 10c-4-2-7-5-7-10V6zM9 12l2 2l4-4',
  usage: 'M4 20h16M6 20v-6M11 20V6M16 20v-9',
  settings: 'M4 7h9M17 7h3M4 17h3M11 17h9M13 7a2 2 0 1 0 4 0a2 2 0 1 0-4 0M7 17a2 2 0 1 0 4 0a2 2 0 1 0-4 0',
  more: 'M5 12h.01M12 12h.01M19 12h.01',
  search: 'M11 4a7 7 0 1 0 0 14a7 7 0 1 0 0-14M16 16l4 4',
  close: 'M6 6l12 12M18 6L6 18',
  star: 'M12 4l2.4 5l5.6.7l-4.1 3.8l1.1 5.5l-5-2.8l-5 2.8l1.1-5.5L4 9.700l5.6-.7z',
  attach: 'M19 11l-7.500 7.500a4.500 4.500 0 0 1-6.400-6.400l8-8a3 3 0 0 1 4.300 4.300l-8 8a1.500 1.500 0 0 1-2.100-2.100L14.500 7',
  plus: 'M12 5v14M5 12h14',
  play: 'M8 5l11 7l-11 7z',
  pause: 'M8 5v14M16 5v14',
  trash: 'M5 7h14M10 7V4h4v3M7 7l1 13h8l1-13',
};

/** An icon that says nothing to screen readers: what it stands beside has the name. @param {string} name */
export function icon(name) {
  return h('svg:svg', {class: `icon icon-${name}`, viewBox: '0 0 24 24', 'aria-hidden': 'true', focusable: 'false'}, h('svg:path', {d: PATHS[name] ?? ''}));
}
