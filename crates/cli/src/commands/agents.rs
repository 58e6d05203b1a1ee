//! Lists, shows, makes, checks and tries out agents. One action, one file.

mod edit;
pub mod effective;
mod import;
mod import_schedules;
mod list;
mod location;
mod new;
mod remove;
mod show;
mod test_agent;
mod validate;

use std::sync::Arc;

use clap::{Args, Subcommand};
use rooftree_protocol::{AgentDefinition, DefinitionLevel, Problem, UseAs};

use crate::{
    configured_models::ConfiguredModels, environment::Environment, exit::Exit, output,
    project_agents::ProjectAgents, settings, settings::Settings,
};

/// Options of `agents`.
#[derive(Args, Debug)]
pub struct Arguments {
    #[command(subcommand)]
    action: Action,
}

/// What to do with agents.
#[derive(Debug, Subcommand)]
enum Action {
    /// List the agents that can be used here
    #[command(visible_alias = "ls")]
    List(list::Arguments),
    /// Show one agent: what it is, what it may do, what its model reads
    Show(show::Arguments),
    /// Begin a file for a new agent
    New(new::Arguments),
    /// Open an agent's file in your editor, and check it
    Edit(edit::Arguments),
    /// Say what is wrong with agent files, and where
    Validate(validate::Arguments),
    /// Ask an agent something; it may only look
    Test(test_agent::Arguments),
    /// Make agents of what another program has
    Import(import::Arguments),
    /// Remove an agent's file; says how to undo it
    #[command(visible_alias = "delete")]
    Rm(remove::Arguments),
}

impl Arguments {
    /// Whether it can be asked of a server too. What a model would read is put together where it runs.
    pub fn can_be_sent(&self) -> bool {
        match &self.action {
            Action::List(_) => true,
            Action::Show(arguments) => arguments.is_about_definition(),
            _ => false,
        }
    }
}

/// Does it.
pub async fn execute(arguments: Arguments, environment: &Environment) -> Result<Exit, Problem> {
    match arguments.action {
        Action::List(arguments) => list::execute(arguments, environment).await,
        Action::Show(arguments) => show::execute(&arguments, environment).await,
        Action::New(arguments) => {
            let work = async { new::execute(&arguments, environment) };
            let name = &arguments.name;
            environment.change_files("agent.write", name, work).await
        }
        Action::Edit(arguments) => {
            let work = async { edit::execute(&arguments, environment) };
            let name = &arguments.name;
            environment.change_files("agent.edit", name, work).await
        }
        Action::Validate(arguments) => validate::execute(&arguments, environment),
        Action::Test(arguments) => test_agent::execute(arguments, environment).await,
        Action::Import(arguments) => {
            let work = import::execute(&arguments, environment);
            let path = arguments.path.display();
            environment.change_files("agent.import", path, work).await
        }
        Action::Rm(arguments) => {
            let work = async { remove::execute(&arguments, environment) };
            let name = &arguments.name;
            environment.change_files("agent.remove", name, work).await
        }
    }
}

/// The context of the `agents` commands: settings, models and definitions.
pub struct AgentsContext {
    pub settings: Settings,
    pub models: Arc<ConfiguredModels>,
    pub project: ProjectAgents,
}

impl AgentsContext {
    pub fn look(environment: &Environment) -> Result<Self, Problem> {
        let settings = settings::load(environment)?;
        let models = Arc::new(ConfiguredModels::of(environment, &settings)?);
        let project = ProjectAgents::find(environment, &settings, &models, None)?;
        Ok(Self {
            settings,
            models,
            project,
        })
    }
}

/// Says that an agent is not known here. It is no error: a server may have agents of its API, and another directory.
pub fn note_unknown_agent(environment: &Environment, name: &str) {
    let Ok(context) = AgentsContext::look(environment) else {
        return;
    };
    if context.project.definitions.find(name).is_err() {
        let words = format!("no agent `{name}` is known here; rooftree agents list shows them");
        output::print_note(environment, &words);
    }
}

/// Who wrote it, in a word.
fn source(definition: &AgentDefinition) -> &'static str {
    match definition.source.level {
        DefinitionLevel::Builtin => "built-in",
        DefinitionLevel::User => "user",
        DefinitionLevel::Project => "project",
        DefinitionLevel::Config => "config",
        DefinitionLevel::Api => "api",
        DefinitionLevel::Code => "code",
    }
}

/// Who may use it, in a word.
fn mode(definition: &AgentDefinition) -> &'static str {
    match definition.use_as {
        UseAs::Both => "both",
        UseAs::Primary => "primary",
        UseAs::Subagent => "sub",
    }
}
