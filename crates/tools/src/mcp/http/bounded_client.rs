//! HTTP client for remote servers with a size limit on responses.
//!
//! The library's own client bounds the events of a stream, but reads an answer that is one piece of
//! JSON to its end, however far that is. So messages are posted here; everything else is left to it.

use std::{collections::HashMap, io, sync::Arc};

use futures::{Stream, StreamExt, stream::BoxStream};
use reqwest::{
    Response, StatusCode,
    header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, WWW_AUTHENTICATE},
};
use rmcp::{
    ErrorData,
    model::{ClientJsonRpcMessage, ClientRequest, JsonRpcMessage, ServerJsonRpcMessage},
    transport::{
        common::http_header::{
            EVENT_STREAM_MIME_TYPE, HEADER_LAST_EVENT_ID, HEADER_SESSION_ID, JSON_MIME_TYPE,
        },
        streamable_http_client::{
            AuthRequiredError, HttpStatusError, InsufficientScopeError, SseError,
            StreamableHttpClient, StreamableHttpError, StreamableHttpPostResponse,
        },
    },
};
use sse_stream::{Sse, SseStream};

use crate::mcp::bounded_reader::FRAME;

/// Bytes of a refusal that are read.
const REFUSAL: usize = 64 * 1024;

type McpHttpError = StreamableHttpError<reqwest::Error>;
type McpHttpHeaders = HashMap<HeaderName, HeaderValue>;
type SseEventStream = BoxStream<'static, Result<Sse, SseError>>;

/// A client that never reads more than one message may have.
#[derive(Clone)]
pub(in crate::mcp) struct BoundedHttpClient(pub(super) reqwest::Client);

impl StreamableHttpClient for BoundedHttpClient {
    type Error = reqwest::Error;

    async fn post_message(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        token: Option<String>,
        headers: McpHttpHeaders,
    ) -> Result<StreamableHttpPostResponse, McpHttpError> {
        let mut request = self.0.post(uri.as_ref()).headers(accepted(headers)?);
        request = request.header(ACCEPT, [EVENT_STREAM_MIME_TYPE, JSON_MIME_TYPE].join(", "));
        if let Some(token) = token {
            request = request.bearer_auth(token);
        }
        if let Some(session) = &session {
            request = request.header(HEADER_SESSION_ID, session.as_ref());
        }
        let response = request
            .json(&message)
            .send()
            .await
            .map_err(StreamableHttpError::Client)?;
        let response = known(response, session.is_some())?;
        match response.status() {
            StatusCode::ACCEPTED | StatusCode::NO_CONTENT => {
                Ok(StreamableHttpPostResponse::Accepted)
            }
            status if status.is_success() => answer(response, &message).await,
            _ => refusal(response, &message, session.is_some()).await,
        }
    }

    async fn delete_session(
        &self,
        uri: Arc<str>,
        session: Arc<str>,
        token: Option<String>,
        headers: McpHttpHeaders,
    ) -> Result<(), McpHttpError> {
        self.0.delete_session(uri, session, token, headers).await
    }

    async fn get_stream(
        &self,
        uri: Arc<str>,
        session: Option<Arc<str>>,
        last: Option<String>,
        token: Option<String>,
        headers: McpHttpHeaders,
    ) -> Result<SseEventStream, McpHttpError> {
        self.0
            .get_stream_with_max_sse_event_size(uri, session, last, token, headers, FRAME)
            .await
    }
}

/// Headers that are for people to choose.
fn accepted(headers: McpHttpHeaders) -> Result<HeaderMap, McpHttpError> {
    let own = [ACCEPT.as_str(), HEADER_SESSION_ID, HEADER_LAST_EVENT_ID];
    match headers.keys().find(|name| {
        own.iter()
            .any(|own| own.eq_ignore_ascii_case(name.as_str()))
    }) {
        Some(name) => Err(StreamableHttpError::ReservedHeaderConflict(
            name.to_string(),
        )),
        None => Ok(headers.into_iter().collect()),
    }
}

/// The response, unless it says that the server does not know who asks, or in which session.
fn known(response: Response, in_session: bool) -> Result<Response, McpHttpError> {
    let challenge = response
        .headers()
        .get(WWW_AUTHENTICATE)
        .and_then(|value| value.to_str().ok());
    let challenge = challenge.map(str::to_owned);
    match (response.status(), challenge) {
        (StatusCode::UNAUTHORIZED, challenge) => {
            let challenge = challenge.unwrap_or_else(|| "Bearer".to_owned());
            Err(StreamableHttpError::AuthRequired(AuthRequiredError::new(
                challenge,
            )))
        }
        (StatusCode::FORBIDDEN, Some(challenge)) => Err(StreamableHttpError::InsufficientScope(
            InsufficientScopeError::new(challenge, None),
        )),
        (StatusCode::NOT_FOUND, _) if in_session => Err(StreamableHttpError::SessionExpired),
        _ => Ok(response),
    }
}

