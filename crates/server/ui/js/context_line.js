// The context line of a message: what the person has in front of him, as one XML element.
// @ts-check

/** Attributes in the order in which they are written. @type {[string, string][]} */
const ATTRIBUTES = [
  ['panelId', 'panel-id'], ['panelType', 'panel-type'], ['panelTitle', 'panel-title'], ['type', 'type'], ['id', 'id'], ['name', 'name'],
  ['viewName', 'view-name'], ['viewQuery', 'view-query'], ['selection', 'selection'], ['mode', 'mode'],
];

/** What describes an item, and is left out for a view. */
const OF_ITEM = ['type', 'id', 'name'];

/**
 * The line for what is in front of the person. While a view is shown, its item is not told.
 * @param {Record<string, string | string[] | undefined>} panel @returns {string}
 */
export function contextLine(panel) {
  const isView = Boolean(panel.viewName?.length);
  const written = ATTRIBUTES.filter(([key]) => panel[key]?.length && !(isView && OF_ITEM.includes(key))).map(([key, name]) => `${name}="${escape([panel[key]].flat().join(','))}"`);
  return `<context ${written.map(one => `${one} `).join('')}/>`;
}

/** @param {string} text */
function escape(text) {
  return text.replace(/[&<>"\p{Cc}]/gu, letter => ({'&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;'}[letter] ?? `&#${letter.codePointAt(0)};`));
}
