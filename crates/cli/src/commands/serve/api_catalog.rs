//! Catalog for the HTTP API, from settings and project: models, providers, tools, skills, MCP servers, hooks, effective
//! agents.

use std::{path::Path, sync::Arc};

use futures::future::BoxFuture;
use rooftree_protocol::{AgentDefinition, Problem};
use rooftree_runtime::assembly::known_tools;
use rooftree_server::{
    CatalogDemo, CatalogHook, CatalogLocalServer, CatalogMcpServer, CatalogModel, CatalogPrompt,
    CatalogPromptText, CatalogProvider, CatalogSkill, CatalogTool, EffectiveAgentReport,
    EmptyCatalog, ServerCatalog,
};

use super::key_settings::KeySettings;
use crate::{
    commands::{
        agents::{AgentsContext, effective},
        demo,
        run::slash_prompt,
    },
    configured_models::ConfiguredModels,
    demo_models::DemoScenario,
    environment::Environment,
    local_models, mcp_servers, project_agents,
    providers::KeyNeed,
    trust,
};

/// The catalog as it was when the server started; keys and skills are read again when they are asked for.
pub struct ConfiguredCatalog {
    environment: Environment,
    here: AgentsContext,
    /// Those of the running server, whose default model can be set later.
    served: Arc<ConfiguredModels>,
    servers: Vec<CatalogMcpServer>,
}

impl ConfiguredCatalog {
    /// Reads settings and project.
    pub fn look(environment: &Environment, served: Arc<ConfiguredModels>) -> Result<Self, Problem> {
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
            servers: servers.collect(),
            environment: environment.clone(),
            served,
            here,
        })
    }

    fn keys(&self) -> KeySettings<'_> {
        KeySettings {
            environment: &self.environment,
            settings: &self.here.settings,
            models: &self.served,
        }
    }
}

/// The known models of providers that can be asked.
fn models(here: &AgentsContext, default: Option<&str>) -> Vec<CatalogModel> {
    let mut usable: Vec<&str> = here
        .models
        .usable()
        .iter()
        .map(|profile| profile.name.as_str())
        .collect();
    let keyless = here.models.profiles.iter();
    let keyless = keyless.filter(|profile| profile.need != KeyNeed::Key);
    usable.extend(keyless.map(|profile| profile.name.as_str()));
    let known = here.models.catalog.known().iter();
    let known = known.filter(|facts| usable.contains(&facts.provider()));
    known
        .map(|facts| CatalogModel {
            name: facts.id.clone(),
            provider: facts.provider().to_owned(),
            window: facts.window,
            is_default: default == Some(facts.id.as_str()),
        })
        .collect()
}

impl ServerCatalog for ConfiguredCatalog {
    fn models(&self) -> Vec<CatalogModel> {
        models(&self.here, self.keys().default_model().as_deref())
    }

    fn providers(&self) -> Vec<CatalogProvider> {
        self.keys().providers()
    }

    fn default_model(&self) -> Option<String> {
        self.keys().default_model()
    }

    fn set_default_model(&self, name: &str) -> Result<(), Problem> {
        self.keys().set_default_model(name)
    }

    fn store_key(&self, provider: &str, key: &str) -> Result<(), Problem> {
        self.keys().store(provider, key)
    }

    fn remove_key(&self, provider: &str) -> Result<bool, Problem> {
        self.keys().remove(provider)
    }

    fn local_servers(&self) -> BoxFuture<'_, Vec<CatalogLocalServer>> {
        Box::pin(async {
            let found = local_models::described_servers(&self.served)
                .await
                .into_iter();
            let servers = found.map(|server| CatalogLocalServer {
                models: server
                    .models
                    .iter()
                    .map(|model| format!("{}/{}", server.vendor, model.name))
                    .collect(),
                provider: server.vendor,
                base_url: server.base_url,
            });
            servers.collect()
        })
    }

    fn demo(&self) -> Option<CatalogDemo> {
        let scenario = DemoScenario::default();
        Some(CatalogDemo {
            agent: "lead".into(),
            model: scenario.model(),
            message: scenario.message(demo::extent(&self.environment.cwd)).into(),
        })
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
        let context = self.here.project.project_context.now();
        let skills = context.skills.iter().map(|skill| CatalogSkill {
            name: skill.name.clone(),
            description: skill.description.clone(),
        });
        skills.collect()
    }

    fn prompts(&self) -> Vec<CatalogPrompt> {
        let names = slash_prompt::names(&self.here.project.project_context.now());
        let prompts = names.into_iter().map(|known| CatalogPrompt {
            name: known.name,
            arguments: known.arguments,
            description: known.description,
        });
        prompts.collect()
    }

    fn expand_prompt(&self, name: &str, arguments: &str) -> Result<CatalogPromptText, Problem> {
        let context = self.here.project.project_context.afresh();
        let Some(expanded) = slash_prompt::expand(name, arguments, &context) else {
            let names = slash_prompt::names(&context);
            let names: Vec<&str> = names.iter().map(|known| known.name.as_str()).collect();
            return Err(slash_prompt::unknown(name, &names));
        };
        let wanted = [("model", expanded.model), ("agent", expanded.agent)];
        let ignored = wanted
            .into_iter()
            .filter_map(|(field, value)| Some(format!("{field}: {}", value?)));
        Ok(CatalogPromptText {
            text: expanded.text,
            restriction: expanded.restriction,
            ignored: ignored.collect(),
        })
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
