//! Accounts that take an API key: model providers and search services.

use rooftree_protocol::{ErrorCode, Problem};
use rooftree_stdx::edit_distance;
use rooftree_tools::SearchBackend;

use crate::{
    configured_models::ConfiguredModels,
    credentials::{ApiKey, Credentials, FoundKey},
    providers::{KeyNeed, ProviderProfile, key_page},
    server_connection, web,
};

/// One of them.
pub struct KeyAccount {
    /// What people type.
    pub name: String,
    /// What the key is stored under: two wires of one vendor share one.
    pub stored_as: String,
    pub title: String,
    /// The variables its key may be in.
    pub variables: Vec<String>,
    pub need: KeyNeed,
    /// Where to get a key.
    pub page: Option<&'static str>,
}

impl KeyAccount {
    /// Its key, if there is one.
    pub fn key(&self, credentials: &Credentials) -> Result<Option<FoundKey>, Problem> {
        credentials.find(&self.stored_as, &self.variables)
    }
}

/// Refuses what cannot be a key.
pub fn check(key: &ApiKey) -> Result<(), Problem> {
    let is_other = |letter: char| letter.is_whitespace() || letter.is_control();
    if !key.reveal().contains(is_other) {
        return Ok(());
    }
    let message = "this is not a key; nothing was stored";
    Err(Problem::new(ErrorCode::InvalidArguments, message)
        .cause("there are blanks or line ends in it"))
}

/// All of them.
pub fn all(models: &ConfiguredModels) -> Vec<KeyAccount> {
    let services = SearchBackend::SEARCHING
        .into_iter()
        .filter(|backend| backend.key_variable().is_some());
    models
        .profiles
        .iter()
        .map(of_provider)
        .chain(services.map(of_service))
        .chain([of_server()])
        .collect()
}

/// The access token for the server that `--server` names.
fn of_server() -> KeyAccount {
    KeyAccount {
        name: server_connection::STORED_AS.into(),
        stored_as: server_connection::STORED_AS.into(),
        title: "a rooftree server".into(),
        variables: vec![server_connection::TOKEN.into()],
        need: KeyNeed::Key,
        page: None,
    }
}

/// The one of this name.
pub fn find(models: &ConfiguredModels, name: &str) -> Result<KeyAccount, Problem> {
    let mut accounts = all(models);
    match accounts
        .iter()
        .position(|account| account.name.eq_ignore_ascii_case(name))
    {
        Some(at) => Ok(accounts.swap_remove(at)),
        None => {
            let names: Vec<&str> = accounts
                .iter()
                .map(|account| account.name.as_str())
                .collect();
            let message = format!("there is no provider `{name}` that takes a key");
            let lower = name.to_lowercase();
            let most = name.chars().count().div_ceil(3);
            let fix = match edit_distance::nearest(&lower, names.iter().copied(), most) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("providers there are: {}", names.join(", ")),
            };
            Err(Problem::new(ErrorCode::InvalidArguments, message).fix(fix))
        }
    }
}

fn of_provider(profile: &ProviderProfile) -> KeyAccount {
    KeyAccount {
        name: profile.name.clone(),
        stored_as: profile.account.clone(),
        title: profile.title.clone(),
        variables: profile.variables.clone(),
        need: profile.need,
        page: key_page(&profile.account),
    }
}

fn of_service(backend: SearchBackend) -> KeyAccount {
    KeyAccount {
        name: backend.name().into(),
        stored_as: backend.name().into(),
        title: backend.title().into(),
        variables: web::variables(backend),
        need: KeyNeed::Key,
        page: match backend {
            SearchBackend::Brave => Some("https://api-dashboard.search.brave.com"),
            SearchBackend::Tavily => Some("https://app.tavily.com"),
            SearchBackend::Exa => Some("https://dashboard.exa.ai/api-keys"),
            _ => None,
        },
    }
}
