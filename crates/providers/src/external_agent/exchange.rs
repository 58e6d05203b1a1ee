//! One question to an external agent and its answer, as a stream.

use futures::{StreamExt, stream};
use ring::hmac;
use rooftree_protocol::{
    Usage,
    event::{ReplyPart, StopReason},
};
use tokio::time::{Instant, timeout_at};

use super::{
    ExternalAgent, Mode,
    callbacks::Listener,
    question,
    said::{BODY_BYTES, Said},
    token::Question,
};
use crate::{
    Chunk, Error, Reply, ReplyStream, Request,
    http::{
        Post,
        refusal::Refusal,
        whole::{Answered, Whole},
    },
};

/// Asks and gives the answer as a stream. Nothing is sent before the stream is polled.
pub(super) fn stream(agent: ExternalAgent, request: Request) -> ReplyStream {
    let exchange = Exchange { phase: Phase::Asking(Box::new((agent, request))), text: String::new() };
    let chunks = stream::unfold(exchange, |mut exchange| async move {
        let chunks = exchange.step().await?;
        Some((stream::iter(chunks), exchange))
    });
    chunks.flatten().boxed()
}

struct Exchange {
    phase: Phase,
    /// All that was said.
    text: String,
}

enum Phase {
    Asking(Box<(ExternalAgent, Request)>),
    Listening(Box<Listening>),
    Over,
}

struct Listening {
    listener: Listener,
    until: Instant,
    request: Option<String>,
}

/// What a response brought.
struct Response {
    said: Option<Said>,
    body: Vec<u8>,
    request: Option<String>,
}

type Chunks = Vec<Result<Chunk, Error>>;

impl Exchange {
    async fn step(&mut self) -> Option<Chunks> {
        // Every way out but "go on listening" is the end, so this is the end unless said otherwise.
        let done = match std::mem::replace(&mut self.phase, Phase::Over) {
            Phase::Asking(asked) => match asked.0.options.mode {
                Mode::Sync => self.ask(&asked.0, &asked.1).await,
                Mode::Async => self.ask_and_listen(&asked.0, &asked.1).await,
            },
            Phase::Listening(listening) => self.hear(listening).await,
            Phase::Over => return None,
        };
        Some(done.unwrap_or_else(|error| vec![Err(error)]))
    }

    async fn ask(&mut self, agent: &ExternalAgent, request: &Request) -> Result<Chunks, Error> {
        let question = question::named(request);
        let response = post(agent, &question, question::body(request, &question.key, None)?).await?;
        self.take(Said { goes_on: false, ..response.said.unwrap_or_default() }, response.request)
    }

    /// The letterbox is open before the question leaves: the answer may be faster than the response.
    async fn ask_and_listen(&mut self, agent: &ExternalAgent, request: &Request) -> Result<Chunks, Error> {
        let question = question::named(request);
        let listener = agent.callbacks.listen(&question);
        let url = agent.callbacks.url(&question, agent.options.callback_base.clone()).await;
        let url = url.map_err(|problem| Error::Refused(in_words(&problem)))?;
        let body = question::body(request, &question.key, Some(&url))?;
        let mut request = None;
        // An answer that is already complete came while nobody listened, and need not be asked for.
        if !listener.is_complete() {
            match post(agent, &question, body).await {
                Ok(response) => request = promised(agent, &question, response),
                Err(_) if listener.is_complete() => {}
                Err(error) => return Err(error),
            }
        }
        let until = Instant::now() + agent.options.promise;
        self.phase = Phase::Listening(Box::new(Listening { listener, until, request }));
        Ok(Vec::new())
    }

    async fn hear(&mut self, mut listening: Box<Listening>) -> Result<Chunks, Error> {
        let said = timeout_at(listening.until, listening.listener.next()).await;
        let said = said.map_err(|_| Error::Broken("the promised answer did not come".into()))?;
        let chunks = self.take(said.clone(), listening.request.clone())?;
        if !said.is_last() {
            self.phase = Phase::Listening(listening);
        }
        Ok(chunks)
    }

    fn take(&mut self, said: Said, request: Option<String>) -> Result<Chunks, Error> {
        if let Some(words) = said.error {
            return Err(Error::Refused(format!("the external agent says: {words}")));
        }
        self.text.push_str(&said.text);
        let mut chunks = Vec::new();
        if !said.text.is_empty() {
            chunks.push(Ok(Chunk::Text(said.text)));
        }
        if !said.goes_on && self.text.trim().is_empty() {
            return Err(Error::Broken("the agent answered with nothing".into()));
        }
        if !said.goes_on {
            chunks.push(Ok(Chunk::Reply(reply(std::mem::take(&mut self.text), request))));
        }
        Ok(chunks)
    }
}

fn reply(text: String, request: Option<String>) -> Reply {
    // What the agent's work costs is known to nobody here.
    let usage = Usage::default();
    let (parts, dropped) = (vec![ReplyPart::Text { text }], Vec::new());
    Reply { parts, stop: StopReason::End, usage, request, dropped }
}

/// A response to a question whose answer may come later counts if it is clearly an answer: servers
/// acknowledge in many words.
fn promised(agent: &ExternalAgent, question: &Question, response: Response) -> Option<String> {
    if let Some(said) = response.said.filter(|said| said.is_formal) {
        let name = said.name(&response.body);
        agent.callbacks.put(question.clone(), said, name);
    }
    response.request
}

async fn post(agent: &ExternalAgent, question: &Question, body: Vec<u8>) -> Result<Response, Error> {
    let Some(secret) = agent.options.secret.reveal() else {
        return Err(Error::Unauthorized(format!("{} is not set any more", agent.options.variable)));
    };
    let signature = format!("sha256={}", signature(&secret, &body));
    let post = Post::json(&agent.options.input_url, body)
        .header("x-rooftree-signature", signature)
        .header("idempotency-key", &question.key);
    match agent.client.whole(post, BODY_BYTES).await? {
        Answered::Yes(whole) => read(agent.options.mode, whole),
        Answered::No(refusal) => Err(class(&refusal)),
    }
}

fn read(mode: Mode, whole: Whole) -> Result<Response, Error> {
    if mode == Mode::Sync && whole.status == 202 {
        let words = "the agent promises an answer for later, but is set to answer at once (mode = \"sync\")";
        return Err(Error::Refused(words.into()));
    }
    // Nothing that comes with "later" is the answer.
    let said = match whole.status {
        202 => None,
        _ => Some(Said::read(&whole.body).ok_or_else(|| Error::Refused("the answer is not text".into()))?),
    };
    Ok(Response { said, body: whole.body, request: whole.request })
}

/// What a status means here. No shorter question exists, and redirects are not followed.
fn class(refusal: &Refusal) -> Error {
    let said = Said::read(refusal.body.as_bytes()).and_then(|said| said.error).unwrap_or_default();
    match refusal.status {
        300..=399 => Error::Refused(format!("status {}; redirects are not followed", refusal.status)),
        413 => Error::Refused(refusal.words(&said)),
        _ => refusal.by_status(&said),
    }
}

fn signature(secret: &str, body: &[u8]) -> String {
    let key = hmac::Key::new(hmac::HMAC_SHA256, secret.as_bytes());
    hmac::sign(&key, body).as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
}

fn in_words(problem: &rooftree_protocol::Problem) -> String {
    match &problem.cause {
        Some(cause) => format!("{}: {cause}", problem.message),
        None => problem.message.clone(),
    }
}
