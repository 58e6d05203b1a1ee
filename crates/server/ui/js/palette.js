// The command palette and the keyboard shortcuts of the page.
// @ts-check

/** Opens the palette. */
export function openPalette() {}

/** Takes a key that was pressed anywhere on the page. @param {KeyboardEvent} _event */
export function takeKey(_event) {}
