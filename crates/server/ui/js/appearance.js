// Light or dark, text size and motion: choices of this browser.
// @ts-check

const KEY = 'rooftree.appearance';

/** @returns {{theme: string, density: string}} */
export function appearance() {
  try {
    return {theme: 'system', density: 'normal', ...JSON.parse(localStorage.getItem(KEY) ?? '{}')};
  } catch {
    return {theme: 'system', density: 'normal'};
  }
}

/** @param {Partial<{theme: string, density: string}>} [change] */
export function applyAppearance(change) {
  const now = {...appearance(), ...change};
  if (change) localStorage.setItem(KEY, JSON.stringify(now));
  document.documentElement.dataset.theme = now.theme;
  document.documentElement.dataset.density = now.density;
}
