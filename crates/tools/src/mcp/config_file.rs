//! Parses servers from configuration files: `{"mcpServers": {"name": {…}}}`.
//!
//! An invalid server is left out with a notice; the others are still loaded.

use std::collections::BTreeMap;

use rooftree_protocol::{McpServer, Network, Problem, SandboxMode};
use serde_json::{Map, Value};

use super::expand;

/// Above this a time limit is taken for milliseconds, as some programs count it.
const SECONDS: u64 = 1_000;

/// The servers of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct McpConfigFile {
    /// By name.
    pub servers: BTreeMap<String, McpServer>,
    /// What people should know about them.
    pub remarks: Vec<String>,
}

/// Reads a whole file. Only text that is no such file at all is an error.
pub fn read_config(
    text: &str,
    variable: &dyn Fn(&str) -> Option<String>,
) -> Result<McpConfigFile, String> {
    let whole: Value =
        serde_json::from_str(text).map_err(|error| format!("it is not JSON: {error}"))?;
    let servers = ["mcpServers", "servers"]
        .iter()
        .find_map(|key| whole.get(key));
    let Some(servers) = servers.and_then(Value::as_object) else {
        return Err("it has no object `mcpServers`".to_owned());
    };
    Ok(McpConfigFile::of(servers, variable))
}

impl McpConfigFile {
    /// Reads servers by name, wherever they are written.
    pub fn of(servers: &Map<String, Value>, variable: &dyn Fn(&str) -> Option<String>) -> Self {
        let mut found = Self::default();
        for (name, written) in servers {
            let mut reading = McpConfigParser {
                variable,
                remarks: Vec::new(),
            };
            match reading.server(written) {
                Ok(server) => drop(found.servers.insert(name.clone(), server)),
                Err(why) => reading.remarks.push(format!("is left out: {why}")),
            }
            found.remarks.extend(
                reading
                    .remarks
                    .iter()
                    .map(|remark| format!("MCP server `{name}` {remark}")),
            );
        }
        found
    }
}

struct McpConfigParser<'a> {
    variable: &'a dyn Fn(&str) -> Option<String>,
    remarks: Vec<String>,
}

