//! What is wrong with a file is said with its place, and a bad file hides no other.

use rooftree_runtime::definitions::{DocumentSyntax, Severity};

use super::folder::{Folder, codes, document};

fn complaints(front: &str) -> Vec<String> {
    let text = format!("---\ndescription: x\n{front}\n---\nYou work.");
    let folder = Folder::new().with("project/.rooftree/agents/a.md", &text);
    let loaded = folder.load();
    loaded
        .diagnostics
        .iter()
        .map(|found| {
            let at = found.at.map_or(String::new(), |at| {
                format!(" {}:{}+{}", at.line, at.column, at.length)
            });
            format!(
                "{}{at} {} | {}",
                found.code,
                found.message,
                found.help.clone().unwrap_or_default()
            )
        })
        .collect()
}

#[test]
fn every_mistake_has_its_place_and_a_way_out() {
    let table = [
        (
            "tools: [Read, Grepp]",
            "E0312 3:15+5 unknown tool `Grepp` | did you mean `Grep`?",
        ),
        (
            "tools: Read, Grepp",
            "E0312 3:14+5 unknown tool `Grepp` | did you mean `Grep`?",
        ),
        (
            "tools:\n  - Read\n  - Teleport",
            "E0312 5:5+8 unknown tool `Teleport` | rooftree tools list",
        ),
        (
            "tolls: [Read]",
            "E0318 3:1+5 unknown field `tolls` | did you mean `tools`?",
        ),
        (
            "permitted_tools: [Read]",
            "E0318 3:1+15 unknown field `permitted_tools` | it may be meant to restrict",
        ),
        (
            "capabilities: {alow: [file.read]}",
            "E0318 3:16+4 `capabilities` has no key `alow` | did you mean `allow`?",
        ),
        (
            "agents: {alow: [a]}",
            "E0318 3:10+4 `agents` has no key `alow` | did you mean `allow`?",
        ),
        (
            "disallowed_tools: [reading_list_delete]",
            "W0112 3:20+19 unknown tool `reading_list_delete`",
        ),
        (
            "memory: user\ntools: [Read]",
            "W0127 `memory` has no effect",
        ),
        (
            "mcp_servers: {s: {command: x, sandbx: required}}",
            "E0318 3:31+6 unknown key `sandbx` of a server",
        ),
        (
            "weather: nice",
            "W0101 3:1+7 unknown field `weather` | it has no effect",
        ),
        ("x-weather: nice", ""),
        ("api_exposed: true", ""),
        ("top_p: 1", "W0102 3:1+5 `top_p` has no effect yet"),
        ("hooks: {Stop: []}", ""),
        (
            "hooks: {Stpo: []}",
            "E0321 3:1+5 `hooks`: there is no event `Stpo`",
        ),
        (
            "model: nothing",
            "E0313 3:8+7 model `nothing` names no provider",
        ),
        ("model: fast", "W0108 3:8+4 model `fast` cannot be had now"),
        (
            "max_turns: 0",
            "E0314 3:12+1 `max_turns` must be a whole number above zero",
        ),
        (
            "background: maybe",
            "E0314 3:13+5 `background` must be true or false",
        ),
        (
            "permission_mode: yolo!",
            "E0314 3:18+5 `permission_mode` must be one of plan",
        ),
        ("sandbox: required\nnetwork: off", ""),
        (
            "sandbox: off",
            "E0314 3:10+3 `sandbox` must be one of auto, required",
        ),
        ("network: [crates.io, '*.github.com']", ""),
        ("network: github.com", ""),
        (
            "network: maybe",
            "E0314 3:10+5 `network` must be on, off or a list of hosts",
        ),
        (
            "network: ['https://a.io']",
            "E0314 3:10+1 `network` must be on, off or a list of hosts",
        ),
        (
            "limits: {max_turn: 3}",
            "E0318 3:10+8 unknown limit `max_turn` | did you mean `max_turns`?",
        ),
        ("limits: {depth: deep}", "E0314 3:17+4 `limits.depth`"),
        (
            "extends: nobody",
            "E0317 3:10+6 there is no agent `nobody` to extend",
        ),
        ("extends: a", "E0317 3:10+1 there is no agent `a` to extend"),
        ("name: b", "W0106 3:7+1 the file is called `a`"),
        (
            "tools: [AskUser]",
            "W0112 3:9+7 tool `AskUser` is not available here",
        ),
        (
            "tools: ['todo_*x']",
            "W0103 3:9+9 `todo_*x` matches no tool",
        ),
        (
            "mcp_servers: {s: {command: 'run ${NONE}'}}",
            "W0104 3:28+13 variable `NONE` is not set",
        ),
        (
            "mcp_servers: {s: {command: x, sandbox: off}}",
            "W0119 3:31+7 `sandbox: off` of a server has no effect in a definition | set the server up in your own",
        ),
        (
            "mcp_servers: {s: {command: x, sandbox: required, network: off}}",
            "",
        ),
        (
            "mcp_servers: {s: {command: x, network: [api.github.com]}}",
            "",
        ),
        ("strict: true\ntop_p: 1", "E"),
        ("model: [", "E0311"),
        (
            "description: twice",
            "E0311 3:1+11 cannot read the frontmatter: `description` is there twice",
        ),
    ];
    for (front, wanted) in table {
        let found = complaints(front);
        if wanted == "E" {
            continue;
        }
        if wanted.is_empty() {
            assert_eq!(found, Vec::<String>::new(), "{front}");
        } else {
            assert!(
                found.first().is_some_and(|first| first.starts_with(wanted)),
                "{front}: {found:#?}"
            );
        }
    }
}

