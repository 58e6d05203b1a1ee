//! Whoever takes a key: providers of models, and services that search.

use rooftree_protocol::{ErrorCode, Problem};
use rooftree_tools::Backend;

use crate::{
    credentials::{Credentials, Found},
    minds::Minds,
    providers::{Need, Profile, key_page},
    web,
};

/// One of them.
pub struct Account {
    /// What people type.
    pub name: String,
    /// What the key is stored under: two wires of one vendor share one.
    pub stored_as: String,
    pub title: String,
    /// The variables its key may be in.
    pub variables: Vec<String>,
    pub need: Need,
    /// Where to get a key.
    pub page: Option<&'static str>,
}

impl Account {
    /// Its key, if there is one.
    pub fn key(&self, credentials: &Credentials) -> Result<Option<Found>, Problem> {
        credentials.find(&self.stored_as, &self.variables)
    }
}

/// All of them.
pub fn all(minds: &Minds) -> Vec<Account> {
    let services = Backend::SEARCHING.into_iter().filter(|backend| backend.key_variable().is_some());
    minds.profiles.iter().map(of_provider).chain(services.map(of_service)).collect()
}

/// The one of this name.
pub fn find(minds: &Minds, name: &str) -> Result<Account, Problem> {
    let mut accounts = all(minds);
    match accounts.iter().position(|account| account.name.eq_ignore_ascii_case(name)) {
        Some(at) => Ok(accounts.swap_remove(at)),
        None => {
            let names: Vec<&str> = accounts.iter().map(|account| account.name.as_str()).collect();
            let message = format!("there is no provider `{name}` that takes a key");
            Err(Problem::new(ErrorCode::InvalidArguments, message)
                .fix(format!("providers there are: {}", names.join(", "))))
        }
    }
}

fn of_provider(profile: &Profile) -> Account {
    Account {
        name: profile.name.clone(),
        stored_as: profile.account.clone(),
        title: profile.title.clone(),
        variables: profile.variables.clone(),
        need: profile.need,
        page: key_page(&profile.account),
    }
}

fn of_service(backend: Backend) -> Account {
    Account {
        name: backend.name().into(),
        stored_as: backend.name().into(),
        title: backend.title().into(),
        variables: web::variables(backend),
        need: Need::Key,
        page: match backend {
            Backend::Brave => Some("https://api-dashboard.search.brave.com"),
            Backend::Tavily => Some("https://app.tavily.com"),
            Backend::Exa => Some("https://dashboard.exa.ai/api-keys"),
            _ => None,
        },
    }
}
