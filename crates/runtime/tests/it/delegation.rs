//! One session asks another: foreground, parallel, background, forked, resumed.

mod background;
mod bounds;
mod budgets;
mod cache;
mod confinement;
mod crash;
mod dialects;
mod foreground;
mod forks;
mod messages;
mod models;
mod order;
mod peers;
mod rights;
mod workspaces;

use rooftree_protocol::{AgentDefinition, Effect};
use rooftree_providers::scripted::{Call, Entry, call};
use rooftree_testkit::{Plan, Probe};
use rooftree_tools::Toolset;
use serde_json::{Value, json};

/// A house with a lead, a helper and a scout, and a tool that looks.
fn plan(entries: impl IntoIterator<Item = Entry>) -> Plan {
    let tools =
        Toolset::new([Probe::open("Look", Effect::ReadOnly), Probe::open("Change", Effect::LocalMutation)]);
    Plan::new(entries).delegating(tools).agent(agent("helper")).agent(agent("scout"))
}

fn agent(name: &str) -> AgentDefinition {
    AgentDefinition { description: format!("The {name}."), ..AgentDefinition::new(name) }
}

fn task(agent: &str, prompt: &str) -> Call {
    call("Task", json!({"subagent_type": agent, "prompt": prompt}))
}

fn task_with(agent: &str, prompt: &str, more: Value) -> Call {
    let mut input = json!({"subagent_type": agent, "prompt": prompt});
    input.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    call("Task", input)
}
