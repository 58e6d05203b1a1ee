//! Sets the default model and server addresses in the user's `config.toml` where they are not set.

use std::{fs, io::ErrorKind};

use rooftree_protocol::{ErrorCode, Problem};
use rooftree_stdx::atomic_file;
use toml::{Table, Value};

use crate::{environment::Environment, human_format::place, settings::edit};

/// Settings to write where the file does not set them, each with its place.
pub type MissingSettings = Vec<(Vec<String>, String)>;

/// The place of `model`.
pub fn model_key() -> Vec<String> {
    vec!["model".into()]
}

/// Adds those settings that the user's file does not have. Returns what was written, as `key = value`; what cannot be
/// added without rewriting the file is left out.
pub fn add_missing(
    environment: &Environment,
    missing: MissingSettings,
) -> Result<Vec<String>, Problem> {
    let path = &environment.settings;
    let cannot = |what: &str, error: String| {
        Problem::new(
            ErrorCode::InvalidConfig,
            format!("cannot {what} {}", place(path)),
        )
        .cause(error)
    };
    let mut text = match fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound => String::new(),
        Err(error) => return Err(cannot("read", error.to_string())),
    };
    let table: Table = text
        .parse()
        .map_err(|error: toml::de::Error| cannot("read", error.message().to_owned()))?;
    let mut written = Vec::new();
    for (key, value) in missing {
        if is_set(&table, &key) {
            continue;
        }
        let value = Value::from(value);
        if let Some(changed) = edit::with(&text, &key, &value) {
            written.push(format!("{} = {value}", key.join(".")));
            text = changed;
        }
    }
    if !written.is_empty() {
        if let Some(directory) = path.parent() {
            fs::create_dir_all(directory).map_err(|error| cannot("write", error.to_string()))?;
        }
        atomic_file::replace_through_links(path, text.as_bytes())
            .map_err(|error| cannot("write", error.to_string()))?;
    }
    Ok(written)
}

fn is_set(table: &Table, key: &[String]) -> bool {
    match key.split_first() {
        None => true,
        Some((name, rest)) => match table.get(name) {
            Some(Value::Table(inner)) => is_set(inner, rest),
            Some(_) => true,
            None => false,
        },
    }
}
