//! Sends a model request: streams the reply, stores it whole, and retries or falls back to another model.

use std::{collections::HashMap, sync::Arc};

use futures::StreamExt;
use rooftree_protocol::{
    CallId, EventBody, MessageId, Usage,
    event::{NoticeLevel, ReplyPart, ReplyRecord, StopReason},
};
use rooftree_providers::{
    Error as ProviderError, Model, ModelMessage, ModelReply, ModelRequest, ReplyChunk,
};
use rooftree_secrets::StreamRedactor;
use rooftree_stdx::shorten::shorten_first_line;

use super::{
    AgentActor, budget, journal::JournalCommit, limits::RunEndReason, prompt, retry,
    retry::RetryState, strict,
};
use crate::{Error, bus::OpenDraft, rate_limiter::RequestPermit};

/// Outcome of one attempt.
pub(super) enum ModelAttempt {
    Reply(ModelReply),
    Failed(ProviderError),
    Ended(RunEndReason, String),
}

/// Whether the reply is streamed to subscribers.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum ReplyAudience {
    Watchers,
    Nobody,
}

/// Asks until there is a reply, which is kept; or says how the run ends without one.
pub(super) async fn ask(agent: &mut AgentActor) -> Result<Option<RunEndReason>, Error> {
    let model = match &agent.model.chosen {
        Ok(model) => model.clone(),
        Err(problem) => return Ok(Some(RunEndReason::Failed(problem.clone()))),
    };
    if let Some(end) = retry::resume_wait(agent).await? {
        return Ok(Some(end));
    }
    load_media(agent).await?;
    let mut retry = RetryState::new(model, &agent.context);
    loop {
        let model = retry.model().clone();
        if let Some(end) =
            strict::refusal(agent, &model).or_else(|| budget::exhausted(agent, &model))
        {
            return Ok(Some(end));
        }
        let pass = match retry::acquire_permit(agent, &model).await? {
            Ok(pass) => pass,
            Err(end) => return Ok(Some(end)),
        };
        let request = prompt::request(agent, &model, retry.attempt());
        match answer(agent, &model, request, ReplyAudience::Watchers).await? {
            ModelAttempt::Reply(reply) => {
                pass.answered();
                record_reply(agent, &model, reply);
                return Ok(None);
            }
            ModelAttempt::Ended(end, said) => {
                // A paused run asks anew when it goes on; half a reply would stand in for the whole.
                if end != RunEndReason::Paused {
                    keep_partial(agent, &model, said);
                }
                return Ok(Some(end));
            }
            ModelAttempt::Failed(ProviderError::TooLong { limit }) => {
                agent.refused_as_too_long(limit);
                return Ok(None);
            }
            ModelAttempt::Failed(error) => {
                if let Some(end) = try_again(agent, &mut retry, pass, error).await? {
                    return Ok(Some(end));
                }
            }
        }
    }
}

/// Waits, or turns to another model; ends the run if neither helps.
async fn try_again(
    agent: &mut AgentActor,
    retry: &mut RetryState,
    pass: RequestPermit,
    error: ProviderError,
) -> Result<Option<RunEndReason>, Error> {
    match retry.after(
        &error,
        agent.resolved.limits.retries,
        agent.context.entropy(),
    ) {
        retry::RetryDecision::Wait(pause) => {
            if matches!(error, ProviderError::RateLimited { .. }) {
                pass.refused(agent.context.now(), pause);
            }
            drop(pass);
            retry::wait(agent, &error, pause).await
        }
        retry::RetryDecision::TurnTo(model) => {
            retry.prepare_model(&agent.context).await;
            let message = format!("{error}; asking {} for this turn", model.choice);
            agent.note(EventBody::Notice {
                level: NoticeLevel::Warning,
                code: "fallback".into(),
                message,
                hint: None,
            });
            Ok(None)
        }
        retry::RetryDecision::GiveUp => {
            let problem = error.problem_of(&retry.model().choice.provider);
            Ok(Some(RunEndReason::Failed(problem)))
        }
    }
}

