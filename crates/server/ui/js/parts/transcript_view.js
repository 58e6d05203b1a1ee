// Draws a transcript: a keyed list of items that grows upwards, and the reply that is being written.
// @ts-check

import {fill, h, keyed, setServerHtml, setText} from '../dom.js';
import {tellError} from '../toast.js';
import {groupItems, itemElement, updateItem} from './items.js';

/** Distance to the end at which the view follows new text. */
const FOLLOW_PX = 80;

export class TranscriptView {
  /** @param {any} view */
  constructor(view) {
    this.view = view;
    this.list = h('div', {class: 'items', role: 'log', 'aria-label': 'Conversation', 'aria-live': 'off'});
    this.draft = h('article', {class: 'item reply draft', hidden: true},
      this.thinking = h('details', {class: 'thinking', hidden: true}, h('summary', null, 'Thinking…'), this.thinkingText = h('div', {class: 'thinking-text'})),
      this.blocks = h('div', {class: 'prose'}),
      this.openBlock = h('div', {class: 'prose open-block'}));
    this.activity = h('p', {class: 'activity', role: 'status'});
    this.older = h('button', {type: 'button', class: 'ghost older', onclick: () => this.loadOlder()}, 'Show earlier');
    this.newest = h('button', {type: 'button', class: 'jump', hidden: true, onclick: () => this.jump()}, 'Jump to the newest ↓');
    this.element = h('div', {class: 'transcript', tabindex: '0', role: 'region', 'aria-label': 'Transcript', onscroll: () => this.scrolled()},
      this.older, this.list, this.draft, this.activity, this.newest);
    /** @type {import('../transcript.js').Transcript | null} */
    this.transcript = null;
    this.isFollowing = true;
    this.isLoading = false;
    this.shownBlocks = 0;
    this.shownMessage = '';
    this.version = -1;
    this.lastTop = -1;
    // Cards, the keyboard of a phone and pictures change the height: the end stays in view.
    this.sizes = new ResizeObserver(() => this.follow());
    this.sizes.observe(this.element);
    this.sizes.observe(this.list);
  }

  reset() {
    this.transcript = null;
    this.isFollowing = true;
    this.version = -1;
  }

  /** @param {import('../transcript.js').Transcript} transcript */
  draw(transcript) {
    const isOther = transcript !== this.transcript;
    this.transcript = transcript;
    if (isOther) { this.isFollowing = true; this.version = -1; }
    // Deltas change only the draft: the list is not touched for them.
    if (transcript.version !== this.version) {
      this.version = transcript.version;
      const groups = groupItems(transcript.items);
      keyed(this.list, groups, group => group.key, group => itemElement(group, this.view), (element, group) => updateItem(element, group, this.view));
      this.older.hidden = transcript.first <= 1;
    }
    this.drawDraft(transcript.draft);
    this.drawActivity(transcript);
    this.follow();
  }

  /** Shows the end, if the person was there. */
  follow() {
    this.newest.hidden = this.isFollowing && !this.transcript?.isCut;
    if (!this.isFollowing) return;
    this.element.scrollTop = this.element.scrollHeight;
    // The scroll event of this is none of the person.
    this.lastTop = this.element.scrollTop;
  }

  /** @param {any} draft */
  drawDraft(draft) {
    this.draft.hidden = !draft || (!draft.text && !draft.thinking);
    if (!draft) {
      if (this.shownMessage) { fill(this.blocks); setText(this.openBlock, ''); this.shownMessage = ''; this.shownBlocks = 0; }
      return;
    }
    if (this.shownMessage !== draft.message) {
      this.shownMessage = draft.message;
      this.shownBlocks = 0;
      fill(this.blocks);
    }
    if (this.shownBlocks > draft.html.length) { this.shownBlocks = 0; fill(this.blocks); }
    for (; this.shownBlocks < draft.html.length; this.shownBlocks += 1) {
      const block = h('div');
      setServerHtml(block, draft.html[this.shownBlocks] ?? '');
      this.blocks.append(block);
    }
    setText(this.openBlock, draft.open);
    this.thinking.hidden = !draft.thinking;
    if (draft.thinking && this.thinking.open) setText(this.thinkingText, draft.thinking);
  }

  /** What the agent does now, in words. @param {import('../transcript.js').Transcript} transcript */
  drawActivity(transcript) {
    const run = this.view.model.openRun(transcript.session);
    const {phase, activity} = run ?? {};
    let words = '';
    if (run && phase.is === 'queued') words = 'Waits to begin';
    else if (run && phase.is === 'waiting' && phase.reason !== 'permission' && phase.reason !== 'question') words = phase.detail || 'Waits';
    else if (run && activity.is === 'reading') words = `Reads ${activity.tokens} tokens`;
    else if (run && activity.is === 'thinking') words = 'Thinks';
    else if (run && activity.is === 'starting') words = 'Begins';
    else if (run && activity.is === 'calling') words = `${activity.tool} ${activity.title}`;
    setText(this.activity, words);
    this.activity.hidden = !words;
  }

  scrolled() {
    const {scrollTop, scrollHeight, clientHeight} = this.element;
    if (scrollTop === this.lastTop) return;
    this.isFollowing = scrollHeight - scrollTop - clientHeight < FOLLOW_PX;
    this.newest.hidden = this.isFollowing && !this.transcript?.isCut;
    if (scrollTop < 200 && this.transcript && this.transcript.first > 1) this.loadOlder();
  }

  async loadOlder() {
    if (this.isLoading || !this.transcript) return;
    this.isLoading = true;
    const before = this.element.scrollHeight - this.element.scrollTop;
    try {
      await this.transcript.loadOlder();
      this.isFollowing = false;
      this.draw(this.transcript);
      this.element.scrollTop = this.element.scrollHeight - before;
    } catch (error) {
      tellError(error);
    }
    this.isLoading = false;
  }

  async jump() {
    const {transcript} = this;
    if (transcript?.isCut) await transcript.load(transcript.head).catch(tellError);
    this.isFollowing = true;
    if (transcript) this.draw(transcript);
  }
}
