//! Mock model server on loopback: answers like a vendor's API, from a script, and records its requests.
//!
//! ```no_run
//! # async fn test() {
//! use rooftree_testkit::model_server::{ModelServer, anthropic, say};
//!
//! let server = ModelServer::start(anthropic::WIRE, [say().text(["Hel", "lo."])]).await;
//! // … ask `server.url()` …
//! assert_eq!(server.requests().len(), 1);
//! # }
//! ```

mod answer;
pub mod anthropic;
mod delivery;
pub mod gemini;
mod json_script;
pub mod openai_chat;
pub mod openai_responses;

use std::{
    net::SocketAddr,
    sync::{Arc, Mutex, PoisonError},
    time::Instant,
};

use axum::{
    Router,
    body::{Body, Bytes},
    extract::{Request, State},
    http::{HeaderMap, Method, StatusCode, header},
    response::Response,
    serve::ListenerExt,
};
use serde_json::Value;
use tokio::{net::TcpListener, sync::watch, task::JoinHandle};

pub use answer::{AnswerBlock, AnswerStop, ErrorAnswer, ServerAnswer, StreamedAnswer, fail, say};
pub use delivery::{BodyDelivery, BodyEnd, BodyPieces};
pub use json_script::parse_answers;

/// The response format of a vendor's API.
#[derive(Clone, Copy)]
pub struct ServerWire {
    /// The events of an answer, each with the empty line behind it.
    pub frames: fn(&StreamedAnswer) -> Vec<String>,
    /// The body of an error response.
    pub refusal: fn(&ErrorAnswer) -> String,
    /// The keep-alive event.
    pub ping: &'static str,
    /// The response header with the request id.
    pub request_header: &'static str,
}

/// A request the server received.
#[derive(Clone, Debug)]
pub struct ReceivedRequest {
    /// Path and query.
    pub path: String,
    /// Headers.
    pub headers: HeaderMap,
    /// The body, byte for byte.
    pub body: Bytes,
    /// When it was complete.
    pub at: Instant,
    /// When the whole answer was sent; none before that.
    pub answered: Option<Instant>,
}

impl ReceivedRequest {
    /// The body as JSON; null if it is not JSON.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }

    /// A header's text; empty if there is none.
    pub fn header(&self, name: &str) -> &str {
        self.headers
            .get(name)
            .and_then(|value| value.to_str().ok())
            .unwrap_or_default()
    }
}

type AnswerFn = Box<dyn FnMut(&ReceivedRequest) -> ServerAnswer + Send>;

/// What becomes of GET requests, by which a client learns what a server has.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Lookups {
    /// They are answered and recorded like any other.
    Answered,
    /// They get status 404 and are not recorded: a script has answers to questions only.
    Refused,
}

struct ModelServerState {
    wire: ServerWire,
    lookups: Lookups,
    answering: Mutex<AnswerFn>,
    asked: Mutex<Vec<ReceivedRequest>>,
    /// Number of bodies that are being sent.
    sending: watch::Sender<usize>,
}

/// Guard of a body that is being sent.
struct SendGuard {
    script: Arc<ModelServerState>,
    number: usize,
}

impl SendGuard {
    fn begin(script: &Arc<ModelServerState>, number: usize) -> Self {
        script.sending.send_modify(|count| *count += 1);
        Self {
            script: Arc::clone(script),
            number,
        }
    }
}

impl Drop for SendGuard {
    fn drop(&mut self) {
        let mut all = self
            .script
            .asked
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if let Some(asked) = all.get_mut(self.number) {
            asked.answered = Some(Instant::now());
        }
        drop(all);
        self.script.sending.send_modify(|count| *count -= 1);
    }
}

/// A running server. Dropping it stops it.
pub struct ModelServer {
    address: SocketAddr,
    script: Arc<ModelServerState>,
    task: JoinHandle<()>,
}

impl ModelServer {
    /// Answers requests in order from a list; further ones get an error response.
    pub async fn start<A: Into<ServerAnswer>>(
        wire: ServerWire,
        answers: impl IntoIterator<Item = A>,
    ) -> Self {
        let mut answers: Vec<ServerAnswer> = answers.into_iter().map(Into::into).collect();
        answers.reverse();
        let over = || fail(418, "script_over", "the script has no answer left").into();
        let answer = move |_: &ReceivedRequest| answers.pop().unwrap_or_else(over);
        Self::start_as(wire, answer, Lookups::Refused).await
    }

