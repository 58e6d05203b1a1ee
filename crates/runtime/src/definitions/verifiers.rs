//! Parses the verifiers of an agent's work from `verifiers.json`. They are run by `agent/verify.rs`.

use std::{collections::BTreeMap, path::Path};

use rooftree_protocol::{DefinitionLevel, Verifier, definition::VERIFIER_SECS};
use serde_json::{Map, Value};

use super::{bounded_read::read_bounded, names::nearest, search_dirs::SearchDirs};

/// A file of verifiers is not longer than this.
const LONGEST: usize = 256 * 1024;
/// Seconds an agent has.
const AGENTS_PATIENCE: u64 = 600;

/// Fields of every kind of verifier.
const ALL: [&str; 5] = ["name", "type", "description", "enabled", "tags"];
/// The kinds there are, and what each may say besides.
const KINDS: [(&str, &[&str]); 4] = [
    ("command", &["command", "timeout", "pass_on_exit_0"]),
    ("llm", &["prompt"]),
    ("judge", &["prompt"]),
    ("agent", &["agent", "prompt", "timeout", "max_turns"]),
];

/// Verifiers by name, and what is wrong with others. What a project says goes before what the user says.
pub(super) fn read(places: &SearchDirs) -> (BTreeMap<String, Verifier>, Vec<String>) {
    let (mut verifiers, mut remarks) = (BTreeMap::new(), Vec::new());
    let user = places
        .user
        .iter()
        .map(|place| (place.join("verifiers.json"), DefinitionLevel::User));
    let names = [".emdash/verifiers.json", ".rooftree/verifiers.json"];
    let project = places
        .project
        .iter()
        .flat_map(|place| names.map(|name| (place.join(name), DefinitionLevel::Project)));
    for (path, _) in user
        .chain(project)
        .filter(|(path, level)| path.is_file() && places.may_use(*level))
    {
        match file(&path) {
            Ok(found) => {
                remarks.extend(
                    found
                        .remarks
                        .iter()
                        .map(|remark| format!("{}: {remark}", path.display())),
                );
                for (name, verifier) in found.verifiers {
                    match verifier {
                        Ok(Some(verifier)) => drop(verifiers.insert(name, verifier)),
                        Ok(None) => drop(verifiers.remove(&name)),
                        Err(why) => remarks.push(format!(
                            "{}: verifier `{name}` is not used: {why}",
                            path.display()
                        )),
                    }
                }
            }
            Err(why) => remarks.push(format!("{} is not used: {why}", path.display())),
        }
    }
    (verifiers, remarks)
}

/// An agent that checks, where nothing but its name is said.
pub(super) fn agent(name: &str) -> Verifier {
    Verifier::Agent {
        agent: name.to_owned(),
        prompt: None,
        timeout_secs: AGENTS_PATIENCE,
        max_turns: None,
    }
}

/// The verifiers of one file, all of which must be right; those that are switched off are left out.
pub fn verifiers_in(path: &Path) -> Result<BTreeMap<String, Verifier>, String> {
    let mut verifiers = BTreeMap::new();
    for (name, verifier) in file(path)?.verifiers {
        let verifier = verifier.map_err(|why| format!("verifier `{name}`: {why}"))?;
        verifiers.extend(verifier.map(|verifier| (name, verifier)));
    }
    Ok(verifiers)
}

#[derive(Default)]
struct VerifierFile {
    /// By name; one that is switched off is none.
    verifiers: Vec<(String, Result<Option<Verifier>, String>)>,
    remarks: Vec<String>,
}

