//! Parses and validates single values of one `config.toml`.

use std::{
    env,
    path::{Path, PathBuf},
    time::Duration,
};

use rooftree_protocol::{ErrorCode, Problem};
use rooftree_stdx::edit_distance;
use rooftree_tools::PermissionRule;
use serde::de::DeserializeOwned;
use toml::{Table, Value};

use crate::rules;

/// Reads values of one file.
pub(super) struct SettingsReader<'a> {
    pub(super) path: &'a Path,
    /// As the file is written, to say where in it something is wrong.
    pub(super) content: &'a str,
}

impl SettingsReader<'_> {
    pub(super) fn value<T: DeserializeOwned>(
        &self,
        table: &Table,
        key: &str,
    ) -> Result<Option<T>, Problem> {
        let Some(value) = table.get(key) else {
            return Ok(None);
        };
        let read = T::deserialize(value.clone());
        read.map(Some).map_err(|error| {
            let reason = error
                .message()
                .lines()
                .next()
                .unwrap_or_default()
                .to_owned();
            let place = self.line(key, value);
            match expected_in_words(&reason) {
                Some(fix) => wrong(&place, format!("`{key}` cannot be {value}")).fix(fix),
                None => wrong(&place, format!("`{key}` cannot be {value}: {reason}")),
            }
        })
    }

    /// The file with the line in which a key has this value; the file alone if it stands on several lines, or if
    /// the settings were typed.
    fn line(&self, key: &str, value: &Value) -> PathBuf {
        let is_file = self.path.extension().is_some_and(|end| end == "toml");
        let has = |line: &str| {
            line.parse::<Table>()
                .is_ok_and(|table| holds(&table, key, value))
        };
        let mut lines = self.content.lines();
        match lines.position(has).filter(|_| is_file) {
            Some(at) => format!("{}:{}", self.path.display(), at + 1).into(),
            None => self.path.to_owned(),
        }
    }

    /// A table, which has no other keys than these; an empty one if it is not there.
    pub(super) fn table(&self, table: &Table, key: &str, known: &[&str]) -> Result<Table, Problem> {
        match table.get(key) {
            None => Ok(Table::new()),
            Some(Value::Table(inner)) => {
                refuse_all_but(known, inner, key, self.path).map(|()| inner.clone())
            }
            Some(_) => Err(self
                .wrong(format!("`{key}` must be a table"))
                .fix(format!("write [{key}] above its keys"))),
        }
    }

    pub(super) fn dollars(&self, table: &Table, key: &str) -> Result<Option<f64>, Problem> {
        match self.value::<f64>(table, key)? {
            Some(dollars) if !dollars.is_finite() || dollars < 0.0 => Err(self
                .wrong(format!("`{key}` cannot be {dollars}"))
                .fix("write US dollars, for example 0.5")),
            dollars => Ok(dollars),
        }
    }

    /// Something is wrong in this file.
    pub(super) fn wrong(&self, what: String) -> Problem {
        wrong(self.path, what)
    }

    pub(super) fn rules(&self, table: &Table, key: &str) -> Result<Vec<PermissionRule>, Problem> {
        let texts: Vec<String> = self.value(table, key)?.unwrap_or_default();
        let rules: Result<Vec<PermissionRule>, Problem> = texts
            .iter()
            .map(|text| PermissionRule::parse(text))
            .collect();
        rules.and_then(rules::known).map_err(|problem| {
            let told = wrong(self.path, format!("`{key}`: {}", problem.message));
            problem.fix.map_or(told.clone(), |fix| told.fix(fix))
        })
    }

    /// Paths in full; `~/` is the home.
    pub(super) fn paths(&self, table: &Table, key: &str) -> Result<Vec<PathBuf>, Problem> {
        let texts: Vec<String> = self.value(table, key)?.unwrap_or_default();
        let path = |text: &String| {
            let home = || env::var_os("HOME").map(PathBuf::from);
            let path = match text.strip_prefix("~/") {
                Some(rest) => home().map(|home| home.join(rest)),
                None => Some(PathBuf::from(text)),
            };
            path.filter(|path| path.is_absolute()).ok_or_else(|| {
                self.wrong(format!(
                    "`{key}` cannot be {text:?}: it is not a path in full"
                ))
                .fix("begin it with / or ~/")
            })
        };
        texts.iter().map(path).collect()
    }

    pub(super) fn duration(&self, table: &Table, key: &str) -> Result<Option<Duration>, Problem> {
        let Some(text) = self.value::<String>(table, key)? else {
            return Ok(None);
        };
        humantime::parse_duration(&text).map(Some).map_err(|error| {
            wrong(self.path, format!("`{key}` is not a duration: {error}"))
                .fix("write for example \"90s\" or \"10m\"")
        })
    }
}

