// Messages that wait in the inbox: each can be changed or withdrawn until its agent takes it.
// @ts-check

import {pathOf, put, remove} from '../api.js';
import {may} from '../app.js';
import {askText} from '../dialog.js';
import {h, keyed} from '../dom.js';
import {firstLine} from '../format.js';
import {attempt} from '../toast.js';

/** @param {any} place @param {import('../session_model.js').SessionModel} model */
export function queueView(place, model) {
  place.hidden = model.queue.length === 0;
  keyed(place, model.queue, message => `${message.message}-${message.revision}`, message => {
    const text = message.parts.filter((/** @type {any} */ part) => part.type === 'text').map((/** @type {any} */ part) => part.text).join('\n');
    const path = pathOf`/sessions/${model.root}/queue/${message.message}`;
    const change = async () => {
      const next = await askText('Change the message', 'Its place in the queue stays.', text);
      if (next && next !== text) await attempt(() => put(path, {text: next}));
      model.loadQueue();
    };
    const withdraw = async () => { await attempt(() => remove(path)); model.loadQueue(); };
    return h('div', {class: 'queued'}, h('span', {class: 'queued-mark'}, 'Next'), h('span', {class: 'queued-text'}, firstLine(text)),
      may('chat') ? h('button', {type: 'button', class: 'ghost small', onclick: change}, 'Change') : null,
      may('chat') ? h('button', {type: 'button', class: 'ghost small', onclick: withdraw}, 'Withdraw') : null);
  });
}
