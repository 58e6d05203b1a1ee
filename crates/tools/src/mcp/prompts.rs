//! Prompts of servers: text templates that the user sends to an agent as `/mcp__server__prompt`.
//!
//! Only the user can use them, and only those that the server lists.

use rmcp::model::{JsonObject, Prompt as Listing, Role};
use serde::Serialize;
use serde_json::Value;

use super::{
    Error,
    connection::McpConnection,
    names, result_content,
    sanitize::{DESCRIPTION, sanitize_text},
};

/// Characters of a prompt.
const LONGEST: usize = 100_000;

/// A prompt, as it is listed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct McpPrompt {
    /// What people type behind a slash.
    pub name: String,
    /// What its server says it is for.
    pub description: String,
    /// What it takes.
    pub arguments: Vec<McpPromptArgument>,
    /// What its server calls it.
    #[serde(skip)]
    listed_as: String,
}

/// Something to be filled in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct McpPromptArgument {
    /// Its name.
    pub name: String,
    /// Whether it must be filled in.
    pub required: bool,
}

/// A prompt as the user typed it: its name, and words for its arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct McpPromptRequest {
    /// As it is listed.
    pub name: String,
    /// `argument=value`, or values in the order of the arguments.
    pub words: Vec<String>,
}

impl McpPromptRequest {
    /// What a text asks for, if it begins with the name of a prompt.
    pub fn read(text: &str) -> Option<Self> {
        let text = text.trim().strip_prefix('/')?;
        let mut words = text.split_whitespace().map(str::to_owned);
        let name = words
            .next()
            .filter(|name| name.starts_with(names::PREFIX))?;
        Some(Self {
            name,
            words: words.collect(),
        })
    }

    /// The values for these blanks. One blank takes all the words there are.
    fn filling(&self, blanks: &[McpPromptArgument]) -> Result<JsonObject, Error> {
        let mut values = JsonObject::new();
        let mut given = Vec::new();
        for word in &self.words {
            match word.split_once('=') {
                Some((name, value)) if blanks.iter().any(|blank| blank.name == name) => {
                    values.insert(name.to_owned(), value.into());
                }
                _ => given.push(word.as_str()),
            }
        }
        let open: Vec<&McpPromptArgument> = blanks
            .iter()
            .filter(|blank| !values.contains_key(&blank.name))
            .collect();
        if given.len() > open.len() && open.is_empty() {
            return Err(Error::Refused(format!(
                "`{}` takes no more words: {}",
                self.name,
                takes(blanks)
            )));
        }
        for (at, blank) in open.iter().enumerate() {
            let is_last = at + 1 == open.len();
            let value = if is_last {
                given.get(at..).unwrap_or_default().join(" ")
            } else {
                given
                    .get(at)
                    .map_or_else(String::new, |word| (*word).to_owned())
            };
            if !value.is_empty() {
                values.insert(blank.name.clone(), Value::String(value));
            } else if blank.required {
                return Err(Error::Refused(format!(
                    "`{}` needs `{}`: {}",
                    self.name,
                    blank.name,
                    takes(blanks)
                )));
            }
        }
        Ok(values)
    }
}

fn takes(blanks: &[McpPromptArgument]) -> String {
    if blanks.is_empty() {
        return "it takes nothing".to_owned();
    }
    let names: Vec<String> = blanks
        .iter()
        .map(|blank| format!("{}=…", blank.name))
        .collect();
    format!("it takes {}", names.join(" "))
}

/// Prompts as they are listed to people. Of several that would have one name none is.
pub(super) fn known(server: &str, listed: Vec<Listing>) -> Vec<McpPrompt> {
    let named: Vec<McpPrompt> = listed
        .into_iter()
        .map(|listing| prompt(server, listing))
        .collect();
    let is_alone = |one: &&McpPrompt| {
        named
            .iter()
            .filter(|other| other.name.eq_ignore_ascii_case(&one.name))
            .count()
            == 1
    };
    named.iter().filter(is_alone).cloned().collect()
}

fn prompt(server: &str, listing: Listing) -> McpPrompt {
    let words = listing.description.or(listing.title).unwrap_or_default();
    let blank = |argument: rmcp::model::PromptArgument| McpPromptArgument {
        name: argument.name,
        required: argument.required == Some(true),
    };
    McpPrompt {
        name: names::of_tool(server, &listing.name),
        description: sanitize_text(&words, DESCRIPTION),
        arguments: listing
            .arguments
            .unwrap_or_default()
            .into_iter()
            .map(blank)
            .collect(),
        listed_as: listing.name,
    }
}

/// What a prompt says, filled in.
pub(super) async fn filled(
    server: &str,
    connection: &McpConnection,
    wish: &McpPromptRequest,
) -> Result<String, Error> {
    let known = known(server, connection.prompts().await?);
    let Some(prompt) = known
        .iter()
        .find(|prompt| prompt.name.eq_ignore_ascii_case(&wish.name))
    else {
        let names: Vec<&str> = known.iter().map(|prompt| prompt.name.as_str()).collect();
        let there_are = if names.is_empty() {
            "it has none".to_owned()
        } else {
            format!("it has {}", names.join(", "))
        };
        return Err(Error::Refused(format!(
            "it has no prompt `{}`; {there_are}",
            wish.name
        )));
    };
    let values = wish.filling(&prompt.arguments)?;
    let said = connection.prompt(&prompt.listed_as, values).await?;
    let pieces = said.messages.into_iter().map(|message| {
        let words = result_content::words(message.content);
        match message.role {
            Role::User => words,
            _ => format!("[as if the agent had said] {words}"),
        }
    });
    let text = sanitize_text(&pieces.collect::<Vec<_>>().join("\n\n"), LONGEST);
    Ok(connection.secrets().redact(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_fill_the_blanks_by_name_or_in_order_and_the_last_takes_the_rest() {
        let blank = |name: &str, required| McpPromptArgument {
            name: name.into(),
            required,
        };
        let blanks = [blank("who", true), blank("what", false)];
        let filled = |text: &str| {
            let values = McpPromptRequest::read(text)
                .unwrap()
                .filling(&blanks)
                .map_err(|error| error.to_string());
            values.map(|values| Value::Object(values).to_string())
        };
        assert_eq!(filled("/mcp__s__p Ada").unwrap(), r#"{"who":"Ada"}"#);
        assert_eq!(
            filled("/mcp__s__p Ada two words").unwrap(),
            r#"{"who":"Ada","what":"two words"}"#
        );
        assert_eq!(
            filled("/mcp__s__p what=x=y Ada B").unwrap(),
            r#"{"what":"x=y","who":"Ada B"}"#
        );
        assert!(
            filled("/mcp__s__p")
                .unwrap_err()
                .contains("needs `who`: it takes who=… what=…")
        );
        assert!(
            filled("/mcp__s__p who=a what=b c")
                .unwrap_err()
                .contains("takes no more words")
        );
        for other in ["mcp__s__p", "/help", "say /mcp__s__p", "/"] {
            assert_eq!(McpPromptRequest::read(other), None, "{other}");
        }
    }
}
