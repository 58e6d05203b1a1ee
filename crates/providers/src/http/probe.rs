//! Probes a server with a short timeout: whether it responds, and with what.

use std::time::Duration;

use serde::de::DeserializeOwned;

use super::{HttpClient, errors};
use crate::Error;

impl HttpClient {
    /// GETs a URL and parses the JSON response; none on a timeout, an error status or other content.
    pub(crate) async fn get_json<T: DeserializeOwned>(
        &self,
        url: &str,
        timeout: Duration,
    ) -> Option<T> {
        let response = self.inner.get(url).timeout(timeout).send().await.ok()?;
        response.error_for_status().ok()?.json().await.ok()
    }

    /// The status of a HEAD request.
    pub async fn head_status(&self, url: &str, timeout: Duration) -> Result<u16, Error> {
        let answer = self.inner.head(url).timeout(timeout).send().await;
        answer
            .map(|response| response.status().as_u16())
            .map_err(|error| errors::network(&error))
    }
}
