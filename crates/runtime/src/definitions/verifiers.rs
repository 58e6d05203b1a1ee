//! Verifiers: what checks an agent's work, read from `verifiers.json`. Others run them.

use std::{collections::BTreeMap, path::Path};

use rooftree_protocol::{Level, Verifier};
use serde_json::Value;

use super::{files::read_bounded, places::Places};

/// A file of verifiers is not longer than this.
const LONGEST: usize = 256 * 1024;
/// Seconds a command has, where nothing else is said.
const PATIENCE: u64 = 120;

/// Verifiers by name, and what is wrong with others. What a project says goes before what the user says.
pub(super) fn read(places: &Places) -> (BTreeMap<String, Verifier>, Vec<String>) {
    let (mut verifiers, mut remarks) = (BTreeMap::new(), Vec::new());
    let user = places.user.iter().map(|place| (place.join("verifiers.json"), Level::User));
    let names = [".emdash/verifiers.json", ".rooftree/verifiers.json"];
    let project =
        places.project.iter().flat_map(|place| names.map(|name| (place.join(name), Level::Project)));
    for (path, _) in user.chain(project).filter(|(path, level)| path.is_file() && places.may_use(*level)) {
        match file(&path) {
            Ok(found) => {
                for (name, verifier) in found {
                    match verifier {
                        Ok(verifier) => drop(verifiers.insert(name, verifier)),
                        Err(why) => {
                            remarks.push(format!("{}: verifier `{name}` is not used: {why}", path.display()))
                        }
                    }
                }
            }
            Err(why) => remarks.push(format!("{} is not used: {why}", path.display())),
        }
    }
    (verifiers, remarks)
}

type Found = Vec<(String, Result<Verifier, String>)>;

/// A list of verifiers with names, or a map of them, or either below `verifiers`.
fn file(path: &Path) -> Result<Found, String> {
    let text = read_bounded(path, LONGEST).ok_or("it cannot be read")?;
    let whole: Value = serde_json::from_str(&text).map_err(|error| error.to_string())?;
    match whole.get("verifiers").unwrap_or(&whole) {
        Value::Object(map) => Ok(map.iter().map(|(name, value)| (name.clone(), verifier(value))).collect()),
        Value::Array(list) => Ok(list
            .iter()
            .enumerate()
            .map(|(index, value)| {
                let name = value.get("name").and_then(Value::as_str).map(str::to_owned);
                (name.unwrap_or_else(|| format!("verifiers[{index}]")), verifier(value))
            })
            .collect()),
        _ => Err("it is neither a list nor a map of verifiers".into()),
    }
}

fn verifier(value: &Value) -> Result<Verifier, String> {
    let text = |key: &str| value.get(key).and_then(Value::as_str).map(str::to_owned);
    if let Some(command) = text("command") {
        let timeout_secs = value.get("timeout").and_then(Value::as_u64).unwrap_or(PATIENCE);
        let pass_on_exit_0 = value.get("pass_on_exit_0").and_then(Value::as_bool).unwrap_or(true);
        return Ok(Verifier::Command { command, timeout_secs, pass_on_exit_0 });
    }
    match text("prompt") {
        Some(prompt) => Ok(Verifier::Judge { prompt }),
        None => Err("it has neither a `command` nor a `prompt`".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_verifier_is_a_command_or_a_judge() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("verifiers.json");
        let text = r#"{"verifiers": [
            {"name": "tests", "type": "command", "command": "cargo test", "timeout": 60},
            {"name": "no todos", "command": "grep -r TODO src", "pass_on_exit_0": false},
            {"name": "style", "type": "llm", "prompt": "Is it readable?"},
            {"name": "broken"}
        ]}"#;
        std::fs::write(&path, text).unwrap();
        let found: BTreeMap<_, _> = file(&path).unwrap().into_iter().collect();
        let command = |command: &str, timeout_secs, pass_on_exit_0| {
            Ok(Verifier::Command { command: command.into(), timeout_secs, pass_on_exit_0 })
        };
        assert_eq!(found["tests"], command("cargo test", 60, true));
        assert_eq!(found["no todos"], command("grep -r TODO src", PATIENCE, false));
        assert_eq!(found["style"], Ok(Verifier::Judge { prompt: "Is it readable?".into() }));
        assert!(found["broken"].is_err());
    }
}
