//! Nested calls: tool calls that commands make from inside a running call, checked like any other.
//!
//! They come through the call socket and go through the same checks, hooks, questions and limits as a model's; their
//! intents and results are in the journal with the call they were made inside of. The model reads only what the
//! command makes of them.

use rooftree_protocol::{
    CallId, ErrorCode, EventBody, Outcome, Timestamp, ToolCall, event::ToolRecord, message::text_of,
};
use rooftree_store::blob_id;
use rooftree_tools::toolset::ToolLookup;
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

use super::{
    AgentActor,
    call::{PreparedCall, not_made},
    check::{CheckedCall, check_with_hooks, refusal},
    fan_out,
    hook_points::{self, CallHookAnswers},
    permission::{self, AskOutcome, PermissionOutcome, PermissionQuestion},
};
use crate::{
    Error,
    call_socket::{CallRequest, CallSocketReply, CallSocketRequest},
    exposure,
};

/// Knocks that wait to be heard.
const WAITING: usize = 64;

/// The way from commands to the agent, and who waits there for an answer.
pub(super) struct NestedCalls {
    tx: mpsc::Sender<CallRequest>,
    rx: mpsc::Receiver<CallRequest>,
    callers: Vec<NestedCaller>,
    /// How many calls were made from inside the calls under way.
    made: Vec<(CallId, u32)>,
}

struct NestedCaller {
    call: CallId,
    answer: oneshot::Sender<CallSocketReply>,
}

impl Default for NestedCalls {
    fn default() -> Self {
        let (tx, rx) = mpsc::channel(WAITING);
        Self {
            tx,
            rx,
            callers: Vec::new(),
            made: Vec::new(),
        }
    }
}

impl NestedCalls {
    /// The next nested call that is requested. Pends while `most` are being made already.
    pub(super) async fn next(&mut self, most: usize) -> CallRequest {
        if self.callers.len() >= most {
            return std::future::pending().await;
        }
        match self.rx.recv().await {
            Some(incoming) => incoming,
            None => std::future::pending().await,
        }
    }

    /// Sender for requests of commands.
    pub(super) fn entrance(&self) -> mpsc::Sender<CallRequest> {
        self.tx.clone()
    }

    /// Whether no caller waits for an answer.
    pub(super) fn is_idle(&self) -> bool {
        self.callers.is_empty()
    }

    /// Tells a command what came of its call: what the journal holds, uncut where it was cut.
    pub(super) fn tell(&mut self, record: &ToolRecord, blobs: &[Vec<u8>]) {
        let Some(at) = self
            .callers
            .iter()
            .position(|caller| caller.call == record.call)
        else {
            return;
        };
        let NestedCaller { answer, .. } = self.callers.swap_remove(at);
        let whole = record
            .full
            .as_ref()
            .and_then(|full| blobs.iter().find(|blob| blob_id(blob) == *full));
        let text = whole.and_then(|whole| String::from_utf8(whole.clone()).ok());
        let text = text.unwrap_or_else(|| text_of(&record.content));
        let _ = answer.send(CallSocketReply {
            outcome: record.outcome,
            text,
        });
    }

    /// Drops the nested calls in progress: the calls they were made from have ended.
    pub(super) fn end(&mut self) {
        while self.rx.try_recv().is_ok() {}
        (self.callers, self.made) = (Vec::new(), Vec::new());
    }

    fn count(&mut self, inside: &CallId) -> u32 {
        let known = self.made.iter_mut().find(|(call, _)| call == inside);
        match known {
            Some((_, count)) => {
                *count += 1;
                *count
            }
            None => {
                self.made.push((inside.clone(), 1));
                1
            }
        }
    }
}

/// A call from inside that can be made now, and when to stop it.
pub(super) struct ReadyNestedCall {
    pub(super) one: PreparedCall,
    pub(super) gone: CancellationToken,
}

/// A nested call whose permission question is open.
struct PendingNestedCall {
    ready: ReadyNestedCall,
    question: PermissionQuestion,
}

/// The questions about calls from inside, while a batch runs.
#[derive(Default)]
pub(super) struct NestedPermissions(Vec<PendingNestedCall>);

