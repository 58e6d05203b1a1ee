//! Skill and ListSkills: tools that load a skill's instructions on demand.

use std::sync::Arc;

use futures::future::BoxFuture;
use rooftree_protocol::{DefinitionLevel, ErrorCode, ToolSpec};
use rooftree_tools::{
    Tool, ToolContext, ToolInfo, ToolOutput, Toolset,
    arguments::{self, ArgumentKind, ToolArgument},
    session_tools::{LIST_SKILLS, SKILL},
};
use serde_json::Value;

use crate::{
    caller::Caller,
    definitions::{ProjectContext, Skill, skills_in_scope},
    resolved_agent,
};

/// Files of a skill that are named with its text.
const NAMED: usize = 50;

const LOAD: [ToolArgument; 2] = [
    ToolArgument::new("name", ArgumentKind::Text, "As it is listed")
        .required()
        .with_aliases(&["skill", "skill_name"]),
    ToolArgument::new(
        "arguments",
        ArgumentKind::Text,
        "What it is to be used on, if it takes that",
    )
    .with_aliases(&["args"]),
];

/// These tools, with those that load skills. Which skills there are, and which of them an agent may
/// use, is known to the runtime that calls them.
pub fn with_tools(tools: &Toolset) -> Toolset {
    Toolset::new(tools.iter().cloned().chain(all()))
}

/// These tools, without those that load skills where there is none to load: they would only be read.
pub fn needed(tools: &Toolset, project_context: &ProjectContext) -> Toolset {
    resolved_agent::useful(tools, project_context)
}

/// Their order is part of a cached prompt: new ones go to the end.
fn all() -> [Arc<dyn Tool>; 2] {
    let load = "Load a skill: instructions for special work, with the directory its files are in. \
        The system prompt lists the skills there are.";
    let list = "List the skills there are, with what they are for.";
    [
        Arc::new(SkillTool {
            spec: arguments::spec(SKILL.name, load, &LOAD),
            action: SkillAction::Load,
        }),
        Arc::new(SkillTool {
            spec: arguments::spec(LIST_SKILLS.name, list, &[]),
            action: SkillAction::List,
        }),
    ]
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum SkillAction {
    Load,
    List,
}

struct SkillTool {
    spec: ToolSpec,
    action: SkillAction,
}

impl Tool for SkillTool {
    fn info(&self) -> &ToolInfo {
        match self.action {
            SkillAction::Load => &SKILL,
            SkillAction::List => &LIST_SKILLS,
        }
    }

    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn normalise(&self, _called_as: &str, input: Value) -> Result<Value, String> {
        let known: &[ToolArgument] = if self.action == SkillAction::Load {
            &LOAD
        } else {
            &[]
        };
        arguments::normalise(&self.spec.name, known, input).map(Value::Object)
    }

    fn run(&self, input: Value, context: ToolContext) -> BoxFuture<'static, ToolOutput> {
        let action = self.action;
        Box::pin(async move {
            let Some(caller) = Caller::of(&context) else {
                return ToolOutput::failed(
                    ErrorCode::ToolFailed,
                    "Skills can only be loaded by an agent.",
                );
            };
            // As they were when the run began; what a project's skill says now is told only if it may be.
            let mut skills = skills_in_scope(
                &caller.project_context.skills,
                &caller.resolved.definition.skills,
            );
            let now = caller.context.options.agents.project_context.afresh();
            skills.retain(|skill| {
                skill.level != DefinitionLevel::Project || now.skill(&skill.name).is_some()
            });
            match action {
                SkillAction::List => listed(&skills),
                SkillAction::Load => loaded(&skills, &input, &caller.context.options.tools.all),
            }
        })
    }
}

fn listed(skills: &[&Skill]) -> ToolOutput {
    let listed = skills.iter().filter(|skill| skill.is_listed);
    let lines: Vec<String> = listed
        .map(|skill| format!("- {}: {}", skill.name, skill.description))
        .collect();
    if lines.is_empty() {
        return ToolOutput::done("There are no skills.");
    }
    ToolOutput::done(lines.join("\n"))
}

fn loaded(skills: &[&Skill], input: &Value, tools: &Toolset) -> ToolOutput {
    let name = arguments::text(input, "name");
    let Some(skill) = skills
        .iter()
        .find(|skill| skill.name.eq_ignore_ascii_case(name))
    else {
        let known: Vec<&str> = skills
            .iter()
            .filter(|skill| skill.is_listed)
            .map(|skill| skill.name.as_str())
            .collect();
        let said = format!(
            "There is no skill `{name}`. Skills there are: {}",
            known.join(", ")
        );
        return ToolOutput::failed(ErrorCode::InvalidArguments, said);
    };
    if !skill.is_listed {
        let said =
            format!("Skill `{name}` is not for agents to load: it says disable-model-invocation.");
        return ToolOutput::failed(ErrorCode::ToolNotAllowed, said);
    }
    let Some(body) = skill.body(arguments::text(input, "arguments")) else {
        let said = format!("The file of skill `{name}` is not there any more.");
        return ToolOutput::failed(ErrorCode::ToolFailed, said);
    };
    let mut text = format!("Skill {} in {}\n", skill.name, skill.directory.display());
    let note = skill.note(tools);
    if let Some(rules) = &note.allow {
        text += &format!(
            "Until this run ends or you load another skill, you can use only these tools, besides reading: {}\n",
            rules.join(", ")
        );
    }
    if !note.deny.is_empty() {
        text += &format!("Until then you cannot use: {}\n", note.deny.join(", "));
    }
    let files = skill.files(NAMED);
    if !files.is_empty() {
        text += &format!("Files it brings: {}\n", files.join(", "));
    }
    ToolOutput {
        skill: Some(note),
        ..ToolOutput::done(format!("{text}\n{body}"))
    }
}
