// Notifications of the browser while a page is open.
// @ts-check

/** @param {import('./board_store.js').BoardStore} _board */
export function watchNotifications(_board) {}
