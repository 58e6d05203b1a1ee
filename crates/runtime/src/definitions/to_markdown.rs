//! Serializes a definition as a Markdown file in our own format, for imported and generated agents.

use std::{collections::BTreeMap, fmt::Write};

use rooftree_protocol::{AgentDefinition, McpServer, Scope};
use serde::Serialize;
use serde_json::Value;

/// The file. Only what differs from the usual is written.
pub fn written(definition: &AgentDefinition) -> String {
    let usual = AgentDefinition::default();
    let mut text = "---\n".to_owned();
    let mut add = |key: &str, value: &Value, usual: &Value| {
        if value != usual && !value.is_null() {
            let _ = writeln!(text, "{key}: {}", inline(value));
        }
    };
    add(
        "description",
        &json(&definition.description),
        &json(&usual.description),
    );
    add(
        "display_name",
        &json(&definition.display_name),
        &Value::Null,
    );
    add("model", &json(&definition.model), &Value::Null);
    add("effort", &json(&definition.effort), &Value::Null);
    add(
        "dialect",
        &json(&definition.source.dialect),
        &json(&usual.source.dialect),
    );
    add_scope(&mut add, ["tools", "disallowed_tools"], &definition.tools);
    add_scope(
        &mut add,
        ["capabilities", "denied_capabilities"],
        &definition.capabilities,
    );
    add_scope(&mut add, ["agents", "denied_agents"], &definition.agents);
    add_scope(
        &mut add,
        ["allowed_skills", "denied_skills"],
        &definition.skills,
    );
    add(
        "skills",
        &json(&definition.preloaded_skills),
        &json(&usual.preloaded_skills),
    );
    add("rules", &json(&definition.rules), &Value::Null);
    add(
        "verifiers",
        &json(&definition.verifiers),
        &json(&usual.verifiers),
    );
    add("hooks", &json(&definition.hooks), &json(&usual.hooks));
    add("mcp_servers", &servers(definition), &Value::Null);
    add("max_turns", &json(&definition.max_turns), &Value::Null);
    add(
        "permission_mode",
        &json(&definition.permission_mode),
        &Value::Null,
    );
    add("sandbox", &json(&definition.sandbox), &Value::Null);
    add("network", &json(&definition.network), &Value::Null);
    add(
        "background",
        &json(&definition.background),
        &json(&usual.background),
    );
    add(
        "isolation",
        &json(&definition.isolation),
        &json(&usual.isolation),
    );
    add("memory", &json(&definition.memory), &Value::Null);
    add(
        "initial_prompt",
        &json(&definition.initial_prompt),
        &Value::Null,
    );
    add(
        "exposure",
        &json(&definition.exposure),
        &json(&usual.exposure),
    );
    add("use_as", &json(&definition.use_as), &json(&usual.use_as));
    add("hidden", &json(&definition.hidden), &json(&usual.hidden));
    add(
        "api_exposed",
        &json(&definition.api_exposed),
        &json(&usual.api_exposed),
    );
    add("strict", &json(&definition.strict), &json(&usual.strict));
    for (key, value) in &definition.look {
        add(key, value, &Value::Null);
    }
    add("limits", &limits(definition, &usual), &Value::Null);
    text + "---\n" + &body(definition)
}

fn add_scope(add: &mut impl FnMut(&str, &Value, &Value), keys: [&str; 2], scope: &Scope) {
    let [allow, deny] = keys;
    add(allow, &json(&scope.allow), &Value::Null);
    add(deny, &json(&scope.deny), &json(&Vec::<String>::new()));
}

/// A list of names and maps: a server that is set up elsewhere is only named.
fn servers(definition: &AgentDefinition) -> Value {
    let one = |(name, server): (&String, &McpServer)| {
        let is_named = server.command.is_none() && server.url.is_none();
        if is_named {
            json(name)
        } else {
            json(&BTreeMap::from([(name, server)]))
        }
    };
    let servers: Vec<Value> = definition.mcp_servers.iter().map(one).collect();
    if servers.is_empty() {
        Value::Null
    } else {
        servers.into()
    }
}

/// The limits that differ from the usual ones; nothing if none does.
fn limits(definition: &AgentDefinition, usual: &AgentDefinition) -> Value {
    let (Value::Object(own), usual) = (json(&definition.limits), json(&usual.limits)) else {
        return Value::Null;
    };
    let changed: serde_json::Map<String, Value> = own
        .into_iter()
        .filter(|(key, value)| usual.get(key) != Some(value))
        .collect();
    if changed.is_empty() {
        Value::Null
    } else {
        changed.into()
    }
}

fn body(definition: &AgentDefinition) -> String {
    let mut text = definition.prompt.trim().to_owned() + "\n";
    for (number, example) in (1..).zip(&definition.examples) {
        let heading = if number == 1 { "\n# Examples\n" } else { "" };
        let _ = write!(
            text,
            "{heading}\n## Example {number}\nUser: {}\nAgent: {}\n",
            example.user, example.agent
        );
    }
    text
}

fn json(value: &impl Serialize) -> Value {
    serde_json::to_value(value).unwrap_or_default()
}

/// A value on one line. JSON is YAML; words that need no quotes have none.
fn inline(value: &Value) -> String {
    match value {
        Value::String(text) if is_plain(text) => text.clone(),
        Value::Array(items) => format!(
            "[{}]",
            items.iter().map(inline).collect::<Vec<_>>().join(", ")
        ),
        other => other.to_string(),
    }
}

fn is_plain(text: &str) -> bool {
    let is_word = |letter: char| {
        letter.is_alphanumeric() || matches!(letter, '_' | '-' | '/' | '.' | ' ' | '\'' | '(' | ')')
    };
    let is_special = matches!(
        text,
        "true" | "false" | "null" | "yes" | "no" | "on" | "off" | "~"
    );
    text.starts_with(char::is_alphabetic)
        && text.chars().all(is_word)
        && !text.ends_with(' ')
        && !is_special
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use rooftree_protocol::{DefinitionSource, Example};

    use super::*;
    use crate::definitions::{LoaderContext, draft, resolve::resolve};

    #[test]
    fn what_is_written_is_read_as_the_same() {
        let mut definition = AgentDefinition::new("reviewer");
        definition.description = "Reviews: \"all\" of it".into();
        definition.prompt = "You review.\n\nWell.".into();
        definition.model = "openai/gpt-x:high".parse().ok();
        definition.tools = Scope {
            allow: Some(vec!["*".into()]),
            deny: vec!["mcp__x".into()],
        };
        definition.agents.allow = Some(Vec::new());
        definition.rules = Some(vec!["style".into()]);
        definition.max_turns = Some(7);
        definition.hidden = true;
        definition.limits.depth = 3;
        definition.look.insert("color".into(), "red".into());
        definition.examples = vec![Example {
            user: "a".into(),
            agent: "b\nc".into(),
        }];
        definition.initial_prompt = Some("true".into());
        let text = written(&definition);
        let drafts = draft::markdown(
            &text,
            Path::new("reviewer.md"),
            &DefinitionSource::default(),
        )
        .drafts;
        let read = resolve(&drafts, &[], &LoaderContext::default());
        assert_eq!(read.definitions, [definition], "{text}");
    }
}
