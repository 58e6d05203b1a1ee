//! Callback token: names one request of one session, and proves with an HMAC that we issued it.
//!
//! It is computed, not stored. A request that is retried after a restart has the same token,
//! and a forged token is recognised without a list of the open requests.

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use ring::{hmac, rand};
use rooftree_protocol::{ErrorCode, Problem, SessionId};

/// Maximum length: longer tokens are rejected unread.
const LONGEST: usize = 256;

/// Random bytes in a secret.
const SECRET_BYTES: usize = 32;

/// Identifies one request of one session.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct CallbackKey {
    pub(super) session: SessionId,
    /// Distinguishes it from the session's other requests.
    pub(super) key: String,
}

/// Creates and validates tokens.
pub(super) struct CallbackSigner(hmac::Key);

impl CallbackSigner {
    pub(super) fn new(secret: &[u8]) -> Self {
        Self(hmac::Key::new(hmac::HMAC_SHA256, secret))
    }

    /// The token of a request.
    pub(super) fn token(&self, question: &CallbackKey) -> String {
        let CallbackKey { session, key } = question;
        let proof = URL_SAFE_NO_PAD.encode(hmac::sign(&self.0, &spelled(question)));
        format!("{session}.{key}.{proof}")
    }

    /// The request of a token; none if the token is not ours. The signature is compared in constant time.
    pub(super) fn question(&self, token: &str) -> Option<CallbackKey> {
        if token.len() > LONGEST {
            return None;
        }
        let (named, proof) = token.rsplit_once('.')?;
        let (session, key) = named.split_once('.')?;
        let question = CallbackKey {
            session: SessionId::parse(session).ok()?,
            key: key.to_owned(),
        };
        let proof = URL_SAFE_NO_PAD.decode(proof).ok()?;
        hmac::verify(&self.0, &spelled(&question), &proof)
            .ok()
            .map(|()| question)
    }
}

/// The signed text names its purpose, so that no other signature can pass as one.
fn spelled(question: &CallbackKey) -> Vec<u8> {
    format!("rooftree callback\n{}\n{}", question.session, question.key).into_bytes()
}

/// Creates a secret for tokens. Tokens are valid as long as the caller keeps the secret.
pub fn new_secret() -> Result<String, Problem> {
    let bytes: [u8; SECRET_BYTES] = rand::generate(&rand::SystemRandom::new())
        .map_err(|_| Problem::new(ErrorCode::Internal, "this machine gives no random bytes"))?
        .expose();
    Ok(URL_SAFE_NO_PAD.encode(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn question(number: u128, key: &str) -> CallbackKey {
        CallbackKey {
            session: SessionId::from_entropy(number),
            key: key.into(),
        }
    }

    #[test]
    fn a_token_names_its_question_before_and_after_a_restart() {
        let secret = new_secret().unwrap();
        let token = CallbackSigner::new(secret.as_bytes()).token(&question(1, "q1"));
        assert_eq!(
            CallbackSigner::new(secret.as_bytes()).question(&token),
            Some(question(1, "q1"))
        );
        assert_ne!(new_secret().unwrap(), secret);
    }

    #[test]
    fn a_token_of_another_session_question_or_secret_is_not_ours() {
        let signer = CallbackSigner::new(b"one");
        let proof = |number, key| {
            let token = signer.token(&question(number, key));
            token.rsplit_once('.').unwrap().1.to_owned()
        };
        let (mine, other) = (SessionId::from_entropy(1), SessionId::from_entropy(2));
        for token in [
            format!("{mine}.q1.{}", proof(2, "q1")),
            format!("{other}.q1.{}", proof(1, "q1")),
            format!("{mine}.q2.{}", proof(1, "q1")),
            format!("{mine}.q1."),
            format!("{mine}.q1"),
            CallbackSigner::new(b"two").token(&question(1, "q1")),
            format!("{mine}.{}.{}", "q".repeat(300), proof(1, "q1")),
            String::new(),
            "..".into(),
        ] {
            assert_eq!(signer.question(&token), None, "{token}");
        }
    }
}