impl NestedPermissions {
    /// Handles a request; returns the call if it can be made now.
    pub(super) async fn hear(
        &mut self,
        agent: &mut AgentActor,
        incoming: CallRequest,
    ) -> Result<Option<ReadyNestedCall>, Error> {
        let CallRequest {
            inside,
            request,
            answer,
            gone,
        } = incoming;
        if gone.is_cancelled() {
            return Ok(None);
        }
        let most = agent.resolved.limits.inner_calls;
        if agent.calls.nested.count(&inside) > most {
            // Not even recorded: a command that sends requests without end must not fill the journal.
            let words = format!(
                "limit_reached: one call may make {most} calls from inside (limits.inner_calls)"
            );
            let _ = answer.send(CallSocketReply::failed(ErrorCode::LimitReached, words));
            return Ok(None);
        }
        let id = CallId::from_entropy(agent.context.entropy());
        agent.calls.nested.callers.push(NestedCaller {
            call: id.clone(),
            answer,
        });
        let call = match wanted(agent, id, request) {
            Ok(call) => call,
            Err(record) => {
                refuse(agent, *record, &inside);
                return Ok(None);
            }
        };
        // Whatever ran before may have changed what is allowed, and so may people.
        agent.renew_policy().await?;
        let checked = check_with_hooks(agent, &call, &mut CallHookAnswers::default()).await?;
        let (mut one, reason) = match checked {
            CheckedCall::Ready(one) => (one, None),
            CheckedCall::Ask(one, reason) => (one, Some(reason)),
            CheckedCall::Refused(record) => {
                hook_points::refused(agent, None, &record);
                refuse(
                    agent,
                    ToolRecord {
                        input: Some(call.input),
                        ..*record
                    },
                    &inside,
                );
                return Ok(None);
            }
            CheckedCall::Ended => {
                refuse(agent, cancelled(&call, "[cancelled]"), &inside);
                return Ok(None);
            }
        };
        one.inside = Some(inside);
        let ready = ReadyNestedCall { one, gone };
        let asked = match fan_out::ask_inside(agent, &ready.one).await? {
            Some(asked) => asked,
            None => match reason {
                Some(reason) => permission::put(agent, &ready.one, reason).await?,
                None => return Ok(Some(ready)),
            },
        };
        match asked {
            AskOutcome::Settled(permitted) => Ok(permitted_or_refused(agent, ready, permitted)),
            AskOutcome::Stands(question) => {
                self.0.push(PendingNestedCall { ready, question });
                // It may have been answered by a rule of the same moment.
                Ok(self.look(agent).await?.pop())
            }
        }
    }

    /// The earliest deadline of the open questions.
    pub(super) fn until(&self) -> Option<Timestamp> {
        self.0.iter().map(|asked| asked.question.until).min()
    }

    /// Returns the calls that were permitted meanwhile, and refuses those that were not. Withdraws the question if the
    /// requesting command has disconnected.
    pub(super) async fn look(
        &mut self,
        agent: &mut AgentActor,
    ) -> Result<Vec<ReadyNestedCall>, Error> {
        let mut ready = Vec::new();
        for asked in std::mem::take(&mut self.0) {
            if asked.ready.gone.is_cancelled() {
                take_back(agent, asked).await?;
                continue;
            }
            match permission::heard(agent, &asked.question).await? {
                None => self.0.push(asked),
                Some(heard) => {
                    let permitted = permission::conclude(agent, &asked.question, heard).await?;
                    ready.extend(permitted_or_refused(agent, asked.ready, permitted));
                }
            }
        }
        Ok(ready)
    }

    /// Resolves when a command that requested one of the calls has disconnected.
    pub(super) fn left(&self) -> impl Future<Output = ()> + use<> {
        let gone: Vec<_> = self
            .0
            .iter()
            .map(|asked| asked.ready.gone.clone())
            .collect();
        async move {
            if gone.is_empty() {
                return std::future::pending().await;
            }
            let waits = gone
                .into_iter()
                .map(|gone| Box::pin(async move { gone.cancelled().await }));
            futures::future::select_all(waits).await;
        }
    }

    /// Takes all questions back: the run ends.
    pub(super) async fn withdraw(self, agent: &mut AgentActor) -> Result<(), Error> {
        for asked in self.0 {
            take_back(agent, asked).await?;
        }
        Ok(())
    }
}