    /// Answers each request with the result of the closure.
    pub async fn start_with(
        wire: ServerWire,
        answer: impl FnMut(&ReceivedRequest) -> ServerAnswer + Send + 'static,
    ) -> Self {
        Self::start_as(wire, answer, Lookups::Answered).await
    }

    async fn start_as(
        wire: ServerWire,
        answer: impl FnMut(&ReceivedRequest) -> ServerAnswer + Send + 'static,
        lookups: Lookups,
    ) -> Self {
        let (asked, sending) = (Mutex::default(), watch::Sender::new(0));
        let script = Arc::new(ModelServerState {
            wire,
            lookups,
            answering: Mutex::new(Box::new(answer)),
            asked,
            sending,
        });
        let listener = TcpListener::bind("127.0.0.1:0")
            .await
            .expect("a port on loopback");
        let address = listener.local_addr().expect("the port it got");
        // TCP_NODELAY: otherwise each small piece waits for the client to confirm the one before.
        let listener = listener.tap_io(|connection| {
            let _ = connection.set_nodelay(true);
        });
        let router = Router::new()
            .fallback(respond)
            .with_state(Arc::clone(&script));
        let task = tokio::spawn(async move {
            let _ = axum::serve(listener, router).await;
        });
        Self {
            address,
            script,
            task,
        }
    }

    /// Its base URL, without a path.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Waits until nothing is being sent: every client has its whole answer or has disconnected.
    pub async fn wait_until_sent(&self) {
        let _ = self
            .script
            .sending
            .subscribe()
            .wait_for(|count| *count == 0)
            .await;
    }

    /// The requests so far, in order.
    pub fn requests(&self) -> Vec<ReceivedRequest> {
        self.script
            .asked
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}

impl Drop for ModelServer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn respond(State(script): State<Arc<ModelServerState>>, request: Request) -> Response {
    let (head, body) = request.into_parts();
    if head.method == Method::GET && script.lookups == Lookups::Refused {
        let missing = Response::builder().status(StatusCode::NOT_FOUND);
        return missing
            .body(Body::empty())
            .expect("a response of plain parts");
    }
    let body = axum::body::to_bytes(body, usize::MAX)
        .await
        .unwrap_or_default();
    let path = head
        .uri
        .path_and_query()
        .map(ToString::to_string)
        .unwrap_or_default();
    let asked = ReceivedRequest {
        path,
        headers: head.headers,
        body,
        at: Instant::now(),
        answered: None,
    };
    let answer = {
        let mut answering = script
            .answering
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        (*answering)(&asked)
    };
    let number = {
        let mut all = script.asked.lock().unwrap_or_else(PoisonError::into_inner);
        all.push(asked);
        all.len()
    };
    let response = Response::builder().header(script.wire.request_header, format!("req_{number}"));
    let built = match answer {
        ServerAnswer::Say(saying) => {
            let mut response =
                response.header(header::CONTENT_TYPE, "text/event-stream; charset=utf-8");
            if saying.delivery.gzip {
                response = response.header(header::CONTENT_ENCODING, "gzip");
            }
            response.body(saying.delivery.body(
                &(script.wire.frames)(&saying),
                script.wire.ping,
                SendGuard::begin(&script, number - 1),
            ))
        }
        ServerAnswer::Fail(failure) => {
            let status = StatusCode::from_u16(failure.status).unwrap_or(StatusCode::IM_A_TEAPOT);
            let response = failure
                .headers
                .iter()
                .fold(response, |response, (name, value)| {
                    response.header(*name, value)
                });
            let body = Body::from((script.wire.refusal)(&failure));
            response
                .status(status)
                .header(header::CONTENT_TYPE, "application/json")
                .body(body)
        }
        ServerAnswer::Raw {
            status,
            content_type,
            body,
        } => {
            let status = StatusCode::from_u16(status).unwrap_or(StatusCode::IM_A_TEAPOT);
            response
                .status(status)
                .header(header::CONTENT_TYPE, content_type)
                .body(Body::from(body))
        }
        ServerAnswer::Silence => return std::future::pending().await,
    };
    built.expect("a response of plain parts")
}