impl McpConfigParser<'_> {
    fn server(&mut self, written: &Value) -> Result<McpServer, String> {
        let fields = written.as_object().ok_or("it must be an object")?;
        let mut server = McpServer::default();
        for (field, value) in fields {
            self.field(&mut server, field, value)?;
        }
        self.check_kind(fields, &server)?;
        self.check_effect(&server);
        Ok(server)
    }

    /// What only a confined program is held to has no effect on anything else.
    fn check_effect(&mut self, server: &McpServer) {
        let is_limited = server
            .network
            .as_ref()
            .is_some_and(|network| *network != Network::On);
        let said: Vec<&str> = [
            ("network", is_limited),
            ("writable", !server.writable.is_empty()),
        ]
        .into_iter()
        .filter_map(|(name, is_said)| is_said.then_some(name))
        .collect();
        let why = match (&server.url, server.sandbox) {
            (Some(_), _) => "it is no program of this machine",
            (_, Some(SandboxMode::Off)) => "it is not confined",
            _ => return,
        };
        self.remarks.extend(
            said.iter()
                .map(|name| format!("says `{name}`, which has no effect: {why}")),
        );
    }

    /// A word, or a list of hosts.
    fn network(&mut self, value: &Value) -> Result<Network, String> {
        let wrong = |why: String| format!("`network` must be off, on or a list of hosts{why}");
        match value {
            Value::Array(items) => {
                let hosts = items.iter().map(|item| {
                    let host = self.text("network", item)?;
                    host.parse()
                        .map_err(|problem: Problem| wrong(format!(": {}", problem.message)))
                });
                Ok(Network::hosts(hosts.collect::<Result<Vec<_>, String>>()?))
            }
            Value::String(_) => match self.text("network", value)?.as_str() {
                "on" => Ok(Network::On),
                "off" => Ok(Network::Off),
                _ => Err(wrong(String::new())),
            },
            _ => Err(wrong(String::new())),
        }
    }

    fn field(&mut self, server: &mut McpServer, field: &str, value: &Value) -> Result<(), String> {
        let flag = || {
            value
                .as_bool()
                .ok_or_else(|| format!("`{field}` must be true or false"))
        };
        match field {
            "command" => server.command = Some(self.text(field, value)?),
            "url" | "httpUrl" | "serverUrl" => server.url = Some(self.text(field, value)?),
            "cwd" => server.cwd = Some(self.text(field, value)?.into()),
            "args" => {
                let items = value.as_array().ok_or("`args` must be a list")?;
                server.args = items
                    .iter()
                    .map(|item| self.text(field, item))
                    .collect::<Result<_, _>>()?;
            }
            "env" => server.env = self.pairs(field, value)?,
            "headers" => server.headers = self.pairs(field, value)?,
            "timeout" | "timeout_secs" => {
                let number = value.as_u64().filter(|number| *number > 0);
                let number =
                    number.ok_or_else(|| format!("`{field}` must be a number of seconds"))?;
                let is_millis = field == "timeout" && number >= SECONDS;
                server.timeout_secs = Some(if is_millis {
                    number.div_ceil(1_000)
                } else {
                    number
                });
            }
            "enabled" => server.enabled = flag()?,
            "disabled" => server.enabled = !flag()?,
            "trust_hints" | "trustHints" => server.trust_hints = flag()?,
            "sandbox" => server.sandbox = Some(self.word(field, value, "off, auto or required")?),
            "network" => server.network = Some(self.network(value)?),
            "writable" => {
                let items = value
                    .as_array()
                    .ok_or("`writable` must be a list of directories")?;
                let places = items.iter().map(|item| Ok(self.text(field, item)?.into()));
                server.writable = places.collect::<Result<_, String>>()?;
            }
            // What these ask for is the case anyway.
            "type" | "transport" | "name" | "description" | "alwaysLoad" => {}
            other => self
                .remarks
                .push(format!("says `{other}`, which this program does not know")),
        }
        Ok(())
    }

    fn check_kind(
        &mut self,
        fields: &Map<String, Value>,
        server: &McpServer,
    ) -> Result<(), String> {
        let kind = ["type", "transport"]
            .iter()
            .find_map(|key| fields.get(*key)?.as_str());
        match (kind, &server.command, &server.url) {
            (_, Some(_), Some(_)) => Err("it has both a `command` and a `url`".to_owned()),
            (_, None, None) => Err("it has no `command` and no `url`".to_owned()),
            (Some("sse"), ..) => {
                Err("servers of the old kind `sse` cannot be reached; most have an address for `http` too"
                    .to_owned())
            }
            (Some("ws"), ..) => {
                Err("servers of the kind `ws` cannot be reached; `stdio` and `http` can".to_owned())
            }
            (Some("stdio") | None, Some(_), None) => Ok(()),
            (Some("http" | "streamable-http" | "streamable_http" | "streamableHttp"), None, Some(_)) => {
                Ok(())
            }
            (None, None, Some(_)) => {
                self.remarks.push("has a `url` and no `type`; it is taken for `http`".to_owned());
                Ok(())
            }
            (Some(kind), ..) => Err(format!("it is of the kind `{kind}`, which does not fit")),
        }
    }

    fn text(&mut self, field: &str, value: &Value) -> Result<String, String> {
        let text = match value {
            Value::String(text) => text.clone(),
            Value::Number(_) | Value::Bool(_) => value.to_string(),
            _ => return Err(format!("`{field}` must be text")),
        };
        let (text, missing) = expand(&text, self.variable);
        for name in missing {
            self.remarks
                .push(format!("needs the variable `{name}`, which is not set"));
        }
        Ok(text)
    }

    fn word<T: serde::de::DeserializeOwned>(
        &mut self,
        field: &str,
        value: &Value,
        words: &str,
    ) -> Result<T, String> {
        let text = self.text(field, value)?;
        serde_json::from_value(Value::String(text))
            .map_err(|_| format!("`{field}` must be {words}"))
    }

    fn pairs(&mut self, field: &str, value: &Value) -> Result<BTreeMap<String, String>, String> {
        let entries = value
            .as_object()
            .ok_or_else(|| format!("`{field}` must be an object"))?;
        entries
            .iter()
            .map(|(name, value)| Ok((name.clone(), self.text(field, value)?)))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> McpConfigFile {
        read_config(text, &|name| (name == "TOKEN").then(|| "t0k".to_owned())).unwrap()
    }

    #[test]
    fn servers_are_read_with_their_variables_replaced() {
        let found = found(
            r#"{"mcpServers": {
                "local": {"command": "npx", "args": ["-y", "x@${VERSION:-1}"], "env": {"KEY": "${TOKEN}"}, "timeout": 9000},
                "remote": {"type": "http", "url": "https://a.test/mcp", "headers": {"Authorization": "Bearer ${TOKEN}"}}
            }}"#,
        );
        let local = &found.servers["local"];
        assert_eq!(
            (
                local.args[1].as_str(),
                local.env["KEY"].as_str(),
                local.timeout_secs
            ),
            ("x@1", "t0k", Some(9))
        );
        assert_eq!(
            found.servers["remote"].headers["Authorization"],
            "Bearer t0k"
        );
        assert_eq!(found.remarks, [""; 0]);
    }

    #[test]
    fn one_bad_server_is_told_about_and_hides_no_other() {
        let table = [
            (r#"{"url": "https://a.test"}"#, true, "taken for `http`"),
            (
                r#"{"type": "sse", "url": "https://a.test"}"#,
                false,
                "old kind `sse`",
            ),
            (
                r#"{"type": "ws", "url": "wss://a.test"}"#,
                false,
                "kind `ws`",
            ),
            (r#"{"type": "http", "command": "x"}"#, false, "does not fit"),
            (r#"{}"#, false, "no `command` and no `url`"),
            (r#"{"command": "x", "url": "y"}"#, false, "both"),
            (r#"{"command": ["x"]}"#, false, "`command` must be text"),
            (
                r#"{"command": "x", "headersHelper": "y"}"#,
                true,
                "`headersHelper`",
            ),
            (r#"{"command": "${NONE}"}"#, true, "`NONE`"),
            (
                r#"{"command": "x", "sandbox": "loose"}"#,
                false,
                "`sandbox` must be off, auto or required",
            ),
            (
                r#"{"command": "x", "network": true}"#,
                false,
                "`network` must be off, on or a list of hosts",
            ),
            (
                r#"{"command": "x", "network": ["https://a.test/b"]}"#,
                false,
                "a list of hosts: ",
            ),
            (
                r#"{"command": "x", "network": ["a.test"], "sandbox": "off"}"#,
                true,
                "no effect: it is not",
            ),
            (
                r#"{"type": "http", "url": "https://a.test", "network": "off"}"#,
                true,
                "no effect: it is no",
            ),
            (
                r#"{"command": "x", "writable": "/srv"}"#,
                false,
                "`writable` must be a list",
            ),
            (r#"7"#, false, "must be an object"),
        ];
        for (server, is_used, words) in table {
            let found = found(&format!(
                r#"{{"mcpServers": {{"odd": {server}, "good": {{"command": "y"}}}}}}"#
            ));
            assert_eq!(found.servers.contains_key("odd"), is_used, "{server}");
            assert!(found.servers.contains_key("good"), "{server}");
            assert!(
                found.remarks.iter().any(|remark| remark.contains(words)),
                "{server}: {:?}",
                found.remarks
            );
        }
    }

    #[test]
    fn hosts_are_a_list_and_an_empty_one_is_nobody() {
        let network = |written: &str| {
            let text =
                format!(r#"{{"mcpServers": {{"s": {{"command": "x", "network": {written}}}}}}}"#);
            found(&text).servers["s"].network.clone().unwrap()
        };
        assert_eq!(
            network(r#"["b.test", "*.a.test"]"#),
            "*.a.test,b.test".parse().unwrap()
        );
        assert_eq!(
            (network("[]"), network(r#""on""#)),
            (Network::Off, Network::On)
        );
    }

    #[test]
    fn text_that_is_no_such_file_is_an_error() {
        for text in ["{", "[]", r#"{"servers": 1}"#] {
            assert!(read_config(text, &|_| None).is_err(), "{text}");
        }
    }
}
