//! Model catalog: finds the provider of a model choice, and the model's limits and price.

mod known_models;
mod model_info;
mod resolve;

use std::{collections::BTreeMap, sync::Arc};

use rooftree_protocol::{ErrorCode, ModelChoice, Problem, Usage};

use crate::{Provider, lean::LeanProvider};

pub use known_models::KnownModels;
pub use model_info::{LongRequestPrice, ModelInfo, ModelPrice, ModelProfile, ModelTier};
pub use resolve::ResolvedModel;

/// A model ready for requests.
#[derive(Clone)]
pub struct Model {
    /// The choice that opened it.
    pub choice: ModelChoice,
    /// The provider that answers.
    pub provider: Arc<dyn Provider>,
    /// Context window in tokens, if known.
    pub window: Option<u64>,
    /// Output limit in tokens, if known.
    pub output: Option<u64>,
    /// Its price, if known.
    pub price: Option<ModelPrice>,
}

impl Model {
    /// A model without known limits or price. The catalog fills in what it knows.
    pub fn new(choice: &ModelChoice, provider: Arc<dyn Provider>) -> Self {
        Self {
            choice: choice.clone(),
            provider,
            window: None,
            output: None,
            price: None,
        }
    }

    /// Adds the cost to a usage, as far as prices are known.
    pub fn charge(&self, usage: Usage) -> Usage {
        self.price
            .as_ref()
            .map_or(usage, |price| price.charge(usage))
    }

    fn learn(mut self, facts: &ModelInfo) -> Self {
        self.window = self.window.or(facts.window);
        self.output = self.output.or(facts.output);
        self.price = self.price.or_else(|| facts.price.clone());
        if facts.effective_profile() == ModelProfile::Lean {
            self.provider = Arc::new(LeanProvider::new(self.provider, self.window));
        }
        self
    }
}

/// Opens a provider's model by the name behind the slash.
pub type ModelOpener = Arc<dyn Fn(&ModelChoice) -> Result<Model, Problem> + Send + Sync>;

/// The registered providers, by the name before the slash.
#[derive(Clone, Default)]
pub struct ModelCatalog {
    openers: BTreeMap<String, ModelOpener>,
    known: Arc<KnownModels>,
}

impl ModelCatalog {
    /// Registers a provider.
    pub fn with(mut self, name: impl Into<String>, opener: ModelOpener) -> Self {
        self.openers.insert(name.into(), opener);
        self
    }

    /// Sets the table of known models.
    pub fn with_known(mut self, known: impl Into<Arc<KnownModels>>) -> Self {
        self.known = known.into();
        self
    }

    /// The names of the registered providers.
    pub fn providers(&self) -> impl Iterator<Item = &str> {
        self.openers.keys().map(String::as_str)
    }

    /// The table of known models.
    pub fn known(&self) -> &KnownModels {
        &self.known
    }

    /// Resolves a name to a model: with its provider, by an alias, or by its own name alone.
    pub fn resolve(&self, text: &str) -> Result<ResolvedModel, Problem> {
        let providers: Vec<&str> = self.providers().collect();
        resolve::resolve(text, &self.known, &providers)
    }

    /// Opens the chosen model.
    pub fn open(&self, choice: &ModelChoice) -> Result<Model, Problem> {
        let Some(opener) = self.openers.get(&choice.provider) else {
            let known: Vec<&str> = self.providers().collect();
            return Err(Problem::new(
                ErrorCode::InvalidConfig,
                format!("there is no provider `{}`", choice.provider),
            )
            .cause(format!(
                "model `{choice}` names it; known providers: {}",
                known.join(", ")
            ))
            .fix("rooftree run -m scripted/FILE.toml … works without any key"));
        };
        let model = opener(choice)?;
        let mut model = match self.known.find(&choice.provider, &choice.model) {
            Some(facts) => model.learn(facts),
            None => model,
        };
        if let Some(price) = &mut model.price {
            price.search = price.search.or(self.known.search_price(&choice.provider));
        }
        Ok(model)
    }
}
