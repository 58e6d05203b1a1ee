//! One run over three vendors' wires: a lead on Anthropic, sub-agents on OpenAI and Google.
//!
//! The vendors are servers on this machine that speak the real formats. With keys in the usual
//! variables, leave out the endpoints and the same program talks to the real ones.

use rooftree::{Agent, Endpoint, query};
use rooftree_testkit::model_server::{ModelServer, anthropic, gemini, openai_responses, say};

#[tokio::main]
async fn main() -> rooftree::Result<()> {
    let review = r#"{"subagent_type": "code-reviewer", "description": "review", "prompt": "Review auth.rs"}"#;
    let search =
        r#"{"subagent_type": "researcher", "description": "search", "prompt": "Find the RFC"}"#;
    let both = say()
        .text(["Asking both."])
        .call("t1", "Task", [review])
        .call("t2", "Task", [search]);
    let claude =
        ModelServer::start(anthropic::WIRE, [both, say().text(["Both have answered."])]).await;
    let gpt = ModelServer::start(
        openai_responses::WIRE,
        [say().text(["auth.rs has no flaws."])],
    )
    .await;
    let gemini = ModelServer::start(gemini::WIRE, [say().text(["It is RFC 6749."])]).await;

    let answer = query("Review the login and find its specification")
        .endpoint(
            "anthropic",
            Endpoint::anthropic().base_url(claude.url()).key("key"),
        )
        .endpoint("openai", Endpoint::openai().base_url(gpt.url()).key("key"))
        .endpoint(
            "google",
            Endpoint::google().base_url(gemini.url()).key("key"),
        )
        .model("anthropic/claude-sonnet-4-5")
        .agent(
            Agent::new("code-reviewer")
                .describe("Reviews code")
                .provider("openai")
                .model("gpt-5-mini"),
        )
        .agent(
            Agent::new("researcher")
                .describe("Reads")
                .model("google/gemini-2.5-flash")
                .max_turns(8),
        )
        .on_subagent_start(async |start| println!("→ {} ({})", start.agent, start.model))
        .on_subagent_stop(async |stop| println!("← {}: {}", stop.agent, stop.end.text))
        .await?;
    println!("{answer}");
    for (name, server) in [
        ("anthropic", &claude),
        ("openai", &gpt),
        ("google", &gemini),
    ] {
        for asked in server.requests() {
            println!("{name} was asked at {}", asked.path);
        }
    }
    Ok(())
}
