//! Parses `[external.NAME]`: remote agents that answer over HTTP.

use std::{collections::BTreeMap, path::Path, time::Duration};

use rooftree_protocol::Problem;
use rooftree_providers::{
    external_agent::{AnswerMode, ExternalAgentOptions, TIMEOUT},
    http::Secret,
};
use serde::Deserialize;
use toml::{Table, Value};

use super::parse_value::wrong;
use crate::environment::variable;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ExternalAgentTable {
    input_url: String,
    secret_env: String,
    timeout_secs: Option<u64>,
    #[serde(default)]
    mode: ExternalModeValue,
    callback_base: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "lowercase")]
enum ExternalModeValue {
    #[default]
    Sync,
    Async,
}

/// The agents of a file.
pub fn read(table: &Table, path: &Path) -> Result<BTreeMap<String, ExternalAgentOptions>, Problem> {
    match table.get("external") {
        None => Ok(BTreeMap::new()),
        Some(Value::Table(agents)) => agents
            .iter()
            .map(|(name, value)| Ok((name.clone(), agent(name, value, path)?)))
            .collect(),
        Some(_) => {
            Err(wrong(path, "`external` must be a table".into()).fix("write [external.NAME]"))
        }
    }
}

fn agent(name: &str, value: &Value, path: &Path) -> Result<ExternalAgentOptions, Problem> {
    let place = format!("external.{name}");
    let written = ExternalAgentTable::deserialize(value.clone()).map_err(|error| {
        let reason = error
            .message()
            .lines()
            .next()
            .unwrap_or_default()
            .to_owned();
        wrong(path, format!("[{place}]: {reason}")).fix(
            "it has input_url and secret_env, and may have timeout_secs, mode and callback_base",
        )
    })?;
    refuse_no_url(&written.input_url, &format!("{place}.input_url"), path)?;
    if let Some(base) = &written.callback_base {
        refuse_no_url(base, &format!("{place}.callback_base"), path)?;
    }
    if written.timeout_secs == Some(0) {
        return Err(wrong(
            path,
            format!("`{place}.timeout_secs` must be at least 1"),
        ));
    }
    let name = written.secret_env.clone();
    let secret = Secret::from_fn(move || variable(&name));
    Ok(ExternalAgentOptions {
        timeout: written.timeout_secs.map_or(TIMEOUT, Duration::from_secs),
        mode: match written.mode {
            ExternalModeValue::Sync => AnswerMode::Sync,
            ExternalModeValue::Async => AnswerMode::Async,
        },
        callback_base: written.callback_base,
        ..ExternalAgentOptions::new(written.input_url, secret, written.secret_env)
    })
}

fn refuse_no_url(text: &str, place: &str, path: &Path) -> Result<(), Problem> {
    if text.starts_with("http://") || text.starts_with("https://") {
        return Ok(());
    }
    Err(wrong(path, format!("`{place}` is not a URL: `{text}`"))
        .fix("it begins with http:// or https://"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reading(text: &str) -> Result<BTreeMap<String, ExternalAgentOptions>, Problem> {
        read(&text.parse().unwrap(), Path::new("c.toml"))
    }

    #[test]
    fn an_agent_has_a_url_a_secret_and_the_usual_patience() {
        let agents =
            reading("[external.reviewer]\ninput_url = 'http://a.test/in'\nsecret_env = 'S'")
                .unwrap();
        let reviewer = &agents["reviewer"];
        assert_eq!(
            (reviewer.mode, reviewer.timeout),
            (AnswerMode::Sync, Duration::from_secs(30))
        );
        assert_eq!(reviewer.variable, "S");
    }

    #[test]
    fn what_is_wrong_names_the_agent() {
        let good = "[external.a]\ninput_url = 'http://a.test'\nsecret_env = 'S'\n";
        for (text, message) in [
            ("external = 1", "must be a table"),
            (
                "[external.a]\ninput_url = 'http://a.test'",
                "[external.a]: missing field `secret_env`",
            ),
            (
                &format!("{good}mod = 'sync'"),
                "[external.a]: unknown field `mod`",
            ),
            (
                &format!("{good}mode = 'later'"),
                "[external.a]: unknown variant `later`",
            ),
            (&format!("{good}timeout_secs = 0"), "at least 1"),
            (
                &format!("{good}callback_base = 'a.test'"),
                "`external.a.callback_base` is not a URL",
            ),
            (
                "[external.a]\ninput_url = 'a.test'\nsecret_env = 'S'",
                "`external.a.input_url` is not a URL",
            ),
        ] {
            let problem = reading(text).unwrap_err();
            assert!(problem.message.contains(message), "{problem:?}");
        }
    }
}
