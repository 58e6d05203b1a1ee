//! Reads when the tasks of daycare's directory are due: a draft of a schedule for each, for the agent that it becomes.

use std::{fs, path::Path};

use rooftree_protocol::ScheduleDraft;

use super::{named, text};
use crate::definitions::{
    bounded_read::{entries, markdown_files},
    markdown,
    syntax_tree::{SyntaxEntry, SyntaxNode, yaml},
};

/// What such an agent is told. Its task is its prompt.
const TOLD: &str = "Do your task now.";

/// The schedules of the directory. What cannot be read is reported when the agents are.
pub(super) fn schedules(path: &Path) -> Vec<ScheduleDraft> {
    let crons = entries(&path.join("cron")).into_iter().filter_map(|place| {
        let called = place.file_name()?.to_string_lossy().into_owned();
        let draft = schedule(&place.join("TASK.md"), &called)?;
        draft.when.is_some().then_some(draft)
    });
    let beats = markdown_files(&path.join("heartbeat")).into_iter();
    let beats = beats.filter_map(|file| {
        let called = file.file_stem()?.to_string_lossy().into_owned();
        Some(ScheduleDraft {
            kind: Some("heartbeat".into()),
            ..schedule(&file, &called)?
        })
    });
    crons.chain(beats).collect()
}

fn schedule(path: &Path, called: &str) -> Option<ScheduleDraft> {
    let read = fs::read_to_string(path).ok()?;
    let parts = markdown::split(&read);
    let front = yaml::read(parts.front.unwrap_or_default(), 2).ok()?;
    let fields = front.entries().unwrap_or_default();
    let agent = text(fields, "agent").and_then(named);
    let prompt = match &agent {
        Some(_) => parts.body.trim().to_owned(),
        None => TOLD.to_owned(),
    };
    let when = text(fields, "schedule").or_else(|| text(fields, "cron"));
    let is_off = flag(fields, "enabled") == Some(false);
    Some(ScheduleDraft {
        name: Some(named(called)?),
        when: when.map(str::to_owned),
        agent: agent.or_else(|| named(called)),
        prompt: Some(prompt).filter(|prompt| !prompt.is_empty()),
        gate: gate(fields),
        enabled: is_off.then_some(false),
        ..ScheduleDraft::default()
    })
}

/// A command line, or a map with one.
fn gate(fields: &[SyntaxEntry]) -> Option<String> {
    let node = &fields.iter().find(|entry| entry.key == "gate")?.node;
    let inner = node.entries().and_then(|inner| text(inner, "command"));
    inner.or_else(|| node.text()).map(str::to_owned)
}

fn flag(fields: &[SyntaxEntry], key: &str) -> Option<bool> {
    let entry = fields.iter().find(|entry| entry.key == key)?;
    SyntaxNode::flag(&entry.node)
}
