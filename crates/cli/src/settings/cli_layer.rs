//! Parses settings on the command line: `-c KEY=VALUE`.

use std::path::PathBuf;

use rooftree_protocol::{ErrorCode, Problem};
use toml::{Table, Value};

use super::layer::{LayerOrigin, SettingsLayer};

/// What was typed, as a layer; none if nothing was.
pub(super) fn layer(typed: &[String]) -> Result<Option<SettingsLayer>, Problem> {
    if typed.is_empty() {
        return Ok(None);
    }
    let mut table = Table::new();
    for one in typed {
        merge(&mut table, read(one)?);
    }
    Ok(Some(of(table)))
}

/// One of them as a layer.
pub(super) fn one(typed: &str) -> Result<SettingsLayer, Problem> {
    read(typed).map(of)
}

fn of(table: Table) -> SettingsLayer {
    let text = toml::to_string(&table).unwrap_or_default();
    SettingsLayer {
        origin: LayerOrigin::Typed,
        path: PathBuf::from("-c"),
        table,
        text,
    }
}

/// A value is what TOML makes of it; what TOML does not understand is a text.
fn read(one: &str) -> Result<Table, Problem> {
    let wrong = |why: &str| {
        Problem::new(
            ErrorCode::InvalidArguments,
            format!("-c `{one}` sets nothing: {why}"),
        )
        .fix("write KEY=VALUE, for example -c limits.max_turns=20")
    };
    let (key, value) = one
        .split_once('=')
        .ok_or_else(|| wrong("there is no `=` in it"))?;
    let (key, value) = (key.trim(), value.trim());
    if key.is_empty() || key.contains(['\n', '#', '[']) {
        return Err(wrong("before the `=` must be the name of a setting"));
    }
    let plain = if value.contains('\n') {
        None
    } else {
        format!("{key} = {value}").parse::<Table>().ok()
    };
    let text = || {
        format!("{key} = {}", Value::String(value.to_owned()))
            .parse::<Table>()
            .ok()
    };
    plain
        .or_else(text)
        .ok_or_else(|| wrong("before the `=` must be the name of a setting"))
}

/// Later ones override earlier ones.
fn merge(table: &mut Table, more: Table) {
    for (key, value) in more {
        match (table.get_mut(&key), value) {
            (Some(Value::Table(known)), Value::Table(inner)) => merge(known, inner),
            (_, value) => drop(table.insert(key, value)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn typed(words: &[&str]) -> Result<super::super::Settings, Problem> {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        layer(&words)?.unwrap().settings()
    }

    #[test]
    fn values_are_understood_as_in_a_file_and_need_no_quotes() {
        let settings = typed(&[
            "model=openai/gpt-x",
            "limits.max_turns=3",
            "limits.max_turns = 7",
            "limits.timeout=10m",
            "permission.deny=['Bash(rm *)']",
            "aliases.\"mine/x\"=openai/y=z",
        ])
        .unwrap();
        assert_eq!(
            (
                settings.models.default.as_deref(),
                settings.limits.max_turns
            ),
            (Some("openai/gpt-x"), Some(7))
        );
        assert_eq!(
            settings.limits.timeout,
            Some(std::time::Duration::from_secs(600))
        );
        assert_eq!(
            (
                settings.permission.deny.len(),
                settings.models.aliases["mine/x"].as_str()
            ),
            (1, "openai/y=z")
        );
    }

    #[test]
    fn what_is_wrong_names_the_nearest_right_one() {
        let table = [
            ("modle=x", "unknown key `modle`", "did you mean `model`?"),
            (
                "permission.mod=ask",
                "unknown key `permission.mod`",
                "did you mean `permission.mode`?",
            ),
            (
                "max_turns=3",
                "unknown key `max_turns`",
                "did you mean `limits.max_turns`?",
            ),
            (
                "mode=plan",
                "unknown key `mode`",
                "did you mean `permission.mode` or `sandbox.mode`?",
            ),
            (
                "limits.max_turns=many",
                "`max_turns` cannot be \"many\"",
                "",
            ),
            ("model", "there is no `=`", "KEY=VALUE"),
            ("=x", "name of a setting", "KEY=VALUE"),
            ("a b=x", "name of a setting", "KEY=VALUE"),
        ];
        for (one, message, fix) in table {
            let problem = typed(&[one]).unwrap_err();
            assert!(problem.message.contains(message), "{one}: {problem:?}");
            assert!(
                problem.fix.clone().unwrap_or_default().contains(fix),
                "{one}: {problem:?}"
            );
            assert_eq!(problem.code, ErrorCode::InvalidArguments, "{one}");
        }
    }
}