/// Streams one answer. Whatever breaks in is heeded.
pub(super) async fn answer(
    agent: &mut AgentActor,
    model: &Model,
    request: ModelRequest,
    audience: ReplyAudience,
) -> Result<ModelAttempt, Error> {
    rooftree_store::failpoint::note("asked", || {
        format!("{} {}", replies_in(&request), agent.session.id)
    });
    let mut stream = model.provider.stream(request);
    rooftree_store::failpoint::reach_at("model.asked", agent.depth());
    let mut interruption = agent.interruption();
    let mut said = PartialReply::begin(agent, audience);
    let mut is_reading = model.is_local && audience == ReplyAudience::Watchers;
    if is_reading {
        say_reading(agent);
    }
    loop {
        let chunk = tokio::select! {
            biased;
            came = &mut interruption => {
                if let Some(end) = agent.apply_interruption(came)? {
                    said.tell_rest(agent);
                    return Ok(ModelAttempt::Ended(end, said.text));
                }
                interruption = agent.interruption();
                continue;
            }
            chunk = stream.next() => chunk,
        };
        if std::mem::take(&mut is_reading) {
            say_usage(agent, None);
        }
        match chunk {
            Some(Ok(ReplyChunk::Reply(reply))) => {
                said.tell_rest(agent);
                return Ok(ModelAttempt::Reply(reply));
            }
            Some(Ok(delta)) if audience == ReplyAudience::Watchers => said.tell(agent, delta),
            Some(Ok(_)) => {}
            Some(Err(error)) => return Ok(ModelAttempt::Failed(error)),
            None => {
                return Ok(ModelAttempt::Failed(ProviderError::Broken(
                    "the stream ended early".into(),
                )));
            }
        }
    }
}

/// The part of a reply received so far.
struct PartialReply {
    text: String,
    /// What subscribers that join now get; none if the reply is not streamed.
    draft: Option<OpenDraft>,
    /// What could be the beginning of a secret is not told before it is clear that it is none.
    held: StreamRedactor,
    thoughts: StreamRedactor,
}

impl PartialReply {
    fn begin(agent: &mut AgentActor, audience: ReplyAudience) -> Self {
        let draft = (audience == ReplyAudience::Watchers).then(|| {
            let message = MessageId::from_entropy(agent.context.entropy());
            agent.model.reply = Some(message.clone());
            let drafts = &agent.context.bus.drafts;
            drafts.begin(&agent.session.id, agent.run_id(), message)
        });
        Self {
            text: String::new(),
            draft,
            held: StreamRedactor::default(),
            thoughts: StreamRedactor::default(),
        }
    }

    fn tell(&mut self, agent: &mut AgentActor, delta: ReplyChunk) {
        match delta {
            ReplyChunk::Text(text) => {
                self.tell_thoughts(agent);
                self.text.push_str(&text);
                let text = self.held.push(agent.context.secrets(), &text);
                self.say_text(agent, text);
            }
            ReplyChunk::Thinking(text) => {
                let text = self.thoughts.push(agent.context.secrets(), &text);
                self.say_thinking(agent, text);
            }
            ReplyChunk::Note {
                level,
                code,
                message,
            } => {
                agent.note(EventBody::Notice {
                    level,
                    code: code.into_owned(),
                    message,
                    hint: None,
                });
            }
            ReplyChunk::ToolInput { .. } | ReplyChunk::Reply(_) => {}
        }
    }

    fn tell_thoughts(&mut self, agent: &AgentActor) {
        let text = self.thoughts.finish(agent.context.secrets());
        self.say_thinking(agent, text);
    }

    /// Nothing more comes.
    fn tell_rest(&mut self, agent: &AgentActor) {
        self.tell_thoughts(agent);
        let text = self.held.finish(agent.context.secrets());
        self.say_text(agent, text);
    }

    fn say_text(&self, agent: &AgentActor, text: String) {
        if !text.is_empty() {
            let place = self.draft.as_ref().map(|draft| draft.text(&text));
            agent.say(EventBody::MessageDelta { text, place });
        }
    }

    fn say_thinking(&self, agent: &AgentActor, text: String) {
        if !text.is_empty() {
            let place = self.draft.as_ref().map(|draft| draft.thinking(&text));
            agent.say(EventBody::ThinkingDelta { text, place });
        }
    }
}

