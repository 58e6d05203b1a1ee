// Reads unified diffs.
// @ts-check

/** @typedef {{kind: 'added' | 'removed' | 'same' | 'gap', text: string, before: number | '', after: number | ''}} UnifiedLine */
/** @typedef {{path: string, added: number, removed: number, lines: UnifiedLine[]}} FileDiff */

/** @param {string} text @returns {FileDiff[]} */
export function parseUnified(text) {
  /** @type {FileDiff[]} */
  const files = [];
  /** @type {FileDiff | null} */
  let file = null;
  let before = 0;
  let after = 0;
  const lines = text.split('\n');
  for (let at = 0; at < lines.length; at += 1) {
    const line = lines[at];
    if (line.startsWith('--- ') && lines[at + 1]?.startsWith('+++ ')) {
      file = {path: pathOf(lines[at + 1].slice(4)) || pathOf(line.slice(4)), added: 0, removed: 0, lines: []};
      files.push(file);
      at += 1;
      continue;
    }
    const hunk = /^@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@(.*)/.exec(line);
    if (hunk) {
      if (!file) { file = {path: '', added: 0, removed: 0, lines: []}; files.push(file); }
      [before, after] = [Number(hunk[1]), Number(hunk[2])];
      if (file.lines.length || hunk[3].trim()) file.lines.push({kind: 'gap', text: hunk[3].trim(), before: '', after: ''});
      continue;
    }
    if (!file || (line === '' && at === lines.length - 1)) continue;
    const content = line.slice(1);
    if (line[0] === '+') { file.lines.push({kind: 'added', text: content, before: '', after: after++}); file.added += 1; }
    else if (line[0] === '-') { file.lines.push({kind: 'removed', text: content, before: before++, after: ''}); file.removed += 1; }
    else if (line[0] === ' ' || line === '') file.lines.push({kind: 'same', text: content, before: before++, after: after++});
  }
  return files;
}

/** @param {string} text */
function pathOf(text) {
  const path = text.split('\t', 1)[0].trim();
  return path === '/dev/null' ? '' : path.replace(/^[ab]\//, '');
}
