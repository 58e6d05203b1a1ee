// The context line of a message: what the person has in front of him, as one XML element.
// @ts-check

/** Attributes in the order in which they are written. @type {[string, string][]} */
const ATTRIBUTES = [
  ['panelId', 'panel-id'], ['panelType', 'panel-type'], ['panelTitle', 'panel-title'], ['type', 'type'], ['id', 'id'], ['name', 'name'],
  ['viewName', 'view-name'], ['viewQuery', 'view-query'], ['selection', 'selection'], ['mode', 'mode'],
];

/** @param {Record<string, string | string[] | undefined>} panel @returns {string} */
export function contextLine(panel) {
  const written = ATTRIBUTES.filter(([key]) => panel[key]?.length).map(([key, name]) => `${name}="${escape([panel[key]].flat().join(','))}"`);
  return `<context ${written.join(' ')}/>`;
}

/** @param {string} text */
function escape(text) {
  return text.replace(/[&<>"\n\r\t]/g, letter => ({'&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', '\n': '&#10;', '\r': '&#13;', '\t': '&#9;'}[letter] ?? letter));
}
