//! Parses and validates one `config.toml`. An unknown key is an error: a setting that does nothing would be
//! believed to do something.

use std::{io::ErrorKind, path::Path};

use rooftree_protocol::{DefinitionLevel, Network, PermissionMode, Problem, SandboxMode};
use rooftree_runtime::{
    definitions::{DefinitionDocument, DocumentSyntax},
    hooks::HookConfinement,
};
use toml::Table;

use super::{
    EnvironmentSettings, HookTable, LimitSettings, ModelSettings, PermissionSettings,
    SandboxSettings, Settings, SpawnSettings, external_agents,
    parse_value::{SettingsReader, refuse_all_but, wrong},
    providers, web,
};

/// The keys at the top, and those of the tables below it.
const TOP: &[&str] = &[
    "model",
    "fallbacks",
    "aliases",
    "permission",
    "limits",
    "sandbox",
    "providers",
    "external",
    "search",
    "web",
    "mcp",
    "agents",
    "hooks",
    "environment",
];
const PERMISSION: &[&str] = &[
    "mode",
    "wary",
    "spawn_agents",
    "spawn_cost",
    "spawn_depth",
    "allow",
    "ask",
    "deny",
];
const LIMITS: &[&str] = &[
    "max_turns",
    "timeout",
    "max_cost",
    "depth",
    "children",
    "descendants",
    "emergency_context",
    "identical_calls",
];
/// Names of `limits.emergency_context` below `agents`, where daycare has it.
const EMERGENCY_OF_AGENTS: [&str; 2] = ["emergency_context_limit", "emergencyContextLimit"];
const SEARCH: &[&str] = &["embeddings", "backend", "url", "model"];
const SANDBOX: &[&str] = &["mode", "network", "writable", "readable"];
const ENVIRONMENT: &[&str] = &["keep", "inherit"];

/// The keys that have one name each, as `config get` and `config set` take them. Tables with names of the user's own
/// (aliases, providers, servers) are left out.
pub fn known_keys() -> Vec<String> {
    let tables = [
        ("permission", PERMISSION),
        ("limits", LIMITS),
        ("sandbox", SANDBOX),
        ("search", SEARCH),
        ("web", web::WEB),
        ("environment", ENVIRONMENT),
    ];
    let top = ["model", "fallbacks"].map(str::to_owned).into_iter();
    let below = tables
        .iter()
        .flat_map(|(table, keys)| keys.iter().map(move |key| format!("{table}.{key}")));
    top.chain(below).collect()
}

/// Reads a file, as text and as a table; none if there is none.
pub fn file(path: &Path) -> Result<Option<(String, Table)>, Problem> {
    match std::fs::read_to_string(path) {
        Ok(content) => parsed(&content, path).map(|table| Some((content, table))),
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            Ok(None)
        }
        Err(error) => Err(wrong(path, "cannot read the settings".into())
            .cause(error.to_string())
            .fix("make it readable for you and UTF-8 text, or remove it; rooftree init writes a new one")),
    }
}

/// Reads the text of a file.
#[cfg(test)]
pub fn text(content: &str, path: &Path) -> Result<Settings, Problem> {
    table(&parsed(content, path)?, content, path)
}

fn parsed(content: &str, path: &Path) -> Result<Table, Problem> {
    content.parse().map_err(|error: toml::de::Error| {
        let line = error.span().map_or(1, |span| line_of(content, span.start));
        wrong(
            path,
            format!("line {line} is not TOML: {}", error.message()),
        )
        .fix("write key = value, text in quotes, and tables as [name]; rooftree config path names the files")
    })
}

