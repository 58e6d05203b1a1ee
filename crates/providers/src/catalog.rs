//! Model catalog: finds the provider of a model choice, and the model's limits and price.

mod known_models;
mod model_info;
mod resolve;

use std::{
    collections::BTreeMap,
    sync::{Arc, PoisonError, RwLock},
};

use futures::future::BoxFuture;
use rooftree_protocol::{ErrorCode, ModelChoice, Problem, Usage};
use rooftree_stdx::edit_distance;

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
    /// How it is prompted.
    pub profile: ModelProfile,
    /// Whether it runs on the user's own machine, where reading a prompt may take minutes.
    pub is_local: bool,
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
            profile: ModelProfile::Full,
            is_local: false,
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
            self.profile = ModelProfile::Lean;
        }
        self
    }
}

/// Opens a provider's model by the name behind the slash.
pub type ModelOpener = Arc<dyn Fn(&ModelChoice) -> Result<Model, Problem> + Send + Sync>;

/// Asks a provider's server what it knows about a model; none if it does not answer.
pub type ModelProbe =
    Arc<dyn Fn(&ModelChoice) -> BoxFuture<'static, Option<ModelInfo>> + Send + Sync>;

/// The registered providers, by the name before the slash.
#[derive(Clone, Default)]
pub struct ModelCatalog {
    openers: BTreeMap<String, ModelOpener>,
    probes: BTreeMap<String, ModelProbe>,
    /// Cache of what servers said, by `provider/model`. Clones share it.
    learned: Arc<RwLock<BTreeMap<String, Arc<ModelInfo>>>>,
    known: Arc<KnownModels>,
}

impl ModelCatalog {
    /// Registers a provider.
    pub fn with(mut self, name: impl Into<String>, opener: ModelOpener) -> Self {
        self.openers.insert(name.into(), opener);
        self
    }

    /// Registers how a provider's server is asked about its models.
    pub fn with_probe(mut self, name: impl Into<String>, probe: ModelProbe) -> Self {
        self.probes.insert(name.into(), probe);
        self
    }

    /// Asks the server of a model for its window and capabilities, if they are not known and it can be asked. An answer
    /// is cached; a server that does not answer is asked again the next time.
    pub async fn prepare(&self, choice: &ModelChoice) {
        let Some(probe) = self.probes.get(&choice.provider) else {
            return;
        };
        let entry = self.known.find(&choice.provider, &choice.model);
        let is_known = entry.is_some_and(|entry| entry.window.is_some() || entry.profile.is_some());
        if is_known || self.learned(choice).is_some() {
            return;
        }
        if let Some(info) = probe(choice).await {
            let mut learned = self.learned.write().unwrap_or_else(PoisonError::into_inner);
            learned.insert(full_name(choice), Arc::new(info));
        }
    }

    /// What the server of a model said about it, if it was asked.
    fn learned(&self, choice: &ModelChoice) -> Option<Arc<ModelInfo>> {
        let learned = self.learned.read().unwrap_or_else(PoisonError::into_inner);
        learned.get(&full_name(choice)).cloned()
    }

    /// What is known about a model: its entry in the table, completed by what its server says.
    pub fn facts(&self, choice: &ModelChoice) -> Option<Arc<ModelInfo>> {
        let entry = self.known.find(&choice.provider, &choice.model).cloned();
        match (entry, self.learned(choice)) {
            (Some(entry), Some(told)) => Some(Arc::new(entry.completed(&told))),
            (entry, told) => entry.or(told),
        }
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

    /// The providers that people choose from; those of the demo are not among them.
    fn shown_providers(&self) -> Vec<&str> {
        self.providers()
            .filter(|name| !name.starts_with("demo-"))
            .collect()
    }

    /// The error for a choice whose provider is not registered; none if it is.
    pub fn unknown_provider(&self, choice: &ModelChoice) -> Option<Problem> {
        let is_known = self.openers.contains_key(&choice.provider);
        (!is_known).then(|| no_provider(choice, &self.shown_providers()))
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
        let model = match self.openers.get(&choice.provider) {
            Some(opener) => opener(choice)?,
            None => return Err(no_provider(choice, &self.shown_providers())),
        };
        let mut model = match self.facts(choice) {
            Some(facts) => model.learn(&facts),
            None => model,
        };
        if let Some(price) = &mut model.price {
            price.search = price.search.or(self.known.search_price(&choice.provider));
        }
        Ok(model)
    }
}

/// `provider/model`, without an effort.
fn full_name(choice: &ModelChoice) -> String {
    format!("{}/{}", choice.provider, choice.model)
}

/// The error for a provider that does not exist, with the one of the most similar name.
fn no_provider(choice: &ModelChoice, known: &[&str]) -> Problem {
    let meant = edit_distance::nearest(&choice.provider, known.iter().copied(), 2);
    let fix = match meant {
        Some(name) => format!("did you mean `{name}/{}`?", choice.model),
        None => "rooftree models list shows models that are known; docs/models.md says how to add a provider".into(),
    };
    Problem::new(
        ErrorCode::InvalidConfig,
        format!("there is no provider `{}`", choice.provider),
    )
    .cause(format!(
        "model `{choice}` names it; known providers: {}",
        known.join(", ")
    ))
    .fix(fix)
}
