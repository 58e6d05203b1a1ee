//! Keys and the default model of a running server: where each key comes from, stores and removes keys, sets the model.

use std::collections::BTreeSet;

use rooftree_protocol::{ErrorCode, Problem};
use rooftree_providers::catalog::ModelTier;
use rooftree_server::{CatalogKeySource, CatalogProvider};

use crate::{
    commands::auth::key_account::{self, KeyAccount},
    configured_models::{self, ConfiguredModels},
    credentials::{ApiKey, KeySource},
    default_model,
    environment::Environment,
    human_format::place,
    providers::KeyNeed,
    settings::Settings,
};

/// What is needed to look at them and to change them.
pub struct KeySettings<'a> {
    pub environment: &'a Environment,
    /// As they were when the server started.
    pub settings: &'a Settings,
    pub models: &'a ConfiguredModels,
}

impl KeySettings<'_> {
    /// Providers that take a key, each account once.
    pub fn providers(&self) -> Vec<CatalogProvider> {
        let mut seen = BTreeSet::new();
        let accounts = key_account::all(self.models).into_iter();
        accounts
            .filter(|account| {
                account.need != KeyNeed::Nothing && seen.insert(account.stored_as.clone())
            })
            .map(|account| self.provider(account))
            .collect()
    }

    /// A key that cannot be read is none.
    fn provider(&self, account: KeyAccount) -> CatalogProvider {
        let found = account.key(&self.models.credentials).ok().flatten();
        let key = found.map(|found| match found.source {
            KeySource::Variable(variable) => CatalogKeySource::Environment { variable },
            KeySource::File => CatalogKeySource::File,
        });
        CatalogProvider {
            name: account.stored_as,
            title: account.title,
            key,
            variables: account.variables,
            page: account.page.map(str::to_owned),
        }
    }

    /// The default model: as it was set at the start, else since then.
    pub fn default_model(&self) -> Option<String> {
        let named = configured_models::default_name(self.settings);
        let named = named.and_then(|name| self.models.resolve(&name).ok());
        let set_later = || self.models.set_later.get().map(ToString::to_string);
        named
            .map(|found| found.choice.to_string())
            .or_else(set_later)
    }

    /// Sets the default model in the user's settings and in the running server.
    pub fn set_default_model(&self, name: &str) -> Result<(), Problem> {
        if let Some(model) = self.default_model() {
            let message = format!("the default model is {model} already");
            return Err(Problem::new(ErrorCode::InvalidArguments, message)
                .fix("change it with rooftree config set model PROVIDER/MODEL and start the server anew, or choose a model in the session"));
        }
        let choice = self.models.resolve(name)?.choice;
        let missing = vec![(default_model::model_key(), choice.to_string())];
        if default_model::add_missing(self.environment, missing)?.is_empty() {
            let message = format!(
                "{} sets a model since the server started",
                place(&self.environment.settings)
            );
            return Err(
                Problem::new(ErrorCode::InvalidConfig, message).fix("start the server anew")
            );
        }
        // Another request may have been first; then both files say what it said.
        let _ = self.models.set_later.set(choice);
        Ok(())
    }

    /// Stores a key as `rooftree auth set` does.
    pub fn store(&self, provider: &str, key: &str) -> Result<(), Problem> {
        let account = key_account::find(self.models, provider)?;
        let empty = || {
            Problem::new(
                ErrorCode::InvalidArguments,
                "the key is empty; nothing was stored",
            )
        };
        let key = ApiKey::new(key).ok_or_else(empty)?;
        key_account::check(&key)?;
        self.models.credentials.store(&account.stored_as, key)?;
        let usual = self
            .models
            .catalog
            .known()
            .of_tier(&account.name, ModelTier::Standard);
        match (self.default_model(), usual) {
            (None, Some(usual)) => self.set_default_model(&usual.id),
            _ => Ok(()),
        }
    }

    /// Removes a stored key; says whether there was one.
    pub fn remove(&self, provider: &str) -> Result<bool, Problem> {
        let account = key_account::find(self.models, provider)?;
        self.models.credentials.remove(&account.stored_as)
    }
}
