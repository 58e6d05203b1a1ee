//! Sends one request to an external agent and streams its answer.

use futures::{StreamExt, stream};
use ring::hmac;
use rooftree_protocol::{
    Usage,
    event::{ReplyPart, StopReason},
};
use tokio::time::{Instant, timeout_at};

use super::{
    AnswerMode, ExternalAgentProvider,
    callback_token::CallbackKey,
    callbacks::AnswerListener,
    events::{BODY_BYTES, ExternalReplyPiece},
    request,
};
use crate::{
    Error, ModelReply, ModelRequest, ReplyChunk, ReplyStream,
    http::{
        HttpPost,
        error_response::ErrorResponse,
        full_response::{FullResponse, PostOutcome},
    },
};

/// Sends the request and streams the answer. Nothing is sent before the stream is polled.
pub(super) fn stream(agent: ExternalAgentProvider, request: ModelRequest) -> ReplyStream {
    let exchange = ExternalAgentStream {
        phase: ExternalAgentPhase::Asking(Box::new((agent, request))),
        text: String::new(),
    };
    let chunks = stream::unfold(exchange, |mut exchange| async move {
        let chunks = exchange.step().await?;
        Some((stream::iter(chunks), exchange))
    });
    chunks.flatten().boxed()
}

struct ExternalAgentStream {
    phase: ExternalAgentPhase,
    /// The whole text so far.
    text: String,
}

enum ExternalAgentPhase {
    Asking(Box<(ExternalAgentProvider, ModelRequest)>),
    Listening(Box<AwaitedAnswer>),
    Over,
}

struct AwaitedAnswer {
    listener: AnswerListener,
    until: Instant,
    request: Option<String>,
}

/// The content of a response.
struct ExternalResponse {
    said: Option<ExternalReplyPiece>,
    body: Vec<u8>,
    request: Option<String>,
}

type ChunkResults = Vec<Result<ReplyChunk, Error>>;

impl ExternalAgentStream {
    async fn step(&mut self) -> Option<ChunkResults> {
        // Every path but "keep listening" ends the stream, so the phase is `Over` unless set again.
        let done = match std::mem::replace(&mut self.phase, ExternalAgentPhase::Over) {
            ExternalAgentPhase::Asking(asked) => match asked.0.options.mode {
                AnswerMode::Sync => self.ask(&asked.0, &asked.1).await,
                AnswerMode::Async => self.ask_and_listen(&asked.0, &asked.1).await,
            },
            ExternalAgentPhase::Listening(listening) => self.receive_piece(listening).await,
            ExternalAgentPhase::Over => return None,
        };
        Some(done.unwrap_or_else(|error| vec![Err(error)]))
    }

    async fn ask(
        &mut self,
        agent: &ExternalAgentProvider,
        request: &ModelRequest,
    ) -> Result<ChunkResults, Error> {
        let question = request::callback_key(request);
        let response = post(
            agent,
            &question,
            request::body(request, &question.key, None)?,
        )
        .await?;
        self.take(
            ExternalReplyPiece {
                goes_on: false,
                ..response.said.unwrap_or_default()
            },
            response.request,
        )
    }

    /// Subscribes before the request is sent: the callback may arrive before the response.
    async fn ask_and_listen(
        &mut self,
        agent: &ExternalAgentProvider,
        request: &ModelRequest,
    ) -> Result<ChunkResults, Error> {
        let question = request::callback_key(request);
        let listener = agent.callbacks.listen(&question);
        let url = agent
            .callbacks
            .url(&question, agent.options.callback_base.clone())
            .await;
        let url = url.map_err(|problem| Error::Refused(in_words(&problem)))?;
        let body = request::body(request, &question.key, Some(&url))?;
        let mut request = None;
        // A complete answer that arrived without a listener need not be requested again.
        if !listener.is_complete() {
            match post(agent, &question, body).await {
                Ok(response) => request = record_formal_reply(agent, &question, response),
                Err(_) if listener.is_complete() => {}
                Err(error) => return Err(error),
            }
        }
        let until = Instant::now() + agent.options.promise;
        self.phase = ExternalAgentPhase::Listening(Box::new(AwaitedAnswer {
            listener,
            until,
            request,
        }));
        Ok(Vec::new())
    }

