//! Sets attributes of a session: KEY=VALUE, the value as JSON or as text.

use clap::Args;
use rooftree_protocol::{Command, ErrorCode, Problem};
use serde_json::{Map, Value};

use super::change;
use crate::{environment::Environment, exit::Exit, output};

/// Options of `sessions set`.
#[derive(Args, Debug)]
pub struct Arguments {
    /// Which session: its id, the last 4 or more characters of it, or its name
    #[arg(value_name = "ID")]
    session: String,
    /// What to keep about it; a value is JSON or text, and KEY= removes one
    #[arg(value_name = "KEY=VALUE", required = true)]
    attributes: Vec<String>,
}

/// Does it, and prints all attributes as JSON.
pub async fn execute(arguments: Arguments, environment: &Environment) -> Result<Exit, Problem> {
    let mut attributes = Map::new();
    for typed in &arguments.attributes {
        let (key, value) = parsed(typed)?;
        attributes.insert(key, value);
    }
    let command = |session| Command::SetAttributes {
        session,
        attributes,
    };
    let session = change(environment, &arguments.session, command).await?;
    output::print(&output::json_line(&session.attributes)?)?;
    Ok(Exit::DONE)
}

fn parsed(typed: &str) -> Result<(String, Value), Problem> {
    let (key, value) = typed.split_once('=').ok_or_else(|| {
        let message = format!("`{typed}` sets nothing: there is no `=` in it");
        Problem::new(ErrorCode::InvalidArguments, message)
            .fix("write KEY=VALUE, for example ticket=42; KEY= removes one")
    })?;
    let value = match value.trim() {
        "" => Value::Null,
        text => serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.to_owned())),
    };
    Ok((key.trim().to_owned(), value))
}
