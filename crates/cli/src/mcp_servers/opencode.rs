//! Parses `mcp` of `opencode.json`: a command as one list, `environment`, `{env:NAME}` for variables.

use rooftree_tools::mcp::McpConfigFile;
use serde_json::{Map, Value, json};

/// Reads the servers of such a file; none if it names none.
pub fn read(
    text: &str,
    variable: &dyn Fn(&str) -> Option<String>,
) -> Result<McpConfigFile, String> {
    let whole: Value =
        serde_json::from_str(text).map_err(|error| format!("it is not JSON: {error}"))?;
    let Some(servers) = whole.get("mcp") else {
        return Ok(McpConfigFile::default());
    };
    let servers = servers.as_object().ok_or("`mcp` must be an object")?;
    let converted = servers
        .iter()
        .map(|(name, server)| (name.clone(), converted(server)));
    Ok(McpConfigFile::of(&converted.collect(), variable))
}

/// One server in the form that other files use. What is not understood stays as it is, and is reported there.
fn converted(server: &Value) -> Value {
    let Some(fields) = server.as_object() else {
        return server.clone();
    };
    let mut found = Map::new();
    for (field, value) in fields {
        let value = with_variables(value);
        match (field.as_str(), &value) {
            ("command", Value::Array(words)) => {
                let mut words = words.iter().cloned();
                found.extend(words.next().map(|program| ("command".to_owned(), program)));
                found.insert("args".into(), Value::Array(words.collect()));
            }
            ("environment", _) => drop(found.insert("env".into(), value)),
            ("type", Value::String(kind)) if kind == "local" => {
                found.insert("type".into(), json!("stdio"));
            }
            ("type", Value::String(kind)) if kind == "remote" => {
                found.insert("type".into(), json!("http"));
            }
            // Milliseconds for listing tools there; for calls here.
            ("timeout", Value::Number(millis)) => {
                let seconds = millis.as_u64().unwrap_or_default().div_ceil(1_000);
                found.insert("timeout_secs".into(), json!(seconds));
            }
            (field, _) => drop(found.insert(field.to_owned(), value)),
        }
    }
    Value::Object(found)
}

/// `{env:NAME}` as `${NAME}`, in texts at any depth.
fn with_variables(value: &Value) -> Value {
    match value {
        Value::String(text) => Value::String(renamed(text)),
        Value::Array(items) => Value::Array(items.iter().map(with_variables).collect()),
        Value::Object(fields) => {
            let fields = fields.iter();
            let fields = fields.map(|(name, value)| (name.clone(), with_variables(value)));
            Value::Object(fields.collect())
        }
        other => other.clone(),
    }
}

fn renamed(text: &str) -> String {
    let mut pieces = text.split("{env:");
    let mut done = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        match piece.split_once('}') {
            Some((name, rest)) => done += &format!("${{{name}}}{rest}"),
            None => done += &format!("{{env:{piece}"),
        }
    }
    done
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_of_opencode_are_understood() {
        let text = r#"{"model": "x", "mcp": {
            "files": {"type": "local", "command": ["npx", "-y", "files"], "timeout": 5000,
                "environment": {"TOKEN": "a {env:TOKEN} b"}},
            "far": {"type": "remote", "url": "https://far.test/mcp", "enabled": false,
                "headers": {"Authorization": "Bearer {env:TOKEN}"}},
            "odd": {"type": "local", "command": [], "oauth": {}}}}"#;
        let found = read(text, &|name| (name == "TOKEN").then(|| "secret".into())).unwrap();
        let files = &found.servers["files"];
        assert_eq!(files.command.as_deref(), Some("npx"));
        assert_eq!(files.args, ["-y", "files"]);
        assert_eq!(files.env["TOKEN"], "a secret b");
        assert_eq!(files.timeout_secs, Some(5));
        let far = &found.servers["far"];
        assert_eq!(far.url.as_deref(), Some("https://far.test/mcp"));
        assert_eq!(far.headers["Authorization"], "Bearer secret");
        assert!(!far.enabled);
        assert!(!found.servers.contains_key("odd"));
        assert!(found.remarks.iter().any(|remark| remark.contains("`odd`")));
        assert!(read("{}", &|_| None).unwrap().servers.is_empty());
        assert!(read(r#"{"mcp": []}"#, &|_| None).is_err());
    }

    #[test]
    fn a_variable_that_does_not_end_stays_as_it_is() {
        assert_eq!(renamed("{env:A}/{env:B"), "${A}/{env:B");
    }
}
