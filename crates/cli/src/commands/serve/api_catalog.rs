//! Catalog for the HTTP API, from settings and project: models, tools, skills, MCP servers, hooks, effective agents.

use std::path::Path;

use rooftree_protocol::{AgentDefinition, Problem};
use rooftree_runtime::assembly::known_tools;
use rooftree_server::{
    CatalogHook, CatalogMcpServer, CatalogModel, CatalogSkill, CatalogTool, EffectiveAgentReport,
    EmptyCatalog, ServerCatalog,
};

use crate::{
    commands::agents::{AgentsContext, effective},
    configured_models,
    environment::Environment,
    mcp_servers, project_agents,
    providers::KeyNeed,
    trust,
};

/// The catalog as it was when the server started; skills are read again when they change.
pub struct ConfiguredCatalog {
    environment: Environment,
    here: AgentsContext,
    models: Vec<CatalogModel>,
    servers: Vec<CatalogMcpServer>,
}

impl ConfiguredCatalog {
    /// Reads settings and project.
    pub fn look(environment: &Environment) -> Result<Self, Problem> {
        let here = AgentsContext::look(environment)?;
        let places = project_agents::places(environment);
        let gathered = mcp_servers::gather(environment, &places, &here.settings, &[])?;
        let servers = gathered.servers.iter().map(|(name, known)| {
            let transport = if known.server.url.is_some() {
                "http"
            } else {
                "program"
            };
            CatalogMcpServer {
                name: name.clone(),
                transport: transport.to_owned(),
                enabled: known.server.enabled,
            }
        });
        Ok(Self {
            environment: environment.clone(),
            servers: servers.collect(),
            models: models(&here),
            here,
        })
    }
}

/// The known models of providers that can be asked.
fn models(here: &AgentsContext) -> Vec<CatalogModel> {
    let mut usable: Vec<&str> = here
        .models
        .usable()
        .iter()
        .map(|profile| profile.name.as_str())
        .collect();
    let keyless = here.models.profiles.iter();
    let keyless = keyless.filter(|profile| profile.need != KeyNeed::Key);
    usable.extend(keyless.map(|profile| profile.name.as_str()));
    let default = configured_models::default_name(&here.settings);
    let default = default.and_then(|name| here.models.resolve(&name).ok());
    let default = default.map(|found| found.choice.to_string());
    let known = here.models.catalog.known().iter();
    let known = known.filter(|facts| usable.contains(&facts.provider()));
    known
        .map(|facts| CatalogModel {
            name: facts.id.clone(),
            provider: facts.provider().to_owned(),
            window: facts.window,
            is_default: default.as_ref() == Some(&facts.id),
        })
        .collect()
}

impl ServerCatalog for ConfiguredCatalog {
    fn models(&self) -> Vec<CatalogModel> {
        self.models.clone()
    }

    fn tools(&self) -> Vec<CatalogTool> {
        let tools = known_tools();
        let tools = tools.iter().map(|tool| CatalogTool {
            name: tool.spec().name.clone(),
            description: tool.spec().description.clone(),
        });
        tools.collect()
    }

    fn skills(&self) -> Vec<CatalogSkill> {
        let context = self.here.project.project_context.current();
        let skills = context.skills.iter().map(|skill| CatalogSkill {
            name: skill.name.clone(),
            description: skill.description.clone(),
        });
        skills.collect()
    }

    fn mcp_servers(&self) -> Vec<CatalogMcpServer> {
        self.servers.clone()
    }

    fn hooks(&self) -> Vec<CatalogHook> {
        let hooks = self.here.project.hooks.hooks.iter();
        let hooks = hooks.map(|hook| CatalogHook {
            point: hook.point.name().to_owned(),
            matcher: hook.matcher.to_string(),
            level: serde_json::to_value(hook.level)
                .ok()
                .and_then(|level| level.as_str().map(str::to_owned))
                .unwrap_or_default(),
        });
        hooks.collect()
    }

    fn effective(&self, definition: &AgentDefinition) -> EffectiveAgentReport {
        effective::of(&self.here, definition).report()
    }

    /// A project that was trusted stays so: the owner has said what the file is to be.
    fn write_agent_file(&self, path: &Path, text: &str) -> Result<(), Problem> {
        let places = project_agents::places(&self.environment);
        trust::with_own_file(&self.environment, &places, || {
            EmptyCatalog.write_agent_file(path, text)?;
            Ok(((), path.to_owned()))
        })
    }
}