/// A list of verifiers with names, or a map of them, or either below `verifiers`.
fn file(path: &Path) -> Result<VerifierFile, String> {
    let text = read_bounded(path, LONGEST).ok_or("it cannot be read")?;
    let whole: Value = serde_json::from_str(&text).map_err(|error| error.to_string())?;
    let mut remarks = Vec::new();
    let listed = match whole.get("verifiers") {
        Some(listed) => {
            let others = whole
                .as_object()
                .into_iter()
                .flat_map(Map::keys)
                .filter(|key| *key != "verifiers");
            remarks.extend(others.map(|key| {
                match key.as_str() {
                    "max_attempts" => {
                        "`max_attempts` has no effect here: write limits: {verify_attempts: …} into \
                                   the agents that are checked"
                            .to_owned()
                    }
                    key => format!("`{key}` has no effect"),
                }
            }));
            listed
        }
        None => &whole,
    };
    let named: Vec<(String, &Value)> = match listed {
        Value::Object(map) => map
            .iter()
            .map(|(name, value)| (name.clone(), value))
            .collect(),
        Value::Array(list) => list
            .iter()
            .enumerate()
            .map(|(index, value)| {
                let name = value.get("name").and_then(Value::as_str).map(str::to_owned);
                (name.unwrap_or_else(|| format!("verifiers[{index}]")), value)
            })
            .collect(),
        _ => return Err("it is neither a list nor a map of verifiers".into()),
    };
    let mut found = VerifierFile {
        remarks,
        ..VerifierFile::default()
    };
    for (name, value) in named {
        let verifier = VerifierEntry::of(value).and_then(|written| {
            found.remarks.extend(
                written
                    .idle()
                    .map(|key| format!("verifier `{name}`: `{key}` has no effect")),
            );
            written.verifier()
        });
        found.verifiers.push((name, verifier));
    }
    Ok(found)
}

/// One verifier as it is written.
struct VerifierEntry<'a> {
    fields: &'a Map<String, Value>,
    kind: &'static str,
    known: &'static [&'static str],
}

impl<'a> VerifierEntry<'a> {
    /// Its kind: as its `type` says, or by the fields it has.
    fn of(value: &'a Value) -> Result<Self, String> {
        let fields = value.as_object().ok_or("it is not a map of fields")?;
        let kinds = KINDS.map(|(kind, _)| kind);
        let wanted = match fields
            .get("type")
            .map(|kind| kind.as_str().unwrap_or_default())
        {
            Some(kind) => kind,
            None => ["command", "agent"]
                .into_iter()
                .find(|key| fields.contains_key(*key))
                .unwrap_or("llm"),
        };
        let found = KINDS.into_iter().find(|(kind, _)| *kind == wanted);
        let (kind, known) = found.ok_or_else(|| match nearest(wanted, kinds) {
            Some(meant) => format!("`type` cannot be `{wanted}`: did you mean `{meant}`?"),
            None => format!(
                "`type` cannot be `{wanted}`: it is one of {}",
                kinds.join(", ")
            ),
        })?;
        Ok(Self {
            fields,
            kind,
            known,
        })
    }

