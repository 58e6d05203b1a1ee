//! Handshake with a server: protocol versions, and the error message when it fails.

use std::error::Error as _;

use rmcp::{
    model::ProtocolVersion,
    service::{ClientInitializeError, ClientLifecycleMode},
    transport::{DynamicTransportError, streamable_http_client::StreamableHttpError},
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
        ClientInitializeError::TransportError { error, .. } => transport_words(error),
        other => other.to_string(),
    }
}

/// Why nothing could be sent, without the names of types that the library puts before it.
pub(super) fn transport_words(error: &DynamicTransportError) -> String {
    let http = error
        .error
        .downcast_ref::<StreamableHttpError<reqwest::Error>>();
    let Some(StreamableHttpError::Client(error)) = http else {
        return error.error.to_string();
    };
    let innermost = std::iter::successors(error.source(), |error| (*error).source()).last();
    let why = innermost.map_or_else(|| error.to_string(), ToString::to_string);
    if error.is_connect() {
        format!("nothing answers there ({why})")
    } else if error.is_timeout() {
        "it did not answer in time".to_owned()
    } else {
        why
    }
}

#[cfg(test)]
mod tests {
    use std::{any::TypeId, borrow::Cow};

    use super::*;

    #[tokio::test]
    async fn n_21_a_server_that_is_not_there_is_told_without_names_of_types() {
        // Bound and dropped at once: nothing listens on this port.
        let port = std::net::TcpListener::bind("127.0.0.1:0")
            .unwrap()
            .local_addr()
            .unwrap()
            .port();
        let refused = super::super::https_client::client()
            .unwrap()
            .get(format!("http://127.0.0.1:{port}/mcp"))
            .send()
            .await
            .unwrap_err();
        let error = DynamicTransportError::from_parts(
            "rmcp::transport::worker::WorkerTransport<X>",
            TypeId::of::<()>(),
            Box::new(StreamableHttpError::Client(refused)),
        );
        let error = ClientInitializeError::TransportError {
            error,
            context: Cow::from("send discover request"),
        };
        let said = words(&error);
        assert!(said.starts_with("nothing answers there ("), "{said}");
        assert!(!said.contains("::") && !said.contains("discover"), "{said}");
    }
}
