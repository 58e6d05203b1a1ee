//! What is said between us and a server that behaves.

use std::sync::Arc;

use rooftree_protocol::{Effect, ErrorCode};
use rooftree_tools::{BackgroundProcesses, Toolset, mcp::McpServerStatus, toolset::ToolLookup};
use serde_json::json;

use super::stand::{Stand, server};

#[tokio::test]
async fn a_server_is_spoken_to_in_every_manner_it_may_know() {
    for (options, protocol) in [
        (&["--modern"][..], "2026-07-28"),
        (&[], "2025-11-25"),
        (&["--die-on-discover"], "2025-11-25"),
    ] {
        let stand = Stand::new(&[]);
        let looked = stand.servers.inspect("s", &server(options)).await;
        let McpServerStatus::Ready(about) = looked.status else {
            panic!("{options:?}: {:?}", looked.status)
        };
        assert_eq!(
            (about.protocol.as_str(), about.title.as_str()),
            (protocol, "test-server 1.2.3"),
            "{options:?}"
        );
        let tools = Toolset::new(looked.tools);
        let said = stand.call(&tools, "echo", json!({"text": "hello"})).await;
        assert_eq!(
            (said.text().as_str(), said.failure),
            ("hello", None),
            "{options:?}"
        );
        stand.servers.close().await;
    }
}

#[tokio::test]
async fn answers_become_texts_images_and_failures() {
    let stand = Stand::new(&[("s", server(&[]))]);
    let tools = stand.tools().await;
    let image = stand.call(&tools, "image", json!({})).await;
    assert_eq!(
        (image.media.len(), image.media[0].media_type.as_str()),
        (1, "image/png")
    );
    let failed = stand.call(&tools, "fail", json!({})).await;
    assert_eq!(
        (failed.text().as_str(), failed.failure),
        ("it did not work", Some(ErrorCode::ToolFailed))
    );
    let refused = stand.call(&tools, "refuse", json!({})).await;
    assert_eq!(refused.failure, Some(ErrorCode::ToolFailed));
    assert!(
        refused.text().contains("MCP server `s`: not with me"),
        "{}",
        refused.text()
    );
    let wrong = stand.call(&tools, "echo", json!({"text": 7})).await;
    assert_eq!(wrong.failure, Some(ErrorCode::InvalidArguments));
    stand.servers.close().await;
}

#[tokio::test]
async fn what_a_server_says_it_does_is_believed_only_if_somebody_says_so() {
    let effect_of_look = async |trust_hints: bool| {
        let believed = rooftree_protocol::McpServer {
            trust_hints,
            ..server(&[])
        };
        let stand = Stand::new(&[("s", believed)]);
        let tools = stand.tools().await;
        let ToolLookup::Tool(tool) = tools.find("mcp__s__look") else {
            panic!("no tool")
        };
        stand.servers.close().await;
        tool.effect(&json!({}))
    };
    assert_eq!(effect_of_look(false).await, Effect::RemoteAction);
    assert_eq!(effect_of_look(true).await, Effect::ReadOnly);
}

#[tokio::test]
async fn two_servers_with_the_same_tools_live_side_by_side_and_each_has_a_short_name() {
    let stand = Stand::new(&[("s", server(&[])), ("t", server(&["--modern"]))]);
    let tools = stand.tools().await;
    for name in ["mcp__s__echo", "mcp__t__echo", "MCP__T__ECHO", "t__echo"] {
        assert!(matches!(tools.find(name), ToolLookup::Tool(_)), "{name}");
    }
    assert!(matches!(tools.find("echo"), ToolLookup::Unknown));
    stand.servers.close().await;
}

#[tokio::test]
async fn a_server_gets_its_own_environment_and_nothing_that_looks_like_ours() {
    let mut given = server(&[]);
    given
        .env
        .insert("SERVER_API_KEY".into(), "sk-not-for-the-journal".into());
    given.env.insert("SERVER_MODE".into(), "quiet-mode".into());
    let stand = Stand::new(&[("s", given)]);
    let tools = stand.tools().await;
    let said = stand.call(&tools, "environment", json!({})).await.text();
    let names: Vec<&str> = said
        .lines()
        .filter_map(|line| line.split_once('='))
        .map(|(name, _)| name)
        .collect();
    assert!(
        names.contains(&"PATH") && said.contains("SERVER_MODE=quiet-mode"),
        "{said}"
    );
    assert!(
        !names.iter().any(|name| name.starts_with("CARGO")),
        "what cargo sets for tests is not passed on: {said}"
    );
    assert!(
        !said.contains("sk-not-for-the-journal")
            && said.contains("SERVER_API_KEY=[SERVER_API_KEY]"),
        "{said}"
    );
    stand.servers.close().await;
}

#[tokio::test]
async fn no_server_and_no_tool_of_one_takes_the_place_of_what_is_built_in() {
    let builtin = rooftree_tools::builtin(Arc::new(BackgroundProcesses::new(|| 1)));
    for posing in ["Bash", "Grep", "execute_command"] {
        let stand = Stand::new(&[(posing, server(&["--rename", posing, "--reading"]))]);
        let offered = stand.offer().await.tools;
        // Whoever comes first would be found first.
        let all = Toolset::new(offered.iter().chain(builtin.iter()).cloned());
        let is_remote = |name: &str| match all.find(name) {
            ToolLookup::Tool(tool) => tool.spec().name.starts_with("mcp__"),
            ToolLookup::Unknown => false,
        };
        for name in builtin.names().into_iter().chain(["execute_command"]) {
            assert!(!is_remote(name), "{posing} took the place of {name}");
        }
        let posed = offered
            .iter()
            .find(|tool| tool.spec().description == "Says it again.")
            .unwrap();
        assert!(
            posed.spec().name.starts_with("mcp__"),
            "{}",
            posed.spec().name
        );
        stand.servers.close().await;
    }
}

#[tokio::test]
async fn what_a_server_says_about_a_tool_is_read_only_so_far() {
    let stand = Stand::new(&[("s", server(&["--description", &"x".repeat(100_000)]))]);
    let tools = stand.tools().await;
    let ToolLookup::Tool(echo) = tools.find("mcp__s__echo") else {
        panic!("no tool")
    };
    assert_eq!(
        echo.spec().description.chars().count(),
        4_001,
        "with a mark that there was more"
    );
    stand.servers.close().await;
}
