//! One question and its streamed answer: sends, reads events, keeps the time, ends with a reply.
//!
//! A wire says what events mean through [`Decoder`]; everything that goes wrong between the
//! two ends is handled here, once for all wires.

use std::{collections::VecDeque, time::Duration};

use futures::{StreamExt, stream};
use reqwest::{
    Response,
    header::{CONTENT_TYPE, HeaderName, HeaderValue},
};
use tokio::time::{Instant, timeout_at};

use super::{
    Client, Post, Timeouts, failure,
    refusal::{Refusal, request_id},
};
use crate::{Chunk, Error, Reply, ReplyStream, sse};

/// Knows what a vendor's events mean. One decoder reads one answer.
pub(crate) trait Decoder: Send + 'static {
    /// Takes one event in. An `Err` ends the stream.
    fn take(&mut self, event: &sse::Event) -> Result<Progress, Error>;

    /// Gives the whole reply when the answer is over; none if its end is missing. Called once.
    fn finish(&mut self) -> Option<Reply>;

    /// Classes an answer that is no stream.
    fn refuse(&self, refusal: &Refusal) -> Error;
}

/// What an event was good for.
#[derive(Debug, PartialEq)]
pub(crate) enum Progress {
    /// Nothing: the server only shows that it lives. Does not count as an event.
    Ping,
    /// These pieces, maybe none.
    Chunks(Vec<Chunk>),
    /// The answer is over; what follows is not read.
    End,
}

/// Asks and gives the answer as a stream. Nothing is sent before the stream is polled.
pub(crate) fn stream(client: Client, post: Post, decoder: impl Decoder) -> ReplyStream {
    let exchange = Exchange { phase: Phase::Asking(client, Box::new(post)), decoder, ready: VecDeque::new() };
    stream::unfold(exchange, |mut exchange| async move { Some((exchange.next().await?, exchange)) }).boxed()
}

/// A stream that is an error and nothing else.
pub(crate) fn failed(error: Error) -> ReplyStream {
    stream::iter([Err(error)]).boxed()
}

struct Exchange<D> {
    phase: Phase,
    decoder: D,
    /// What has come and not been given yet. An error waits behind what came before it.
    ready: VecDeque<Result<Chunk, Error>>,
}

enum Phase {
    Asking(Client, Box<Post>),
    Reading(Box<Reading>),
    Over,
}

impl<D: Decoder> Exchange<D> {
    async fn next(&mut self) -> Option<Result<Chunk, Error>> {
        loop {
            if let Some(next) = self.ready.pop_front() {
                return Some(next);
            }
            // Every way out but "go on reading" is the end, so this is the end unless said otherwise.
            let step = match std::mem::replace(&mut self.phase, Phase::Over) {
                Phase::Asking(client, post) => self.ask(client, *post).await,
                Phase::Reading(reading) => self.read(reading).await,
                Phase::Over => return None,
            };
            match step {
                Ok(phase) => self.phase = phase,
                Err(error) => self.ready.push_back(Err(error)),
            }
        }
    }

    async fn ask(&mut self, client: Client, post: Post) -> Result<Phase, Error> {
        let Timeouts { first_byte, total, .. } = client.timeouts;
        let patience = Patience::new(client.timeouts);
        let sent = timeout_at(patience.until(), send(&client, post)).await;
        let response = sent
            .map_err(|_| failure::impatient("no answer", first_byte.min(total)))?
            .map_err(|error| failure::network(&error))?;
        if !response.status().is_success() || is_document(&response) {
            let refusal = Refusal::read(response, Duration::from_secs(10).min(first_byte)).await;
            return Err(self.decoder.refuse(&refusal));
        }
        let request = request_id(response.headers());
        Ok(Phase::Reading(Box::new(Reading { response, events: sse::Decoder::default(), patience, request })))
    }

    /// Reads one piece of the body.
    async fn read(&mut self, mut reading: Box<Reading>) -> Result<Phase, Error> {
        let lost = match timeout_at(reading.patience.until(), reading.response.chunk()).await {
            Ok(Ok(Some(piece))) => {
                let events = reading.events.push(&piece);
                let events = events.map_err(|_| Error::Broken("an event of the answer has no end".into()))?;
                return Ok(match self.take(&events, &mut reading.patience)? {
                    Ended::NotYet => Phase::Reading(reading),
                    Ended::Yes => self.end(reading.request, None)?,
                });
            }
            Ok(Ok(None)) => None,
            Ok(Err(error)) => Some(failure::network(&error)),
            Err(_) => Some(reading.patience.lost()),
        };
        // Only a body that ended may have its last event without an empty line; a broken one may not.
        let last = reading.events.finish().filter(|_| lost.is_none());
        self.take(last.as_slice(), &mut reading.patience)?;
        self.end(reading.request, lost)
    }

    fn take(&mut self, events: &[sse::Event], patience: &mut Patience) -> Result<Ended, Error> {
        for event in events {
            match self.decoder.take(event)? {
                Progress::Ping => {}
                Progress::Chunks(chunks) => {
                    patience.renew();
                    self.ready.extend(chunks.into_iter().map(Ok));
                }
                Progress::End => return Ok(Ended::Yes),
            }
        }
        Ok(Ended::NotYet)
    }

    /// The answer is over or lost. It counts if the vendor's last word has come, however the rest ended.
    fn end(&mut self, request: Option<String>, lost: Option<Error>) -> Result<Phase, Error> {
        let Some(mut reply) = self.decoder.finish() else {
            return Err(lost.unwrap_or_else(|| Error::Broken("the stream ended early".into())));
        };
        reply.request = request.or(reply.request);
        self.ready.push_back(Ok(Chunk::Reply(reply)));
        Ok(Phase::Over)
    }
}

enum Ended {
    Yes,
    NotYet,
}

/// An answer that is being read.
struct Reading {
    response: Response,
    events: sse::Decoder,
    patience: Patience,
    request: Option<String>,
}

/// How much longer to wait.
struct Patience {
    timeouts: Timeouts,
    /// When the whole answer must be there.
    total: Instant,
    /// When the next event must be there.
    next: Instant,
    what: &'static str,
    wait: Duration,
}

impl Patience {
    fn new(timeouts: Timeouts) -> Self {
        let now = Instant::now();
        let (total, next) = (now + timeouts.total, now + timeouts.first_byte);
        Self { timeouts, total, next, what: "no event", wait: timeouts.first_byte }
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
            true => failure::impatient("not the whole answer", self.timeouts.total),
            false => failure::impatient(self.what, self.wait),
        }
    }
}

/// Whether this is a page or a JSON document: what proxies and some servers answer instead of a stream.
fn is_document(response: &Response) -> bool {
    let kind = response.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    kind.starts_with("application/json") || kind.starts_with("text/html")
}

pub(super) async fn send(client: &Client, post: Post) -> Result<Response, reqwest::Error> {
    let mut request = client.inner.post(post.url).body(post.body).header(CONTENT_TYPE, "application/json");
    for (name, value) in &post.headers {
        request = request.header(name, value);
    }
    for (name, value) in post.secrets {
        match HeaderValue::try_from(value) {
            Ok(mut value) => {
                value.set_sensitive(true);
                request = request.header(HeaderName::from_static(name), value);
            }
            // Lets the request fail as one that cannot be built, without the value in its words.
            Err(_) => request = request.header(name, "\n"),
        }
    }
    request.send().await
}
