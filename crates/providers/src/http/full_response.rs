//! Sends a request and reads the whole response, for servers that do not stream.

use std::time::Duration;

use tokio::time::{Instant, timeout_at};

use super::{
    HttpClient, HttpPost,
    error_response::{ErrorResponse, request_id},
    errors, event_stream,
};
use crate::Error;

/// The outcome of a POST.
pub(crate) enum PostOutcome {
    Yes(FullResponse),
    No(ErrorResponse),
}

/// A complete response.
pub(crate) struct FullResponse {
    pub(crate) status: u16,
    pub(crate) body: Vec<u8>,
    /// The server's id for the request.
    pub(crate) request: Option<String>,
}

impl HttpClient {
    /// Sends a POST and reads a response of at most so many bytes.
    pub(crate) async fn post_and_read(
        &self,
        post: HttpPost,
        most: usize,
    ) -> Result<PostOutcome, Error> {
        let timeout = self.timeouts.total;
        let until = Instant::now() + timeout;
        let impatient = |_| errors::timeout_error("no answer", timeout);
        let sent = timeout_at(until, event_stream::send(self, post))
            .await
            .map_err(impatient)?;
        let mut response = sent?;
        if !response.status().is_success() {
            return Ok(PostOutcome::No(
                ErrorResponse::read(response, Duration::from_secs(10).min(timeout)).await,
            ));
        }
        let (status, request) = (response.status().as_u16(), request_id(response.headers()));
        let mut body = Vec::new();
        while let Some(piece) = timeout_at(until, response.chunk())
            .await
            .map_err(impatient)?
            .map_err(|error| errors::network(&error))?
        {
            if body.len() + piece.len() > most {
                return Err(Error::Refused(format!(
                    "the answer has more than {most} bytes"
                )));
            }
            body.extend_from_slice(&piece);
        }
        Ok(PostOutcome::Yes(FullResponse {
            status,
            body,
            request,
        }))
    }
}
