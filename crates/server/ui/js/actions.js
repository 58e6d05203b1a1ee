// Slash commands and keyboard shortcuts. Generated from crates/protocol/src/actions.rs by `cargo xtask generate`.
// @ts-check

/** @typedef {{name: string, aliases: string[], usage: string, argument: string, help: string, session: boolean}} Action */
/** @typedef {{name: string, keys: string, help: string, where: string}} Shortcut */

/** @type {Action[]} */
export const ACTIONS = [
  {name: 'help', aliases: ['?'], usage: '', argument: 'none', help: 'List these commands, and what can be typed besides.', session: false},
  {name: 'model', aliases: [], usage: '[PROVIDER/MODEL]', argument: 'model', help: 'Show the model, or use another one from the next message on.', session: false},
  {name: 'agent', aliases: ['agents'], usage: '[NAME [MESSAGE]]', argument: 'agent', help: 'List the agents, or begin a new conversation with one.', session: false},
  {name: 'mode', aliases: [], usage: '[plan|ask|accept-edits|auto|bypass]', argument: 'mode', help: 'Show how much may happen without asking, or change it for this session.', session: false},
  {name: 'new', aliases: [], usage: '[MESSAGE]', argument: 'text', help: 'Begin a new conversation with the same agent; the old one is kept.', session: false},
  {name: 'clear', aliases: [], usage: '', argument: 'none', help: 'Forget what was said, and stay in the session; its journal is kept.', session: true},
  {name: 'compact', aliases: [], usage: '[FOCUS]', argument: 'text', help: 'Summarise the older part of the conversation for the agent; say what to keep, if you like.', session: true},
  {name: 'sessions', aliases: [], usage: '[all]', argument: 'text', help: 'List the sessions of this folder, or all of them.', session: false},
  {name: 'resume', aliases: ['continue'], usage: 'ID|NAME', argument: 'session', help: 'Go on with another session.', session: false},
  {name: 'rename', aliases: [], usage: 'NAME', argument: 'text', help: 'Give the session a name.', session: true},
  {name: 'switch', aliases: [], usage: 'AGENT [MESSAGE]', argument: 'agent', help: 'Hand the conversation over to another agent, which knows all that was said.', session: true},
  {name: 'back', aliases: [], usage: '[MESSAGE]', argument: 'text', help: 'Go back to the agent before /switch; it is told in a summary what happened since.', session: true},
  {name: 'tasks', aliases: ['bg'], usage: '', argument: 'none', help: 'List agents and programs in background.', session: false},
  {name: 'stop', aliases: [], usage: 'TASK', argument: 'task', help: 'Stop an agent or program in background.', session: false},
  {name: 'undo', aliases: [], usage: '', argument: 'none', help: 'Take back the file changes of the last turn, after a preview; files changed since are kept.', session: true},
  {name: 'permissions', aliases: [], usage: '', argument: 'none', help: 'List what agents ask, and the saved permission rules.', session: false},
  {name: 'cost', aliases: ['usage'], usage: '', argument: 'none', help: 'Show the tokens and the cost of this session.', session: true},
  {name: 'status', aliases: [], usage: '', argument: 'none', help: 'Show agent, model, mode, folder and session.', session: false},
  {name: 'quit', aliases: ['exit', 'q'], usage: '', argument: 'none', help: 'Leave; the session is kept.', session: false},
];

/** @type {Shortcut[]} */
export const SHORTCUTS = [
  {name: 'palette', keys: 'Ctrl+K', help: 'Open the command palette.', where: 'everywhere'},
  {name: 'search', keys: '/', help: 'Search sessions.', where: 'everywhere'},
  {name: 'help', keys: '?', help: 'List the shortcuts.', where: 'everywhere'},
  {name: 'go-board', keys: 'g b', help: 'Go to the board.', where: 'everywhere'},
  {name: 'go-sessions', keys: 'g s', help: 'Go to the sessions.', where: 'everywhere'},
  {name: 'go-agents', keys: 'g a', help: 'Go to the agents.', where: 'everywhere'},
  {name: 'go-schedules', keys: 'g d', help: 'Go to the schedules.', where: 'everywhere'},
  {name: 'go-connectors', keys: 'g c', help: 'Go to the connectors.', where: 'everywhere'},
  {name: 'go-permissions', keys: 'g p', help: 'Go to the permissions.', where: 'everywhere'},
  {name: 'go-usage', keys: 'g u', help: 'Go to the usage.', where: 'everywhere'},
  {name: 'go-settings', keys: 'g ,', help: 'Go to the settings.', where: 'everywhere'},
  {name: 'go-trace', keys: 'g t', help: 'Show when the agents of the open session worked.', where: 'session'},
  {name: 'new', keys: 'n', help: 'Begin a new session.', where: 'everywhere'},
  {name: 'next', keys: 'j', help: 'Go to the next row or card.', where: 'everywhere'},
  {name: 'previous', keys: 'k', help: 'Go to the previous row or card.', where: 'everywhere'},
  {name: 'open', keys: 'Enter', help: 'Open the row.', where: 'lists'},
  {name: 'allow', keys: 'x', help: 'Allow the request once: the chosen one, else the first.', where: 'everywhere'},
  {name: 'deny', keys: 'Shift+X', help: 'Deny the request: the chosen one, else the first.', where: 'everywhere'},
  {name: 'parent', keys: '[', help: 'Go to the agent above.', where: 'session'},
  {name: 'child', keys: ']', help: 'Go to the first agent below.', where: 'session'},
  {name: 'stop', keys: '.', help: 'Stop what the session works on.', where: 'everywhere'},
  {name: 'expand', keys: 'e', help: 'Open or close the tool calls.', where: 'session'},
];
