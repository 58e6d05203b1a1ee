// The screens of the navigation.
// @ts-check

/** Name of the screen, path, label, glyph. */
export const SCREENS = [
  ['board', '/', 'Board', '▦'],
  ['sessions', '/sessions', 'Sessions', '☰'],
  ['agents', '/agents', 'Agents', '◆'],
  ['permissions', '/permissions', 'Permissions', '✓'],
  ['usage', '/usage', 'Usage', '∿'],
  ['settings', '/settings', 'Settings', '⚙'],
];
