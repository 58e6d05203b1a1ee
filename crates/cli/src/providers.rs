//! The model providers: how each is reached, and the models it serves.
//!
//! A [`ProviderProfile`] is plain data: built in, changed by settings and variables. Its opener sets up HTTP
//! and looks for a key only when one of its models is asked for, so that starting the program costs nothing
//! of that.

mod built_in;
mod open;
mod resolve;

use rooftree_protocol::Problem;
pub use rooftree_providers::vendors::VendorWire;

pub use self::{
    built_in::key_page,
    open::{PROBE_TIMEOUT, SharedHttpClient, missing_key, opener, probe, secret},
    resolve::resolve,
};
use crate::{
    credentials::{Credentials, FoundKey},
    environment::variable,
    settings::{ProviderTimeouts, Settings},
};

/// One provider, as it is reached here.
#[derive(Clone, Debug)]
pub struct ProviderProfile {
    /// What stands before the slash.
    pub name: String,
    /// What people call it.
    pub title: String,
    /// Whose key it takes: two wires of one vendor share one.
    pub account: String,
    pub wire: VendorWire,
    pub base_url: String,
    /// Where the base URL comes from, if not from us.
    pub base_url_from: Option<String>,
    /// The variables its key may be in, the usual one first.
    pub variables: Vec<String>,
    pub need: KeyNeed,
    pub waits: ProviderTimeouts,
}

/// Whether a provider wants a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyNeed {
    /// It answers no request without one.
    Key,
    /// It runs on one's own machine, and costs nothing.
    Nothing,
    /// It is a server of the user's own, and may want one.
    Perhaps,
}

impl ProviderProfile {
    /// Its key, if there is one.
    pub fn key(&self, credentials: &Credentials) -> Result<Option<FoundKey>, Problem> {
        credentials.find(&self.account, &self.variables)
    }
}

/// All providers that are reached over HTTP, with what settings and variables say about them.
pub fn profiles(settings: &Settings) -> Result<Vec<ProviderProfile>, Problem> {
    let mut profiles = built_in::profiles();
    for profile in &mut profiles {
        let set = built_in::base_url_variables(&profile.name)
            .into_iter()
            .find_map(|name| variable(&name).map(|url| (name, url)));
        if let Some((name, url)) = set {
            profile.base_url = built_in::with_scheme(&profile.name, &url);
            profile.base_url_from = Some(name);
        }
    }
    for (name, said) in &settings.models.providers {
        match profiles.iter_mut().find(|profile| profile.name == *name) {
            Some(profile) => built_in::change(profile, said),
            None => profiles.push(built_in::own(name, said)?),
        }
    }
    Ok(profiles)
}
