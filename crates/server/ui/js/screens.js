// The screens of the navigation.
// @ts-check

/** Name of the screen, which is that of its icon too, path, label. @type {[string, string, string][]} */
export const SCREENS = [
  ['board', '/', 'Board'],
  ['sessions', '/sessions', 'Sessions'],
  ['agents', '/agents', 'Agents'],
  ['schedules', '/schedules', 'Schedules'],
  ['connectors', '/connectors', 'Connectors'],
  ['permissions', '/permissions', 'Permissions'],
  ['usage', '/usage', 'Usage'],
  ['settings', '/settings', 'Settings'],
];

/** How many of them stand in the bar of a narrow screen; the others are behind "More". */
export const IN_BAR = 4;