/// Gets the bytes of the images and files in the conversation: the newest ones, as many as one request
/// may carry. The others are told in words.
async fn load_media(agent: &mut AgentActor) -> Result<(), Error> {
    let mut room = agent.resolved.limits.media_bytes;
    let mut media = HashMap::new();
    for blob in agent.history.images().iter().rev() {
        let known = agent.model.media.get(blob).cloned();
        let bytes = match known {
            Some(bytes) => Some(bytes),
            None => agent
                .context
                .store()
                .blob(blob)
                .await?
                .map(Arc::<[u8]>::from),
        };
        let Some(bytes) = bytes else { continue };
        let Some(left) = room.checked_sub(bytes.len() as u64) else {
            break;
        };
        room = left;
        media.insert(blob.clone(), bytes);
    }
    if media.len() != agent.model.media.len()
        || media
            .keys()
            .any(|blob| !agent.model.media.contains_key(blob))
    {
        agent.model.media = Arc::new(media);
    }
    Ok(())
}

/// How many of its own replies the model is shown: which one it is asked for, as seen by the model.
fn replies_in(request: &ModelRequest) -> usize {
    request
        .messages
        .iter()
        .filter(|message| matches!(***message, ModelMessage::Assistant { .. }))
        .count()
}

/// Keeps a whole reply. Its calls get ids of ours: providers' own may repeat.
fn record_reply(agent: &mut AgentActor, model: &Model, reply: ModelReply) {
    let estimate = prompt::estimate(agent);
    agent.model.window.calibrate(estimate, reply.usage.input);
    agent.model.refusals = 0;
    if !reply.dropped.is_empty() && reply.dropped != agent.model.dropped {
        let message = format!("{} does not get {}", model.choice, reply.dropped.join(", "));
        agent.model.dropped.clone_from(&reply.dropped);
        let code = "not_carried_over".into();
        agent.note(EventBody::Notice {
            level: NoticeLevel::Info,
            code,
            message,
            hint: None,
        });
    }
    let mut parts = reply.parts;
    for part in &mut parts {
        if let ReplyPart::Call(call) = part {
            call.id = CallId::from_entropy(agent.context.entropy());
        }
    }
    record(
        agent,
        model,
        ModelReply {
            parts,
            usage: model.charge(reply.usage),
            ..reply
        },
    );
    agent.model.read = say_usage(agent, None);
}

/// Tells subscribers that the model has begun to read: on the user's own machine that takes seconds to minutes. Such
/// servers keep what they have read, so only what came since the last reply counts.
fn say_reading(agent: &AgentActor) {
    let used = agent.model.window.tokens(prompt::estimate(agent));
    let reading = used.checked_sub(agent.model.read).unwrap_or(used);
    say_usage(agent, Some(reading));
}

/// Tells subscribers how full the window is; returns the tokens.
fn say_usage(agent: &AgentActor, reading: Option<u64>) -> u64 {
    let used = agent.model.window.tokens(prompt::estimate(agent));
    let limit = agent.model.window.limit;
    agent.say(EventBody::ContextUsage {
        used,
        limit,
        reading,
    });
    used
}

/// Keeps what had been said when the model was cut short.
fn keep_partial(agent: &mut AgentActor, model: &Model, said: String) {
    if !said.trim().is_empty() {
        let (parts, stop) = (vec![ReplyPart::Text { text: said }], StopReason::Cancelled);
        record(
            agent,
            model,
            ModelReply {
                parts,
                stop,
                // What the provider charges for it is not known.
                usage: Usage {
                    cost_complete: model.price.is_none(),
                    ..Usage::none()
                },
                request: None,
                dropped: Vec::new(),
            },
        );
    }
}

fn record(agent: &mut AgentActor, model: &Model, reply: ModelReply) {
    let texts = reply.parts.iter().filter_map(|part| match part {
        ReplyPart::Text { text } => Some(text.as_str()),
        _ => None,
    });
    let text: String = texts.collect();
    let snippet = (!text.trim().is_empty()).then(|| shorten_first_line(&text, 120));
    let ModelReply {
        parts,
        stop,
        usage,
        request,
        ..
    } = reply;
    let reply = ReplyRecord {
        message: agent.model.reply.take(),
        text,
        parts,
        model: model.choice.to_string(),
        stop,
        usage,
        request,
    };
    let bodies = vec![EventBody::MessageCompleted(reply)];
    agent.append(JournalCommit {
        bodies,
        snippet,
        run: agent.run_id(),
        ..JournalCommit::default()
    });
}
