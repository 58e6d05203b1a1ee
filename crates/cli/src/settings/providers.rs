//! Parses `[providers.NAME]`: overrides of base URL, key variable, wire and timeouts.

use std::{collections::BTreeMap, time::Duration};

use rooftree_protocol::Problem;
use serde::Deserialize;
use toml::{Table, Value};

use super::parse_value::SettingsReader;

const KEYS: &[&str] = &["base_url", "key_env", "wire", "timeouts"];
const WAITS: &[&str] = &["connect", "first_byte", "between_events", "total"];

/// What is said about one provider.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProviderSettings {
    /// Where it is.
    pub base_url: Option<String>,
    /// The variable its key is in.
    pub key_env: Option<String>,
    /// What it speaks, for providers that are not built in.
    pub wire: Option<WireName>,
    /// Its timeouts.
    pub waits: ProviderTimeouts,
}

/// The wires there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WireName {
    Anthropic,
    Responses,
    Chat,
    Gemini,
}

/// Timeouts that override the defaults.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProviderTimeouts {
    pub connect: Option<Duration>,
    pub first_byte: Option<Duration>,
    pub between_events: Option<Duration>,
    pub total: Option<Duration>,
}

/// All of them, by name.
pub(super) fn read(
    reader: &SettingsReader<'_>,
    top: &Table,
) -> Result<BTreeMap<String, ProviderSettings>, Problem> {
    let providers = match top.get("providers") {
        None => return Ok(BTreeMap::new()),
        Some(Value::Table(providers)) => providers,
        Some(_) => {
            return Err(reader
                .wrong("`providers` must be a table".into())
                .fix("write [providers.NAME]"));
        }
    };
    let one = |name: &String| {
        let table = reader
            .table(providers, name, KEYS)
            .map_err(|problem| secretly_a_key(problem, providers, name))?;
        Ok((name.clone(), settings(reader, &table)?))
    };
    providers.keys().map(one).collect()
}

fn settings(reader: &SettingsReader<'_>, table: &Table) -> Result<ProviderSettings, Problem> {
    let waits = reader.table(table, "timeouts", WAITS)?;
    Ok(ProviderSettings {
        base_url: reader.value(table, "base_url")?,
        key_env: reader.value(table, "key_env")?,
        wire: reader.value(table, "wire")?,
        waits: ProviderTimeouts {
            connect: reader.duration(&waits, "connect")?,
            first_byte: reader.duration(&waits, "first_byte")?,
            between_events: reader.duration(&waits, "between_events")?,
            total: reader.duration(&waits, "total")?,
        },
    })
}

/// People look for a place to write the key; it is not this one.
fn secretly_a_key(problem: Problem, providers: &Table, name: &str) -> Problem {
    let has = |key: &str| {
        providers
            .get(name)
            .is_some_and(|table| table.get(key).is_some())
    };
    if ["key", "api_key", "apikey", "token"].into_iter().any(has) {
        return problem
            .cause("keys do not belong into this file, which is shown, shared and copied")
            .fix(format!("rooftree auth set {name}"));
    }
    problem
}