/// Whether a table, or one in it, has this value under this key: a line may have a dotted key.
fn holds(table: &Table, key: &str, value: &Value) -> bool {
    let mut inner = table.values().filter_map(Value::as_table);
    table.get(key) == Some(value) || inner.any(|table| holds(table, key, value))
}

/// What to write instead, by what the parser expected.
fn expected_in_words(reason: &str) -> Option<String> {
    let (found, expected) = reason.split_once(", expected ")?;
    if let Some(variant) = found.strip_prefix("unknown variant ") {
        let known: Vec<&str> = expected.split('`').skip(1).step_by(2).collect();
        let near = suggestion(variant.trim_matches('`'), &known);
        let near = near.map(|near| format!("did you mean `{near}`? "));
        return Some(format!(
            "{}choose one of {}",
            near.unwrap_or_default(),
            known.join(", ")
        ));
    }
    let words = match expected {
        "u8" | "u16" | "u32" | "u64" | "usize" => "write a whole number, for example 20",
        "i8" | "i16" | "i32" | "i64" => "write a whole number, for example -1 or 20",
        "f32" | "f64" => "write a number, for example 0.5",
        "a boolean" => "write true or false",
        "a string" => "write text in quotes",
        "a sequence" => "write a list, for example [\"one\", \"two\"]",
        "a map" => "write a table: its keys below its name in brackets",
        _ => return None,
    };
    Some(words.to_owned())
}

/// Refuses a key that is not among the known ones.
pub(super) fn refuse_all_but(
    known: &[&str],
    table: &Table,
    name: &str,
    path: &Path,
) -> Result<(), Problem> {
    let Some(key) = table.keys().find(|key| !known.contains(&key.as_str())) else {
        return Ok(());
    };
    let prefix = if name.is_empty() {
        String::new()
    } else {
        format!("{name}.")
    };
    let problem = wrong(path, format!("unknown key `{prefix}{key}`"));
    Err(match suggestion(key, known) {
        Some(likely) => problem.fix(format!("did you mean `{prefix}{likely}`?")),
        None => problem.fix(format!("known keys here: {}", known.join(", "))),
    })
}

/// Something is wrong in a file.
pub(super) fn wrong(path: &Path, what: String) -> Problem {
    Problem::new(
        ErrorCode::InvalidConfig,
        format!("{}: {what}", path.display()),
    )
}

/// Suggests the known word nearest to a misspelt one, if any is near (edit distance).
fn suggestion<'a>(written: &str, known: &[&'a str]) -> Option<&'a str> {
    let most = written.chars().count().div_ceil(3);
    edit_distance::nearest(written, known.iter().copied(), most)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn n_35_what_is_expected_is_said_in_words_of_the_file() {
        let table = [
            (
                "invalid type: string \"abc\", expected u32",
                "write a whole number, for example 20",
            ),
            (
                "invalid type: integer `1`, expected a boolean",
                "write true or false",
            ),
            (
                "unknown variant `yolo`, expected one of `plan`, `ask`, `auto`",
                "choose one of plan, ask, auto",
            ),
            (
                "unknown variant `atuo`, expected one of `plan`, `ask`, `auto`",
                "did you mean `auto`? choose one of plan, ask, auto",
            ),
        ];
        for (reason, words) in table {
            assert_eq!(expected_in_words(reason).as_deref(), Some(words));
        }
        assert_eq!(
            expected_in_words("`x y` is no host"),
            None,
            "our own words stay"
        );
    }

    #[test]
    fn n_35_a_wrong_value_is_told_with_its_line_if_it_is_in_a_file() {
        let content = "model = 'a/b'\n[limits]\nmax_turns = \"many\"\n";
        let table: Table = content.parse().unwrap();
        let limits = table["limits"].as_table().unwrap();
        for (path, told) in [("/etc/config.toml", "/etc/config.toml:3: "), ("-c", "-c: ")] {
            let reader = SettingsReader {
                path: Path::new(path),
                content,
            };
            let problem = reader.value::<u32>(limits, "max_turns").unwrap_err();
            assert_eq!(
                problem.message,
                format!("{told}`max_turns` cannot be \"many\"")
            );
            assert_eq!(
                problem.fix.as_deref(),
                Some("write a whole number, for example 20")
            );
        }
    }

    #[test]
    fn a_slip_of_the_finger_is_understood_and_a_different_word_is_not() {
        let known = ["model", "permission", "limits"];
        assert_eq!(suggestion("modle", &known), Some("model"));
        assert_eq!(suggestion("permision", &known), Some("permission"));
        assert_eq!(suggestion("limit", &known), Some("limits"));
        assert_eq!(suggestion("theme", &known), None);
    }
}