#[test]
fn a_strict_definition_is_not_used_if_anything_cannot_be_enforced() {
    let text = "---\ndescription: x\ntop_p: 1\n---\nYou work.";
    let loose = Folder::new()
        .with("project/.rooftree/agents/a.md", text)
        .load();
    assert_eq!(
        (loose.definitions.len(), loose.diagnostics[0].severity),
        (1, Severity::Warning)
    );
    let strict = Folder::new()
        .with(
            "project/.rooftree/agents/a.md",
            &text.replace("top_p", "strict: true\ntop_p"),
        )
        .load();
    assert_eq!(
        (strict.definitions.len(), strict.diagnostics[0].severity),
        (0, Severity::Error)
    );
}

#[test]
fn a_bad_file_hides_no_other() {
    let good = "---\ndescription: x\n---\nYou work.";
    let folder = Folder::new()
        .with("project/.rooftree/agents/a.md", "---\ntools: [\n---\nx")
        .with("project/.rooftree/agents/b.md", "---\nnever closed")
        .with("project/.rooftree/agents/b d.md", good)
        .with("project/.rooftree/agents/default.md", good)
        .with(
            "project/.rooftree/agents/empty.md",
            "---\nmax_turns: 3\n---\n",
        )
        .with("project/.rooftree/agents/deep/down/good.md", good)
        .with(
            "project/.rooftree/agents/plain.md",
            "You are a plain helper. Nothing else.",
        );
    let loaded = folder.load();
    let names: Vec<&str> = loaded
        .definitions
        .iter()
        .map(|found| found.name.as_str())
        .collect();
    assert_eq!(names, ["good", "plain"]);
    assert_eq!(
        codes(&loaded),
        ["E0311", "E0315", "E0311", "E0315", "E0316"],
        "{:#?}",
        loaded.diagnostics
    );
    assert_eq!(loaded.definitions[1].description, "Plain helper");
}

#[test]
fn entries_of_a_list_are_told_by_their_number() {
    let text = "[{\"name\": \"a\", \"prompt\": \"x\", \"tolls\": []}, {\"prompt\": \"y\"}, {\"name\": \"b\", \"prompt\": \"z\"}]";
    let loaded = document(text, DocumentSyntax::Json).load();
    assert_eq!(loaded.definitions[0].name, "b");
    let said: Vec<&str> = loaded
        .diagnostics
        .iter()
        .map(|found| found.message.as_str())
        .collect();
    assert_eq!(
        said,
        [
            "agents[1] has no name",
            "agents[0] (a): unknown field `tolls`"
        ]
    );
}

#[test]
fn r2_d10_a_misspelt_key_in_any_nested_map_makes_the_agent_unusable() {
    let fronts = [
        "capabilities: {alow: [file.read]}",
        "capabilities: {allow: [file.read], denyy: [net]}",
        "agents: {alow: [explore]}",
        "agents: {only: [explore]}",
        "skills: {alow: [a]}",
        "allowed_skills: {alow: [a]}",
        "tools: {alow: [Read]}",
        "limits: {max_turn: 3}",
        "hooks: {PreToolUs: []}",
        "mcp_servers: {s: {command: x, netwrk: off}}",
        "restricted_tools: [Bash]",
        "toolAlowlist: [Read]",
    ];
    for front in fronts {
        let text = format!("---\ndescription: x\n{front}\n---\nYou work.");
        for place in [
            "project/.rooftree/agents/a.md",
            "project/.claude/agents/a.md",
            "project/.emdash/agents/a.md",
        ] {
            let is_foreign_hook = front.starts_with("hooks") && !place.contains(".rooftree");
            let loaded = Folder::new()
                .with(place, &text.replace("---\nd", "---\nname: a\nd"))
                .load();
            assert!(
                is_foreign_hook || loaded.definitions.is_empty(),
                "{place}: {front}: {:#?}",
                loaded.definitions
            );
        }
    }
    // The right spelling of the same is used.
    let text =
        "---\ndescription: x\ncapabilities: {allow: [file.read], deny: [net]}\n---\nYou work.";
    let loaded = Folder::new()
        .with("project/.rooftree/agents/a.md", text)
        .load();
    assert_eq!(
        loaded.definitions[0].capabilities.allow.as_deref(),
        Some(&["file.read".to_owned()][..])
    );
}

