//! Scripted models of the demo, each with a provider of its own, and the agents they speak for.

use std::sync::Arc;

use clap::ValueEnum;
use rooftree_protocol::{
    AgentDefinition, DefinitionLevel, DefinitionSource, ErrorCode, ModelChoice, Problem, Scope,
    UseAs,
};
use rooftree_providers::{
    Model,
    catalog::ModelOpener,
    scripted::{ScriptedModel, SleepFn},
};
use rooftree_runtime::Definitions;

/// What stands before the slash of a demo's model.
pub const PROVIDER: &str = "demo";
/// All providers of demos. The last three stand in for vendors; what they say is scripted too.
pub const PROVIDERS: [&str; 4] = [PROVIDER, "demo-anthropic", "demo-openai", "demo-google"];

/// Those the lead of a demo asks: name, provider, task, tools.
const AGENTS: [(&str, &str, &str, &[&str]); 3] = [
    (
        "mapper",
        "demo-anthropic",
        "Says which files and directories there are.",
        &["List", "Glob", "Grep"],
    ),
    (
        "reader",
        "demo-openai",
        "Finds the most telling file and reads it.",
        &["Glob", "Grep", "Read"],
    ),
    (
        "surveyor",
        "demo-google",
        "Counts what is left to do.",
        &["Grep"],
    ),
];

/// These agents and those of demos, so that a demo's session can be gone on with. They are not
/// listed: whatever they are asked, they read from their script.
pub fn with_agents(definitions: Definitions) -> Definitions {
    AGENTS
        .into_iter()
        .fold(definitions, |definitions, (name, provider, task, tools)| {
            let model = ModelChoice {
                provider: provider.into(),
                model: DemoScenario::Tour.name().into(),
                effort: None,
            };
            definitions.with(AgentDefinition {
                description: task.into(),
                prompt: format!("You are the {name} of the demo. {task}"),
                model: Some(model),
                tools: Scope::only(tools.iter().copied()),
                use_as: UseAs::Subagent,
                hidden: true,
                source: DefinitionSource {
                    level: DefinitionLevel::Builtin,
                    ..DefinitionSource::default()
                },
                ..AgentDefinition::new(name)
            })
        })
}

/// What there is to show.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum DemoScenario {
    /// An agent asks three others to look around in this directory, and says what they found
    #[default]
    Tour,
}

impl DemoScenario {
    /// What stands behind the slash of its model.
    pub fn name(self) -> &'static str {
        match self {
            Self::Tour => "tour",
        }
    }

    /// Its model.
    pub fn model(self) -> ModelChoice {
        ModelChoice {
            provider: PROVIDER.into(),
            model: self.name().into(),
            effort: None,
        }
    }

    fn script(self) -> &'static str {
        match self {
            Self::Tour => include_str!("../demo/tour.toml"),
        }
    }

    /// What the agent is asked.
    pub fn message(self, extent: DemoExtent) -> &'static str {
        match (self, extent) {
            (Self::Tour, DemoExtent::All) => {
                "Look around in this directory and tell me what is here."
            }
            (Self::Tour, DemoExtent::Top) => {
                "Look at the top of this directory and tell me what is here."
            }
        }
    }
}

/// How much of a directory is to be looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DemoExtent {
    All,
    Top,
}

/// Opens the scripts that are built in, so that a demo's session can be gone on with.
pub fn opener(sleeper: SleepFn) -> ModelOpener {
    Arc::new(move |choice: &ModelChoice| {
        let scenario = DemoScenario::value_variants()
            .iter()
            .find(|scenario| scenario.name() == choice.model);
        let scenario = scenario.ok_or_else(|| {
            let names: Vec<&str> = DemoScenario::value_variants()
                .iter()
                .map(|scenario| scenario.name())
                .collect();
            Problem::new(
                ErrorCode::InvalidConfig,
                format!("there is no demo `{}`", choice.model),
            )
            .fix(format!("demos there are: {}", names.join(", ")))
        })?;
        let script = ScriptedModel::from_text(scenario.name(), scenario.script(), sleeper.clone())?
            .without_log();
        let window = script.window();
        Ok(Model {
            window,
            ..Model::new(choice, Arc::new(script))
        })
    })
}
