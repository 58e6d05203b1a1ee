//! Reads one `config.toml`. A key nobody knows is an error: a setting that does nothing
//! would be believed to do something.

use std::{io::ErrorKind, path::Path, time::Duration};

use rooftree_protocol::{ErrorCode, ModelChoice, PermissionMode, Problem};
use rooftree_tools::Rule;
use serde::de::DeserializeOwned;
use toml::{Table, Value};

use super::{Settings, external_agents, nearest::nearest};

/// The keys there are, by table; the empty name is the top.
const KNOWN: [(&str, &[&str]); 3] = [
    ("", &["model", "permission", "limits", "external"]),
    ("permission", &["mode", "allow", "deny"]),
    ("limits", &["max_turns", "timeout"]),
];

/// Reads a file; none if there is none.
pub fn file(path: &Path) -> Result<Option<Settings>, Problem> {
    match std::fs::read_to_string(path) {
        Ok(content) => text(&content, path).map(Some),
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => Ok(None),
        Err(error) => Err(wrong(path, "cannot read the settings".into()).cause(error.to_string())),
    }
}

/// Reads the text of a file.
pub fn text(content: &str, path: &Path) -> Result<Settings, Problem> {
    let table: Table = content.parse().map_err(|error: toml::de::Error| {
        let line = error.span().map_or(1, |span| line_of(content, span.start));
        wrong(path, format!("line {line} is not TOML: {}", error.message()))
    })?;
    refuse_unknown(&table, "", path)?;
    let permission = below(&table, "permission", path)?;
    let limits = below(&table, "limits", path)?;
    let reader = Reader { path };
    Ok(Settings {
        model: reader.value::<ModelChoice>(&table, "model")?,
        mode: reader.value::<PermissionMode>(&permission, "mode")?,
        allow: reader.rules(&permission, "allow")?,
        deny: reader.rules(&permission, "deny")?,
        max_turns: reader.value::<u32>(&limits, "max_turns")?,
        timeout: reader.duration(&limits, "timeout")?,
        external: external_agents::read(&table, path)?,
        remarks: Vec::new(),
    })
}

struct Reader<'a> {
    path: &'a Path,
}

impl Reader<'_> {
    fn value<T: DeserializeOwned>(&self, table: &Table, key: &str) -> Result<Option<T>, Problem> {
        let Some(value) = table.get(key) else { return Ok(None) };
        let read = T::deserialize(value.clone());
        read.map(Some).map_err(|error| {
            let reason = error.message().lines().next().unwrap_or_default().to_owned();
            wrong(self.path, format!("`{key}` cannot be {value}: {reason}"))
        })
    }

    fn rules(&self, table: &Table, key: &str) -> Result<Vec<Rule>, Problem> {
        let texts: Vec<String> = self.value(table, key)?.unwrap_or_default();
        let rules = texts.iter().map(|text| Rule::parse(text));
        rules.collect::<Result<_, _>>().map_err(|problem: Problem| {
            let told = wrong(self.path, format!("`{key}`: {}", problem.message));
            problem.fix.map_or(told.clone(), |fix| told.fix(fix))
        })
    }

    fn duration(&self, table: &Table, key: &str) -> Result<Option<Duration>, Problem> {
        let Some(text) = self.value::<String>(table, key)? else { return Ok(None) };
        humantime::parse_duration(&text).map(Some).map_err(|error| {
            wrong(self.path, format!("`{key}` is not a duration: {error}"))
                .fix("write for example \"90s\" or \"10m\"")
        })
    }
}

fn below(table: &Table, name: &str, path: &Path) -> Result<Table, Problem> {
    match table.get(name) {
        None => Ok(Table::new()),
        Some(Value::Table(inner)) => refuse_unknown(inner, name, path).map(|()| inner.clone()),
        Some(_) => {
            Err(wrong(path, format!("`{name}` must be a table"))
                .fix(format!("write [{name}] above its keys")))
        }
    }
}

fn refuse_unknown(table: &Table, name: &str, path: &Path) -> Result<(), Problem> {
    let known = KNOWN.iter().find(|(table, _)| *table == name).map_or(&[][..], |(_, keys)| keys);
    let Some(key) = table.keys().find(|key| !known.contains(&key.as_str())) else { return Ok(()) };
    let prefix = if name.is_empty() { String::new() } else { format!("{name}.") };
    let problem = wrong(path, format!("unknown key `{prefix}{key}`"));
    Err(match nearest(key, known) {
        Some(likely) => problem.fix(format!("did you mean `{prefix}{likely}`?")),
        None => problem.fix(format!("known keys here: {}", known.join(", "))),
    })
}

/// A mistake in a file.
pub fn wrong(path: &Path, what: String) -> Problem {
    Problem::new(ErrorCode::InvalidConfig, format!("{}: {what}", path.display()))
}

fn line_of(content: &str, at: usize) -> usize {
    content.get(..at).map_or(1, |before| before.matches('\n').count() + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_wrong_is_said_with_a_way_out() {
        let table = [
            ("modle = 'a/b'", "unknown key `modle`", "did you mean `model`?"),
            ("[permission]\nmod = 'ask'", "unknown key `permission.mod`", "did you mean `permission.mode`?"),
            (
                "colour = 'red'",
                "unknown key `colour`",
                "known keys here: model, permission, limits, external",
            ),
            ("permission = 'ask'", "`permission` must be a table", "write [permission]"),
            ("permission.allow = ['Bash(']", "`allow`: `Bash(` is not a rule", "write Tool"),
            ("limits.timeout = 'soon'", "`timeout` is not a duration", "\"90s\""),
        ];
        for (content, message, fix) in table {
            let problem = text(content, Path::new("c.toml")).unwrap_err();
            assert!(problem.message.contains(message), "{problem:?}");
            assert!(problem.fix.clone().unwrap_or_default().contains(fix), "{problem:?}");
            assert_eq!(problem.code, ErrorCode::InvalidConfig);
        }
    }

    #[test]
    fn broken_toml_and_wrong_values_name_their_place() {
        let broken = text("model = 'a/b'\nx = = 1", Path::new("c.toml")).unwrap_err();
        assert!(broken.message.contains("line 2 is not TOML"), "{}", broken.message);
        let mode = text("permission.mode = 'yolo'", Path::new("c.toml")).unwrap_err();
        assert!(mode.message.contains("yolo") && mode.message.contains("accept-edits"), "{}", mode.message);
    }
}
