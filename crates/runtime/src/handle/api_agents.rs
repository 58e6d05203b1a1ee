//! Agents made over the HTTP API: rows of the store, which the definitions of this process have at once.

use std::path::{Path, PathBuf};

use rooftree_protocol::{
    AgentDefinition, DefinitionLevel, ErrorCode, Principal, Problem, SandboxMode,
};
use rooftree_store::{AgentRow, AgentWrite, AgentWriteOutcome, AuditEntry};

use super::Handle;
use crate::{
    Definitions, Error,
    definitions::{Diagnostic, LoadedDefinitions, Severity, is_name},
};

/// A change of an agent that was made over the API.
#[derive(Clone, Debug)]
pub struct AgentChange {
    /// Its name.
    pub name: String,
    /// Its definition from now on, as a Markdown file has it; none to remove it.
    pub text: Option<String>,
    /// The revision it must have; none if there must be no such agent.
    pub expected: Option<u64>,
}

/// What came of it.
#[derive(Clone, Debug, PartialEq)]
pub enum AgentChangeOutcome {
    /// As it is now; none if it was removed.
    Changed(Option<Box<AgentRow>>),
    /// Another client changed it: as it is; none if there is none.
    Differs(Option<Box<AgentRow>>),
    /// The text is not a definition that may be made here.
    Invalid(Vec<Diagnostic>),
}

impl Handle {
    /// Makes, changes or removes an agent. Only the owner may. The row and the audit entry are one commit.
    pub async fn change_agent(
        &self,
        who: &Principal,
        change: AgentChange,
    ) -> Result<AgentChangeOutcome, Error> {
        if !who.is_unbound_owner() {
            let message = "only the owner makes and changes agents";
            return Err(Problem::new(ErrorCode::ToolDenied, message).into());
        }
        let Some(agents) = &self.agents else {
            return Err(Self::needs_agents("making an agent"));
        };
        let definitions = agents.context.definitions();
        let parsed = match &change.text {
            Some(text) => match checked(definitions, &change.name, text) {
                Ok(definition) => Some(definition),
                Err(diagnostics) => return Ok(AgentChangeOutcome::Invalid(diagnostics)),
            },
            None => None,
        };
        let action = if parsed.is_some() {
            "agent.write"
        } else {
            "agent.remove"
        };
        let written = self.store.write_agent(AgentWrite {
            tenant: who.tenant.clone(),
            name: change.name.to_lowercase(),
            text: change.text,
            expected: change.expected,
            by: who.clone(),
            at: self.now(),
            audit: Some(AuditEntry::done(who, self.now(), action, &change.name)),
        });
        match written.await? {
            AgentWriteOutcome::Differs(row) => Ok(AgentChangeOutcome::Differs(row)),
            AgentWriteOutcome::Written(row) => {
                match parsed {
                    Some(definition) => drop(definitions.put(*definition)),
                    None => definitions.remove_at(&change.name, DefinitionLevel::Api),
                }
                Ok(AgentChangeOutcome::Changed(row))
            }
        }
    }

    /// Adds the agents that were made over the API to the definitions. Says which cannot be used any more, and why.
    pub async fn load_api_agents(&self, who: &Principal) -> Result<Vec<Diagnostic>, Error> {
        let Some(agents) = &self.agents else {
            return Ok(Vec::new());
        };
        let mut problems = Vec::new();
        for row in self.store.agents(&who.tenant).await? {
            match checked(agents.context.definitions(), &row.name, &row.text) {
                Ok(definition) => drop(agents.context.definitions().put(*definition)),
                Err(diagnostics) => problems.extend(diagnostics),
            }
        }
        Ok(problems)
    }

    /// Parses a definition as it would be made over the API, without keeping it.
    pub fn check_agent(&self, name: &str, text: &str) -> LoadedDefinitions {
        match &self.agents {
            Some(agents) => parse(agents.context.definitions(), name, text),
            None => parse(&Definitions::builtin(), name, text),
        }
    }
}

/// The definition in a text, if it may be made over the API.
fn checked(
    definitions: &Definitions,
    name: &str,
    text: &str,
) -> Result<Box<AgentDefinition>, Vec<Diagnostic>> {
    let LoadedDefinitions {
        mut definitions,
        diagnostics,
    } = parse(definitions, name, text);
    let is_broken = diagnostics
        .iter()
        .any(|found| found.severity == Severity::Error);
    match definitions.pop() {
        Some(definition) if !is_broken => Ok(Box::new(definition)),
        _ => Err(diagnostics),
    }
}

fn parse(definitions: &Definitions, name: &str, text: &str) -> LoadedDefinitions {
    let path = PathBuf::from(format!("{name}.md"));
    let mut loaded = definitions.parse(&path, text, DefinitionLevel::Api);
    let mut refused = Vec::new();
    if !is_name(name) {
        refused.push("the name is not one of an agent: letters, digits, `-` and `_`".to_owned());
    }
    for definition in &loaded.definitions {
        if !definition.name.eq_ignore_ascii_case(name) {
            refused.push(format!("it defines `{}`, not `{name}`", definition.name));
        }
        refused.extend(too_wide(definition).map(str::to_owned));
    }
    let wrong = refused.into_iter().map(|message| complaint(&path, message));
    loaded.diagnostics.extend(wrong);
    loaded
}

/// What a definition made over the API may not have: it must not start programs or leave the sandbox. Its mode and
/// rules only narrow those of the server, as those of every definition do.
fn too_wide(definition: &AgentDefinition) -> impl Iterator<Item = &'static str> {
    let starts_servers = definition
        .mcp_servers
        .values()
        .any(|server| !server.is_reference());
    [
        (
            definition.hooks.is_some(),
            "an agent made over the API has no hooks of its own: they run programs",
        ),
        (
            starts_servers,
            "an agent made over the API names MCP servers that are set up, and sets up none",
        ),
        (
            definition.sandbox == Some(SandboxMode::Off),
            "an agent made over the API cannot switch the sandbox off",
        ),
    ]
    .into_iter()
    .filter_map(|(is_wrong, message)| is_wrong.then_some(message))
}

fn complaint(path: &Path, message: String) -> Diagnostic {
    Diagnostic {
        severity: Severity::Error,
        code: "E0301",
        message,
        path: path.to_owned(),
        at: None,
        line: String::new(),
        help: None,
    }
}
