//! Slash commands of chats: parses `/new`, `/stop`, `/approve 2` and so on, carries them out and answers in the chat.
//!
//! The runtime does not know them: what arrives by any other way than a chat is text.

mod conversations;
mod requests;

use rooftree_connectors::Inbound;
use rooftree_protocol::{
    actions::{UserAction, action},
    command::{Command, CommandReply},
};
use rooftree_runtime::Error;

use super::chat_inbox::{ChatInbox, KnownSender, is_final};

/// A command as it was typed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SlashCommand<'text> {
    /// Its name, without the slash and the name of a bot.
    name: &'text str,
    /// What follows.
    words: &'text str,
}

/// What a command does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ChatAction {
    Help,
    New,
    Reset,
    Stop,
    Status,
    Sessions,
    Resume,
    Agent,
    Switch,
    Back,
    Approve,
    Deny,
    Usage,
}

/// Commands of chats: name, what they take, and what they do. Names and words are those of the table of actions where it
/// has them.
pub(super) const CHAT_COMMANDS: [(&str, &str, &str); 13] = [
    (
        "new",
        "[MESSAGE]",
        "begin a new conversation; the old one is kept",
    ),
    (
        "reset",
        "",
        "forget what was said, and stay in the conversation",
    ),
    ("stop", "", "stop what is being worked on"),
    ("status", "", "show agent, session and what is going on"),
    ("sessions", "", "list your conversations"),
    ("resume", "ID|NAME", "go on with another conversation"),
    (
        "agent",
        "[NAME [MESSAGE]]",
        "list the agents, or begin with one",
    ),
    (
        "switch",
        "AGENT [MESSAGE]",
        "hand the conversation over to another agent",
    ),
    ("back", "[MESSAGE]", "go back to the conversation before"),
    (
        "approve",
        "[N]",
        "allow what is asked; without a number, list it",
    ),
    ("deny", "N [WHY]", "refuse what is asked"),
    ("usage", "", "show tokens and cost of this conversation"),
    ("help", "", "list these commands"),
];

impl<'text> SlashCommand<'text> {
    /// A message that is a command: it begins with a slash and a plain word. A path, or a slash further inside, is text.
    pub(super) fn parse(text: &'text str) -> Option<Self> {
        let rest = text.trim().strip_prefix('/')?;
        let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
        let (word, words) = rest.split_at_checked(end)?;
        let name = word.split_once('@').map_or(word, |(name, _)| name);
        let is_plain = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
        (!name.is_empty() && name.chars().all(is_plain)).then_some(Self {
            name,
            words: words.trim(),
        })
    }

    fn action(&self) -> Option<ChatAction> {
        let name = self.name.to_ascii_lowercase();
        match name.as_str() {
            "start" => return Some(ChatAction::Help),
            "reset" => return Some(ChatAction::Reset),
            "approve" => return Some(ChatAction::Approve),
            "deny" => return Some(ChatAction::Deny),
            _ => {}
        }
        Some(match action(&name)?.action {
            UserAction::Help => ChatAction::Help,
            UserAction::New => ChatAction::New,
            UserAction::Clear => ChatAction::Reset,
            UserAction::Stop => ChatAction::Stop,
            UserAction::Status => ChatAction::Status,
            UserAction::Sessions => ChatAction::Sessions,
            UserAction::Resume => ChatAction::Resume,
            UserAction::Agent => ChatAction::Agent,
            UserAction::Switch => ChatAction::Switch,
            UserAction::Back => ChatAction::Back,
            UserAction::Cost => ChatAction::Usage,
            UserAction::Permissions => ChatAction::Approve,
            _ => return None,
        })
    }
}

impl ChatInbox {
    /// Carries out a command and answers it. Whatever cannot be done is answered with why.
    pub(super) async fn command(
        &self,
        inbound: &Inbound,
        sender: &KnownSender,
        command: SlashCommand<'_>,
    ) -> Result<(), Error> {
        let done = self.perform(inbound, sender, command).await;
        let words = match done {
            Ok(words) => words,
            Err(error) if is_final(&error) => {
                let problem = error.problem();
                match problem.fix {
                    Some(fix) => format!("{}: {fix}", problem.message),
                    None => problem.message,
                }
            }
            Err(error) => return Err(error),
        };
        if words.is_empty() {
            return Ok(());
        }
        self.tell(inbound, &words).await
    }

    async fn perform(
        &self,
        inbound: &Inbound,
        sender: &KnownSender,
        command: SlashCommand<'_>,
    ) -> Result<String, Error> {
        let words = command.words;
        match command.action() {
            None => Ok(format!(
                "There is no command /{}.\n\n{}",
                command.name,
                help()
            )),
            Some(ChatAction::Help) => Ok(help()),
            Some(ChatAction::New) => self.begin(inbound, sender, (None, words)).await,
            Some(ChatAction::Reset) => self.reset(sender).await,
            Some(ChatAction::Stop) => self.stop_run(sender).await,
            Some(ChatAction::Status) => self.status(sender).await,
            Some(ChatAction::Sessions) => self.sessions(sender).await,
            Some(ChatAction::Resume) => self.resume(inbound, sender, words).await,
            Some(ChatAction::Agent) => self.agent(inbound, sender, words).await,
            Some(ChatAction::Switch) => self.switch(inbound, sender, words).await,
            Some(ChatAction::Back) => self.back(inbound, sender, words).await,
            Some(ChatAction::Approve) => self.approve(inbound, sender, words).await,
            Some(ChatAction::Deny) => self.deny(inbound, sender, words).await,
            Some(ChatAction::Usage) => self.usage(sender).await,
        }
    }

    pub(super) async fn send_command(
        &self,
        sender: &KnownSender,
        command: Command,
    ) -> Result<CommandReply, Error> {
        self.handle.send(&sender.who, command).await
    }
}

fn help() -> String {
    let lines = CHAT_COMMANDS.iter().map(|(name, usage, what)| {
        let typed = format!("/{name} {usage}");
        format!("{}: {what}", typed.trim_end())
    });
    let lines: Vec<String> = lines.collect();
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_message_that_begins_with_a_plain_word_behind_a_slash_is_a_command() {
        let table = [
            ("/new", Some(("new", ""))),
            (
                " /agent  writer hello\nthere ",
                Some(("agent", "writer hello\nthere")),
            ),
            ("/new@home_bot now", Some(("new", "now"))),
            ("/usr/bin/env is missing", None),
            ("please /new", None),
            ("/", None),
            ("//", None),
            ("/é", None),
            ("", None),
        ];
        for (text, wanted) in table {
            let found = SlashCommand::parse(text);
            assert_eq!(
                found.map(|found| (found.name, found.words)),
                wanted,
                "{text}"
            );
        }
    }

    #[test]
    fn every_command_of_the_table_does_something() {
        for (name, ..) in CHAT_COMMANDS {
            let command = SlashCommand { name, words: "" };
            assert!(command.action().is_some(), "{name}");
            assert!(help().contains(&format!("/{name}")));
        }
        for name in ["undo", "quit", "nosuch"] {
            let command = SlashCommand { name, words: "" };
            assert_eq!(command.action(), None, "{name}");
        }
    }
}
