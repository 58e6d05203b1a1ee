//! Parses hooks from settings files. Every field has an effect or gets a diagnostic.

use std::{collections::BTreeMap, path::Path, time::Duration};

use rooftree_protocol::DefinitionLevel;
use rooftree_tools::PermissionRule;
use serde_json::{Map, Value, json};

use super::{
    ConfiguredHook, HookFailureMode, HookMatcher, HookPoint, HookProgram, HookService, HookWait,
};

/// Fields every hook may have here.
const FIELDS: [&str; 7] = [
    "type",
    "timeout",
    "if",
    "async",
    "statusMessage",
    "once",
    "fail",
];
/// Those of a program, and those of a service.
const OF_PROGRAM: [&str; 3] = ["command", "args", "shell"];
const OF_SERVICE: [&str; 3] = ["url", "headers", "allowedEnvVars"];
/// The longest a hook may be given, in seconds.
const LONGEST: f64 = 24.0 * 60.0 * 60.0;

/// Result of parsing a file's `hooks`.
#[derive(Clone, Default)]
pub struct ParsedHooks {
    /// Hooks that can be asked.
    pub hooks: Vec<ConfiguredHook>,
    /// What cannot be honoured, and why.
    pub complaints: Vec<String>,
}

/// Reads the value of `hooks`: lists of groups by event, each with a matcher and its hooks.
pub fn read(hooks: &Value, level: DefinitionLevel, place: &Path) -> ParsedHooks {
    let mut reading = HookParser {
        written: ParsedHooks::default(),
        level,
        place,
    };
    match hooks.as_object() {
        Some(events) => events
            .iter()
            .for_each(|(event, groups)| reading.event(event, groups)),
        None => reading.complain("`hooks` must be a map of events".into()),
    }
    reading.written
}

struct HookParser<'a> {
    written: ParsedHooks,
    level: DefinitionLevel,
    place: &'a Path,
}

impl HookParser<'_> {
    fn complain(&mut self, what: String) {
        self.written.complaints.push(what);
    }

    fn event(&mut self, name: &str, groups: &Value) {
        let point: HookPoint = match name.parse() {
            Ok(point) => point,
            Err(why) => return self.complain(why),
        };
        let Some(groups) = groups.as_array() else {
            return self.complain(format!("`{name}` must be a list"));
        };
        groups.iter().for_each(|group| self.group(point, group));
    }

    fn group(&mut self, point: HookPoint, group: &Value) {
        let Some(hooks) = group.get("hooks").and_then(Value::as_array) else {
            return self.complain(format!("{point}: a group must have a list `hooks`"));
        };
        for key in group.as_object().into_iter().flat_map(Map::keys) {
            if !["matcher", "hooks", "description"].contains(&key.as_str()) {
                self.complain(format!("{point}: a group has no field `{key}`"));
            }
        }
        let text = match group.get("matcher") {
            None => "",
            Some(Value::String(text)) => text.as_str(),
            Some(_) => return self.complain(format!("{point}: `matcher` must be text")),
        };
        let matcher = match HookMatcher::parse(text) {
            Ok(matcher) => matcher,
            Err(why) => return self.complain(format!("{point}: {why}")),
        };
        if point.matches_on().is_none() && !matches!(matcher, HookMatcher::All) {
            self.complain(format!(
                "{point}: the matcher `{text}` has no effect: there is nothing to match"
            ));
        }
        for hook in hooks {
            match self.hook(point, hook) {
                Ok(hook) => self.written.hooks.push(ConfiguredHook {
                    matcher: matcher.clone(),
                    ..hook
                }),
                Err(why) => self.complain(format!("{point}: {why}")),
            }
        }
    }

    fn hook(&mut self, point: HookPoint, value: &Value) -> Result<ConfiguredHook, String> {
        let fields = value.as_object().ok_or("a hook must be a map")?;
        let own = match fields.get("type").map_or(Some("command"), Value::as_str) {
            Some("command") => OF_PROGRAM,
            Some("http") => OF_SERVICE,
            Some(kind @ ("mcp_tool" | "prompt" | "agent")) => {
                return Err(format!(
                    "hooks of type `{kind}` are not supported; use `command` or `http`"
                ));
            }
            _ => return Err("`type` must be `command` or `http`".into()),
        };
        let known: Vec<&str> = FIELDS.into_iter().chain(own).collect();
        if let Some(unknown) = fields.keys().find(|key| !known.contains(&key.as_str())) {
            return Err(format!(
                "a hook has no field `{unknown}`; there are {}",
                known.join(", ")
            ));
        }
        let hook = match own == OF_PROGRAM {
            true => ConfiguredHook::program(point, program(fields)?),
            false => ConfiguredHook::service(point, service(fields, self.level)?),
        };
        let is_aside = flag(fields, "async")?;
        Ok(ConfiguredHook {
            condition: condition(fields, point)?,
            timeout: timeout(fields)?.unwrap_or(hook.timeout),
            wait: if is_aside {
                HookWait::Background
            } else {
                HookWait::Foreground
            },
            on_failure: on_failure(fields, point)?,
            once: flag(fields, "once")?.then(Default::default),
            status: text(fields, "statusMessage")?.map(str::to_owned),
            level: self.level,
            place: self.place.to_owned(),
            ..hook
        })
    }
}

