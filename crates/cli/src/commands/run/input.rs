//! Standard input as a program's side of the conversation: one wish per line.

use rooftree_protocol::{PermissionDecision, PermissionId, PermissionScope};
use serde::Deserialize;
use tokio::{
    io::{AsyncBufReadExt, BufReader, Stdin},
    sync::mpsc,
};

/// What a line can say.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Wish {
    /// A message that starts its own run.
    User {
        text: String,
        /// Saying the same with the same key again changes nothing.
        #[serde(default)]
        key: Option<String>,
    },
    /// A message into the running conversation.
    Steer { text: String },
    /// An answer to a question.
    Permission {
        id: PermissionId,
        decision: PermissionDecision,
        #[serde(default)]
        scope: PermissionScope,
        #[serde(default)]
        because: Option<String>,
    },
    /// Stop the run.
    Cancel,
}

impl Wish {
    /// Reads a line; says what is wrong with it.
    pub fn parse(line: &[u8]) -> Result<Self, String> {
        serde_json::from_slice(line).map_err(|error| {
            let start: String = String::from_utf8_lossy(line).trim().chars().take(80).collect();
            format!("a line of standard input was not understood: {error}; it begins with: {start}")
        })
    }
}

/// What comes from standard input.
#[derive(Debug)]
pub enum Typed {
    Wish(Wish),
    Nonsense(String),
    End,
}

/// Reads lines until there are no more. A line that is wrong does not end it.
pub fn listen() -> mpsc::Receiver<Typed> {
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
            let typed = Wish::parse(&line).map_or_else(Typed::Nonsense, Typed::Wish);
            if tx.send(typed).await.is_err() {
                return;
            }
        }
        let _ = tx.send(Typed::End).await;
    });
    rx
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_wish_has_its_line() {
        let id = PermissionId::parse("per_abc").unwrap();
        let table = [
            (r#"{"type":"user","text":"hi"}"#, Wish::User { text: "hi".into(), key: None }),
            (r#"{"type":"steer","text":"left"}"#, Wish::Steer { text: "left".into() }),
            (
                r#"{"type":"permission","id":"per_abc","decision":"allow","scope":"session"}"#,
                Wish::Permission {
                    id,
                    decision: PermissionDecision::Allow,
                    scope: PermissionScope::Session,
                    because: None,
                },
            ),
            (r#"{"type":"cancel"}"#, Wish::Cancel),
        ];
        for (line, wish) in table {
            assert_eq!(Wish::parse(line.as_bytes()), Ok(wish));
        }
    }

    #[test]
    fn a_wrong_line_says_what_is_wrong() {
        for (line, words) in
            [("{", "EOF"), (r#"{"type":"dance"}"#, "unknown variant `dance`"), ("\u{fffd}", "begins with")]
        {
            let said = Wish::parse(line.as_bytes()).unwrap_err();
            assert!(said.contains(words), "{said}");
        }
    }
}
