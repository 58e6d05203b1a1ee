//! Idempotency keys: a request that is sent again gets the answer of the first one.

use rooftree_protocol::{ErrorCode, Principal, Problem, Timestamp};
use rooftree_store::{IdempotencyOutcome, IdempotentRequest, StoredAnswer, TokenHash};

use crate::{Error, Handle};

/// Characters of a key.
const KEY_CHARS: usize = 255;
/// How long an answer is kept, in milliseconds.
const KEPT: i64 = 24 * 60 * 60 * 1000;
/// How long a request may take before it counts as abandoned by a process that died, in milliseconds.
const ABANDONED: i64 = 10 * 60 * 1000;

/// A request with an idempotency key: method, path and body.
#[derive(Clone, Copy, Debug)]
pub struct RequestKey<'a> {
    /// The key.
    pub key: &'a str,
    /// The method.
    pub method: &'a str,
    /// The path with its query.
    pub path: &'a str,
    /// The body.
    pub body: &'a [u8],
}

impl Handle {
    /// Takes the key for a request, or says what it was used for before. The request that comes back belongs to
    /// [`end_request`](Self::end_request).
    pub async fn begin_request(
        &self,
        who: &Principal,
        request: RequestKey<'_>,
    ) -> Result<(IdempotentRequest, IdempotencyOutcome), Error> {
        let RequestKey {
            key,
            method,
            path,
            body,
        } = request;
        if key.trim().is_empty()
            || key.chars().count() > KEY_CHARS
            || key.contains(char::is_control)
        {
            let message = "the idempotency key is empty, too long or not one line";
            return Err(Problem::new(ErrorCode::InvalidArguments, message)
                .fix(format!("use at most {KEY_CHARS} characters"))
                .into());
        }
        let at = self.now();
        let request = IdempotentRequest {
            account: who.account(),
            token: who.token.clone().unwrap_or_default(),
            key: key.to_owned(),
            request: TokenHash::of_pieces(&[method.as_bytes(), path.as_bytes(), body]),
            at,
            abandoned_before: Timestamp(at.0.saturating_sub(ABANDONED)),
            expires_at: Timestamp(at.0.saturating_add(KEPT)),
        };
        let outcome = self.store.begin_idempotent(request.clone()).await?;
        Ok((request, outcome))
    }

    /// Keeps the answer to a request that took its key. Without one, because it failed in a way that is worth trying
    /// again, the key is free again.
    pub async fn end_request(
        &self,
        request: IdempotentRequest,
        answer: Option<StoredAnswer>,
    ) -> Result<(), Error> {
        Ok(self.store.end_idempotent(request, answer).await?)
    }
}
