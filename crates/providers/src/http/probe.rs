//! Takes a short look at a server: whether it is there, and what it says.

use std::time::Duration;

use serde::de::DeserializeOwned;

use super::{HttpClient, errors};
use crate::Error;

impl HttpClient {
    /// What a URL answers, read as this type; none if nobody answers in time or it is something else.
    pub(crate) async fn get_json<T: DeserializeOwned>(
        &self,
        url: &str,
        patience: Duration,
    ) -> Option<T> {
        let response = self.inner.get(url).timeout(patience).send().await.ok()?;
        response.error_for_status().ok()?.json().await.ok()
    }

    /// The status a URL answers with when nothing is asked of it.
    pub async fn head_status(&self, url: &str, patience: Duration) -> Result<u16, Error> {
        let answer = self.inner.head(url).timeout(patience).send().await;
        answer
            .map(|response| response.status().as_u16())
            .map_err(|error| errors::network(&error))
    }
}
