//! Asks the model: streams what comes, keeps the whole reply, asks again or another one if that helps.

use std::{collections::HashMap, sync::Arc};

use futures::StreamExt;
use rooftree_protocol::{
    CallId, EventBody, Usage,
    event::{NoticeLevel, ReplyPart, ReplyRecord, StopReason},
};
use rooftree_providers::{Chunk, Error as ProviderError, Model, ModelMessage, Reply, Request};

use super::{Agent, budget, journal::Commit, limits::End, patience, patience::Patience, prompt, strict};
use crate::{Error, governor::Pass, secrets::Held};

/// How one attempt went.
pub(super) enum Attempt {
    Reply(Reply),
    Failed(ProviderError),
    Ended(End, String),
}

/// Who hears the reply while it comes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Audience {
    Watchers,
    Nobody,
}

/// Asks until there is a reply, which is kept; or says how the run ends without one.
pub(super) async fn ask(agent: &mut Agent) -> Result<Option<End>, Error> {
    let model = match &agent.model {
        Ok(model) => model.clone(),
        Err(problem) => return Ok(Some(End::Failed(problem.clone()))),
    };
    if let Some(end) = patience::wait_on(agent).await? {
        return Ok(Some(end));
    }
    load_media(agent).await?;
    let mut patience = Patience::new(model, &agent.world);
    loop {
        let model = patience.model().clone();
        if let Some(end) = strict::refusal(agent, &model).or_else(|| budget::exhausted(agent, &model)) {
            return Ok(Some(end));
        }
        let pass = match patience::admit(agent, &model).await? {
            Ok(pass) => pass,
            Err(end) => return Ok(Some(end)),
        };
        let request = prompt::request(agent, &model, patience.attempt());
        match answer(agent, &model, request, Audience::Watchers).await? {
            Attempt::Reply(reply) => {
                pass.answered();
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
            Attempt::Failed(ProviderError::TooLong { limit }) => {
                agent.refused_as_too_long(limit);
                return Ok(None);
            }
            Attempt::Failed(error) => {
                if let Some(end) = try_again(agent, &mut patience, pass, error).await? {
                    return Ok(Some(end));
                }
            }
        }
    }
}

/// Waits, or turns to another model; ends the run if neither helps.
async fn try_again(
    agent: &mut Agent,
    patience: &mut Patience,
    pass: Pass,
    error: ProviderError,
) -> Result<Option<End>, Error> {
    match patience.after(&error, agent.kit.limits.retries, agent.world.entropy()) {
        patience::Then::Wait(pause) => {
            if matches!(error, ProviderError::RateLimited { .. }) {
                pass.refused(agent.world.now(), pause);
            }
            drop(pass);
            patience::wait(agent, &error, pause).await
        }
        patience::Then::TurnTo(model) => {
            let message = format!("{error}; asking {} for this turn", model.choice);
            agent.note(EventBody::Notice {
                level: NoticeLevel::Warning,
                code: "fallback".into(),
                message,
                hint: None,
            });
            Ok(None)
        }
        patience::Then::GiveUp => Ok(Some(End::Failed(error.problem()))),
    }
}

/// Streams one answer. Whatever breaks in is heeded.
pub(super) async fn answer(
    agent: &mut Agent,
    model: &Model,
    request: Request,
    audience: Audience,
) -> Result<Attempt, Error> {
    rooftree_store::failpoint::note("asked", || format!("{} {}", replies_in(&request), agent.session.id));
    let mut stream = model.provider.stream(request);
    rooftree_store::failpoint::reach_at("model.asked", agent.depth());
    let mut interruption = agent.interruption();
    let mut said = Said::default();
    loop {
        let chunk = tokio::select! {
            biased;
            came = &mut interruption => {
                if let Some(end) = agent.heed(came)? {
                    said.tell_rest(agent);
                    return Ok(Attempt::Ended(end, said.text));
                }
                interruption = agent.interruption();
                continue;
            }
            chunk = stream.next() => chunk,
        };
        match chunk {
            Some(Ok(Chunk::Reply(reply))) => {
                said.tell_rest(agent);
                return Ok(Attempt::Reply(reply));
            }
            Some(Ok(delta)) if audience == Audience::Watchers => said.tell(agent, delta),
            Some(Ok(_)) => {}
            Some(Err(error)) => return Ok(Attempt::Failed(error)),
            None => return Ok(Attempt::Failed(ProviderError::Broken("the stream ended early".into()))),
        }
    }
}

/// What has come of a reply so far.
#[derive(Default)]
struct Said {
    text: String,
    /// What could be the beginning of a secret is not told before it is clear that it is none.
    held: Held,
    thoughts: Held,
}

impl Said {
    fn tell(&mut self, agent: &mut Agent, delta: Chunk) {
        match delta {
            Chunk::Text(text) => {
                self.tell_thoughts(agent);
                self.text.push_str(&text);
                let text = self.held.push(agent.world.secrets(), &text);
                say(agent, text, |text| EventBody::MessageDelta { text });
            }
            Chunk::Thinking(text) => {
                let text = self.thoughts.push(agent.world.secrets(), &text);
                say(agent, text, |text| EventBody::ThinkingDelta { text });
            }
            Chunk::Note { level, code, message } => {
                agent.note(EventBody::Notice { level, code: code.into_owned(), message, hint: None });
            }
            Chunk::ToolInput { .. } | Chunk::Reply(_) => {}
        }
    }

    fn tell_thoughts(&mut self, agent: &Agent) {
        let text = self.thoughts.finish(agent.world.secrets());
        say(agent, text, |text| EventBody::ThinkingDelta { text });
    }

    /// Nothing more comes.
    fn tell_rest(&mut self, agent: &Agent) {
        self.tell_thoughts(agent);
        let text = self.held.finish(agent.world.secrets());
        say(agent, text, |text| EventBody::MessageDelta { text });
    }
}

fn say(agent: &Agent, text: String, body: impl FnOnce(String) -> EventBody) {
    if !text.is_empty() {
        agent.say(body(text));
    }
}

/// Gets the bytes of the images and files in the conversation: the newest ones, as many as one request
/// may carry. The others are told in words.
async fn load_media(agent: &mut Agent) -> Result<(), Error> {
    let mut room = agent.kit.limits.media_bytes;
    let mut media = HashMap::new();
    for blob in agent.history.images().iter().rev() {
        let known = agent.media.get(blob).cloned();
        let bytes = match known {
            Some(bytes) => Some(bytes),
            None => agent.world.store().blob(blob).await?.map(Arc::<[u8]>::from),
        };
        let Some(bytes) = bytes else { continue };
        let Some(left) = room.checked_sub(bytes.len() as u64) else { break };
        room = left;
        media.insert(blob.clone(), bytes);
    }
    if media.len() != agent.media.len() || media.keys().any(|blob| !agent.media.contains_key(blob)) {
        agent.media = Arc::new(media);
    }
    Ok(())
}

/// How many of its own replies the model is shown: which one it is asked for, as seen by the model.
fn replies_in(request: &Request) -> usize {
    request.messages.iter().filter(|message| matches!(***message, ModelMessage::Assistant { .. })).count()
}

/// Keeps a whole reply. Its calls get ids of ours: providers' own may repeat.
fn keep(agent: &mut Agent, model: &Model, reply: Reply) {
    let estimate = prompt::estimate(agent);
    agent.window.calibrate(estimate, reply.usage.input);
    agent.refusals = 0;
    if !reply.dropped.is_empty() && reply.dropped != agent.dropped {
        let message = format!("{} does not get {}", model.choice, reply.dropped.join(", "));
        agent.dropped.clone_from(&reply.dropped);
        let code = "not_carried_over".into();
        agent.note(EventBody::Notice { level: NoticeLevel::Info, code, message, hint: None });
    }
    let mut parts = reply.parts;
    for part in &mut parts {
        if let ReplyPart::Call(call) = part {
            call.id = CallId::from_entropy(agent.world.entropy());
        }
    }
    record(agent, model, Reply { parts, usage: model.charge(reply.usage), ..reply });
    let (used, limit) = (agent.window.tokens(prompt::estimate(agent)), agent.window.limit);
    agent.say(EventBody::ContextUsage { used, limit });
}

/// Keeps what had been said when the model was cut short.
fn keep_partial(agent: &mut Agent, model: &Model, said: String) {
    if !said.trim().is_empty() {
        let (parts, stop) = (vec![ReplyPart::Text { text: said }], StopReason::Cancelled);
        record(agent, model, Reply { parts, stop, usage: Usage::none(), request: None, dropped: Vec::new() });
    }
}

fn record(agent: &mut Agent, model: &Model, reply: Reply) {
    let texts = reply.parts.iter().filter_map(|part| match part {
        ReplyPart::Text { text } => Some(text.as_str()),
        _ => None,
    });
    let text: String = texts.collect();
    let snippet = (!text.trim().is_empty()).then(|| super::take::shortened(&text, 120));
    let Reply { parts, stop, usage, request, .. } = reply;
    let reply = ReplyRecord { text, parts, model: model.choice.to_string(), stop, usage, request };
    let bodies = vec![EventBody::MessageCompleted(reply)];
    agent.append(Commit { bodies, snippet, run: agent.run_id(), ..Commit::default() });
}
