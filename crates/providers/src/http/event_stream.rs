//! Sends a request and streams the answer's server-sent events, with timeouts, up to the whole reply.
//!
//! A provider interprets events through [`EventDecoder`]; network errors are handled here, once for all
//! providers.

use std::{collections::VecDeque, time::Duration};

use futures::{StreamExt, stream};
use reqwest::{
    Response,
    header::{CONTENT_TYPE, HeaderName, HeaderValue},
};
use tokio::time::{Instant, timeout_at};

use super::{
    HttpClient, HttpPost, HttpTimeouts,
    error_response::{ErrorResponse, request_id},
    errors,
};
use crate::{Error, ModelReply, ReplyChunk, ReplyStream, sse};

/// Decodes a vendor's events. One decoder reads one answer.
pub(crate) trait EventDecoder: Send + 'static {
    /// Decodes one event. An `Err` ends the stream.
    fn take(&mut self, event: &sse::SseEvent) -> Result<DecodeProgress, Error>;

    /// Returns the whole reply when the stream is over; none if its end is missing. Called once.
    fn finish(&mut self) -> Option<ModelReply>;

    /// Classifies a response that is not a stream.
    fn classify_error(&self, refusal: &ErrorResponse) -> Error;
}

/// The result of decoding an event.
#[derive(Debug, PartialEq)]
pub(crate) enum DecodeProgress {
    /// A keep-alive. Does not reset the event timeout.
    Ping,
    /// These chunks, maybe none.
    Chunks(Vec<ReplyChunk>),
    /// The answer is complete; the rest is not read.
    End,
}

/// Sends the request and streams the answer. Nothing is sent before the stream is polled.
pub(crate) fn stream(
    client: HttpClient,
    post: HttpPost,
    decoder: impl EventDecoder,
) -> ReplyStream {
    let exchange = HttpExchange {
        phase: HttpExchangePhase::Asking(client, Box::new(post)),
        decoder,
        ready: VecDeque::new(),
    };
    stream::unfold(exchange, |mut exchange| async move {
        Some((exchange.next().await?, exchange))
    })
    .boxed()
}

/// A stream of one error.
pub(crate) fn failed(error: Error) -> ReplyStream {
    stream::iter([Err(error)]).boxed()
}

struct HttpExchange<D> {
    phase: HttpExchangePhase,
    decoder: D,
    /// Decoded chunks that are not yet yielded. An error is yielded after the chunks before it.
    ready: VecDeque<Result<ReplyChunk, Error>>,
}

enum HttpExchangePhase {
    Asking(HttpClient, Box<HttpPost>),
    Reading(Box<ResponseReader>),
    Over,
}

impl<D: EventDecoder> HttpExchange<D> {
    async fn next(&mut self) -> Option<Result<ReplyChunk, Error>> {
        loop {
            if let Some(next) = self.ready.pop_front() {
                return Some(next);
            }
            // Every path but "keep reading" ends the stream, so the phase is `Over` unless set again.
            let step = match std::mem::replace(&mut self.phase, HttpExchangePhase::Over) {
                HttpExchangePhase::Asking(client, post) => self.ask(client, *post).await,
                HttpExchangePhase::Reading(reading) => self.read(reading).await,
                HttpExchangePhase::Over => return None,
            };
            match step {
                Ok(phase) => self.phase = phase,
                Err(error) => self.ready.push_back(Err(error)),
            }
        }
    }

    async fn ask(
        &mut self,
        client: HttpClient,
        post: HttpPost,
    ) -> Result<HttpExchangePhase, Error> {
        let HttpTimeouts {
            first_byte, total, ..
        } = client.timeouts;
        let deadline = StreamDeadline::new(client.timeouts);
        let sent = timeout_at(deadline.until(), send(&client, post)).await;
        let response =
            sent.map_err(|_| errors::timeout_error("no answer", first_byte.min(total)))??;
        if !response.status().is_success() || is_document(&response) {
            let refusal =
                ErrorResponse::read(response, Duration::from_secs(10).min(first_byte)).await;
            return Err(self.decoder.classify_error(&refusal));
        }
        let request = request_id(response.headers());
        Ok(HttpExchangePhase::Reading(Box::new(ResponseReader {
            response,
            events: sse::SseDecoder::default(),
            deadline,
            request,
        })))
    }

