//! Completion of a typed line: slash commands and their arguments, and files behind `@`. Pure but for reading directories.

use std::{fs, path::PathBuf};

use rooftree_protocol::actions::{self, ACTIONS, ActionArgument};

use crate::commands::run::slash_prompt::PromptName;

/// Files that are proposed at a time.
const MOST_FILES: usize = 200;

/// The permission modes that can be typed.
pub const MODES: [&str; 5] = ["plan", "ask", "accept-edits", "auto", "bypass"];

/// What can be proposed.
#[derive(Clone, Debug, Default)]
pub struct CompletionSources {
    pub prompts: Vec<PromptName>,
    pub agents: Vec<String>,
    pub models: Vec<String>,
    pub sessions: Vec<String>,
    pub tasks: Vec<String>,
    /// Where `@path` begins.
    pub directory: PathBuf,
}

/// Proposals for the word before the cursor.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Completion {
    /// Where the word begins.
    pub start: usize,
    /// What can stand in its place, in order.
    pub words: Vec<String>,
}

impl CompletionSources {
    /// The proposals for the word that ends at this place of the line.
    pub fn complete(&self, line: &str, cursor: usize) -> Completion {
        let before = line.get(..cursor).unwrap_or(line);
        let start = before.rfind(char::is_whitespace).map_or(0, |at| {
            at + before
                .get(at..)
                .and_then(|rest| rest.chars().next())
                .map_or(1, char::len_utf8)
        });
        let word = before.get(start..).unwrap_or_default();
        if let Some(path) = word.strip_prefix('@') {
            let words = self.files(path).into_iter().map(|path| format!("@{path}"));
            return Completion {
                start,
                words: words.collect(),
            };
        }
        let words = match before.strip_prefix('/') {
            Some(_) if start == 0 => self.commands(word),
            Some(rest) => self.arguments(rest, word),
            None => Vec::new(),
        };
        Completion { start, words }
    }

    /// What a finished slash command takes, to be shown behind the cursor.
    pub fn hint(&self, line: &str) -> Option<String> {
        let name = line.strip_prefix('/')?;
        let usage = match actions::action(name) {
            Some(action) => action.usage,
            None => {
                let mut prompts = self.prompts.iter();
                &prompts.find(|prompt| prompt.name == name)?.arguments
            }
        };
        (!usage.is_empty()).then(|| format!(" {usage}"))
    }

    fn commands(&self, word: &str) -> Vec<String> {
        let actions = ACTIONS.iter().map(|action| action.name);
        let prompts = self.prompts.iter().map(|prompt| prompt.name.as_str());
        let named = actions.chain(prompts).map(|name| format!("/{name} "));
        named.filter(|name| name.starts_with(word)).collect()
    }

    /// Proposals for the first argument of a slash command.
    fn arguments(&self, rest: &str, word: &str) -> Vec<String> {
        let (name, behind) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
        let is_first = behind.trim_start() == word;
        let Some(action) = actions::action(name).filter(|_| is_first) else {
            return Vec::new();
        };
        let matching = |known: &[String]| {
            let lower = word.to_lowercase();
            let found = known
                .iter()
                .filter(|known| known.to_lowercase().starts_with(&lower));
            found.cloned().collect::<Vec<_>>()
        };
        match action.argument {
            ActionArgument::Agent => matching(&self.agents),
            ActionArgument::Model => matching(&self.models),
            ActionArgument::Mode => matching(&MODES.map(str::to_owned)),
            ActionArgument::Session => matching(&self.sessions),
            ActionArgument::Task => matching(&self.tasks),
            ActionArgument::None | ActionArgument::Text => Vec::new(),
        }
    }

    /// Files and directories that begin like this path. Hidden ones only if the name begins with a dot.
    fn files(&self, path: &str) -> Vec<String> {
        let (above, name) = match path.rfind('/') {
            Some(at) => path.split_at(at + 1),
            None => ("", path),
        };
        let entries = fs::read_dir(self.directory.join(above)).into_iter();
        let mut found: Vec<String> = entries
            .flatten()
            .flatten()
            .filter_map(|entry| {
                let file = entry.file_name().into_string().ok()?;
                let is_meant = file.starts_with(name)
                    && (name.starts_with('.') || !file.starts_with('.'))
                    && !file.contains(char::is_whitespace);
                let end = if entry.path().is_dir() { "/" } else { " " };
                is_meant.then(|| format!("{above}{file}{end}"))
            })
            .collect();
        found.sort();
        found.truncate(MOST_FILES);
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sources(directory: PathBuf) -> CompletionSources {
        CompletionSources {
            prompts: vec![PromptName {
                name: "mend".into(),
                arguments: "[what]".into(),
                description: String::new(),
            }],
            agents: vec!["lead".into(), "explore".into()],
            models: vec!["openai/one".into(), "anthropic/two".into()],
            sessions: vec!["ses_1".into()],
            tasks: Vec::new(),
            directory,
        }
    }

    #[test]
    fn commands_agents_models_modes_and_files_are_completed() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("src")).unwrap();
        fs::write(folder.path().join("src/main.rs"), "").unwrap();
        fs::write(folder.path().join(".secret"), "").unwrap();
        let sources = sources(folder.path().to_owned());
        let table: [(&str, usize, &[&str]); 9] = [
            ("/m", 0, &["/model ", "/mode ", "/mend "]),
            ("/agent l", 7, &["lead"]),
            ("/switch ", 8, &["lead", "explore"]),
            ("/model OPEN", 7, &["openai/one"]),
            ("/mode a", 6, &["ask", "accept-edits", "auto"]),
            ("/switch lead wh", 13, &[]),
            ("look at @s", 8, &["@src/"]),
            ("look at @src/", 8, &["@src/main.rs "]),
            ("hello", 0, &[]),
        ];
        for (line, start, words) in table {
            let found = sources.complete(line, line.len());
            assert_eq!(
                (found.start, found.words),
                (start, words.iter().map(|word| (*word).to_owned()).collect()),
                "{line}"
            );
        }
        assert_eq!(sources.hint("/mend").unwrap(), " [what]");
        assert_eq!(sources.hint("/quit"), None);
    }
}
