//! Making, changing, importing and removing agents' files.

use std::fs;

use super::{REVIEWER, Shop};

#[test]
fn a_new_agent_is_a_file_that_can_be_used_at_once() {
    let shop = Shop::new();
    let path = shop.rooftree(&["agents", "new", "helper"]).well();
    assert!(
        path.trim().ends_with("shop/.rooftree/agents/helper.md"),
        "{path}"
    );
    shop.rooftree(&["agents", "validate"]).well();
    assert_eq!(
        shop.rooftree(&["agents", "show", "helper", "--trust", "-o", "json"])
            .json()["name"],
        "helper"
    );
    let err = shop.rooftree(&["agents", "new", "Helper"]).ended(2);
    assert!(err.contains("is there already"), "{err}");
    shop.rooftree(&["agents", "new", "../evil"]).ended(2);
    let mine = shop
        .rooftree(&["agents", "new", "scout", "--from", "explore", "--user"])
        .well();
    assert_eq!(
        mine.trim(),
        shop.house.path().join("agents/scout.md").to_str().unwrap()
    );
    assert_eq!(
        shop.rooftree(&["agents", "show", "scout", "-o", "json"])
            .json()["tools"]["allow"][0],
        "Glob"
    );
}

#[test]
fn an_agent_is_edited_and_checked() {
    let shop = Shop::new().with("agents/reviewer.md", REVIEWER);
    let edit = |script: &str| {
        let mut command = shop.house.command(&["agents", "edit", "reviewer"]);
        command
            .env_remove("VISUAL")
            .env("EDITOR", script)
            .output()
            .unwrap()
    };
    let done = edit("sed -i s/Grep/Grepp/");
    assert_eq!(
        done.status.code(),
        Some(3),
        "{}",
        String::from_utf8_lossy(&done.stdout)
    );
    assert_eq!(
        edit("sed -i s/Grepp/Glob/").status.code(),
        Some(0),
        "one that cannot be used can be mended"
    );
    assert_eq!(edit("false").status.code(), Some(2));
    assert!(
        shop.rooftree(&["agents", "edit", "plan"])
            .ended(2)
            .contains("agents new plan --from plan")
    );
}

#[test]
fn an_agent_that_is_put_away_can_be_brought_back() {
    let shop = Shop::new()
        .with("agents/reviewer.md", REVIEWER)
        .with("shop/.claude/agents/theirs.md", REVIEWER);
    let told = shop.rooftree(&["agents", "rm", "reviewer"]).err;
    shop.rooftree(&["agents", "show", "reviewer"]).ended(8);
    let undo = told.split_once("to undo: ").unwrap().1.trim();
    assert!(
        std::process::Command::new("sh")
            .args(["-c", undo])
            .status()
            .unwrap()
            .success()
    );
    shop.rooftree(&["agents", "show", "reviewer"]).well();
    assert!(
        shop.rooftree(&["agents", "rm", "theirs"])
            .ended(2)
            .contains("belongs to another program")
    );
    shop.rooftree(&["agents", "rm", "lead"]).ended(2);
}

