//! What a program can get wrong, and what it is told then.

use rooftree::{Agent, ErrorCode, Query, testing::say, tool};

use crate::fixture::scripted;

/// Reads.
#[tool(read_only, name = "Read")]
async fn mine() -> Result<String, String> {
    Ok(String::new())
}

#[tokio::test]
async fn mistakes_are_told_when_a_query_starts_with_what_to_do() {
    let hi = || scripted("Hi", [say("Hello.")]);
    let table: [(Query, ErrorCode, &str); 8] = [
        (
            hi().agent(Agent::new("Re viewer")),
            ErrorCode::InvalidConfig,
            "no name for an agent",
        ),
        (
            hi().agent(Agent::new("reviewer").tools(["Raed"])),
            ErrorCode::InvalidConfig,
            "tools there are: Read,",
        ),
        (
            hi().tools(["Raed"]),
            ErrorCode::InvalidConfig,
            "names the tool `Raed`",
        ),
        (
            hi().tool(mine()),
            ErrorCode::InvalidConfig,
            "there is a tool `Read` already",
        ),
        (
            hi().allow("Write(x"),
            ErrorCode::InvalidArguments,
            "Write(x",
        ),
        (
            hi().main_agent("nobody"),
            ErrorCode::AgentNotFound,
            "Available: bash",
        ),
        (
            hi().model("no-such-model"),
            ErrorCode::InvalidArguments,
            "no-such-model",
        ),
        (
            hi().cwd("nowhere/at/all"),
            ErrorCode::InvalidConfig,
            "there is no directory",
        ),
    ];
    for (query, code, words) in table {
        let error = query.await.unwrap_err();
        assert!(
            format!("{error:?}").contains(words),
            "{error:?} should say {words}"
        );
        assert_eq!(error.code(), code, "{error:?}");
    }
}