fn program(fields: &Map<String, Value>) -> Result<HookProgram, String> {
    let command = text(fields, "command")?.filter(|command| !command.trim().is_empty());
    let command = command.ok_or("a hook must have a `command`")?;
    let shell = text(fields, "shell")?;
    if let Some(args) = fields.get("args") {
        let args: Vec<String> =
            serde_json::from_value(args.clone()).map_err(|_| "`args` must be a list of texts")?;
        return match shell {
            Some(_) => Err("`shell` has no effect beside `args`; leave one of them out".into()),
            None => Ok(HookProgram::exactly(command, &args)),
        };
    }
    match shell {
        None | Some("bash") => Ok(HookProgram::shell(command)),
        Some(other) => Err(format!("`shell` cannot be `{other}`; it can be `bash`")),
    }
}

fn service(fields: &Map<String, Value>, level: DefinitionLevel) -> Result<HookService, String> {
    let url = text(fields, "url")?.ok_or("a hook of type `http` must have a `url`")?;
    let value = |name: &str| fields.get(name).cloned();
    let headers: BTreeMap<String, String> =
        serde_json::from_value(value("headers").unwrap_or(json!({})))
            .map_err(|_| "`headers` must be a map of texts")?;
    let variables: Vec<String> =
        serde_json::from_value(value("allowedEnvVars").unwrap_or(json!([])))
            .map_err(|_| "`allowedEnvVars` must be a list of texts")?;
    HookService::new(url, headers.into_iter().collect(), &variables, level)
}

fn condition(
    fields: &Map<String, Value>,
    point: HookPoint,
) -> Result<Option<PermissionRule>, String> {
    let Some(rule) = text(fields, "if")? else {
        return Ok(None);
    };
    if !point.is_about_a_tool() {
        return Err("`if` is about tool calls, and this is not about one".into());
    }
    PermissionRule::parse(rule)
        .map(Some)
        .map_err(|problem| format!("`if`: {}", problem.message))
}

fn timeout(fields: &Map<String, Value>) -> Result<Option<Duration>, String> {
    let Some(value) = fields.get("timeout") else {
        return Ok(None);
    };
    let seconds = value
        .as_f64()
        .filter(|seconds| *seconds > 0.0 && *seconds <= LONGEST);
    let seconds =
        seconds.ok_or("`timeout` must be a number of seconds, more than 0 and at most a day")?;
    Ok(Some(Duration::from_secs_f64(seconds)))
}

fn on_failure(fields: &Map<String, Value>, point: HookPoint) -> Result<HookFailureMode, String> {
    match text(fields, "fail")? {
        None => Ok(HookFailureMode::Closed),
        Some(_) if !point.is_gate() => {
            Err("`fail` has no effect: nothing waits to pass here".into())
        }
        Some("closed") => Ok(HookFailureMode::Closed),
        Some("open") => Ok(HookFailureMode::Open),
        Some(other) => Err(format!("`fail` cannot be `{other}`; it is open or closed")),
    }
}

fn flag(fields: &Map<String, Value>, name: &str) -> Result<bool, String> {
    match fields.get(name) {
        None => Ok(false),
        Some(value) => value
            .as_bool()
            .ok_or_else(|| format!("`{name}` must be true or false")),
    }
}

