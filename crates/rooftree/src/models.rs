//! The models there are: the vendors whose keys are in the usual variables, and what the program adds.
//!
//! A library reads no settings; keys are the exception everybody expects. Nothing is connected,
//! and no key is looked for, until a model is asked for.

use std::{collections::BTreeMap, env, path::Path, sync::Arc};

use rooftree_protocol::{ErrorCode, ModelChoice, Problem};
use rooftree_providers::{
    Catalog, Model, Provider,
    catalog::{Known, Opener, Tier},
    compatible::{Site, VENDORS, Vendor},
    http::Secret,
    scripted,
};
use rooftree_runtime::Clock;

use crate::{
    endpoint::{Connections, Endpoint},
    error::{Error, Result},
};

/// The variables of the vendors with a wire of their own, the one to prefer first.
const OWN_WIRES: [(&str, &[&str]); 3] = [
    ("anthropic", &["ANTHROPIC_API_KEY"]),
    ("openai", &["OPENAI_API_KEY"]),
    ("google", &["GEMINI_API_KEY", "GOOGLE_API_KEY"]),
];

/// What a program adds to the models there are.
#[derive(Clone, Default)]
pub(crate) struct Added {
    /// Providers written in Rust; the first one answers if nobody names a model.
    pub(crate) providers: Vec<(String, Arc<dyn Provider>)>,
    pub(crate) endpoints: BTreeMap<String, Endpoint>,
}

/// All models, with the names people use for them.
pub(crate) struct Models {
    pub(crate) catalog: Catalog,
    first: Option<String>,
}

impl Models {
    pub(crate) fn new(added: Added, cwd: &Path, clock: &Arc<dyn Clock>) -> Self {
        let (connections, known) = (Connections::default(), Arc::new(Known::built_in()));
        let waiting = clock.clone();
        let sleeper: scripted::Sleeper = Arc::new(move |pause| waiting.sleep(pause));
        let mut catalog = Catalog::default().with("scripted", scripted::opener(cwd, sleeper));
        for (name, endpoint) in usual() {
            catalog = catalog.with(name, endpoint.opener(name, connections.clone(), known.clone()));
        }
        for vendor in VENDORS {
            catalog = catalog.with(vendor.name, compatible(vendor, connections.clone()));
        }
        for (name, endpoint) in added.endpoints {
            let opener = endpoint.opener(&name, connections.clone(), known.clone());
            catalog = catalog.with(name, opener);
        }
        let first = added.providers.first().map(|(name, _)| name.clone());
        for (name, provider) in added.providers {
            let opener: Opener = Arc::new(move |choice| Ok(Model::new(choice, provider.clone())));
            catalog = catalog.with(name, opener);
        }
        Self { catalog: catalog.knowing(known), first }
    }

    /// Which model a name means.
    pub(crate) fn resolve(&self, name: &str) -> Result<ModelChoice, Problem> {
        let tier = match name {
            "fast" | "small" => Some(Tier::Fast),
            "standard" => Some(Tier::Standard),
            "powerful" => Some(Tier::Powerful),
            _ => None,
        };
        match tier {
            None => Ok(self.catalog.resolve(name)?.choice),
            Some(tier) => {
                let found = with_keys().find_map(|provider| self.catalog.known().of_tier(provider, tier));
                found.ok_or_else(no_key)?.id.parse()
            }
        }
    }

    /// The name of the model a provider is usually asked for.
    pub(crate) fn usual(&self, provider: &str) -> Result<String> {
        let found = self.catalog.known().of_tier(provider, Tier::Standard);
        found.map(|facts| facts.id.clone()).ok_or_else(|| {
            let message = format!("it takes a model's name to ask provider `{provider}`");
            Error::new(ErrorCode::InvalidConfig, message)
        })
    }

    /// The model that answers if nobody names one: that of the program's own provider, else what
    /// `ROOFTREE_MODEL` says, else that of the first vendor with a key.
    pub(crate) fn default(&self) -> Result<ModelChoice, Problem> {
        match (&self.first, variable(&["ROOFTREE_MODEL"])) {
            (Some(name), _) => format!("{name}/default").parse(),
            (None, Some(name)) => self.resolve(&name),
            (None, None) => self.resolve("standard"),
        }
    }
}

fn usual() -> [(&'static str, Endpoint); 4] {
    let secret = |name: &'static str| {
        let variables =
            OWN_WIRES.iter().find(|(vendor, _)| *vendor == name).map_or(&[][..], |(_, names)| names);
        Secret::from_fn(move || variable(variables))
    };
    [
        ("anthropic", Endpoint::anthropic().secret(secret("anthropic"))),
        ("openai", Endpoint::openai().secret(secret("openai"))),
        ("openai-chat", Endpoint::openai_chat().secret(secret("openai"))),
        ("google", Endpoint::google().secret(secret("google"))),
    ]
}

fn compatible(vendor: &'static Vendor, connections: Connections) -> Opener {
    Arc::new(move |choice| {
        let endpoint = vendor.endpoint(None, Secret::from_fn(|| variable(vendor.variables)));
        vendor.opener(connections.client()?, endpoint)(choice)
    })
}

/// The vendors that have a key.
fn with_keys() -> impl Iterator<Item = &'static str> {
    let remote = VENDORS.iter().filter(|vendor| vendor.site == Site::Remote);
    let all = OWN_WIRES.into_iter().chain(remote.map(|vendor| (vendor.name, vendor.variables)));
    all.filter(|(_, variables)| variable(variables).is_some()).map(|(name, _)| name)
}

fn variable(names: &[&str]) -> Option<String> {
    names.iter().find_map(|name| env::var(name).ok().filter(|value| !value.trim().is_empty()))
}

fn no_key() -> Problem {
    Problem::new(ErrorCode::Unauthorized, "there is no model to ask")
        .cause("none was named, and no provider has a key")
        .fix("name one with .model(\"provider/model\"), or set ANTHROPIC_API_KEY, OPENAI_API_KEY or GEMINI_API_KEY")
}
