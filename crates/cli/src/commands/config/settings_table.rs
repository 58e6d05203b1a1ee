//! Table of all settings: where each value comes from and whether it takes effect. To find out, each value is
//! applied alone by the code that merges settings, and the result is compared.

use rooftree_protocol::Problem;
use rooftree_stdx::shorten::shorten;
use serde::Serialize;
use toml::Value;

use crate::{
    human_format::place,
    settings::{
        Settings,
        flatten::{alone, flatten},
        layer::{LayerOrigin, SettingsLayer},
        layers::merged,
        merge::ADDING_UP,
    },
    terminal::sanitize::clean_line,
};

/// Characters of a value that are shown.
const SHOWN: usize = 60;

/// One value from one layer.
#[derive(Clone, Debug, Serialize)]
pub struct SettingRow {
    pub key: String,
    pub value: Value,
    pub standing: &'static str,
    /// The file, with the line.
    pub from: String,
    pub effect: SettingEffect,
    /// What overrides it, or why it has no effect.
    pub note: String,
}

/// The effect of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SettingEffect {
    Counts,
    /// A stronger layer overrides it.
    Overridden,
    /// It changes nothing: this layer may not set it, or the value was the same already.
    Nothing,
}

/// All of them by name, the weakest first.
pub fn settings(layers: &[SettingsLayer]) -> Result<Vec<SettingRow>, Problem> {
    let mut found: Vec<SettingRow> = Vec::new();
    for (index, layer) in layers.iter().enumerate() {
        let below = layers.get(..index).unwrap_or_default();
        for (key, value) in flatten(&layer.table) {
            let changes = changes(below, layer, &key, &value)?;
            let from = from(layer, &key);
            if changes && !adds_up(&key) {
                let weaker = found
                    .iter_mut()
                    .filter(|known| known.key == key && known.effect == SettingEffect::Counts);
                weaker.for_each(|known| {
                    known.effect = SettingEffect::Overridden;
                    known.note = format!("overridden by {from}");
                });
            }
            let (effect, note) = match (changes, layer.origin) {
                (true, _) => (SettingEffect::Counts, String::new()),
                (false, LayerOrigin::Project) => (
                    SettingEffect::Nothing,
                    "no effect: a project can only narrow".to_owned(),
                ),
                (false, _) => (
                    SettingEffect::Nothing,
                    "no effect: it is so already".to_owned(),
                ),
            };
            let (standing, value) = (layer.origin.word(), hidden(&key, value));
            found.push(SettingRow {
                key,
                value,
                standing,
                from,
                effect,
                note,
            });
        }
    }
    found.sort_by(|one, other| one.key.cmp(&other.key));
    Ok(found)
}

fn adds_up(key: &str) -> bool {
    ADDING_UP.contains(&key) || key == "agents" || key.starts_with("hooks.")
}

/// Whether this value alone, merged over the layers below, changes anything.
fn changes(
    below: &[SettingsLayer],
    layer: &SettingsLayer,
    key: &str,
    value: &Value,
) -> Result<bool, Problem> {
    let table = alone(key, value.clone());
    let one = SettingsLayer {
        text: toml::to_string(&table).unwrap_or_default(),
        table,
        ..layer.clone()
    };
    let before = merged(below)?;
    let state = |settings: Settings| {
        let none = Vec::new();
        format!(
            "{:?}",
            Settings {
                remarks: none.clone(),
                typed: none.clone(),
                pinned: none,
                ..settings
            }
        )
    };
    let after = merged(below)?.with(&one);
    // What cannot be said alone is part of something that can.
    Ok(after.map_or(true, |after| state(after) != state(before)))
}

/// The file and the line in which the last part of a key stands first.
fn from(layer: &SettingsLayer, key: &str) -> String {
    if layer.origin == LayerOrigin::Typed {
        return "-c".into();
    }
    let last = key.rsplit('.').next().unwrap_or(key);
    let says = |line: &&str| {
        let line = line.trim_start().trim_start_matches('[');
        let name = line.split(['=', ']']).next().unwrap_or_default().trim();
        !line.starts_with('#')
            && name
                .rsplit('.')
                .next()
                .is_some_and(|part| part.trim_matches(['"', '\'']) == last)
    };
    let place = place(&layer.path);
    match layer.text.lines().position(|line| says(&line)) {
        Some(line) => format!("{place}:{}", line + 1),
        None => place,
    }
}

/// Redacts values that may be keys.
fn hidden(key: &str, value: Value) -> Value {
    let is_private = key.starts_with("mcp.servers.") || key.starts_with("hooks.");
    match value {
        Value::Table(table) if is_private => {
            let blank = |(name, value): (String, Value)| match value {
                Value::Table(inner) if matches!(name.as_str(), "env" | "headers") => {
                    let inner = inner
                        .into_iter()
                        .map(|(name, _)| (name, Value::String("…".into())));
                    (name, Value::Table(inner.collect()))
                }
                value => (name, value),
            };
            Value::Table(table.into_iter().map(blank).collect())
        }
        value => value,
    }
}

impl SettingRow {
    /// The value, short enough for a line.
    pub fn shown(&self) -> String {
        shorten(&clean_line(&self.value.to_string()), SHOWN)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layer(origin: LayerOrigin, text: &str) -> SettingsLayer {
        let path = format!("{}.toml", origin.word()).into();
        SettingsLayer {
            origin,
            path,
            table: text.parse().unwrap(),
            text: text.to_owned(),
        }
    }

    #[test]
    fn every_value_says_where_it_comes_from_and_what_becomes_of_it() {
        let layers = [
            layer(
                LayerOrigin::System,
                "model = 'a/a'\n[permission]\ndeny = ['Bash']",
            ),
            layer(
                LayerOrigin::User,
                "# mine\nmodel = 'b/b'\n\n[limits]\nmax_turns = 10",
            ),
            layer(
                LayerOrigin::Project,
                "[limits]\nmax_turns = 99\n[permission]\ndeny = ['Write']\nmode = 'bypass'",
            ),
            layer(LayerOrigin::Typed, "model = 'c/c'"),
        ];
        let told: Vec<String> = settings(&layers)
            .unwrap()
            .iter()
            .map(|one| {
                format!("{} {} {} {}", one.key, one.shown(), one.from, one.note)
                    .trim()
                    .to_owned()
            })
            .collect();
        assert_eq!(
            told,
            [
                "limits.max_turns 10 user.toml:5",
                "limits.max_turns 99 project.toml:2 no effect: a project can only narrow",
                "model \"a/a\" machine.toml:1 overridden by user.toml:2",
                "model \"b/b\" user.toml:2 overridden by -c",
                "model \"c/c\" -c",
                "permission.deny [\"Bash\"] machine.toml:3",
                "permission.deny [\"Write\"] project.toml:4",
                "permission.mode \"bypass\" project.toml:5 no effect: a project can only narrow",
            ]
        );
    }
}
