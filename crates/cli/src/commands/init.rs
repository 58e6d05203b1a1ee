//! Finds keys and local model servers, and writes `config.toml` and `models.toml`. Asks nothing and overwrites nothing.

mod config_template;

use std::{fs, io::Write};

use clap::Args;
use rooftree_protocol::{ErrorCode, Problem};
use rooftree_providers::{
    catalog::ModelProfile,
    openai_compatible::{LocalModel, LocalServer},
};
use rooftree_stdx::atomic_file::AtomicFile;

use crate::{
    configured_models::{self, ConfiguredModels},
    credentials::KeySource,
    default_model,
    environment::Environment,
    exit::Exit,
    human_format::place,
    local_models, output,
    settings::{self, Settings},
    terminal::run_text::counted,
};

/// Models of one server that are shown, at most.
const SHOWN: usize = 8;

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
    let settings = if environment.settings.exists() {
        settings::load(environment)?
    } else {
        Settings::default()
    };
    let models = ConfiguredModels::of(environment, &settings)?;
    models.credentials.stored()?;
    let local = local_models::described_servers(&models).await;
    tell(&models, &local, environment);
    let model = match &arguments.model {
        Some(name) => Some(models.resolve(name)?.choice.to_string()),
        None => local_models::first_choice(&models, &local),
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
        ConfigFileStatus::Kept => complete(environment, model.as_deref(), &local).await?,
    }
    keep_models(environment, &local).await?;
    let wanted = model.clone().filter(|_| arguments.model.is_some());
    let used = configured_models::default_name(&settings).or(model);
    if let Some(wanted) = wanted.filter(|wanted| Some(wanted) != used.as_ref()) {
        let words =
            format!("-m changes no model that is set; rooftree config set model {wanted} does");
        output::print_note(environment, &words);
    }
    output::print_note(environment, &next(used.as_deref()));
    Ok(Exit::DONE)
}

/// Adds the model and the addresses of servers to a file that is there already and does not set them.
async fn complete(
    environment: &Environment,
    model: Option<&str>,
    local: &[LocalServer],
) -> Result<(), Problem> {
    let file = place(&environment.settings);
    let address = |found: &LocalServer| {
        let key = ["providers", &found.vendor, "base_url"].map(str::to_owned);
        (key.to_vec(), found.base_url.clone())
    };
    let model = model.map(|model| (default_model::model_key(), model.to_owned()));
    let addresses = config_template::moved(local).map(address);
    let missing = model.into_iter().chain(addresses).collect();
    let work = async { default_model::add_missing(environment, missing) };
    let added = environment
        .change_files("settings.write", &file, work)
        .await?;
    for line in &added {
        output::print_note(environment, &format!("{file}: {line}"));
    }
    if added.is_empty() {
        let words = format!("{file} is there already and stays as it is; --print shows a new one");
        output::print_note(environment, &words);
    }
    Ok(())
}

/// Keeps the windows of local models, by which the profile of each is chosen.
async fn keep_models(environment: &Environment, local: &[LocalServer]) -> Result<(), Problem> {
    let path = environment.settings.with_file_name("models.toml");
    let file = place(&path);
    let has_windows = |found: &LocalServer| found.models.iter().any(|one| one.window.is_some());
    if !local.iter().any(has_windows) {
        return Ok(());
    }
    let work = async { local_models::keep(&path, local) };
    let added = environment
        .change_files("settings.write", &file, work)
        .await?;
    if added > 0 {
        let models = counted(added as u64, "model");
        let words = format!("wrote the windows of {models} to {file}");
        output::print_note(environment, &words);
    }
    Ok(())
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
        for model in found.models.iter().take(SHOWN) {
            output::print_note(environment, &format!("  {}", described(found, model)));
        }
    }
    if models.usable().is_empty() && local.is_empty() {
        output::print_note(
            environment,
            "found no keys and no model servers on this machine (ports 11434, 1234, 8080 and 8000)\n\
             a server on another port: OLLAMA_HOST=127.0.0.1:PORT rooftree init, or LLAMACPP_BASE_URL, LMSTUDIO_BASE_URL, \
             VLLM_BASE_URL=http://127.0.0.1:PORT/v1",
        );
    }
}

/// A model with what its server told about it.
fn described(found: &LocalServer, model: &LocalModel) -> String {
    let name = format!("{}/{}", found.vendor, model.name);
    let Some(window) = model.window else {
        return name;
    };
    let profile = match model.info(&found.vendor).effective_profile() {
        ModelProfile::Lean => ", lean profile",
        ModelProfile::Full => "",
    };
    format!("{name} · {window} tokens{profile}")
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