#[test]
fn agents_of_other_programs_become_files_of_our_own() {
    let claude = "---\nname: my-reviewer\ndescription: Reviews\ntools: Read, Grep\nmodel: inherit\nmcpServers:\n  - s:\n      command: x\n      env: {KEY: \"${SECRET}\"}\n---\nYou review.";
    let assistant = r#"{"agents": [{"agentId": "todo", "displayName": "Todo", "systemPrompt": "You keep lists.", "toolAllowlist": []}]}"#;
    let koda = r#"{"name":"k","system_prompt":"You are a koda agent.","allowed_tools":["Read"]}"#;
    let opencode =
        "---\ndescription: Builds\nmode: subagent\ntools:\n  write: false\n---\nYou build.";
    let goose = "title: Tidy up\ndescription: Tidies\ninstructions: You tidy.\n";
    let shop = Shop::new()
        .with("theirs/claude.md", claude)
        .with("theirs/config.json", assistant)
        .with("theirs/k.json", koda)
        .with("theirs/builder.md", opencode)
        .with("theirs/tidy.yaml", goose)
        .with("theirs/scan.md", "You scan.")
        .with("theirs/cared/SOUL.md", "You care.")
        .with(
            "theirs/cared/cron/digest/TASK.md",
            "---\nschedule: 0 7 * * *\n---\nSummarise.",
        )
        .with(
            "theirs/cared/heartbeat/disk.md",
            "---\ngate: {command: df}\n---\nLook at the disk.",
        );
    for (program, path) in [
        ("claude", "claude.md"),
        ("assistant", "config.json"),
        ("koda", "k.json"),
        ("opencode", "builder.md"),
        ("goose", "tidy.yaml"),
        ("emdash", "scan.md"),
        ("daycare", "cared"),
    ] {
        let done = shop.rooftree(&[
            "agents",
            "import",
            program,
            &format!("../theirs/{path}"),
            "--user",
        ]);
        assert_eq!(done.code, 0, "{program}: {done:?}");
    }
    let text = fs::read_to_string(shop.house.path().join("agents/my-reviewer.md")).unwrap();
    assert!(
        text.contains("${SECRET}") && text.contains("tools: [Read, Grep]"),
        "{text}"
    );
    shop.rooftree(&["agents", "validate"]).well();
    let shown = |name: &str| {
        shop.rooftree(&["agents", "show", name, "-o", "json"])
            .json()
    };
    assert_eq!(shown("todo")["tools"]["allow"], serde_json::json!([]));
    assert_eq!(
        shown("builder")["tools"]["deny"],
        serde_json::json!(["Write"])
    );
    assert_eq!(
        (&shown("k")["prompt"], &shown("tidy")["prompt"]),
        (&"You are a koda agent.".into(), &"You tidy.".into())
    );
    assert_eq!(
        shown("scan")["tools"]["allow"].as_array().unwrap().len(),
        5,
        "emdash's only look"
    );
    assert_eq!(shown("daycare")["prompt"], "You care.");
    let schedule = |name: &str| {
        shop.rooftree(&["schedules", "show", name, "-o", "json"])
            .json()
    };
    let (digest, disk) = (schedule("digest"), schedule("disk"));
    assert_eq!(
        (&digest["agent"], &digest["kind"], &digest["enabled"]),
        (&"digest".into(), &"time".into(), &true.into())
    );
    // Its gate command is not run before the owner has seen it.
    assert_eq!(
        (&disk["agent"], &disk["kind"], &disk["enabled"]),
        (&"disk".into(), &"heartbeat".into(), &false.into())
    );
}

#[test]
fn n_10_what_our_own_commands_write_into_a_trusted_folder_is_trusted_and_nothing_else() {
    let shop = Shop::new().with("shop/.rooftree/agents/reviewer.md", REVIEWER);
    shop.rooftree(&["trust"]).well();
    shop.rooftree(&["agents", "new", "helper"]).well();
    shop.rooftree(&["mcp", "add", "files", "--project", "--", "true"])
        .well();
    for name in ["helper", "reviewer"] {
        shop.rooftree(&["agents", "show", name]).well();
    }
    // What somebody else changed meanwhile is not trusted along with it.
    let shop = shop.with("shop/.rooftree/agents/planted.md", REVIEWER);
    shop.rooftree(&["agents", "new", "another"]).well();
    let err = shop.rooftree(&["agents", "show", "planted"]).ended(8);
    assert!(
        err.contains("not trusted") && err.contains("rooftree trust"),
        "{err}"
    );
    shop.rooftree(&["agents", "show", "another"]).ended(8);
}

#[test]
fn n_10_a_new_agent_in_a_folder_that_brings_nothing_else_can_be_used_at_once() {
    let shop = Shop::new();
    shop.rooftree(&["agents", "new", "helper"]).well();
    shop.rooftree(&["agents", "show", "helper"]).well();
}

#[test]
fn r2_d25_an_agent_of_a_folder_that_is_not_trusted_is_named_as_such() {
    let shop = Shop::new().with("shop/.rooftree/agents/reviewer.md", REVIEWER);
    let err = shop.rooftree(&["run", "-a", "reviewer", "hi"]).ended(8);
    assert!(
        err.contains(".rooftree/agents/reviewer.md") && err.contains("rooftree trust"),
        "{err}"
    );
}

#[test]
fn n_11_an_imported_claude_agent_is_valid_and_has_no_tool_that_does_not_exist() {
    let claude = "---\nname: debugger\ndescription: Debugs\ntools: Read, NotebookRead, Grep\nmcpServers: [github]\n---\nYou debug.";
    let shop = Shop::new().with("theirs/.claude/agents/debugger.md", claude);
    shop.rooftree(&["agents", "import", "claude", "../theirs", "--user"])
        .well();
    shop.rooftree(&["agents", "validate"]).well();
    let shown = shop
        .rooftree(&["agents", "show", "debugger", "-o", "json"])
        .json();
    assert_eq!(shown["tools"]["allow"], serde_json::json!(["Read", "Grep"]));
    let err = shop
        .rooftree(&["agents", "import", "claude", "../shop", "--user"])
        .ended(3);
    assert!(err.contains("looked for"), "{err}");
}