    /// Reads one piece of the body.
    async fn read(&mut self, mut reading: Box<ResponseReader>) -> Result<HttpExchangePhase, Error> {
        let lost = match timeout_at(reading.deadline.until(), reading.response.chunk()).await {
            Ok(Ok(Some(piece))) => {
                let events = reading.events.push(&piece);
                let events = events
                    .map_err(|_| Error::Broken("an event of the answer has no end".into()))?;
                return Ok(match self.take(&events, &mut reading.deadline)? {
                    StreamEnded::NotYet => HttpExchangePhase::Reading(reading),
                    StreamEnded::Yes => self.end(reading.request, None)?,
                });
            }
            Ok(Ok(None)) => None,
            Ok(Err(error)) => Some(errors::network(&error)),
            Err(_) => Some(reading.deadline.lost()),
        };
        // Only a body that ended regularly may lack the empty line after its last event; a broken one may not.
        let last = reading.events.finish().filter(|_| lost.is_none());
        self.take(last.as_slice(), &mut reading.deadline)?;
        self.end(reading.request, lost)
    }

    fn take(
        &mut self,
        events: &[sse::SseEvent],
        deadline: &mut StreamDeadline,
    ) -> Result<StreamEnded, Error> {
        for event in events {
            match self.decoder.take(event)? {
                DecodeProgress::Ping => {}
                DecodeProgress::Chunks(chunks) => {
                    deadline.renew();
                    self.ready.extend(chunks.into_iter().map(Ok));
                }
                DecodeProgress::End => return Ok(StreamEnded::Yes),
            }
        }
        Ok(StreamEnded::NotYet)
    }

    /// Handles the end of the stream. The reply counts if its final event has come, even if the connection broke then.
    fn end(
        &mut self,
        request: Option<String>,
        lost: Option<Error>,
    ) -> Result<HttpExchangePhase, Error> {
        let Some(mut reply) = self.decoder.finish() else {
            return Err(lost.unwrap_or_else(|| Error::Broken("the stream ended early".into())));
        };
        reply.request = request.or(reply.request);
        self.ready.push_back(Ok(ReplyChunk::Reply(reply)));
        Ok(HttpExchangePhase::Over)
    }
}

enum StreamEnded {
    Yes,
    NotYet,
}

/// A response that is being read.
struct ResponseReader {
    response: Response,
    events: sse::SseDecoder,
    deadline: StreamDeadline,
    request: Option<String>,
}

/// Deadlines of one answer.
struct StreamDeadline {
    timeouts: HttpTimeouts,
    /// Deadline for the whole answer.
    total: Instant,
    /// Deadline for the next event.
    next: Instant,
    what: &'static str,
    wait: Duration,
}

impl StreamDeadline {
    fn new(timeouts: HttpTimeouts) -> Self {
        let now = Instant::now();
        let (total, next) = (now + timeouts.total, now + timeouts.first_byte);
        Self {
            timeouts,
            total,
            next,
            what: "no event",
            wait: timeouts.first_byte,
        }
    }

    fn renew(&mut self) {
        self.wait = self.timeouts.between_events;
        self.next = Instant::now() + self.wait;
        self.what = "no further event";
    }

    fn until(&self) -> Instant {
        self.total.min(self.next)
    }

    fn lost(&self) -> Error {
        match self.total <= self.next {
            true => errors::timeout_error("not the whole answer", self.timeouts.total),
            false => errors::timeout_error(self.what, self.wait),
        }
    }
}

/// Whether this is HTML or a JSON document: what proxies and some servers send instead of a stream.
fn is_document(response: &Response) -> bool {
    let kind = response
        .headers()
        .get(CONTENT_TYPE)
        .and_then(|kind| kind.to_str().ok())
        .unwrap_or_default();
    kind.starts_with("application/json") || kind.starts_with("text/html")
}

pub(super) async fn send(client: &HttpClient, post: HttpPost) -> Result<Response, Error> {
    let mut request = client
        .pools
        .of(&post.url)?
        .post(post.url)
        .body(post.body)
        .header(CONTENT_TYPE, "application/json");
    for (name, value) in &post.headers {
        request = request.header(name, value);
    }
    for (name, value) in post.secrets {
        match HeaderValue::try_from(value) {
            Ok(mut value) => {
                value.set_sensitive(true);
                request = request.header(HeaderName::from_static(name), value);
            }
            // Makes building the request fail, with an error that does not contain the value.
            Err(_) => request = request.header(name, "\n"),
        }
    }
    request
        .send()
        .await
        .map_err(|error| errors::network(&error))
}
