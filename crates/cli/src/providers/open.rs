//! Opens a provider's models: with its key, over connections that all providers share.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use rooftree_protocol::{ErrorCode, Problem};
use rooftree_providers::{
    Model,
    anthropic::KeyScheme,
    catalog::{KnownModels, ModelOpener, ModelPrice, ModelProbe},
    http::{HttpClient, HttpTimeouts, Secret, is_on_this_machine},
    openai_compatible::{LocalEndpoint, local_probe},
    vendor_opener::{self, VendorAccess},
    vendors::key_scheme,
};

use super::{KeyNeed, ProviderProfile};
use crate::{
    credentials::{Credentials, KeySource},
    human_format::place,
    settings::ProviderTimeouts,
};

/// Timeout for a server on this machine that is asked about its models.
pub const PROBE_TIMEOUT: Duration = Duration::from_millis(500);

/// The HTTP connections of this process, set up when the first one is needed.
#[derive(Clone, Default)]
pub struct SharedHttpClient(Arc<Mutex<Option<HttpClient>>>);

impl SharedHttpClient {
    /// A client with these timeouts. A different connect timeout gets a connection pool of its own, because
    /// the pool makes connections.
    pub fn client(&self, waits: ProviderTimeouts) -> Result<HttpClient, Problem> {
        let usual = HttpTimeouts::default();
        let timeouts = HttpTimeouts {
            connect: waits.connect.unwrap_or(usual.connect),
            first_byte: waits.first_byte.unwrap_or(usual.first_byte),
            between_events: waits.between_events.unwrap_or(usual.between_events),
            total: waits.total.unwrap_or(usual.total),
        };
        if timeouts.connect != usual.connect {
            return HttpClient::new(timeouts);
        }
        let mut shared = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let client = match shared.as_ref() {
            Some(client) => client.clone(),
            None => shared.insert(HttpClient::new(usual)?).clone(),
        };
        Ok(client.with_timeouts(timeouts))
    }
}

/// How the catalog opens a provider's models.
pub fn opener(
    profile: ProviderProfile,
    credentials: Credentials,
    connections: SharedHttpClient,
    known: Arc<KnownModels>,
) -> ModelOpener {
    Arc::new(move |choice| {
        let found = profile.key(&credentials)?;
        if found.is_none() && profile.need == KeyNeed::Key {
            return Err(missing_key(&profile, &credentials));
        }
        let scheme = match found.map(|found| found.source) {
            Some(KeySource::Variable(name)) => key_scheme(&name),
            _ => KeyScheme::ApiKey,
        };
        let client = connections.client(profile.waits)?;
        let access = VendorAccess {
            provider: profile.name.clone(),
            wire: profile.wire,
            base_url: profile.base_url.clone(),
            key: secret(&profile, &credentials),
            scheme,
            required: None,
        };
        let open = vendor_opener::opener(access, client, known.clone());
        let model = open(choice)?;
        let is_local = profile.need != KeyNeed::Key && is_on_this_machine(&profile.base_url);
        Ok(match profile.need {
            KeyNeed::Nothing => Model {
                price: Some(ModelPrice::FREE),
                is_local,
                ..model
            },
            KeyNeed::Key | KeyNeed::Perhaps => Model { is_local, ..model },
        })
    })
}

/// How the catalog asks a provider's server about a model; none for vendors elsewhere, whose models are in the table.
pub fn probe(
    profile: &ProviderProfile,
    credentials: &Credentials,
    connections: SharedHttpClient,
) -> Option<ModelProbe> {
    let is_here = is_on_this_machine(&profile.base_url);
    if profile.need != KeyNeed::Nothing && !(profile.need == KeyNeed::Perhaps && is_here) {
        return None;
    }
    let endpoint = LocalEndpoint {
        key: secret(profile, credentials),
        ..LocalEndpoint::new(&profile.name, &profile.base_url)
    };
    let client = move || connections.client(ProviderTimeouts::default()).ok();
    Some(local_probe(endpoint, PROBE_TIMEOUT, client))
}

/// The key, looked up again for each request: it may change while a program runs for days.
pub fn secret(profile: &ProviderProfile, credentials: &Credentials) -> Secret {
    let (profile, credentials) = (profile.clone(), credentials.clone());
    Secret::from_fn(move || {
        let found = profile.key(&credentials).ok().flatten()?;
        Some(found.key.reveal().to_owned())
    })
}

/// There is no key: where it was looked for, and what to do.
pub fn missing_key(profile: &ProviderProfile, credentials: &Credentials) -> Problem {
    let file = place(credentials.path());
    Problem::new(
        ErrorCode::Unauthorized,
        format!("there is no key for {}", profile.title),
    )
    .cause(format!(
        "looked at {} and {file}",
        profile.variables.join(", ")
    ))
    .fix(format!(
        "rooftree auth login {}   stores one\nrooftree demo   shows it at work without a key",
        profile.account
    ))
}
