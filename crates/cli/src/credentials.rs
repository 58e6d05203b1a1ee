//! API key lookup: a provider's environment variables, with `credentials.toml` as fallback, which only its
//! owner may read.
//!
//! Keys are looked up when they are needed, never kept in settings, and never printed whole.

mod file;
mod key;

use std::{collections::BTreeMap, path::PathBuf};

use rooftree_protocol::Problem;

pub use self::key::ApiKey;
use crate::environment::{Environment, variable};

/// The keys there are.
#[derive(Clone, Debug)]
pub struct Credentials {
    path: PathBuf,
    /// The stored keys, where they were read for several lookups in a row.
    read: Option<BTreeMap<String, ApiKey>>,
}

/// A key and where it was found.
#[derive(Clone, Debug)]
pub struct FoundKey {
    pub key: ApiKey,
    pub source: KeySource,
}

/// Where a key was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeySource {
    /// In this variable.
    Variable(String),
    /// In the file.
    File,
}

impl Credentials {
    /// Those of this user; nothing is read yet.
    pub fn of(environment: &Environment) -> Self {
        Self {
            path: environment.settings.with_file_name("credentials.toml"),
            read: None,
        }
    }

    /// The same, with the file read once for all lookups. What is stored later is not seen.
    pub fn read_once(self) -> Self {
        Self {
            read: self.stored().ok(),
            ..self
        }
    }

    /// Those in this file.
    #[cfg(test)]
    pub fn at(path: PathBuf) -> Self {
        Self { path, read: None }
    }

    /// Where stored keys are.
    pub fn path(&self) -> &std::path::Path {
        &self.path
    }

    /// The key of an account: the first variable that is set, else the stored one.
    pub fn find(&self, account: &str, variables: &[String]) -> Result<Option<FoundKey>, Problem> {
        let set = variables
            .iter()
            .find_map(|name| Some((name, ApiKey::new(variable(name)?)?)));
        if let Some((name, key)) = set {
            return Ok(Some(FoundKey {
                key,
                source: KeySource::Variable(name.clone()),
            }));
        }
        Ok(self.stored()?.remove(account).map(|key| FoundKey {
            key,
            source: KeySource::File,
        }))
    }

    /// The stored keys, by account.
    pub fn stored(&self) -> Result<BTreeMap<String, ApiKey>, Problem> {
        match &self.read {
            Some(keys) => Ok(keys.clone()),
            None => file::read(&self.path),
        }
    }

    /// Stores a key, in place of the one that was there.
    pub fn store(&self, account: &str, key: ApiKey) -> Result<(), Problem> {
        file::change(&self.path, |keys| keys.insert(account.to_owned(), key)).map(|_| ())
    }

    /// Removes a stored key; says whether there was one.
    pub fn remove(&self, account: &str) -> Result<bool, Problem> {
        if !self.stored()?.contains_key(account) {
            return Ok(false);
        }
        file::change(&self.path, |keys| keys.remove(account)).map(|removed| removed.is_some())
    }
}