/// Reads what a file holds, which is written like this.
pub fn table(table: &Table, content: &str, path: &Path) -> Result<Settings, Problem> {
    refuse_misplaced(table, path)?;
    refuse_all_but(TOP, table, "", path)?;
    let reader = SettingsReader { path, content };
    let permission = reader.table(table, "permission", PERMISSION)?;
    let limits = reader.table(table, "limits", LIMITS)?;
    let search = reader.table(table, "search", SEARCH)?;
    let sandbox = reader.table(table, "sandbox", SANDBOX)?;
    Ok(Settings {
        models: ModelSettings {
            default: reader.value::<String>(table, "model")?,
            fallbacks: reader.value(table, "fallbacks")?.unwrap_or_default(),
            aliases: reader.value(table, "aliases")?.unwrap_or_default(),
            providers: providers::read(&reader, table)?,
        },
        permission: PermissionSettings {
            mode: reader.value::<PermissionMode>(&permission, "mode")?,
            wary: reader.value(&permission, "wary")?,
            spawn: SpawnSettings::read(&reader, &permission)?,
            allow: reader.rules(&permission, "allow")?,
            ask: reader.rules(&permission, "ask")?,
            deny: reader.rules(&permission, "deny")?,
        },
        limits: LimitSettings {
            max_turns: reader.value::<u32>(&limits, "max_turns")?,
            timeout: reader.duration(&limits, "timeout")?,
            max_cost: reader.dollars(&limits, "max_cost")?,
            depth: reader.value(&limits, "depth")?,
            children: reader.value(&limits, "children")?,
            descendants: reader.value(&limits, "descendants")?,
            emergency_context: emergency_context(&reader, table, &limits)?,
            identical_calls: reader.value::<u32>(&limits, "identical_calls")?,
        },
        sandbox: SandboxSettings {
            mode: reader.value::<SandboxMode>(&sandbox, "mode")?,
            network: reader.value::<Network>(&sandbox, "network")?,
            writable: reader.paths(&sandbox, "writable")?,
            readable: reader.paths(&sandbox, "readable")?,
        },
        external: external_agents::read(table, path)?,
        servers: servers(&reader, table)?,
        agents: agents(table, content, path),
        hooks: hooks(table, path)?,
        confined: confined(&reader, table)?,
        embeddings: reader.value(&search, "embeddings")?,
        web: web::read(&reader, table, &search)?,
        environment: environment(&reader, table)?,
        typed: Vec::new(),
        pinned: Vec::new(),
        remarks: Vec::new(),
    })
}

/// A key that belongs into one of the tables and stands at the top.
fn refuse_misplaced(table: &Table, path: &Path) -> Result<(), Problem> {
    let tables = [
        ("permission", PERMISSION),
        ("limits", LIMITS),
        ("sandbox", SANDBOX),
        ("environment", ENVIRONMENT),
    ];
    for key in table.keys().filter(|key| !TOP.contains(&key.as_str())) {
        let meant = tables
            .iter()
            .filter(|(_, known)| known.contains(&key.as_str()));
        let meant: Vec<String> = meant.map(|(table, _)| format!("`{table}.{key}`")).collect();
        if !meant.is_empty() {
            let problem = wrong(path, format!("unknown key `{key}`"));
            return Err(problem.fix(format!("did you mean {}?", meant.join(" or "))));
        }
    }
    Ok(())
}

/// The emergency limit: in its place, or below `agents`.
fn emergency_context(
    reader: &SettingsReader<'_>,
    table: &Table,
    limits: &Table,
) -> Result<Option<u64>, Problem> {
    let own = reader.value::<u64>(limits, "emergency_context")?;
    let agents = table.get("agents").and_then(toml::Value::as_table);
    let found = agents.into_iter().flat_map(|agents| {
        let is_value = |name: &&str| agents.get(*name).is_some_and(|value| !value.is_table());
        let names = EMERGENCY_OF_AGENTS.into_iter().filter(is_value);
        names.map(|name| reader.value::<u64>(agents, name))
    });
    let found = found.collect::<Result<Vec<_>, _>>()?;
    Ok(own.or_else(|| found.into_iter().flatten().next()))
}

/// Servers are read where all of them are, with their variables replaced.
fn servers(
    reader: &SettingsReader<'_>,
    table: &Table,
) -> Result<serde_json::Map<String, serde_json::Value>, Problem> {
    let mcp = reader.table(table, "mcp", &["servers"])?;
    Ok(reader.value(&mcp, "servers")?.unwrap_or_default())
}

fn environment(reader: &SettingsReader<'_>, table: &Table) -> Result<EnvironmentSettings, Problem> {
    let table = reader.table(table, "environment", ENVIRONMENT)?;
    let only_listed = match reader.value::<String>(&table, "inherit")?.as_deref() {
        None | Some("safe") => false,
        Some("listed") => true,
        Some(other) => {
            let problem = reader.wrong(format!("`environment.inherit` cannot be \"{other}\""));
            return Err(problem.fix(
                "write \"safe\" (all but secrets) or \"listed\" (what programs commonly need)",
            ));
        }
    };
    Ok(EnvironmentSettings {
        keep: reader.value(&table, "keep")?.unwrap_or_default(),
        only_listed,
    })
}

/// The whole file, if it defines agents: the definition loader reports errors with their line.
fn agents(table: &Table, content: &str, path: &Path) -> Vec<DefinitionDocument> {
    let is_there = table.contains_key("agents");
    let document = DefinitionDocument {
        path: path.to_owned(),
        text: content.to_owned(),
        syntax: DocumentSyntax::Toml,
        level: DefinitionLevel::Config,
    };
    is_there.then_some(document).into_iter().collect()
}

