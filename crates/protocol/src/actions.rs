//! Table of user actions: the slash commands of a conversation, with aliases, arguments and help, and the keyboard
//! shortcuts of the page. Every surface and the documentation take names and words from here (`cargo xtask generate`
//! writes `docs/actions.md` and the page's `actions.js`).

mod generated_text;
mod shortcuts;

pub use self::{
    generated_text::{as_javascript, as_markdown},
    shortcuts::{SHORTCUTS, ShortcutInfo, ShortcutPlace},
};

/// Something a person can do in a conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UserAction {
    /// List the actions.
    Help,
    /// Show or change the model.
    Model,
    /// List agents, or begin a conversation with one.
    Agent,
    /// Show or change the permission mode.
    Mode,
    /// Begin a new conversation.
    New,
    /// Forget the context.
    Clear,
    /// Summarise the context.
    Compact,
    /// List sessions.
    Sessions,
    /// Go on with another session.
    Resume,
    /// Name the session.
    Rename,
    /// Hand the conversation over to another agent.
    Switch,
    /// Go back to the agent that handed over.
    Back,
    /// List work in background.
    Tasks,
    /// Stop work in background.
    Stop,
    /// Take back file changes.
    Undo,
    /// Show open requests and saved rules.
    Permissions,
    /// Show what the session used.
    Cost,
    /// Show what the conversation works with.
    Status,
    /// Leave.
    Quit,
}

/// What an action is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ActionTarget {
    /// The program: it can be done at any time.
    Program,
    /// The open session: there must be one.
    Session,
}

/// What the words behind an action are, for completion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ActionArgument {
    /// None are taken.
    None,
    /// Free text.
    Text,
    /// The name of an agent, then free text.
    Agent,
    /// The name of a model.
    Model,
    /// A permission mode.
    Mode,
    /// The id or name of a session.
    Session,
    /// The id of a task.
    Task,
}

/// One row of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ActionInfo {
    /// What it does.
    pub action: UserAction,
    /// How it is typed, without the slash.
    pub name: &'static str,
    /// Other names for the same.
    pub aliases: &'static [&'static str],
    /// The words it takes, as help shows them.
    pub usage: &'static str,
    /// What these words are.
    pub argument: ActionArgument,
    /// What it does, in one sentence.
    pub help: &'static str,
    /// What it is about.
    pub target: ActionTarget,
}

const fn row(
    action: UserAction,
    name: &'static str,
    (usage, argument): (&'static str, ActionArgument),
    help: &'static str,
) -> ActionInfo {
    ActionInfo {
        action,
        name,
        aliases: &[],
        usage,
        argument,
        help,
        target: ActionTarget::Program,
    }
}

impl ActionInfo {
    const fn or(self, aliases: &'static [&'static str]) -> Self {
        Self { aliases, ..self }
    }

    const fn in_session(self) -> Self {
        Self {
            target: ActionTarget::Session,
            ..self
        }
    }

    /// How it is typed: `/model [NAME]`.
    pub fn typed(&self) -> String {
        format!("/{} {}", self.name, self.usage)
            .trim_end()
            .to_owned()
    }
}

const NOTHING: (&str, ActionArgument) = ("", ActionArgument::None);

/// The table. Help lists the actions in this order.
pub const ACTIONS: &[ActionInfo] = &[
    row(
        UserAction::Help,
        "help",
        NOTHING,
        "List these commands, and what can be typed besides.",
    )
    .or(&["?"]),
    row(
        UserAction::Model,
        "model",
        ("[PROVIDER/MODEL]", ActionArgument::Model),
        "Show the model, or use another one from the next message on.",
    ),
    row(
        UserAction::Agent,
        "agent",
        ("[NAME [MESSAGE]]", ActionArgument::Agent),
        "List the agents, or begin a new conversation with one.",
    )
    .or(&["agents"]),
    row(
        UserAction::Mode,
        "mode",
        ("[plan|ask|accept-edits|auto|bypass]", ActionArgument::Mode),
        "Show how much may happen without asking, or change it for this session.",
    ),
    row(
        UserAction::New,
        "new",
        ("[MESSAGE]", ActionArgument::Text),
        "Begin a new conversation with the same agent; the old one is kept.",
    ),
    row(
        UserAction::Clear,
        "clear",
        NOTHING,
        "Forget what was said, and stay in the session; its journal is kept.",
    )
    .in_session(),
    row(
        UserAction::Compact,
        "compact",
        ("[FOCUS]", ActionArgument::Text),
        "Summarise the older part of the conversation for the agent; say what to keep, if you like.",
    )
    .in_session(),
    row(
        UserAction::Sessions,
        "sessions",
        ("[all]", ActionArgument::Text),
        "List the sessions of this folder, or all of them.",
    ),
    row(
        UserAction::Resume,
        "resume",
        ("ID|NAME", ActionArgument::Session),
        "Go on with another session.",
    )
    .or(&["continue"]),
    row(
        UserAction::Rename,
        "rename",
        ("NAME", ActionArgument::Text),
        "Give the session a name.",
    )
    .in_session(),
    row(
        UserAction::Switch,
        "switch",
        ("AGENT [MESSAGE]", ActionArgument::Agent),
        "Hand the conversation over to another agent, which knows all that was said.",
    )
    .in_session(),
    row(
        UserAction::Back,
        "back",
        ("[MESSAGE]", ActionArgument::Text),
        "Go back to the agent before /switch; it is told in a summary what happened since.",
    )
    .in_session(),
    row(
        UserAction::Tasks,
        "tasks",
        NOTHING,
        "List agents and programs in background.",
    )
    .or(&["bg"]),
    row(
        UserAction::Stop,
        "stop",
        ("TASK", ActionArgument::Task),
        "Stop an agent or program in background.",
    ),
    row(
        UserAction::Undo,
        "undo",
        NOTHING,
        "Take back the file changes of the last turn, after a preview; files changed since are kept.",
    )
    .in_session(),
    row(
        UserAction::Permissions,
        "permissions",
        NOTHING,
        "List what agents ask, and the saved permission rules.",
    ),
    row(
        UserAction::Cost,
        "cost",
        NOTHING,
        "Show the tokens and the cost of this session.",
    )
    .or(&["usage"])
    .in_session(),
    row(
        UserAction::Status,
        "status",
        NOTHING,
        "Show agent, model, mode, folder and session.",
    ),
    row(
        UserAction::Quit,
        "quit",
        NOTHING,
        "Leave; the session is kept.",
    )
    .or(&["exit", "q"]),
];

/// The action with this name or alias, without case.
pub fn action(name: &str) -> Option<&'static ActionInfo> {
    ACTIONS.iter().find(|row| {
        std::iter::once(&row.name)
            .chain(row.aliases)
            .any(|known| known.eq_ignore_ascii_case(name))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_and_alias_means_one_action_and_every_help_is_a_sentence() {
        let mut names: Vec<&str> = Vec::new();
        for row in ACTIONS {
            for name in std::iter::once(&row.name).chain(row.aliases) {
                assert!(!names.contains(name), "{name} is there twice");
                assert_eq!(action(name), Some(row));
                names.push(name);
            }
            assert!(row.help.ends_with('.'), "{}", row.name);
            assert_eq!(row.usage.is_empty(), row.argument == ActionArgument::None);
        }
        assert_eq!(action("nosuch"), None);
        assert!(as_markdown().contains("| `/switch AGENT [MESSAGE]` |"));
    }
}
