//! Servers of tools that the program gives to all its agents.

use rooftree::{ErrorCode, McpServer, SandboxMode};

use crate::{examples::program, fixture::scripted};
use rooftree::testing::{call, say};
use serde_json::json;

#[tokio::test]
async fn every_agent_has_the_tools_of_a_server_the_program_names() {
    let server = McpServer::program(program("mcp_server").display().to_string(), ["serve"]);
    let server = McpServer {
        sandbox: Some(SandboxMode::Off),
        ..server
    };
    let entries = [
        say("").calls([call("mcp__weather__forecast", json!({"city": "Oslo"}))]),
        say("{{ results[0].text }}"),
    ];
    let answer = scripted("Weather?", entries)
        .mcp("weather", server)
        .allow("mcp__weather__forecast")
        .await;
    let answer = answer.unwrap();
    assert!(answer.text.contains("Oslo"), "{answer}");
    assert_eq!(answer.tools, ["mcp__weather__forecast"]);
}

#[tokio::test]
async fn a_rule_that_asks_goes_before_a_mode_that_allows() {
    let entries = [
        say("").calls([call("Bash", json!({"command": "touch x"}))]),
        say("{{ results[0].text }}"),
    ];
    let place = tempfile::tempdir().unwrap();
    let asked = scripted("Go", entries).cwd(place.path()).ask("Bash");
    let answer = asked
        .permission_mode(rooftree::PermissionMode::Auto)
        .await
        .unwrap();
    assert_eq!(answer.denials.len(), 1, "no user can be asked: {answer}");
    assert!(!place.path().join("x").exists());
    let wrong = scripted("Go", [say("x")]).ask("Bash(").await.unwrap_err();
    assert_ne!(wrong.code(), ErrorCode::Internal);
}