/// The hooks as they are; the hook parser reports what is wrong with them.
fn hooks(table: &Table, path: &Path) -> Result<Vec<HookTable>, Problem> {
    let Some(hooks) = table.get("hooks") else {
        return Ok(Vec::new());
    };
    let mut hooks =
        serde_json::to_value(hooks).map_err(|error| wrong(path, format!("`hooks`: {error}")))?;
    if let Some(events) = hooks.as_object_mut() {
        events.remove("confined");
    }
    Ok(vec![HookTable {
        path: path.to_owned(),
        level: DefinitionLevel::User,
        hooks,
    }])
}

/// Whose hooks are confined, which stands among the events.
fn confined(
    reader: &SettingsReader<'_>,
    table: &Table,
) -> Result<Option<HookConfinement>, Problem> {
    let Some(hooks) = table.get("hooks").and_then(|hooks| hooks.as_table()) else {
        return Ok(None);
    };
    Ok(
        match reader.value::<String>(hooks, "confined")?.as_deref() {
            None => None,
            Some("none") => Some(HookConfinement::None),
            Some("project") => Some(HookConfinement::Project),
            Some("all") => Some(HookConfinement::All),
            Some(other) => {
                let problem = reader.wrong(format!("`hooks.confined` cannot be \"{other}\""));
                let fix = "write \"project\" (those that a project brings), \"all\" or \"none\"";
                return Err(problem.fix(fix));
            }
        },
    )
}

fn line_of(content: &str, at: usize) -> usize {
    content
        .get(..at)
        .map_or(1, |before| before.matches('\n').count() + 1)
}

#[cfg(test)]
mod tests {
    use rooftree_protocol::ErrorCode;

    use super::*;

    #[test]
    fn what_is_wrong_is_said_with_a_way_out() {
        let table = [
            (
                "modle = 'a/b'",
                "unknown key `modle`",
                "did you mean `model`?",
            ),
            (
                "[permission]\nmod = 'ask'",
                "unknown key `permission.mod`",
                "did you mean `permission.mode`?",
            ),
            (
                "colour = 'red'",
                "unknown key `colour`",
                "known keys here: model, fallbacks, aliases",
            ),
            (
                "permission = 'ask'",
                "`permission` must be a table",
                "write [permission]",
            ),
            (
                "permission.allow = ['Bash(']",
                "`allow`: `Bash(` is not a rule",
                "write Tool",
            ),
            (
                "permission.deny = ['Bsh(rm *)']",
                "`deny`: `Bsh(rm *)` names no tool",
                "did you mean `Bash`?",
            ),
            (
                "limits.timeout = 'soon'",
                "`timeout` is not a duration",
                "\"90s\"",
            ),
        ];
        for (content, message, fix) in table {
            let problem = text(content, Path::new("c.toml")).unwrap_err();
            assert!(problem.message.contains(message), "{problem:?}");
            assert!(
                problem.fix.clone().unwrap_or_default().contains(fix),
                "{problem:?}"
            );
            assert_eq!(problem.code, ErrorCode::InvalidConfig);
        }
    }

    #[test]
    fn broken_toml_and_wrong_values_name_their_place() {
        let broken = text("model = 'a/b'\nx = = 1", Path::new("c.toml")).unwrap_err();
        assert!(
            broken.message.contains("line 2 is not TOML"),
            "{}",
            broken.message
        );
        let mode = text("permission.mode = 'yolo'", Path::new("c.toml")).unwrap_err();
        let fix = mode.fix.unwrap_or_default();
        assert!(
            mode.message.contains("c.toml:1: `mode` cannot be \"yolo\"")
                && fix.contains("accept-edits"),
            "{}: {fix}",
            mode.message
        );
    }

    #[test]
    fn a_provider_is_read_with_its_waits() {
        let content = "[providers.mine]\nbase_url = 'http://h/v1'\nwire = 'responses'\n\
                    [providers.mine.timeouts]\nfirst_byte = '10s'";
        let settings = text(content, Path::new("c.toml")).unwrap();
        let mine = &settings.models.providers["mine"];
        assert_eq!(
            (mine.base_url.as_deref(), mine.wire),
            (Some("http://h/v1"), Some(super::super::WireName::Responses))
        );
        assert_eq!(
            mine.waits.first_byte,
            Some(std::time::Duration::from_secs(10))
        );
    }

    #[test]
    fn a_key_in_the_settings_is_refused_without_being_repeated() {
        let content = "[providers.openai]\napi_key = 'sk-very-secret'";
        let problem = text(content, Path::new("c.toml")).unwrap_err();
        assert_eq!(problem.fix.as_deref(), Some("rooftree auth set openai"));
        assert!(
            !format!("{problem:?}").contains("very-secret"),
            "{problem:?}"
        );
        let problem = text("[providers.x]\nbase_uri = 'y'", Path::new("c.toml")).unwrap_err();
        assert_eq!(problem.fix.as_deref(), Some("did you mean `x.base_url`?"));
    }
}
