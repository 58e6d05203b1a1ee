//! Stores, lists and removes keys of providers and search services. A key is never an argument: those
//! end up in histories.

mod hidden_input;
pub mod key_account;
mod list;

use std::io::{self, IsTerminal, Read};

use clap::{Args, Subcommand};
use rooftree_protocol::{ErrorCode, Problem};
use rooftree_providers::catalog::ModelTier;

pub use self::hidden_input::read_hidden_line;
use self::key_account::KeyAccount;
use crate::{
    configured_models::{self, ConfiguredModels},
    credentials::{ApiKey, KeySource},
    default_model,
    environment::Environment,
    exit::Exit,
    human_format::place,
    listing::ListOutput,
    output,
    providers::KeyNeed,
    settings::{self, Settings},
};

/// Options of `auth`.
#[derive(Args, Debug)]
pub struct Arguments {
    #[command(subcommand)]
    action: Action,
}

/// What to do.
#[derive(Debug, Subcommand)]
enum Action {
    /// Show which providers have a key, where it comes from, and how it ends
    #[command(visible_alias = "ls")]
    List {
        /// Also those without a key
        #[arg(long)]
        all: bool,
        #[command(flatten)]
        output: ListOutput,
    },
    /// Store a key that is typed unseen, or read from standard input
    Set {
        /// The provider
        #[arg(value_name = "PROVIDER")]
        provider: String,
        /// `-` reads the key from standard input
        #[arg(value_name = "-", allow_hyphen_values = true)]
        from: Option<String>,
    },
    /// Say where to get a key, and store it
    Login {
        /// The provider
        #[arg(value_name = "PROVIDER")]
        provider: String,
    },
    /// Remove a stored key
    Logout {
        /// The provider
        #[arg(value_name = "PROVIDER")]
        provider: String,
    },
}

/// Does it.
pub async fn execute(arguments: Arguments, environment: &Environment) -> Result<Exit, Problem> {
    let settings = settings::load(environment)?;
    let models = ConfiguredModels::of(environment, &settings)?;
    match arguments.action {
        Action::List { all, output } => list::execute(&models, all, output.format, environment)?,
        Action::Set { provider, from } => {
            let account = key_account::find(&models, &provider)?;
            let key = match from.as_deref() {
                Some("-") => from_input()?,
                Some(_) => return Err(no_argument(&provider)),
                None if io::stdin().is_terminal() => typed(&account, environment).await?,
                None => from_input()?,
            };
            let work = async { keep(&models, &account, key, environment) };
            let name = &account.stored_as;
            environment.change_files("key.store", name, work).await?;
            set_model(&models, &account, &settings, environment).await?;
        }
        Action::Login { provider } => {
            let account = key_account::find(&models, &provider)?;
            output::print_note(environment, &where_to_get_one(&account));
            let key = if io::stdin().is_terminal() {
                typed(&account, environment).await?
            } else {
                from_input()?
            };
            let work = async { keep(&models, &account, key, environment) };
            let name = &account.stored_as;
            environment.change_files("key.store", name, work).await?;
            set_model(&models, &account, &settings, environment).await?;
        }
        Action::Logout { provider } => {
            let account = key_account::find(&models, &provider)?;
            let work = async { forget(&models, &account, environment) };
            let name = &account.stored_as;
            environment.change_files("key.remove", name, work).await?;
        }
    }
    Ok(Exit::DONE)
}

/// What was typed may be a key, so it is not repeated.
fn no_argument(provider: &str) -> Problem {
    Problem::new(ErrorCode::InvalidArguments, "a key cannot be given as an argument")
        .cause("it would stay in the history of your shell; if it was a key, replace it at its provider")
        .fix(format!("rooftree auth set {provider}      asks for it unseen\nrooftree auth set {provider} -    reads it from standard input"))
}

fn where_to_get_one(account: &KeyAccount) -> String {
    let how = match (account.page, account.need) {
        (Some(page), _) => format!("Make a key at {page} and paste it here."),
        (None, KeyNeed::Nothing) => format!(
            "{} runs on your machine and usually needs no key.",
            account.title
        ),
        (None, _) => format!(
            "{} is your own provider: use the key it was given.",
            account.title
        ),
    };
    format!("{how} It is stored on this machine only, where only you can read it.")
}

async fn typed(account: &KeyAccount, environment: &Environment) -> Result<ApiKey, Problem> {
    if environment.everywhere.no_input {
        return Err(Problem::new(
            ErrorCode::InteractionUnavailable,
            "a key would have to be asked for",
        )
        .fix(format!(
            "rooftree auth set {} - reads it from standard input",
            account.name
        )));
    }
    ApiKey::new(read_hidden_line(&format!("Key for {}: ", account.title)).await?).ok_or_else(empty)
}

fn from_input() -> Result<ApiKey, Problem> {
    let mut text = String::new();
    io::stdin()
        .lock()
        .read_to_string(&mut text)
        .map_err(|error| {
            Problem::new(
                ErrorCode::InvalidArguments,
                "cannot read the key from standard input",
            )
            .cause(error.to_string())
        })?;
    ApiKey::new(text).ok_or_else(empty)
}

fn empty() -> Problem {
    Problem::new(
        ErrorCode::InvalidArguments,
        "the key is empty; nothing was stored",
    )
    .fix("pipe it in: rooftree auth set PROVIDER - < key.txt, or type it: rooftree auth login PROVIDER")
}

fn keep(
    models: &ConfiguredModels,
    account: &KeyAccount,
    key: ApiKey,
    environment: &Environment,
) -> Result<(), Problem> {
    key_account::check(&key)?;
    let ending = key.ending();
    models.credentials.store(&account.stored_as, key)?;
    let file = place(models.credentials.path());
    output::print_note(
        environment,
        &format!("stored the key for {} ({ending}) in {file}", account.title),
    );
    if let Some(found) = account.key(&models.credentials)?
        && let KeySource::Variable(variable) = found.source
    {
        let ending = found.key.ending();
        output::print_note(
            environment,
            &format!("but {variable} is set and takes precedence ({ending})"),
        );
    }
    Ok(())
}

/// A key is enough to run: if no model is set, the usual one of this provider is set.
async fn set_model(
    models: &ConfiguredModels,
    account: &KeyAccount,
    settings: &Settings,
    environment: &Environment,
) -> Result<(), Problem> {
    let usual = models
        .catalog
        .known()
        .of_tier(&account.name, ModelTier::Standard);
    let (None, Some(usual)) = (configured_models::default_name(settings), usual) else {
        return Ok(());
    };
    let file = place(&environment.settings);
    let missing = vec![(default_model::model_key(), usual.id.clone())];
    let work = async { default_model::add_missing(environment, missing) };
    let added = environment
        .change_files("settings.write", &file, work)
        .await?;
    for line in added {
        let words = format!("no model was set; {file}: {line}");
        output::print_note(environment, &words);
    }
    Ok(())
}

fn forget(
    models: &ConfiguredModels,
    account: &KeyAccount,
    environment: &Environment,
) -> Result<(), Problem> {
    let was_there = models.credentials.remove(&account.stored_as)?;
    let words = if was_there {
        "removed the stored key for"
    } else {
        "there is no stored key for"
    };
    output::print_note(environment, &format!("{words} {}", account.title));
    if let Some(found) = account.key(&models.credentials)?
        && let KeySource::Variable(variable) = found.source
    {
        output::print_note(
            environment,
            &format!("{variable} is still set; unset it where it comes from"),
        );
    }
    Ok(())
}
