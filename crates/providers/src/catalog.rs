//! Finds the provider for a model choice, and what is known about the model.

use std::{collections::BTreeMap, sync::Arc};

use rooftree_protocol::{ErrorCode, ModelChoice, Problem};

use crate::Provider;

/// A model ready to be asked.
#[derive(Clone)]
pub struct Model {
    /// As chosen.
    pub choice: ModelChoice,
    /// Who answers.
    pub provider: Arc<dyn Provider>,
    /// Tokens it can read, if known.
    pub window: Option<u64>,
}

/// Opens a provider's model by the name behind the slash.
pub type Opener = Arc<dyn Fn(&ModelChoice) -> Result<Model, Problem> + Send + Sync>;

/// The providers there are, by the name before the slash.
#[derive(Clone, Default)]
pub struct Catalog {
    openers: BTreeMap<String, Opener>,
}

impl Catalog {
    /// Adds a provider.
    pub fn with(mut self, name: impl Into<String>, opener: Opener) -> Self {
        self.openers.insert(name.into(), opener);
        self
    }

    /// The names before the slash.
    pub fn providers(&self) -> impl Iterator<Item = &str> {
        self.openers.keys().map(String::as_str)
    }

    /// Finds the model that was chosen.
    pub fn open(&self, choice: &ModelChoice) -> Result<Model, Problem> {
        let Some(opener) = self.openers.get(&choice.provider) else {
            let known: Vec<&str> = self.providers().collect();
            return Err(Problem::new(
                ErrorCode::InvalidConfig,
                format!("there is no provider `{}`", choice.provider),
            )
            .cause(format!("model `{choice}` names it; known providers: {}", known.join(", ")))
            .fix("rooftree run -m scripted/FILE.toml … works without any key"));
        };
        opener(choice)
    }
}
