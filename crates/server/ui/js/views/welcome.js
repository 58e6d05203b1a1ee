// First run: the demo without a key, a key of a provider, or a model server that was found on this machine.
// @ts-check

import {get, newKey, post, put} from '../api.js';
import {app, may} from '../app.js';
import {choose} from '../dialog.js';
import {fill, h} from '../dom.js';
import {count} from '../format.js';
import {go} from '../router.js';
import {attempt, toast} from '../toast.js';
import {View} from '../view.js';
import {askKey} from '../parts/key_list.js';
import {failure, loading} from '../parts/screen_state.js';

/** Providers that most people have an account at come first. */
const USUAL = ['anthropic', 'openai', 'google', 'openrouter', 'mistral'];

class Welcome extends View {
  /** Answer of `GET /providers`. @type {any} */
  known;

  open() {
    this.title_ = 'Welcome – Rooftree';
    this.head = h('h1', null, 'Welcome');
    this.intro = h('p', null, '');
    this.local = h('div', null, loading('Looking for model servers on this machine…'));
    this.keyPlace = h('div', {class: 'form-buttons'});
    this.demo = h('button', {type: 'button', class: 'primary', onclick: () => this.startDemo()}, 'See the demo');
    fill(this, h('div', {class: 'screen welcome'}, this.head, this.intro,
      h('div', {class: 'welcome-cards'},
        h('section', {class: 'panel', 'aria-label': 'Demo'}, h('h2', null, 'See the demo'),
          h('p', null, 'An agent asks three others to look around in the folder of this server. Engine and tools are real; the models read from a script. No key, no network, nothing is changed.'),
          may('chat') ? h('div', {class: 'form-buttons'}, this.demo) : null),
        may('admin') ? h('section', {class: 'panel', 'aria-label': 'Key'}, h('h2', null, 'Add a key'),
          h('p', null, 'A key of a provider is stored on the machine of the server, where only its owner can read it. Its usual model becomes the default.'), this.keyPlace) : null,
        may('admin') ? h('section', {class: 'panel', 'aria-label': 'Local models'}, h('h2', null, 'Use a model on this machine'),
          h('p', null, 'llama.cpp, Ollama, LM Studio and vLLM are found by themselves.'), this.local) : null)));
    if (may('admin')) { this.load(); this.findLocal(); } else this.drawIntro(null);
  }

  async load() {
    try {
      this.known = await get('/providers');
      this.drawIntro(this.known.default_model);
      this.drawKeys();
    } catch (error) {
      fill(this.keyPlace, failure(error, () => this.load()));
    }
  }

  /** @param {string | null | undefined} model */
  drawIntro(model) {
    if (model) {
      fill(this.intro, 'Agents use ', h('code', null, model), ' unless they name another model. ', h('a', {href: '/'}, 'To the board'));
    } else {
      fill(this.intro, app.me.is_owner ? 'Nothing is configured yet: no model can run. Choose how to begin.' : 'Nothing is configured yet. The owner of this server can add a key.');
    }
  }

  drawKeys() {
    const rank = (/** @type {any} */ one) => { const at = USUAL.indexOf(one.name); return at < 0 ? USUAL.length : at; };
    const providers = [...this.known.providers].sort((one, other) => rank(one) - rank(other));
    const add = async (/** @type {any} */ provider) => {
      /** @type {any} */
      const next = await askKey(provider);
      if (next) { this.known = next; this.drawIntro(next.default_model); this.drawKeys(); }
    };
    const button = (/** @type {any} */ one) => h('button', {type: 'button', onclick: () => add(one)}, one.key ? `✓ ${one.title}` : one.title);
    fill(this.keyPlace, providers.slice(0, 3).map(button), h('button', {type: 'button', class: 'ghost', onclick: async () => {
      const name = await choose('Provider', providers.map(one => ({value: one.name, label: one.title, hint: one.key ? 'has a key' : ''})));
      const chosen = providers.find(one => one.name === name);
      if (chosen) add(chosen);
    }}, 'Other…'));
  }

  async findLocal() {
    fill(this.local, loading('Looking for model servers on this machine…'));
    try {
      const {servers} = await get('/local-servers');
      const found = servers.filter((/** @type {any} */ one) => one.models.length);
      fill(this.local, found.length === 0 ? h('p', {class: 'muted'}, 'None answers. Start one and look again.') : null,
        h('div', {class: 'form-buttons'}, found.map((/** @type {any} */ server) => h('button', {type: 'button', onclick: () => this.use(server)},
          `Use ${server.provider} at ${new URL(server.base_url).host} (${count(server.models.length, 'model')})`)),
        h('button', {type: 'button', onclick: () => this.findLocal()}, 'Look again')));
    } catch (error) {
      fill(this.local, failure(error, () => this.findLocal()));
    }
  }

  /** @param {any} server */
  async use(server) {
    const model = server.models.length === 1 ? server.models[0] : await choose('Model', server.models.map((/** @type {string} */ value) => ({value, label: value})));
    if (!model) return;
    await attempt(async () => {
      this.known = await put('/models/default', {model});
      this.drawIntro(this.known.default_model);
      toast(`Agents use ${model}.`, {action: 'To the board', act: () => go('/')});
    });
  }

  async startDemo() {
    this.demo.disabled = true;
    await attempt(async () => {
      const session = await post('/demo', {}, {key: newKey()});
      go(`/s/${session.id}`);
    });
    this.demo.disabled = false;
  }
}
customElements.define('rt-welcome', Welcome);
