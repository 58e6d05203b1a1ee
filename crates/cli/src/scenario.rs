//! The scripts that are built in, as models of a provider of their own.

use std::sync::Arc;

use clap::ValueEnum;
use rooftree_protocol::{ErrorCode, ModelChoice, Problem};
use rooftree_providers::{
    Model,
    catalog::Opener,
    scripted::{Scripted, Sleeper},
};

/// What stands before the slash of a demo's model.
pub const PROVIDER: &str = "demo";

/// What there is to show.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Scenario {
    /// An agent looks around in this directory and says what it found
    #[default]
    Tour,
}

impl Scenario {
    /// What stands behind the slash of its model.
    pub fn name(self) -> &'static str {
        match self {
            Self::Tour => "tour",
        }
    }

    fn script(self) -> &'static str {
        match self {
            Self::Tour => include_str!("../demo/tour.toml"),
        }
    }

    /// What the agent is asked.
    pub fn message(self, extent: Extent) -> &'static str {
        match (self, extent) {
            (Self::Tour, Extent::All) => "Look around in this directory and tell me what is here.",
            (Self::Tour, Extent::Top) => "Look at the top of this directory and tell me what is here.",
        }
    }
}

/// How much of a directory is to be looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    All,
    Top,
}

/// Opens the scripts that are built in, so that a demo's session can be gone on with.
pub fn opener(sleeper: Sleeper) -> Opener {
    Arc::new(move |choice: &ModelChoice| {
        let scenario = Scenario::value_variants().iter().find(|scenario| scenario.name() == choice.model);
        let scenario = scenario.ok_or_else(|| {
            let names: Vec<&str> =
                Scenario::value_variants().iter().map(|scenario| scenario.name()).collect();
            Problem::new(ErrorCode::InvalidConfig, format!("there is no demo `{}`", choice.model))
                .fix(format!("demos there are: {}", names.join(", ")))
        })?;
        let script = Scripted::from_text(scenario.name(), scenario.script(), sleeper.clone())?.without_log();
        let window = script.window();
        Ok(Model { window, ..Model::new(choice, Arc::new(script)) })
    })
}
