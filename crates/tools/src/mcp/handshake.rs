//! Handshake with a server: protocol versions, and the error message when it fails.

use rmcp::{
    model::ProtocolVersion,
    service::{ClientInitializeError, ClientLifecycleMode},
};

use super::{
    Error,
    sanitize::{COMPLAINT, sanitize_text},
    secrets::ServerSecrets,
    server_process::McpServerProcess,
};

/// The newest revision, or whatever the server answers with to the handshake of earlier ones.
pub(super) fn newest() -> ClientLifecycleMode {
    let preferred_versions = vec![
        ProtocolVersion::V_2026_07_28,
        ProtocolVersion::V_2025_11_25,
        ProtocolVersion::V_2025_06_18,
        ProtocolVersion::V_2025_03_26,
    ];
    ClientLifecycleMode::Auto {
        preferred_versions,
        legacy_version: Some(ProtocolVersion::V_2025_11_25),
    }
}

/// The error of a failed handshake.
pub(super) async fn refusal(
    error: ClientInitializeError,
    program: Option<&McpServerProcess>,
    secrets: &ServerSecrets,
) -> Error {
    if error.is_authorization_required() || error.auth_challenge().is_some() {
        return Error::Unauthorized;
    }
    let is_gone = |error: &ClientInitializeError| {
        matches!(
            error,
            ClientInitializeError::ConnectionClosed(_)
                | ClientInitializeError::TransportError { .. }
        )
    };
    let gone = match &error {
        ClientInitializeError::LegacyFallbackFailed { fallback, .. } => is_gone(fallback),
        error => is_gone(error),
    };
    match program {
        Some(program) if gone => Error::Gone(secrets.redact(program.exit_message().await)),
        _ => Error::Unreachable(secrets.redact(sanitize_text(&words(&error), COMPLAINT))),
    }
}

/// What went wrong at the hello, without repeating whole messages of the server.
fn words(error: &ClientInitializeError) -> String {
    match error {
        ClientInitializeError::LegacyFallbackFailed { fallback, .. } => words(fallback),
        ClientInitializeError::ExpectedInitResponse(_)
        | ClientInitializeError::ExpectedInitResult(_) => {
            "it answered the hello with something else".to_owned()
        }
        ClientInitializeError::ConflictInitResponseId(..)
        | ClientInitializeError::UncorrelatedErrorResponse { .. } => {
            "it answered a question that was not asked".to_owned()
        }
        other => other.to_string(),
    }
}
