//! Ten lines to a working program: a tool, two agents, a hook, and what happens as it happens.
//!
//! With a key, leave out `provider` and name models as `anthropic/claude-sonnet-4-5`.

use rooftree::{
    Agent, EventBody, HookVerdict, query,
    testing::{ScriptedModel, call, say},
    tool,
};
use serde_json::json;

/// Look up a ticket in the tracker.
#[tool(read_only)]
async fn ticket(
    /** Ticket number, e.g. 1234 */
    id: u64,
) -> Result<String, std::io::Error> {
    Ok(format!("#{id}: login fails after rotation"))
}

#[tokio::main]
async fn main() -> rooftree::Result<()> {
    println!(
        "{}",
        query("What is 2 + 2?")
            .provider("scripted", ScriptedModel::from_replies([say("4")])?)
            .await?
    );

    let mut run = query("Fix ticket 1234, then have it reviewed")
        .provider("scripted", script()?)
        .agent(
            Agent::new("reviewer")
                .describe("Reviews diffs")
                .model("scripted/small")
                .tools(["Read", "Grep"]),
        )
        .tool(ticket())
        .before_tool(async |about| {
            if about.tool == "Bash" {
                HookVerdict::Ask
            } else {
                HookVerdict::Allow
            }
        })
        .stream();
    while let Some(event) = run.next().await {
        let event = event?;
        match event.body {
            EventBody::MessageDelta { text, .. } if event.parent_run.is_none() => print!("{text}"),
            EventBody::RunStarted { model, .. } => println!("→ {} ({model})", event.agent),
            EventBody::ToolStarted { tool, title, .. } => println!("\n  {tool} {title}"),
            _ => {}
        }
    }
    let outcome = run.result().await?;
    println!("\n{} turns, ${:.4}", outcome.turns, outcome.cost_usd());
    Ok(())
}

fn script() -> rooftree::Result<ScriptedModel> {
    let review = json!({"subagent_type": "reviewer", "prompt": "Review the fix of ticket 1234"});
    Ok(ScriptedModel::from_replies([
        say("Let me look it up.")
            .agent("lead")
            .calls([call("ticket", json!({"id": 1234}))]),
        say("Fixed: {{ results[0].text }}.")
            .agent("lead")
            .calls([call("Task", review)]),
        say("It is fixed and reviewed.").agent("lead"),
        say("The fix looks right.").agent("reviewer"),
    ])?)
}
