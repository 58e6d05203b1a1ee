//! Model registry: the vendors whose keys are in the usual variables, other agents' programs, and what the
//! program adds.
//!
//! A library reads no settings; keys are the exception its users expect. Nothing is connected, and no key is
//! looked for, until a model is asked for.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::Arc,
};

use rooftree_process::{ChildEnvironment, EnvironmentFilter};
use rooftree_protocol::{ErrorCode, ModelChoice, Problem};
use rooftree_providers::{
    Model, ModelCatalog, Provider,
    agent_program::{self, AgentProgram, PROGRAMS},
    cassette::RecordingMode,
    catalog::{KnownModels, ModelOpener, ModelTier},
    openai_compatible::ServerSite,
    scripted, vendors,
};
use rooftree_runtime::Clock;

use crate::{
    endpoint::{Endpoint, LazyHttpClient, variable},
    error::{Error, Result},
};

/// What a program adds to the models there are.
#[derive(Clone, Default)]
pub(crate) struct CustomProviders {
    /// Providers written in Rust; the first one is the default if no model is named.
    pub(crate) providers: Vec<(String, Arc<dyn Provider>)>,
    pub(crate) endpoints: BTreeMap<String, Endpoint>,
    /// Where programs that answer as models are.
    pub(crate) programs: BTreeMap<String, PathBuf>,
}

/// Where models are asked from.
pub(crate) struct ModelEnvironment<'a> {
    pub(crate) cwd: &'a Path,
    pub(crate) clock: &'a Arc<dyn Clock>,
    /// What programs that answer as models may inherit.
    pub(crate) inheritance: &'a Arc<EnvironmentFilter>,
    /// Whether what they say is recorded, or comes from a recording.
    pub(crate) tape: RecordingMode,
}

/// All models, with the names people use for them.
pub(crate) struct ModelRegistry {
    pub(crate) catalog: ModelCatalog,
    first: Option<String>,
    /// Those of the recording that is played.
    recorded: Vec<String>,
}

impl ModelRegistry {
    pub(crate) fn new(mut added: CustomProviders, around: &ModelEnvironment<'_>) -> Result<Self> {
        let (connections, known) = (LazyHttpClient::default(), Arc::new(KnownModels::built_in()));
        let waiting = around.clock.clone();
        let sleeper: scripted::SleepFn = Arc::new(move |pause| waiting.sleep(pause));
        let mut openers = vec![("scripted".to_owned(), scripted::opener(around.cwd, sleeper))];
        let mut probes = Vec::new();
        for vendor in vendors::all() {
            let endpoint = Endpoint::of(&vendor);
            probes.extend(
                endpoint
                    .probe(vendor.name, connections.clone())
                    .map(|probe| (vendor.name.to_owned(), probe)),
            );
            let opener = endpoint.opener(vendor.name, connections.clone(), known.clone());
            openers.push((vendor.name.to_owned(), opener));
        }
        for other in PROGRAMS {
            let executable = added.programs.remove(other.name);
            openers.push((
                other.name.to_owned(),
                program_opener(other, executable, around.inheritance),
            ));
        }
        if let Some(unknown) = added.programs.keys().next() {
            let known = PROGRAMS.map(|program| program.name).join(", ");
            let message =
                format!("`{unknown}` is no program that answers as a model; there are {known}");
            return Err(Error::new(ErrorCode::InvalidConfig, message));
        }
        for (name, endpoint) in added.endpoints {
            probes.retain(|(known, _)| *known != name);
            let opener = endpoint.opener(&name, connections.clone(), known.clone());
            openers.push((name, opener));
        }
        let first = added.providers.first().map(|(name, _)| name.clone());
        for (name, provider) in added.providers {
            let opener: ModelOpener =
                Arc::new(move |choice| Ok(Model::new(choice, provider.clone())));
            openers.push((name, opener));
        }
        let openers = around.tape.wrap_openers(openers).into_iter();
        let catalog = openers.fold(ModelCatalog::default(), |catalog, (name, opener)| {
            catalog.with(name, opener)
        });
        // A replay asks no server.
        if matches!(around.tape, RecordingMode::Playing(_)) {
            probes.clear();
        }
        let catalog = probes.into_iter().fold(catalog, |catalog, (name, probe)| {
            catalog.with_probe(name, probe)
        });
        Ok(Self {
            catalog: catalog.with_known(known),
            first,
            recorded: around.tape.models(),
        })
    }

    /// Which model a name means.
    pub(crate) fn resolve(&self, name: &str) -> Result<ModelChoice, Problem> {
        let tier = match name {
            "fast" | "small" => Some(ModelTier::Fast),
            "standard" => Some(ModelTier::Standard),
            "powerful" => Some(ModelTier::Powerful),
            _ => None,
        };
        match tier {
            None => Ok(self.catalog.resolve(name)?.choice),
            Some(tier) => {
                let of_tier = |provider: &str| self.catalog.known().of_tier(provider, tier);
                let mut recorded = self
                    .recorded
                    .iter()
                    .filter_map(|name| Some(name.split_once('/')?.0));
                let found = recorded
                    .find_map(of_tier)
                    .or_else(|| vendors_with_keys().find_map(of_tier));
                found.ok_or_else(no_key_problem)?.id.parse()
            }
        }
    }

    /// The name of the model a provider is usually asked for.
    pub(crate) fn default_model_of(&self, provider: &str) -> Result<String> {
        let found = self.catalog.known().of_tier(provider, ModelTier::Standard);
        found.map(|facts| facts.id.clone()).ok_or_else(|| {
            let message = format!("it takes a model's name to ask provider `{provider}`");
            Error::new(ErrorCode::InvalidConfig, message)
        })
    }

    /// The default model: that of the program's own provider, else the first of the recording, else what
    /// `ROOFTREE_MODEL` says, else that of the first vendor with a key.
    pub(crate) fn default(&self) -> Result<ModelChoice, Problem> {
        if let Some(name) = &self.first {
            return format!("{name}/default").parse();
        }
        match self
            .recorded
            .first()
            .cloned()
            .or_else(|| Some(variable(&["ROOFTREE_MODEL"])?.1))
        {
            Some(name) => self.resolve(&name),
            None => self.resolve("standard"),
        }
    }
}

/// The vendors that have a key.
fn vendors_with_keys() -> impl Iterator<Item = &'static str> {
    let remote = vendors::all().filter(|vendor| vendor.site == ServerSite::Remote);
    remote
        .filter(|vendor| variable(vendor.variables).is_some())
        .map(|vendor| vendor.name)
}

/// A program that answers as a model does, and finds in its environment what all of ours do.
fn program_opener(
    program: &'static AgentProgram,
    executable: Option<PathBuf>,
    inheritance: &Arc<EnvironmentFilter>,
) -> ModelOpener {
    let executable = executable.map(PathBuf::into_os_string);
    let environment = ChildEnvironment::inheriting(inheritance.clone());
    agent_program::opener(
        program,
        agent_program::ProgramOptions {
            executable,
            environment,
            ..agent_program::ProgramOptions::default()
        },
    )
}

fn no_key_problem() -> Problem {
    Problem::new(ErrorCode::Unauthorized, "there is no model to ask")
        .cause("none was named, and no provider has a key")
        .fix("name one with .model(\"provider/model\"), or set ANTHROPIC_API_KEY, OPENAI_API_KEY or GEMINI_API_KEY")
}
