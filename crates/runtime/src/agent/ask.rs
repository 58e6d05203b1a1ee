//! Asks the model: streams what comes, keeps the whole reply, waits and asks again if that helps.

use std::time::Duration;

use futures::StreamExt;
use rooftree_protocol::{
    CallId, EventBody, Usage,
    event::{ReplyPart, ReplyRecord, StopReason, WaitReason},
};
use rooftree_providers::{Chunk, Error as ProviderError, Model, ModelMessage, Reply, Request};

use super::{Agent, journal::Commit, limits::End, prompt};
use crate::Error;

/// How one attempt went.
enum Attempt {
    Reply(Reply),
    Failed(ProviderError),
    Ended(End, String),
}

/// Asks until there is a reply, which is kept; or says how the run ends without one.
pub(super) async fn ask(agent: &mut Agent) -> Result<Option<End>, Error> {
    let model = match &agent.model {
        Ok(model) => model.clone(),
        Err(problem) => return Ok(Some(End::Failed(problem.clone()))),
    };
    let mut attempt = 0;
    loop {
        match answer(agent, &model, attempt).await? {
            Attempt::Reply(reply) => {
                keep(agent, &model, reply);
                return Ok(None);
            }
            Attempt::Ended(end, said) => {
                // A paused run asks anew when it goes on; half a reply would stand in for the whole.
                if end != End::Paused {
                    keep_partial(agent, &model, said);
                }
                return Ok(Some(end));
            }
            Attempt::Failed(error) if !error.is_retryable() || attempt >= agent.kit.limits.retries => {
                return Ok(Some(End::Failed(error.problem())));
            }
            Attempt::Failed(error) => {
                if let Some(end) = wait(agent, &error, attempt).await? {
                    return Ok(Some(end));
                }
            }
        }
        attempt += 1;
    }
}

async fn answer(agent: &mut Agent, model: &Model, attempt: u32) -> Result<Attempt, Error> {
    let request = prompt::request(agent, model, attempt);
    rooftree_store::failpoint::note("asked", || replies_in(&request));
    let mut stream = model.provider.stream(request);
    rooftree_store::failpoint::reach("model.asked");
    let mut interruption = agent.interruption();
    let mut said = String::new();
    loop {
        let chunk = tokio::select! {
            biased;
            came = &mut interruption => {
                if let Some(end) = agent.heed(came)? {
                    return Ok(Attempt::Ended(end, said));
                }
                interruption = agent.interruption();
                continue;
            }
            chunk = stream.next() => chunk,
        };
        match chunk {
            Some(Ok(Chunk::Text(text))) => {
                said.push_str(&text);
                agent.say(EventBody::MessageDelta { text });
            }
            Some(Ok(Chunk::Thinking(text))) => agent.say(EventBody::ThinkingDelta { text }),
            Some(Ok(Chunk::Reply(reply))) => return Ok(Attempt::Reply(reply)),
            Some(Err(error)) => return Ok(Attempt::Failed(error)),
            None => return Ok(Attempt::Failed(ProviderError::Broken("the stream ended early".into()))),
        }
    }
}

/// How many of its own replies the model is shown: which one it is asked for, as seen by the model.
fn replies_in(request: &Request) -> usize {
    request.messages.iter().filter(|message| matches!(***message, ModelMessage::Assistant { .. })).count()
}

/// Keeps a whole reply. Its calls get ids of ours: providers' own may repeat.
fn keep(agent: &mut Agent, model: &Model, reply: Reply) {
    let estimate = prompt::estimate(agent);
    agent.window.calibrate(estimate, reply.usage.input);
    let mut parts = reply.parts;
    for part in &mut parts {
        if let ReplyPart::Call(call) = part {
            call.id = CallId::from_entropy(agent.world.entropy());
        }
    }
    record(agent, model, parts, reply.stop, reply.usage, reply.request);
    let (used, limit) = (agent.window.tokens(prompt::estimate(agent)), agent.window.limit);
    agent.say(EventBody::ContextUsage { used, limit });
}

/// Keeps what had been said when the model was cut short.
fn keep_partial(agent: &mut Agent, model: &Model, said: String) {
    if !said.trim().is_empty() {
        let parts = vec![ReplyPart::Text { text: said }];
        record(agent, model, parts, StopReason::Cancelled, Usage::none(), None);
    }
}

#[expect(clippy::too_many_arguments, reason = "the fields of one record, each used once")]
fn record(
    agent: &mut Agent,
    model: &Model,
    parts: Vec<ReplyPart>,
    stop: StopReason,
    usage: Usage,
    request: Option<String>,
) {
    let texts = parts
        .iter()
        .filter_map(|part| if let ReplyPart::Text { text } = part { Some(text.as_str()) } else { None });
    let text = texts.collect::<Vec<_>>().concat();
    let snippet = (!text.trim().is_empty()).then(|| super::take::shortened(&text, 120));
    let reply = ReplyRecord { text, parts, model: model.choice.to_string(), stop, usage, request };
    let bodies = vec![EventBody::MessageCompleted(reply)];
    agent.append(Commit { bodies, snippet, run: agent.run_id(), ..Commit::default() });
}

/// Waits as long as the provider wants, or a little longer each time.
async fn wait(agent: &mut Agent, error: &ProviderError, attempt: u32) -> Result<Option<End>, Error> {
    let pause = error.retry_after().unwrap_or_else(|| back_off(attempt, agent.world.entropy()));
    let reason = match error {
        ProviderError::RateLimited { .. } => WaitReason::RateLimit,
        _ => WaitReason::Retry,
    };
    let until = Some(agent.world.now().after(pause));
    let detail = format!("{error}; asking again in {:.1} s", pause.as_secs_f64());
    let mut pause = agent.world.options.clock.sleep(pause);
    agent.note(EventBody::RunWaiting { reason, until, detail });
    loop {
        let came = tokio::select! {
            biased;
            came = agent.interruption() => came,
            () = &mut pause => break,
        };
        if let Some(end) = agent.heed(came)? {
            return Ok(Some(end));
        }
    }
    agent.note(EventBody::RunResumed { reason });
    Ok(None)
}

/// 2, 4, 8, 16, 32 seconds, and up to a quarter more so that many do not come back at once.
fn back_off(attempt: u32, entropy: u128) -> Duration {
    let base = Duration::from_secs(2_u64.saturating_pow(attempt.min(4) + 1));
    base + base.mul_f64((entropy % 1000) as f64 / 4000.0)
}
