//! Takes a short look at a server: whether it is there, and what it says.

use std::time::Duration;

use serde::de::DeserializeOwned;

use super::Client;

impl Client {
    /// What a URL answers, read as this type; none if nobody answers in time or it is something else.
    pub(crate) async fn look<T: DeserializeOwned>(&self, url: &str, patience: Duration) -> Option<T> {
        let response = self.inner.get(url).timeout(patience).send().await.ok()?;
        response.error_for_status().ok()?.json().await.ok()
    }
}
