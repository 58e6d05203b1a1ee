// Slash commands of the composer. They are client code: the server never interprets the text of a message.
// @ts-check

/** Commands that begin with what is typed. @param {string} _text @returns {{typed: string, help: string}[]} */
export function completions(_text) {
  return [];
}

/** Carries a command out; false if it is none, so that it is sent as text. @param {string} _text @param {any} _view */
export async function runSlashCommand(_text, _view) {
  return false;
}