fn text<'a>(fields: &'a Map<String, Value>, name: &str) -> Result<Option<&'a str>, String> {
    match fields.get(name) {
        None => Ok(None),
        Some(value) => value
            .as_str()
            .map(Some)
            .ok_or_else(|| format!("`{name}` must be text")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(event: &str, hook: Value) -> ParsedHooks {
        let hooks = json!({event: [{"hooks": [hook]}]});
        read(&hooks, DefinitionLevel::User, Path::new("hooks.json"))
    }

    #[test]
    fn a_hook_is_read_with_everything_it_says() {
        let hooks = json!({"PreToolUse": [{"matcher": "Bash", "hooks": [{
            "type": "command", "command": "./guard", "args": ["-x"], "timeout": 5, "if": "Bash(git *)",
            "async": true, "once": true, "statusMessage": "looking", "fail": "open",
        }]}]});
        let ParsedHooks { hooks, complaints } =
            read(&hooks, DefinitionLevel::Project, Path::new("p"));
        assert_eq!(complaints, Vec::<String>::new());
        let hook = &hooks[0];
        assert_eq!(
            (hook.name(), hook.timeout),
            ("./guard -x", Duration::from_secs(5))
        );
        assert_eq!(
            (hook.wait, hook.on_failure, hook.level),
            (
                HookWait::Background,
                HookFailureMode::Open,
                DefinitionLevel::Project
            )
        );
        assert!(hook.once.is_some() && hook.status.is_some() && hook.condition.is_some());
        let headers = json!({"Authorization": "Bearer ${HOOK_TOKEN}"});
        let service = json!({
            "type": "http", "url": "http://localhost:9", "headers": headers, "allowedEnvVars": ["HOOK_TOKEN"],
        });
        let service = written("Stop", service);
        assert_eq!(
            (service.hooks[0].name(), service.complaints.len()),
            ("http://localhost:9", 0)
        );
        let plain = written("Stop", json!({"command": "true"}));
        assert_eq!(plain.hooks[0].timeout, super::super::PATIENCE);
    }

    #[test]
    fn what_cannot_be_honoured_is_said() {
        let table = [
            ("PreToolUse", json!({"type": "http"}), "must have a `url`"),
            (
                "PreToolUse",
                json!({"type": "http", "url": "ftp://x"}),
                "must begin with http",
            ),
            (
                "PreToolUse",
                json!({"type": "http", "url": "http://x", "command": "x"}),
                "no field `command`",
            ),
            (
                "PreToolUse",
                json!({"type": "http", "url": "http://x", "headers": {"a": 1}}),
                "`headers` must be",
            ),
            (
                "PreToolUse",
                json!({"type": "prompt", "prompt": "?"}),
                "type `prompt` are not supported",
            ),
            (
                "PreToolUse",
                json!({"type": "teapot"}),
                "`type` must be `command` or `http`",
            ),
            (
                "PreToolUse",
                json!({"command": "x", "asyncRewake": true}),
                "no field `asyncRewake`",
            ),
            (
                "PreToolUse",
                json!({"command": "x", "shell": "powershell"}),
                "`shell` cannot be `powershell`",
            ),
            (
                "PreToolUse",
                json!({"command": "x", "timeout": 0}),
                "`timeout` must be",
            ),
            (
                "PreToolUse",
                json!({"command": "x", "if": "Bash("}),
                "`if`: ",
            ),
            (
                "Stop",
                json!({"command": "x", "if": "Bash"}),
                "`if` is about tool calls",
            ),
            (
                "Stop",
                json!({"command": "x", "fail": "open"}),
                "`fail` has no effect",
            ),
            ("Stop", json!({"command": " "}), "must have a `command`"),
            (
                "FileChanged",
                json!({"command": "x"}),
                "never asked here: files are not watched",
            ),
            (
                "PreTool",
                json!({"command": "x"}),
                "there is no event `PreTool`",
            ),
        ];
        for (event, hook, wanted) in table {
            let ParsedHooks { hooks, complaints } = written(event, hook);
            assert!(
                hooks.is_empty() && complaints.concat().contains(wanted),
                "{complaints:?} for {wanted}"
            );
        }
        let unmatched = json!({"Stop": [{"matcher": "Bash", "hooks": [{"command": "x"}]}]});
        let ParsedHooks { hooks, complaints } =
            read(&unmatched, DefinitionLevel::User, Path::new("p"));
        assert!(
            hooks.len() == 1 && complaints.concat().contains("has no effect"),
            "{complaints:?}"
        );
        for broken in [
            json!([]),
            json!({"Stop": {}}),
            json!({"Stop": [{"command": "x"}]}),
        ] {
            assert_eq!(
                read(&broken, DefinitionLevel::User, Path::new("p"))
                    .complaints
                    .len(),
                1,
                "{broken}"
            );
        }
    }
}
