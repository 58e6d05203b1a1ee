// Tests of js/front_matter.js.
import assert from 'node:assert/strict';
import test from 'node:test';
import {findField, itemsOf, readFields, setField} from './js/front_matter.js';

const TEXT = `---
# of the team
description: "Reviews: code"
model: anthropic/claude   # the good one
tools:
  - Read
  - Grep
permissionMode: plan
limits:
  emergency_context: 200000
color: teal
---
You review.
---
not front matter: here
`;

test('fields are read as they are written', () => {
  const values = Object.fromEntries(readFields(TEXT).fields.map(field => [field.name, field.value]));
  assert.deepEqual(values, {description: 'Reviews: code', model: 'anthropic/claude', tools: ['Read', 'Grep'], permissionMode: 'plan', limits: null, color: 'teal'});
});

test('a change touches only the lines of its field', () => {
  const changed = setField(TEXT, ['model'], 'mine/fast');
  assert.equal(changed, TEXT.replace('model: anthropic/claude   # the good one', 'model: mine/fast  # the good one'));
  assert.equal(setField(TEXT, ['permission_mode'], 'ask'), TEXT.replace('permissionMode: plan', 'permissionMode: ask'));
  assert.equal(setField(TEXT, ['tools'], ['Read', 'Bash']), TEXT.replace('  - Grep', '  - Bash'));
  assert.equal(setField(TEXT, ['color'], null), TEXT.replace('color: teal\n', ''));
  assert.equal(setField(TEXT, ['limits'], null), TEXT.replace('limits:\n  emergency_context: 200000\n', ''));
});

test('a new field stands at the end of the front matter, which is made if there is none', () => {
  assert.equal(setField(TEXT, ['icon'], '◆'), TEXT.replace('color: teal\n', 'color: teal\nicon: "◆"\n'));
  assert.equal(setField('You help.', ['hidden'], true), '---\nhidden: true\n---\nYou help.');
  assert.equal(setField('You help.', ['hidden'], null), 'You help.');
});

test('what is written is read back, whatever it is', () => {
  const values = ['a: b', ' x', '# no', 'true', '12', '', '- dash', 'say "hi"', "it's", '[a]', 'ä ö', '#1f6f5c', 'a #b', 'two\nlines', '*'];
  for (const value of values) {
    assert.deepEqual(findField(setField('---\na: 1\n---\n', ['description'], value), 'description').value, value);
    const list = [value, 'mcp__*'].filter(Boolean);
    assert.deepEqual(findField(setField('---\na: 1\n---\n', ['tools'], list), 'tools').value, list);
  }
});

test('lists may be written in three ways, and keep theirs', () => {
  const flow = '---\ntools: [Read, "a, b"]\n---\n';
  assert.deepEqual(findField(flow, 'tools').value, ['Read', 'a, b']);
  assert.equal(setField(flow, ['tools'], []), '---\ntools: []\n---\n');
  const commas = '---\ntools: Read, Grep\n---\n';
  assert.deepEqual(itemsOf(findField(commas, 'tools').value), ['Read', 'Grep']);
  assert.equal(setField(commas, ['tools'], ['Read']), '---\ntools: Read\n---\n');
});

test('what is no front matter is left alone', () => {
  for (const text of ['', '---\nopen: end\n', 'text\n---\na: b\n---\n']) assert.deepEqual(readFields(text), {fields: [], end: -1});
  assert.equal(findField('---\nprompt: |\n  a: b\n\n  c: d\nx: 1\n---\n', 'c'), undefined);
});
