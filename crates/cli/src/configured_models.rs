//! Model registry of the program: every provider, with aliases for models.

use std::{
    collections::BTreeMap,
    fs,
    io::ErrorKind,
    path::PathBuf,
    sync::{Arc, OnceLock},
};

use rooftree_protocol::{ErrorCode, ModelChoice, Problem};
use rooftree_providers::{
    ModelCatalog,
    agent_program::{self, PROGRAMS},
    cassette::Placeholders,
    catalog::{KnownModels, ModelOpener, ResolvedModel},
    external_agent, scripted,
};
use rooftree_runtime::{Clock, SystemClock};

pub use rooftree_providers::cassette::RecordingMode;

use crate::{
    credentials::Credentials,
    demo_models,
    environment::{Environment, variable},
    external_agents,
    providers::{self, KeyNeed, ProviderProfile, SharedHttpClient},
    secrets,
    settings::Settings,
};

/// All models. Nothing is connected and no key is read until a model is opened.
pub struct ConfiguredModels {
    pub catalog: ModelCatalog,
    pub profiles: Vec<ProviderProfile>,
    pub credentials: Credentials,
    pub connections: SharedHttpClient,
    /// Agents elsewhere, by their names behind the slash.
    pub external: BTreeMap<String, external_agent::ExternalAgentOptions>,
    /// The default model that a person named after the start, if none was set before.
    pub set_later: Arc<OnceLock<ModelChoice>>,
    aliases: BTreeMap<String, String>,
    cwd: PathBuf,
    /// Whether requests are recorded or replayed, so that they must be the same on another day.
    pub is_taped: bool,
}

impl ConfiguredModels {
    /// Those the settings know.
    pub fn of(environment: &Environment, settings: &Settings) -> Result<Self, Problem> {
        Self::with_tape(environment, settings, &RecordingMode::Off)
    }

    /// The same, recorded or played.
    pub fn with_tape(
        environment: &Environment,
        settings: &Settings,
        tape: &RecordingMode,
    ) -> Result<Self, Problem> {
        let (profiles, credentials) =
            (providers::profiles(settings)?, Credentials::of(environment));
        let (connections, known) = (SharedHttpClient::default(), Arc::new(known(environment)?));
        let sleeper: scripted::SleepFn = Arc::new(|pause| SystemClock.sleep(pause));
        let mut openers = vec![(
            "scripted".to_owned(),
            scripted::opener(&environment.cwd, sleeper.clone()),
        )];
        openers.extend(
            demo_models::PROVIDERS
                .map(|name| (name.to_owned(), demo_models::opener(sleeper.clone()))),
        );
        let programs = PROGRAMS.map(|program| {
            (
                program.name.to_owned(),
                program_opener(program, environment),
            )
        });
        openers.extend(programs);
        openers.push((
            external_agents::PROVIDER.to_owned(),
            external_agents::opener(environment, settings, connections.clone()),
        ));
        openers.extend(profiles.iter().map(|profile| {
            let (credentials, connections) = (credentials.clone(), connections.clone());
            (
                profile.name.clone(),
                providers::opener(profile.clone(), credentials, connections, known.clone()),
            )
        }));
        let catalog = tape.wrap_openers(openers).into_iter();
        let catalog = catalog.fold(ModelCatalog::default(), |catalog, (name, opener)| {
            catalog.with(name, opener)
        });
        let catalog = catalog.with_known(known);
        // A replay asks no server.
        let asking: &[ProviderProfile] = match tape {
            RecordingMode::Playing(_) => &[],
            RecordingMode::Off | RecordingMode::Recording(_) => &profiles,
        };
        let catalog = asking.iter().fold(catalog, |catalog, profile| {
            match providers::probe(profile, &credentials, connections.clone()) {
                Some(probe) => catalog.with_probe(&profile.name, probe),
                None => catalog,
            }
        });
        let (aliases, cwd) = (settings.models.aliases.clone(), environment.cwd.clone());
        let external = settings.external.clone();
        Ok(Self {
            catalog,
            profiles,
            credentials,
            connections,
            external,
            set_later: Arc::default(),
            aliases,
            cwd,
            is_taped: !matches!(tape, RecordingMode::Off),
        })
    }