    async fn receive_piece(
        &mut self,
        mut listening: Box<AwaitedAnswer>,
    ) -> Result<ChunkResults, Error> {
        let said = timeout_at(listening.until, listening.listener.next()).await;
        let said = said.map_err(|_| Error::Broken("the promised answer did not come".into()))?;
        let chunks = self.take(said.clone(), listening.request.clone())?;
        if !said.is_last() {
            self.phase = ExternalAgentPhase::Listening(listening);
        }
        Ok(chunks)
    }

    fn take(
        &mut self,
        said: ExternalReplyPiece,
        request: Option<String>,
    ) -> Result<ChunkResults, Error> {
        if let Some(words) = said.error {
            return Err(Error::Refused(format!("the external agent says: {words}")));
        }
        self.text.push_str(&said.text);
        let mut chunks = Vec::new();
        if !said.text.is_empty() {
            chunks.push(Ok(ReplyChunk::Text(said.text)));
        }
        if !said.goes_on && self.text.trim().is_empty() {
            return Err(Error::Broken("the agent answered with nothing".into()));
        }
        if !said.goes_on {
            chunks.push(Ok(ReplyChunk::Reply(reply(
                std::mem::take(&mut self.text),
                request,
            ))));
        }
        Ok(chunks)
    }
}

fn reply(text: String, request: Option<String>) -> ModelReply {
    // The cost of the agent's work is not known.
    let usage = Usage::default();
    let (parts, dropped) = (vec![ReplyPart::Text { text }], Vec::new());
    ModelReply {
        parts,
        stop: StopReason::End,
        usage,
        request,
        dropped,
    }
}

/// In async mode a response counts as an answer only if it has the fields of one: servers
/// acknowledge requests with all kinds of text.
fn record_formal_reply(
    agent: &ExternalAgentProvider,
    question: &CallbackKey,
    response: ExternalResponse,
) -> Option<String> {
    if let Some(said) = response.said.filter(|said| said.is_formal) {
        let name = said.name(&response.body);
        agent.callbacks.put(question.clone(), said, name);
    }
    response.request
}

async fn post(
    agent: &ExternalAgentProvider,
    question: &CallbackKey,
    body: Vec<u8>,
) -> Result<ExternalResponse, Error> {
    let Some(secret) = agent.options.secret.reveal() else {
        return Err(Error::Unauthorized(format!(
            "{} is not set any more",
            agent.options.variable
        )));
    };
    let signature = format!("sha256={}", signature(&secret, &body));
    let post = HttpPost::json(&agent.options.input_url, body)
        .header("x-rooftree-signature", signature)
        .header("idempotency-key", &question.key);
    match agent.client.post_and_read(post, BODY_BYTES).await? {
        PostOutcome::Yes(whole) => read(agent.options.mode, whole),
        PostOutcome::No(refusal) => Err(class(&refusal)),
    }
}

fn read(mode: AnswerMode, whole: FullResponse) -> Result<ExternalResponse, Error> {
    if mode == AnswerMode::Sync && whole.status == 202 {
        let words = "the agent promises an answer for later, but is set to answer at once (mode = \"sync\")";
        return Err(Error::Refused(words.into()));
    }
    // The body of a 202 Accepted is not the answer.
    let said = match whole.status {
        202 => None,
        _ => Some(
            ExternalReplyPiece::read(&whole.body)
                .ok_or_else(|| Error::Refused("the answer is not text".into()))?,
        ),
    };
    Ok(ExternalResponse {
        said,
        body: whole.body,
        request: whole.request,
    })
}

/// Classifies a status. The request cannot be shortened, and redirects are not followed.
fn class(refusal: &ErrorResponse) -> Error {
    let said = ExternalReplyPiece::read(refusal.body.as_bytes())
        .and_then(|said| said.error)
        .unwrap_or_default();
    match refusal.status {
        300..=399 => Error::Refused(format!(
            "status {}; redirects are not followed",
            refusal.status
        )),
        413 => Error::Refused(refusal.error_text(&said)),
        _ => refusal.classify_status(&said),
    }
}

fn signature(secret: &str, body: &[u8]) -> String {
    let key = hmac::Key::new(hmac::HMAC_SHA256, secret.as_bytes());
    hmac::sign(&key, body)
        .as_ref()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

fn in_words(problem: &rooftree_protocol::Problem) -> String {
    match &problem.cause {
        Some(cause) => format!("{}: {cause}", problem.message),
        None => problem.message.clone(),
    }
}