#[test]
fn r2_d16_an_unknown_tool_in_a_deny_list_does_not_disable_an_agent() {
    let text = "---\ndescription: x\ndisallowed_tools: [reading_list_delete, Bash]\n---\nYou work.";
    let loaded = Folder::new()
        .with("project/.rooftree/agents/a.md", text)
        .load();
    assert_eq!(
        loaded.definitions[0].tools.deny,
        ["reading_list_delete", "Bash"]
    );
    assert_eq!(loaded.diagnostics[0].severity, Severity::Warning);
}

#[test]
fn r2_d18_a_memory_without_its_tools_is_said() {
    let found = complaints("memory: user\ntools: [Read]");
    assert!(found[0].starts_with("W0127"), "{found:?}");
    assert!(complaints("memory: user").is_empty());
}

#[test]
fn r2_d17_a_glob_of_an_allow_list_knows_tools_by_their_other_names() {
    let text = "---\ndescription: x\ntools: ['web_*', 'read_*']\n---\nYou work.";
    let loaded = Folder::new()
        .with("project/.rooftree/agents/a.md", text)
        .load();
    let allowed = loaded.definitions[0].tools.allow.clone().unwrap();
    assert!(allowed.contains(&"Read".to_owned()), "{allowed:?}");
}

#[test]
fn n_12_what_opencode_denies_an_agent_is_taken_away_and_what_it_asks_about_is_asked() {
    let agent = |permission: &str| {
        let text = format!("---\ndescription: x\npermission: {permission}\n---\nYou work.");
        let loaded = Folder::new()
            .with(
                "project/.claude/agents/a.md",
                &text.replace("---\nd", "---\nname: a\nd"),
            )
            .load();
        loaded.definitions.first().cloned()
    };
    let denied = agent("{edit: deny}").unwrap().tools.deny;
    assert!(
        ["Edit", "Write", "ApplyDiff", "Delete"]
            .iter()
            .all(|tool| denied.contains(&(*tool).to_owned()))
    );
    let denied = agent("{bash: {'git *': allow, '*': deny}}")
        .unwrap()
        .tools
        .deny;
    assert_eq!(
        denied,
        ["Bash"],
        "of a tool nothing is left if a part is denied"
    );
    let asked = agent("{bash: ask}").unwrap();
    assert_eq!(
        asked.permission_mode,
        Some(rooftree_protocol::PermissionMode::Ask)
    );
    assert_eq!(agent("deny").unwrap().tools.deny, ["*"]);
    assert!(
        agent("{edit: dney}").is_none(),
        "what cannot be understood is not used"
    );
    let free = agent("{edit: allow}").unwrap();
    assert!(free.tools.deny.is_empty() && free.permission_mode.is_none());
}

#[test]
fn n_26_a_memory_of_a_claude_agent_without_its_tools_is_said() {
    let text = "---\nname: a\ndescription: x\nmemory: project\ntools: Read\n---\nYou work.";
    let loaded = Folder::new()
        .with("project/.claude/agents/a.md", text)
        .load();
    assert_eq!(codes(&loaded), ["W0127"]);
}

#[test]
fn as1_what_chat_config_says_has_an_effect_or_is_said() {
    let text = r#"{"agents": [
      {"agentId": "Local", "systemPrompt": "x", "chat": {"provider": "openai-compatible",
       "config": {"baseUrl": "http://127.0.0.1:1/v1", "apiKey": "${KEY}", "models": ["llama", "qwen"]}}},
      {"agentId": "bare", "systemPrompt": "x", "chat": {"provider": "openai-compatible", "model": "m"}},
      {"agentId": "cli", "systemPrompt": "x", "chat": {"provider": "claude-cli",
       "config": {"workdir": "/srv", "extraArgs": ["--dangerously-skip-permissions"]}}},
      {"agentId": "key", "systemPrompt": "x", "chat": {"provider": "openai-compatible",
       "config": {"baseUrl": "http://127.0.0.1:1/v1", "apiKey": "plain", "model": "m"}}}
    ]}"#;
    let loaded = document(text, DocumentSyntax::Json).load();
    let models: Vec<String> = loaded
        .definitions
        .iter()
        .map(|one| one.model.as_ref().unwrap().to_string())
        .collect();
    assert_eq!(
        models,
        [
            "openai-compatible.local/llama",
            "openai-compatible/m",
            "claude-cli/default",
            "openai-compatible.key/m"
        ]
    );
    let said: Vec<&str> = loaded
        .diagnostics
        .iter()
        .map(|found| found.message.as_str())
        .collect();
    assert_eq!(
        said,
        [
            "agents[2] (cli): `chat.config.workdir` is left out",
            "agents[2] (cli): `chat.config.extraArgs` is left out",
            "agents[3] (key): `chat.config.apiKey` is left out",
        ]
    );
    assert!(
        loaded
            .diagnostics
            .iter()
            .all(|found| !found.help.clone().unwrap().contains("plain")),
        "a key is not repeated"
    );
}
