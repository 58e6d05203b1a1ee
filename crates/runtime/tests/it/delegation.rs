//! One session asks another: foreground, parallel, background, forked, resumed.

mod background;
mod bounds;
mod budgets;
mod cache;
mod confinement;
mod crash;
mod dialects;
mod fan_out;
mod foreground;
mod forks;
mod messages;
mod models;
mod order;
mod peers;
mod rights;
mod rows;
mod workspaces;

use rooftree_protocol::{AgentDefinition, Effect};
use rooftree_providers::scripted::{ScriptEntry, ScriptedCall, call};
use rooftree_testkit::{ProbeTool, TestRuntimeBuilder};
use rooftree_tools::Toolset;
use serde_json::{Value, json};

/// A runtime with a lead, a helper and a scout, and a tool that looks.
fn plan(entries: impl IntoIterator<Item = ScriptEntry>) -> TestRuntimeBuilder {
    let tools = Toolset::new([
        ProbeTool::open("Look", Effect::ReadOnly),
        ProbeTool::open("Change", Effect::LocalMutation),
    ]);
    TestRuntimeBuilder::new(entries)
        .with_delegation(tools)
        .agent(agent("helper"))
        .agent(agent("scout"))
}

fn agent(name: &str) -> AgentDefinition {
    AgentDefinition {
        description: format!("The {name}."),
        ..AgentDefinition::new(name)
    }
}

fn task(agent: &str, prompt: &str) -> ScriptedCall {
    call("Task", json!({"subagent_type": agent, "prompt": prompt}))
}

fn task_with(agent: &str, prompt: &str, more: Value) -> ScriptedCall {
    let mut input = json!({"subagent_type": agent, "prompt": prompt});
    input
        .as_object_mut()
        .unwrap()
        .extend(more.as_object().unwrap().clone());
    call("Task", input)
}