#[test]
fn n_12_agents_of_opencode_json_keep_what_is_denied_to_them() {
    let text = r#"{"$schema":"x","permission":{"bash":"ask"},"mcp":{},"agent":{
        "docs":{"description":"Writes docs","prompt":"You write.","permission":{"edit":"deny"}}}}"#;
    let shop = Shop::new().with("theirs/opencode.json", text);
    shop.rooftree(&[
        "agents",
        "import",
        "opencode",
        "../theirs/opencode.json",
        "--user",
    ])
    .well();
    let denied = shop
        .rooftree(&["agents", "show", "docs", "-o", "json"])
        .json()["tools"]["deny"]
        .to_string();
    assert!(
        denied.contains("Edit") && denied.contains("Write"),
        "{denied}"
    );
}

#[test]
fn n_11_what_every_program_has_is_imported_as_files_that_validate() {
    let claude = "---\nname: fixer\ndescription: Fixes: fast\ntools: Read, MultiEdit, NotebookRead, mcp__github__search\n\
        model: opus\npermissionMode: acceptEdits\nmaxTurns: 9\nmemory: project\ncolor: cyan\nhooks:\n  Stop:\n    - hooks:\n        - type: prompt\n          prompt: done?\n  PreToolUse:\n    - matcher: Bash\n      hooks:\n        - type: command\n          command: guard.sh\n        - type: prompt\n          prompt: safe?\n\
        mcpServers:\n  - github\n---\nYou fix.";
    let opencode = "---\ndescription: Writes docs\nmode: subagent\nmodel: anthropic/claude-sonnet-5-5\ntemperature: 0.1\n\
        tools:\n  write: true\n  bash: false\npermission:\n  edit: deny\n---\nYou write.";
    let goose = "version: 1.0.0\ntitle: Release notes\ndescription: Writes release notes\ninstructions: You write notes for {{ version }}.\n\
        prompt: Write them.\nparameters:\n  - key: version\n    input_type: string\n    requirement: optional\n    default: next\n    description: Which\n\
        extensions:\n  - type: builtin\n    name: developer\nsettings:\n  goose_provider: openai\n  goose_model: gpt-6-sol\n";
    let koda = r#"{"name": "helper", "description": "Helps", "system_prompt": "You help.", "allowed_tools": ["Read", "Bash"], "model": "gpt-6-sol", "provider": "openai"}"#;
    let emdash = "---\nname: scout\ndescription: Scouts\ntools: [grep, read_file]\nmax_turns: 5\n---\nYou scout.";
    let assistant = r#"{"agents": [{"agentId": "reading-list", "displayName": "Reading list", "description": "Keeps books", "systemPrompt": "You keep a list.",
        "toolAllowlist": ["reading_list_*", "web_*"], "toolDenylist": ["reading_list_delete"], "uiVisible": true}]}"#;
    let table = [
        ("claude", ".claude/agents/fixer.md", claude, "", "fixer"),
        (
            "opencode",
            ".opencode/agent/docs-writer.md",
            opencode,
            "",
            "docs-writer",
        ),
        ("goose", "notes.yaml", goose, "notes.yaml", "notes"),
        (
            "koda",
            "agents/helper.json",
            koda,
            "agents/helper.json",
            "helper",
        ),
        ("emdash", ".emdash/agents/scout.md", emdash, "", "scout"),
        (
            "assistant",
            "config.json",
            assistant,
            "config.json",
            "reading-list",
        ),
    ];
    for (program, file, text, path, name) in table {
        let shop = Shop::new().with(&format!("theirs/{file}"), text);
        let path = format!("../theirs/{path}");
        let done = shop.rooftree(&["agents", "import", program, &path, "--user"]);
        assert_eq!(done.code, 0, "{program}: {done:?}");
        let valid = shop.rooftree(&["agents", "validate"]);
        assert_eq!(valid.code, 0, "{program}: {valid:?}");
        let shown = shop.rooftree(&["agents", "show", name, "-o", "json"]);
        assert_eq!(shown.code, 0, "{program}: {shown:?}");
        if program == "claude" {
            let hooks = &shown.json()["hooks"];
            assert_eq!(hooks["PreToolUse"][0]["hooks"][0]["command"], "guard.sh");
            assert!(!hooks.to_string().contains("prompt"), "{hooks}");
        }
    }
}