async fn answer(
    response: Response,
    message: &ClientJsonRpcMessage,
) -> Result<StreamableHttpPostResponse, McpHttpError> {
    let session = response
        .headers()
        .get(HEADER_SESSION_ID)
        .and_then(|value| value.to_str().ok());
    let session = session.map(str::to_owned);
    if is_of(&response, EVENT_STREAM_MIME_TYPE) {
        let events = SseStream::from_bytes_stream(bounded_events(response.bytes_stream())).boxed();
        return Ok(StreamableHttpPostResponse::Sse(events, session));
    }
    let is_question = matches!(message, JsonRpcMessage::Request(_));
    let is_json = is_of(&response, JSON_MIME_TYPE);
    let body = body(response, FRAME).await?;
    match serde_json::from_slice::<ServerJsonRpcMessage>(&body) {
        Ok(message) if is_json => Ok(StreamableHttpPostResponse::Json(message, session)),
        _ if !is_question => Ok(StreamableHttpPostResponse::Accepted),
        _ => Err(unexpected("it answered with something that is no message")),
    }
}

/// For a fuzzer: the messages in what a server answers, which comes in pieces of this length.
pub(in crate::mcp) async fn fuzzed(body: Vec<u8>, is_stream: bool) -> Vec<ServerJsonRpcMessage> {
    if !is_stream {
        return serde_json::from_slice(&body).into_iter().collect();
    }
    let length = usize::from(body.first().copied().unwrap_or_default()) % 31 + 1;
    let pieces = futures::stream::iter(body.chunks(length).map(reqwest::Result::Ok));
    let events = SseStream::from_bytes_stream(bounded_events(pieces));
    let told = events.filter_map(async |event| serde_json::from_str(&event.ok()?.data?).ok());
    told.collect().await
}

/// A refusal may carry an error for us, and a server that knows only earlier revisions refuses the
/// hello of later ones like that.
async fn refusal(
    response: Response,
    message: &ClientJsonRpcMessage,
    in_session: bool,
) -> Result<StreamableHttpPostResponse, McpHttpError> {
    let status = response.status();
    let body = body(response, REFUSAL).await.unwrap_or_default();
    let error = match serde_json::from_slice::<ServerJsonRpcMessage>(&body) {
        Ok(JsonRpcMessage::Error(error)) => Some(error),
        _ => None,
    };
    if let JsonRpcMessage::Request(asked) = message
        && matches!(asked.request, ClientRequest::DiscoverRequest(_))
        && !in_session
        && status.is_client_error()
        && status != StatusCode::FORBIDDEN
    {
        let words = || ErrorData::invalid_request(format!("HTTP {status}"), None);
        let error = error.map_or_else(words, |error| error.error);
        let told = ServerJsonRpcMessage::error(error, Some(asked.id.clone()));
        return Ok(StreamableHttpPostResponse::Json(told, None));
    }
    match error {
        Some(error) if status != StatusCode::FORBIDDEN => Ok(StreamableHttpPostResponse::Json(
            JsonRpcMessage::Error(error),
            None,
        )),
        _ if status == StatusCode::TOO_MANY_REQUESTS || status.is_server_error() => {
            Err(HttpStatusError::new(status.as_u16(), None).into())
        }
        _ => Err(unexpected(&format!("HTTP {status}"))),
    }
}

fn is_of(response: &Response, kind: &str) -> bool {
    let told = response
        .headers()
        .get(CONTENT_TYPE)
        .and_then(|value| value.to_str().ok());
    told.is_some_and(|told| told.to_ascii_lowercase().starts_with(kind))
}

fn unexpected(words: &str) -> McpHttpError {
    StreamableHttpError::UnexpectedServerResponse(words.to_owned().into())
}

fn too_long() -> io::Error {
    let words = format!("it sent a message of more than {} MB", FRAME / 1024 / 1024);
    io::Error::new(io::ErrorKind::InvalidData, words)
}

async fn body(mut response: Response, limit: usize) -> Result<Vec<u8>, McpHttpError> {
    let mut body = Vec::new();
    while let Some(piece) = response
        .chunk()
        .await
        .map_err(StreamableHttpError::Client)?
    {
        if body.len() + piece.len() > limit {
            return Err(StreamableHttpError::Io(too_long()));
        }
        body.extend_from_slice(&piece);
    }
    Ok(body)
}

/// A stream that breaks off when one event is longer than a message may be.
fn bounded_events<B: AsRef<[u8]>>(
    stream: impl Stream<Item = reqwest::Result<B>>,
) -> impl Stream<Item = io::Result<B>> {
    let (mut open, mut line) = (0, 0);
    stream.map(move |piece| {
        let piece = piece.map_err(io::Error::other)?;
        for byte in piece.as_ref() {
            open += 1;
            match byte {
                // An empty line ends an event.
                b'\n' if line == 0 => open = 0,
                b'\n' => line = 0,
                b'\r' => {}
                _ => line += 1,
            }
        }
        if open > FRAME {
            Err(too_long())
        } else {
            Ok(piece)
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn events_have_a_bound_and_their_number_has_none() {
        let event = [
            b"data: ".to_vec(),
            vec![b'x'; FRAME / 2],
            b"\r\n\r\n".to_vec(),
        ]
        .concat();
        let stream = |bytes: Vec<u8>| {
            let pieces: Vec<reqwest::Result<Vec<u8>>> = bytes
                .chunks(4_096)
                .map(|piece| Ok(piece.to_vec()))
                .collect();
            bounded_events(futures::stream::iter(pieces))
        };
        let good: Vec<_> = stream(event.repeat(4)).collect().await;
        assert!(good.iter().all(Result::is_ok));
        let bad: Vec<_> = stream(vec![b'x'; FRAME + 4_096]).collect().await;
        assert!(bad.iter().any(Result::is_err));
    }
}
