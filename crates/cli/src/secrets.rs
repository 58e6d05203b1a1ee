//! Collects the secrets to redact: keys of providers, external agents and MCP servers, and secret-looking variables.

use std::{env, sync::Arc};

use rooftree_process::EnvironmentFilter;
use rooftree_protocol::Problem;
use rooftree_runtime::{SecretRedactor, redacting_store::RedactingStore};
use rooftree_store::{SqliteStore, Store};

use crate::{
    credentials::Credentials,
    environment::Environment,
    mcp_servers, providers,
    settings::{self, Settings},
};

impl Environment {
    /// Opens the database; makes it if it is not there. No secret gets into it.
    pub fn store(&self) -> Result<Arc<dyn Store>, Problem> {
        self.store_without(Arc::new(known(self)))
    }

    /// The same, where the secrets are known already.
    pub fn store_without(&self, secrets: Arc<SecretRedactor>) -> Result<Arc<dyn Store>, Problem> {
        let opened = SqliteStore::open(&self.database);
        redacting(opened, secrets)
    }
}

/// A database that was opened, or why it was not. No secret gets into it.
pub fn redacting(
    opened: Result<SqliteStore, rooftree_store::Error>,
    secrets: Arc<SecretRedactor>,
) -> Result<Arc<dyn Store>, Problem> {
    let store = Arc::new(opened.map_err(|error| error.problem())?);
    Ok(Arc::new(RedactingStore::new(store, secrets)))
}

/// All secrets that must not be stored, shown or passed on. Unreadable settings contribute none; the code
/// that needs them reports the error.
pub fn known(environment: &Environment) -> SecretRedactor {
    match settings::load(environment) {
        Ok(settings) => known_with(environment, &settings),
        Err(_) => known_with(environment, &Settings::default()),
    }
}

/// The same, where the settings are read already.
pub fn known_with(environment: &Environment, settings: &Settings) -> SecretRedactor {
    known_besides(environment, settings, Vec::new())
}

/// The same, and what is known besides.
pub fn known_besides(
    environment: &Environment,
    settings: &Settings,
    besides: Vec<(String, String)>,
) -> SecretRedactor {
    let credentials = Credentials::of(environment).read_once();
    let named = SecretRedactor::in_variables(variables());
    let named = named
        .into_iter()
        .map(|(name, value)| (format!("value of {name}"), value));
    let stored = credentials.stored().unwrap_or_default().into_iter();
    let stored =
        stored.map(|(account, key)| (format!("key of {account}"), key.reveal().to_owned()));
    let agents = settings.external.iter();
    let agents = agents
        .filter_map(|(name, agent)| Some((format!("secret of {name}"), agent.secret.reveal()?)));
    // A provider's variable may have any name.
    let profiles = providers::profiles(settings)
        .unwrap_or_default()
        .into_iter();
    let keys = profiles.filter_map(|profile| {
        let found = profile.key(&credentials).ok()??;
        Some((
            format!("key of {}", profile.account),
            found.key.reveal().to_owned(),
        ))
    });
    // Whose key it is says more than which variable it is in.
    let servers = mcp_servers::kept(environment, settings)
        .into_iter()
        .chain(besides);
    SecretRedactor::knowing(keys.chain(stored).chain(agents).chain(servers).chain(named))
}

/// The environment variables that programs started for agents inherit.
pub fn inheritance(secrets: &SecretRedactor, settings: &Settings) -> Arc<EnvironmentFilter> {
    Arc::new(EnvironmentFilter {
        keep: settings.environment.keep.clone(),
        withheld: secrets.withheld(variables()),
        only_listed: settings.environment.only_listed,
    })
}

/// The same for callers that have not read the settings yet.
pub fn inheritance_here(environment: &Environment) -> Arc<EnvironmentFilter> {
    let settings = settings::load(environment).unwrap_or_default();
    inheritance(&known_with(environment, &settings), &settings)
}

fn variables() -> impl Iterator<Item = (String, String)> {
    env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
}