    /// Fields that mean nothing for this kind.
    fn idle(&self) -> impl Iterator<Item = &'a str> {
        let known = self.known;
        let keys = self.fields.keys().map(String::as_str);
        keys.filter(move |key| !ALL.contains(key) && !known.contains(key))
    }

    fn verifier(&self) -> Result<Option<Verifier>, String> {
        if self.flag("enabled")? == Some(false) {
            return Ok(None);
        }
        let needed = |key: &str| match self.text(key)? {
            Some(text) if !text.trim().is_empty() => Ok(text),
            _ if self.fields.contains_key("type") => Err(format!("it has no `{key}`")),
            _ => Err("it has neither a `command` nor a `prompt` nor an `agent`".to_owned()),
        };
        let timeout = |usual| Ok::<u64, String>(self.count("timeout")?.unwrap_or(usual));
        Ok(Some(match self.kind {
            "command" => Verifier::Command {
                command: needed("command")?,
                timeout_secs: timeout(VERIFIER_SECS)?,
                pass_on_exit_0: self.flag("pass_on_exit_0")?.unwrap_or(true),
            },
            "agent" => Verifier::Agent {
                agent: needed("agent")?,
                prompt: self.text("prompt")?,
                timeout_secs: timeout(AGENTS_PATIENCE)?,
                max_turns: self
                    .count("max_turns")?
                    .map(|turns| u32::try_from(turns).unwrap_or(u32::MAX)),
            },
            _ => Verifier::Judge {
                prompt: needed("prompt")?,
            },
        }))
    }

    fn text(&self, key: &str) -> Result<Option<String>, String> {
        let read = |value: &Value| {
            value
                .as_str()
                .map(str::to_owned)
                .ok_or(format!("`{key}` is not a text"))
        };
        self.fields
            .get(key)
            .filter(|value| !value.is_null())
            .map(read)
            .transpose()
    }

    fn flag(&self, key: &str) -> Result<Option<bool>, String> {
        let read = |value: &Value| {
            value
                .as_bool()
                .ok_or(format!("`{key}` is neither true nor false"))
        };
        self.fields
            .get(key)
            .filter(|value| !value.is_null())
            .map(read)
            .transpose()
    }

    fn count(&self, key: &str) -> Result<Option<u64>, String> {
        let read = |value: &Value| {
            let count = value.as_u64().filter(|count| *count > 0);
            count.ok_or(format!("`{key}` is not a whole number above zero"))
        };
        self.fields
            .get(key)
            .filter(|value| !value.is_null())
            .map(read)
            .transpose()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> VerifierFile {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("verifiers.json");
        std::fs::write(&path, text).unwrap();
        file(&path).unwrap()
    }

    #[test]
    fn a_verifier_is_a_command_or_a_judge_or_an_agent() {
        let found = found(
            r#"{"verifiers": [
            {"name": "tests", "type": "command", "command": "cargo test", "timeout": 60},
            {"name": "no todos", "command": "grep -r TODO src", "pass_on_exit_0": false},
            {"name": "style", "type": "llm", "prompt": "Is it readable?"},
            {"name": "review", "type": "agent", "agent": "verify", "max_turns": 5},
            {"name": "short", "agent": "verify"},
            {"name": "off", "enabled": false, "command": "true"},
            {"name": "broken"}
        ]}"#,
        );
        assert!(found.remarks.is_empty(), "{:?}", found.remarks);
        let found: BTreeMap<_, _> = found.verifiers.into_iter().collect();
        let command = |command: &str, timeout_secs, pass_on_exit_0| {
            Ok(Some(Verifier::Command {
                command: command.into(),
                timeout_secs,
                pass_on_exit_0,
            }))
        };
        assert_eq!(found["tests"], command("cargo test", 60, true));
        assert_eq!(
            found["no todos"],
            command("grep -r TODO src", VERIFIER_SECS, false)
        );
        assert_eq!(
            found["style"],
            Ok(Some(Verifier::Judge {
                prompt: "Is it readable?".into()
            }))
        );
        assert_eq!(found["short"], Ok(Some(agent("verify"))));
        assert!(matches!(
            &found["review"],
            Ok(Some(Verifier::Agent {
                max_turns: Some(5),
                ..
            }))
        ));
        assert_eq!(found["off"], Ok(None));
        assert!(
            found["broken"]
                .as_ref()
                .unwrap_err()
                .contains("nor an `agent`")
        );
    }

    #[test]
    fn what_is_wrong_is_said_and_hides_no_other() {
        let found = found(
            r#"{"max_attempts": 5, "verifiers": {
            "a": {"type": "comand", "command": "x"},
            "b": {"type": "agent"},
            "c": {"type": "command", "command": "x", "timeout": "soon"},
            "d": {"type": "llm", "prompt": "x", "timeout": 3},
            "e": 7
        }}"#,
        );
        let wrong = |name: &str| {
            let found = found
                .verifiers
                .iter()
                .find(|(known, _)| known == name)
                .unwrap();
            found.1.clone().unwrap_err()
        };
        assert_eq!(
            wrong("a"),
            "`type` cannot be `comand`: did you mean `command`?"
        );
        assert_eq!(wrong("b"), "it has no `agent`");
        assert_eq!(wrong("c"), "`timeout` is not a whole number above zero");
        assert_eq!(wrong("e"), "it is not a map of fields");
        let remarks = found.remarks.join("\n");
        assert!(
            remarks.contains("verify_attempts") && remarks.contains("`d`: `timeout` has no effect"),
            "{remarks}"
        );
    }
}
