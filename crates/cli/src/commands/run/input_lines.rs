//! Parses standard input as JSON lines: one command of the controlling program per line.

use std::collections::BTreeMap;

use rooftree_protocol::{PermissionDecision, PermissionId, PermissionScope, QuestionId};
use serde::Deserialize;
use tokio::{
    io::{AsyncBufReadExt, BufReader, Stdin},
    sync::mpsc,
};

/// What a line can say.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
pub enum InputCommand {
    /// A message that starts its own run.
    User {
        text: String,
        /// Saying the same with the same key again changes nothing.
        #[serde(default)]
        key: Option<String>,
    },
    /// A message into the running conversation.
    Steer { text: String },
    /// An answer to a question about a call.
    Permission {
        id: PermissionId,
        decision: PermissionDecision,
        #[serde(default)]
        scope: PermissionScope,
        #[serde(default)]
        because: Option<String>,
        /// What the question was about: an answer to another one does not count.
        #[serde(default)]
        digest: Option<String>,
    },
    /// An answer to what an agent asks.
    Answer {
        id: QuestionId,
        /// What is chosen or written, by the questions' names.
        #[serde(default)]
        answers: Option<BTreeMap<String, Vec<String>>>,
        /// Whether no answer is given.
        #[serde(default)]
        decline: bool,
        #[serde(default)]
        because: Option<String>,
    },
    /// Stop the run.
    Cancel,
}

/// The allowed forms of a line, for the error about any other.
pub const ALLOWED: &str = "write one JSON object per line: \
    {\"type\":\"user\",\"text\":…}, {\"type\":\"steer\",\"text\":…}, \
    {\"type\":\"permission\",\"id\":…,\"decision\":\"allow|deny\",\"scope\":\"once|session|project|always\"}, \
    {\"type\":\"answer\",\"id\":…,\"answers\":{NAME:[…]}}, {\"type\":\"answer\",\"id\":…,\"decline\":true}, \
    {\"type\":\"cancel\"}";

impl InputCommand {
    /// Reads a line; says what is wrong with it.
    pub fn parse(line: &[u8]) -> Result<Self, String> {
        let wish: Self = serde_json::from_slice(line).map_err(|error| {
            let start: String = String::from_utf8_lossy(line)
                .trim()
                .chars()
                .take(80)
                .collect();
            format!("a line of standard input was not understood: {error}; it begins with: {start}")
        })?;
        match &wish {
            Self::Answer {
                id,
                answers,
                decline,
                ..
            } if answers.is_some() == *decline => Err(format!(
                "the answer to {id} must have either `answers` or `decline`"
            )),
            _ => Ok(wish),
        }
    }
}

/// What comes from standard input.
#[derive(Debug)]
pub enum InputLine {
    Wish(InputCommand),
    Nonsense(String),
    End,
}

/// Reads lines until there are no more. A line that is wrong does not end it.
pub fn listen() -> mpsc::Receiver<InputLine> {
    let (tx, rx) = mpsc::channel(64);
    tokio::spawn(async move {
        let mut input: BufReader<Stdin> = BufReader::new(tokio::io::stdin());
        let mut line = Vec::new();
        loop {
            line.clear();
            match input.read_until(b'\n', &mut line).await {
                Ok(0) | Err(_) => break,
                Ok(_) if line.trim_ascii().is_empty() => continue,
                Ok(_) => {}
            }
            let typed =
                InputCommand::parse(&line).map_or_else(InputLine::Nonsense, InputLine::Wish);
            if tx.send(typed).await.is_err() {
                return;
            }
        }
        let _ = tx.send(InputLine::End).await;
    });
    rx
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_wish_has_its_line() {
        let id = PermissionId::parse("per_abc").unwrap();
        let question = QuestionId::parse("que_abc").unwrap();
        let table = [
            (
                r#"{"type":"user","text":"hi"}"#,
                InputCommand::User {
                    text: "hi".into(),
                    key: None,
                },
            ),
            (
                r#"{"type":"steer","text":"left"}"#,
                InputCommand::Steer {
                    text: "left".into(),
                },
            ),
            (
                r#"{"type":"permission","id":"per_abc","decision":"allow","scope":"session"}"#,
                InputCommand::Permission {
                    id,
                    decision: PermissionDecision::Allow,
                    scope: PermissionScope::Session,
                    because: None,
                    digest: None,
                },
            ),
            (
                r#"{"type":"answer","id":"que_abc","answers":{"wall":["red"]}}"#,
                InputCommand::Answer {
                    id: question.clone(),
                    answers: Some([("wall".to_owned(), vec!["red".to_owned()])].into()),
                    decline: false,
                    because: None,
                },
            ),
            (
                r#"{"type":"answer","id":"que_abc","decline":true}"#,
                InputCommand::Answer {
                    id: question,
                    answers: None,
                    decline: true,
                    because: None,
                },
            ),
            (r#"{"type":"cancel"}"#, InputCommand::Cancel),
        ];
        for (line, wish) in table {
            assert_eq!(InputCommand::parse(line.as_bytes()), Ok(wish));
        }
    }

    #[test]
    fn a_wrong_line_says_what_is_wrong() {
        let table = [
            ("{", "EOF"),
            (r#"{"type":"dance"}"#, "unknown variant `dance`"),
            ("\u{fffd}", "begins with"),
            (
                r#"{"type":"answer","id":"que_abc"}"#,
                "either `answers` or `decline`",
            ),
            (
                r#"{"type":"answer","id":"que_abc","answers":{},"decline":true}"#,
                "either `answers` or `decline`",
            ),
            (
                r#"{"type":"permission","id":"per_abc","decision":"perhaps"}"#,
                "unknown variant `perhaps`",
            ),
        ];
        for (line, words) in table {
            let said = InputCommand::parse(line.as_bytes()).unwrap_err();
            assert!(said.contains(words), "{said}");
        }
    }
}