/// Withdraws the question about a nested call, which is not made.
async fn take_back(agent: &mut AgentActor, asked: PendingNestedCall) -> Result<(), Error> {
    permission::withdraw(agent, &asked.question).await?;
    let one = asked.ready.one;
    let record = cancelled(&one.call, "[cancelled] the command that made it has ended");
    agent.note(EventBody::ToolCompleted(ToolRecord {
        inside: one.inside,
        input: Some(one.input),
        ..record
    }));
    Ok(())
}

/// The call as a model would have made it; else why it cannot be one.
fn wanted(
    agent: &AgentActor,
    id: CallId,
    request: CallSocketRequest,
) -> Result<ToolCall, Box<ToolRecord>> {
    let CallSocketRequest {
        tool,
        input,
        flags,
        token: _,
    } = request;
    let no = |code, words: String, input| {
        let call = ToolCall {
            id: id.clone(),
            tool: tool.clone(),
            input,
        };
        let record = not_made(&call, &call.tool, Outcome::Failed(code), words);
        Box::new(ToolRecord {
            input: Some(call.input),
            ..record
        })
    };
    let null = || serde_json::Value::Null;
    let exposed = agent.resolved.exposed.as_ref();
    let found = match agent.resolved.toolset.find(&tool) {
        ToolLookup::Tool(found) => Some(found),
        ToolLookup::Unknown => None,
    };
    let Some(found) = found else {
        // Unknown tool: `check` reports the error.
        return Ok(ToolCall {
            id,
            tool,
            input: input.unwrap_or_else(|| serde_json::json!({})),
        });
    };
    let name = found.spec().name.as_str();
    if !exposed.is_some_and(|exposed| exposed.has(name)) {
        let words =
            format!("tool_not_allowed: {name} is not for commands; the agent calls it itself");
        return Err(no(
            ErrorCode::ToolNotAllowed,
            words,
            input.unwrap_or_else(null),
        ));
    }
    let input = match input {
        Some(_) if !flags.is_empty() => {
            Err("give arguments as JSON or as flags, not both".to_owned())
        }
        Some(input) => Ok(input),
        None => exposure::input(found.spec(), &flags),
    };
    match input {
        Ok(input) => Ok(ToolCall {
            id: id.clone(),
            tool: tool.clone(),
            input,
        }),
        Err(words) => Err(no(
            ErrorCode::InvalidArguments,
            format!("{name}: {words}"),
            null(),
        )),
    }
}

fn permitted_or_refused(
    agent: &mut AgentActor,
    ready: ReadyNestedCall,
    permitted: PermissionOutcome,
) -> Option<ReadyNestedCall> {
    let ReadyNestedCall { mut one, gone } = ready;
    let record = match permitted {
        PermissionOutcome::Yes(by) => {
            one.permitted_by(by);
            return Some(ReadyNestedCall { one, gone });
        }
        PermissionOutcome::No(words) => {
            let record = refusal(&one, words);
            hook_points::refused(agent, Some(&one), &record);
            record
        }
        PermissionOutcome::Vain(words) => not_made(
            &one.call,
            &one.title,
            Outcome::Failed(ErrorCode::ToolFailed),
            words,
        ),
        PermissionOutcome::Ended(end) => {
            agent.inbox.end_reason.get_or_insert(end);
            cancelled(&one.call, "[cancelled]")
        }
    };
    let inside = one.inside.clone();
    agent.note(EventBody::ToolCompleted(ToolRecord {
        inside,
        input: Some(one.input),
        ..record
    }));
    None
}

/// Keeps that a call from inside was not made.
fn refuse(agent: &mut AgentActor, record: ToolRecord, inside: &CallId) {
    agent.note(EventBody::ToolCompleted(ToolRecord {
        inside: Some(inside.clone()),
        ..record
    }));
}

fn cancelled(call: &ToolCall, words: &str) -> ToolRecord {
    not_made(call, &call.tool, Outcome::Cancelled, words.to_owned())
}

/// Gives the calls from inside that were begun and have no result one that says so.
pub(super) fn record_unfinished(agent: &mut AgentActor, outcome: Outcome, words: &str) {
    let open: Vec<_> = agent.history.inner_calls().cloned().collect();
    for open in open {
        let record = not_made(&open.call, &open.call.tool, outcome, words.to_owned());
        agent.note(EventBody::ToolCompleted(ToolRecord {
            inside: open.inside,
            ..record
        }));
    }
}
