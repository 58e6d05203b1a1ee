//! OAuth tokens of servers: one private file, keyed by URL, refreshed when they expire.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use rmcp::transport::{
    AuthError, AuthorizationManager, CredentialStore,
    auth::{CredentialRefreshGuard, StoredCredentials},
};

use serde_json::Value;

use super::{
    Error, https_client,
    private_json::{lock_file, read, replace},
};

/// The tokens for one address.
pub(super) struct McpTokenStore {
    pub(super) file: PathBuf,
    pub(super) url: String,
}

type TokensByUrl = BTreeMap<String, StoredCredentials>;

/// The authorization manager for this URL.
pub(super) async fn manager(url: &str, file: PathBuf) -> Result<AuthorizationManager, Error> {
    // Installs the default TLS provider.
    https_client::client()?;
    let mut manager = AuthorizationManager::new(url)
        .await
        .map_err(|error| failed(&error))?;
    manager.set_credential_store(McpTokenStore {
        file,
        url: url.to_owned(),
    });
    Ok(manager)
}

/// The same with the stored tokens; none if the user has not logged in there.
pub(super) async fn known(
    url: &str,
    file: &std::path::Path,
) -> Result<Option<AuthorizationManager>, Error> {
    if !file.exists() {
        return Ok(None);
    }
    let mut manager = manager(url, file.to_owned()).await?;
    let is_known = manager
        .initialize_from_store()
        .await
        .map_err(|error| failed(&error))?;
    Ok(is_known.then_some(manager))
}

/// Every token in the file, with its kind. None if the file cannot be read: such tokens cannot be sent either.
pub fn stored_tokens(file: &Path) -> Vec<(String, String)> {
    let kept: BTreeMap<String, Value> = read(file).unwrap_or_default();
    let mut found = Vec::new();
    kept.values().for_each(|one| collect(one, &mut found));
    found
}

fn collect(value: &Value, found: &mut Vec<(String, String)>) {
    for (key, value) in value.as_object().into_iter().flatten() {
        match value {
            Value::String(text) if key.ends_with("_token") || key == "client_secret" => {
                found.push((key.clone(), text.clone()));
            }
            other => collect(other, found),
        }
    }
}

/// What went wrong, without anything secret: the library's words never hold tokens.
pub(super) fn failed(error: &AuthError) -> Error {
    match error {
        AuthError::AuthorizationRequired => Error::Unauthorized,
        other => Error::Unreachable(other.to_string()),
    }
}

impl McpTokenStore {
    fn change(&self, change: impl FnOnce(&mut TokensByUrl)) -> Result<(), AuthError> {
        let mut kept: TokensByUrl = read(&self.file).map_err(|error| self.unusable(&error))?;
        change(&mut kept);
        replace(&self.file, &kept).map_err(|error| self.unusable(&error))
    }

    fn unusable(&self, error: &std::io::Error) -> AuthError {
        AuthError::CredentialStoreError(format!("{}: {error}", self.file.display()))
    }
}

#[async_trait::async_trait]
impl CredentialStore for McpTokenStore {
    async fn load(&self) -> Result<Option<StoredCredentials>, AuthError> {
        let kept: TokensByUrl = read(&self.file).map_err(|error| self.unusable(&error))?;
        Ok(kept.get(&self.url).cloned())
    }

    async fn save(&self, credentials: StoredCredentials) -> Result<(), AuthError> {
        // The first one makes the directory.
        std::fs::create_dir_all(self.file.parent().unwrap_or(&self.file))
            .map_err(|error| self.unusable(&error))?;
        self.change(|kept| drop(kept.insert(self.url.clone(), credentials)))
    }

    async fn clear(&self) -> Result<(), AuthError> {
        self.change(|kept| drop(kept.remove(&self.url)))
    }

    /// Two programs that refresh at once would use up each other's tokens.
    async fn acquire_refresh_guard(&self) -> Result<Option<CredentialRefreshGuard>, AuthError> {
        let file = self.file.clone();
        // Wait on a blocking thread: the lock may be held by another task of this very thread.
        let waited = tokio::task::spawn_blocking(move || lock_file(&file)).await;
        let guard = waited
            .map_err(std::io::Error::other)
            .flatten()
            .map_err(|error| self.unusable(&error))?;
        Ok(Some(CredentialRefreshGuard::new(guard)))
    }
}