    /// With one more provider, or another one under that name.
    pub fn with(self, name: &str, opener: ModelOpener) -> Self {
        Self {
            catalog: self.catalog.with(name, opener),
            ..self
        }
    }

    /// Resolves a model name, and says how it was understood.
    pub fn resolve(&self, text: &str) -> Result<ResolvedModel, Problem> {
        let usable = || {
            self.usable()
                .into_iter()
                .map(|profile| profile.name.clone())
                .collect()
        };
        let resolved = providers::resolve(text, &self.catalog, &self.aliases, usable)?;
        Ok(ResolvedModel {
            choice: self.with_whole_path(resolved.choice),
            ..resolved
        })
    }

    /// The providers over HTTP that have a key. One whose key cannot be read has none.
    pub fn usable(&self) -> Vec<&ProviderProfile> {
        let has_key =
            |profile: &&ProviderProfile| matches!(profile.key(&self.credentials), Ok(Some(_)));
        self.profiles
            .iter()
            .filter(|profile| profile.need != KeyNeed::Nothing)
            .filter(has_key)
            .collect()
    }

    /// A session remembers its model; a script must be found again from any other directory.
    fn with_whole_path(&self, mut model: ModelChoice) -> ModelChoice {
        if model.provider == "scripted" {
            let path = self.cwd.join(&model.model);
            model.model = path
                .canonicalize()
                .unwrap_or(path)
                .to_string_lossy()
                .into_owned();
        }
        model
    }
}

/// How a program's models are opened. What it may inherit is looked at only then.
fn program_opener(
    program: &'static agent_program::AgentProgram,
    environment: &Environment,
) -> ModelOpener {
    let environment = environment.clone();
    Arc::new(move |choice| {
        let inheritance = secrets::inheritance_here(&environment);
        let environment = rooftree_process::ChildEnvironment::inheriting(inheritance);
        agent_program::opener(
            program,
            agent_program::ProgramOptions {
                environment,
                ..agent_program::ProgramOptions::default()
            },
        )(choice)
    })
}

/// What a recording writes by name, and what it must not write at all.
pub fn names(environment: &Environment, settings: &Settings) -> Result<Placeholders, Problem> {
    let secrets = secrets::known_with(environment, settings);
    let names = Placeholders::default().with_placeholder("cwd", environment.cwd.to_string_lossy());
    let names = names.with_redactor(Arc::new(move |text| secrets.clean(text)));
    let agents = settings.external.iter();
    let secrets = agents.filter_map(|(name, agent)| Some((name, agent.secret.reveal()?)));
    let names = secrets.fold(names, |names, (name, secret)| {
        names.with_secret(&format!("secret of {name}"), secret)
    });
    let credentials = Credentials::of(environment);
    providers::profiles(settings)?
        .iter()
        .try_fold(names, |names, profile| {
            Ok(match profile.key(&credentials)? {
                Some(found) => {
                    names.with_secret(&format!("key of {}", profile.account), found.key.reveal())
                }
                None => names,
            })
        })
}

/// The default model, as written: environment variables, with the settings as fallback.
pub fn default_name(settings: &Settings) -> Option<String> {
    let set = variable("ROOFTREE_MODEL").or_else(|| variable("ROOFTREE_DEFAULT_MODEL"));
    // Precedence: command line and pinned settings override environment variables.
    let is_stronger =
        settings.is_pinned("model") || settings.typed.iter().any(|key| key == "model");
    if is_stronger {
        settings.models.default.clone()
    } else {
        set.or_else(|| settings.models.default.clone())
    }
}

/// What we know about models, and what the user's `models.toml` says about them.
fn known(environment: &Environment) -> Result<KnownModels, Problem> {
    let path = environment.settings.with_file_name("models.toml");
    match fs::read_to_string(&path) {
        Ok(text) => KnownModels::built_in().adding(&path.display().to_string(), &text),
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            Ok(KnownModels::built_in())
        }
        Err(error) => Err(Problem::new(
            ErrorCode::InvalidConfig,
            format!("cannot read {}", path.display()),
        )
        .cause(error.to_string())),
    }
}
