//! Finds keys and local servers, and writes a first `config.toml`. Asks nothing and overwrites nothing.

mod config_template;

use std::{fs, io::Write};

use clap::Args;
use rooftree_protocol::{ErrorCode, Problem};
use rooftree_providers::{catalog::ModelTier, openai_compatible::LocalServer};
use rooftree_stdx::atomic_file::AtomicFile;

use super::doctor::local_servers;
use crate::{
    configured_models::ConfiguredModels, credentials::KeySource, environment::Environment,
    exit::Exit, human_format::place, output, providers::ProviderProfile, settings::Settings,
    terminal::run_text::counted,
};

/// Options of `init`.
#[derive(Args, Debug)]
pub struct Arguments {
    /// The model to use when none is named, instead of one that was found
    #[arg(short, long, value_name = "PROVIDER/MODEL")]
    model: Option<String>,
    /// Print the file instead of writing it
    #[arg(long)]
    print: bool,
}

/// Looks, says what it found, and writes the file if there is none.
pub async fn execute(arguments: Arguments, environment: &Environment) -> Result<Exit, Problem> {
    // Whatever the settings say, this is about a machine without any.
    let models = ConfiguredModels::of(environment, &Settings::default())?;
    models.credentials.stored()?;
    let local = local_servers(&models).await.unwrap_or_default();
    tell(&models, &local, environment);
    let model = match arguments.model {
        Some(name) => Some(models.resolve(&name)?.choice.to_string()),
        None => first_choice(&models, &local),
    };
    let text = config_template::config(&models, &local, model.as_deref());
    if arguments.print {
        output::print(&text)?;
        return Ok(Exit::DONE);
    }
    let file = place(&environment.settings);
    let work = async { write(environment, &text) };
    match environment
        .change_files("settings.write", &file, work)
        .await?
    {
        ConfigFileStatus::New => output::print_note(environment, &format!("wrote {file}")),
        ConfigFileStatus::Kept => {
            output::print_note(
                environment,
                &format!("{file} is there already and stays as it is; --print shows a new one"),
            );
        }
    }
    output::print_note(environment, &next(model.as_deref()));
    Ok(Exit::DONE)
}

fn tell(models: &ConfiguredModels, local: &[LocalServer], environment: &Environment) {
    let mut accounts = std::collections::BTreeSet::new();
    for profile in models
        .usable()
        .into_iter()
        .filter(|profile| accounts.insert(&profile.account))
    {
        if let Ok(Some(found)) = profile.key(&models.credentials) {
            let source = match found.source {
                KeySource::Variable(variable) => variable,
                KeySource::File => "credentials.toml".into(),
            };
            let ending = found.key.ending();
            output::print_note(
                environment,
                &format!("found a key for {}: {source} ({ending})", profile.title),
            );
        }
    }
    for found in local {
        let models = counted(found.models.len() as u64, "model");
        output::print_note(
            environment,
            &format!("found {} at {} with {models}", found.vendor, found.base_url),
        );
    }
    if models.usable().is_empty() && local.is_empty() {
        output::print_note(
            environment,
            "found no keys and no model servers on this machine",
        );
    }
}

/// The usual model of the first provider with a key, else the first of a server on this machine.
fn first_choice(models: &ConfiguredModels, local: &[LocalServer]) -> Option<String> {
    let usual = |profile: &&ProviderProfile| {
        let facts = models
            .catalog
            .known()
            .of_tier(&profile.name, ModelTier::Standard)?;
        Some(facts.id.clone())
    };
    let of_key = models.usable().iter().find_map(usual);
    of_key.or_else(|| {
        local
            .iter()
            .find_map(|found| Some(format!("{}/{}", found.vendor, found.models.first()?)))
    })
}

fn next(model: Option<&str>) -> String {
    match model {
        Some(model) => format!("try it: rooftree run \"What is in this directory?\"   ({model})"),
        None => {
            "get a key: rooftree auth login anthropic   or look around without one: rooftree demo"
                .into()
        }
    }
}

/// What became of the file.
enum ConfigFileStatus {
    New,
    Kept,
}

fn write(environment: &Environment, text: &str) -> Result<ConfigFileStatus, Problem> {
    let path = &environment.settings;
    let cannot = |error: std::io::Error| {
        Problem::new(
            ErrorCode::InvalidConfig,
            format!("cannot write {}", place(path)),
        )
        .cause(error.to_string())
    };
    if let Some(directory) = path.parent() {
        fs::create_dir_all(directory).map_err(cannot)?;
    }
    let write = || {
        let mut file = AtomicFile::create(path)?;
        file.write_all(text.as_bytes())?;
        file.commit_new()
    };
    match write().map_err(cannot)? {
        true => Ok(ConfigFileStatus::New),
        false => Ok(ConfigFileStatus::Kept),
    }
}
