//! SendMessage: says something to another session without waiting for an answer.

use futures::future::BoxFuture;
use rooftree_protocol::{
    AgentDialect, ErrorCode, Lane, Mandate, Message, MessageId, Origin, Part, RunId, Session,
    SessionId, ToolSpec,
};
use rooftree_store::{InboxPost, SessionFilter, VisibleSessions};
use rooftree_tools::{
    Tool, ToolContext, ToolInfo, ToolOutput,
    arguments::{self, ArgumentKind, ToolArgument, flag, text},
    session_tools::SEND_MESSAGE,
    toolset::is_named,
};
use serde_json::Value;

use super::caller;
use crate::{
    caller::Caller,
    delegation::{dialect, rights, target},
    interrupted_runs,
    runtime_context::SessionAction,
};

const DESCRIPTION: &str = "Tell another agent's session something, without waiting. Without `to`: whoever asked you, \
else the session a person talked to last.";

const ARGUMENTS: [ToolArgument; 4] = [
    ToolArgument::new("to", ArgumentKind::Text, "Session, task or agent").with_aliases(&[
        "agentId",
        "agent_id",
        "sessionId",
        "session_id",
        "agent",
    ]),
    ToolArgument::new("text", ArgumentKind::Text, "")
        .required()
        .with_aliases(&["message", "content"]),
    ToolArgument::new("silent", ArgumentKind::Flag, "Starts no run"),
    ToolArgument::new("steer", ArgumentKind::Flag, "Read in the middle of its run"),
];

/// Characters a message may have; longer ones are kept beside it.
const LONGEST: usize = 8_000;

/// The SendMessage tool.
pub(super) struct SendMessageTool {
    spec: ToolSpec,
}

impl SendMessageTool {
    pub(super) fn new() -> Self {
        Self {
            spec: arguments::spec(SEND_MESSAGE.name, DESCRIPTION, &ARGUMENTS),
        }
    }
}

impl Tool for SendMessageTool {
    fn info(&self) -> &ToolInfo {
        &SEND_MESSAGE
    }

    fn is_ordered(&self, _input: &Value) -> bool {
        true
    }

    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn spec_in(&self, dialect: AgentDialect) -> Option<ToolSpec> {
        dialect::spec(&self.spec, dialect)
    }

    fn normalise(&self, _called_as: &str, input: Value) -> Result<Value, String> {
        let input =
            arguments::normalise(SEND_MESSAGE.name, &ARGUMENTS, input).map(Value::Object)?;
        if text(&input, "text").trim().is_empty() {
            return Err("SendMessage needs a `text` that says something.".into());
        }
        Ok(input)
    }

    fn run(&self, input: Value, context: ToolContext) -> BoxFuture<'static, ToolOutput> {
        Box::pin(async move {
            let sent = match caller(&context) {
                Ok(caller) => send(&caller, &input, &context).await,
                Err(output) => return *output,
            };
            match sent {
                Ok(words) => ToolOutput::done(words),
                Err(words) => ToolOutput::failed(ErrorCode::SessionNotFound, words),
            }
        })
    }
}

async fn send(caller: &Caller, input: &Value, context: &ToolContext) -> Result<String, String> {
    // Invariant: messages of one reply enter an inbox in the order of the calls.
    caller.turn.wait().await;
    let target = recipient(caller, text(input, "to")).await?;
    if target.id == caller.session.id {
        return Err("That is this session itself.".into());
    }
    let is_above = caller
        .chain()
        .iter()
        .any(|above| above.session == target.id);
    // Who is meant without being named is not the agent's choice.
    let is_chosen = !is_above && !text(input, "to").is_empty();
    let is_hidden = caller
        .context
        .options
        .agents
        .definitions
        .find(&target.agent)
        .is_ok_and(|found| found.hidden);
    if is_chosen && (is_hidden || !is_named(&caller.resolved.definition.agents, &target.agent)) {
        return Err(format!(
            "Agent `{}` may not be told anything by `{}`.",
            target.agent, caller.session.agent
        ));
    }
    let runtime = &caller.context;
    let origin = Origin::Agent {
        session: caller.session.id.clone(),
        agent: caller.session.agent.clone(),
        call: Some(context.call.clone()),
    };
    let id = MessageId::derived_from(context.call.as_str());
    let parts = parts(caller, text(input, "text")).await?;
    let (silent, steer) = (flag(input, "silent"), flag(input, "steer"));
    let mandate = if is_above {
        None
    } else {
        mandate(caller, &target, context)?
    };
    let outside = caller.rights.outside;
    let message = Message {
        silent,
        outside,
        mandate,
        ..Message::new(id, parts, origin, runtime.now())
    };
    let lane = if silent || steer {
        Lane::Boundary
    } else {
        Lane::Mail
    };
    // The same call made again after a crash sends nothing twice.
    let key = format!("call:{}", context.call);
    let post = InboxPost {
        session: target.id.clone(),
        lane,
        key,
        message,
        capacity: caller.resolved.limits.inbox,
    };
    let is_queued = interrupted_runs::stays_queued(runtime, &target.id)
        .await
        .map_err(|error| error.problem().message)?;
    let posted = runtime.store().post(post);
    // It is queued: what the next call posts comes after it.
    caller.turn.pass();
    posted.await.map_err(|error| error.problem().message)?;
    if !silent {
        let _ = runtime
            .session_actions
            .send(SessionAction::Wake(target.id.clone()));
    }
    let sent = format!("System message sent. ({}, {})", target.agent, target.id);
    Ok(if is_queued {
        format!("{sent} {}", interrupted_runs::queued(&target.id))
    } else {
        sent
    })
}

/// What the run may do that this message starts.
fn mandate(
    caller: &Caller,
    target: &Session,
    context: &ToolContext,
) -> Result<Option<Box<Mandate>>, String> {
    let definition = caller
        .context
        .options
        .agents
        .definitions
        .find(&target.agent);
    let definition = definition.map_err(|problem| problem.message)?;
    let mut told = rights::told(caller, &definition, &context.call);
    if let (Some(told), None, None) = (&mut told, &target.model, &definition.model) {
        // A session that does not say which model it had goes on with that of the sender.
        told.model.clone_from(&caller.model);
    }
    // Checked now: the sender would not learn of the error later.
    let model = caller.context.model(target, &definition, told.as_ref());
    model.map_err(|problem| {
        format!(
            "`{}` cannot work on a message: {}.",
            target.agent, problem.message
        )
    })?;
    Ok(told.map(Box::new))
}

async fn parts(caller: &Caller, text: &str) -> Result<Vec<Part>, String> {
    // Before it is cut: half a secret has no shape any more.
    let clean = caller.context.secrets().clean(text);
    let text = clean.as_deref().unwrap_or(text);
    let Some((at, _)) = text.char_indices().nth(LONGEST) else {
        return Ok(vec![Part::text(text)]);
    };
    let bytes = text.len() as u64;
    let kept = caller
        .context
        .store()
        .put_blob(text.as_bytes().to_vec())
        .await;
    let blob = kept.map_err(|error| error.problem().message)?;
    let start = text.get(..at).unwrap_or_default();
    let whole = Part::File {
        blob,
        name: "message.txt".into(),
        media_type: "text/plain".into(),
        bytes,
    };
    Ok(vec![
        Part::text(format!("{start}\n[… the whole message is attached]")),
        whole,
    ])
}

async fn recipient(caller: &Caller, to: &str) -> Result<Session, String> {
    let parent = caller
        .mandate
        .as_ref()
        .map(|mandate| &mandate.parent.session);
    let is_id = to.starts_with(SessionId::PREFIX) || to.starts_with(RunId::PREFIX);
    match (to, parent) {
        ("", None) => foreground(caller).await,
        ("", Some(parent)) => named(caller, parent.as_str()).await,
        (to, _) if is_id => named(caller, to).await,
        (to, _) => match latest(caller, to).await? {
            Some(session) => Ok(session),
            None => named(caller, to).await,
        },
    }
}

/// A session by its id, by a task or run in it, or by what people call it.
async fn named(caller: &Caller, name: &str) -> Result<Session, String> {
    let found = target::called(caller, name).await;
    let found = found.map_err(|error| error.problem().message)?;
    found.ok_or_else(|| {
        if name.starts_with(RunId::PREFIX) {
            format!("Task \"{name}\" not found.")
        } else if name.starts_with(SessionId::PREFIX) {
            format!("There is no session `{name}`.")
        } else {
            format!("Agent `{name}` has no session to send to, and no session is called so.")
        }
    })
}

/// The session a person talks to, other than this one.
async fn foreground(caller: &Caller) -> Result<Session, String> {
    let filter = SessionFilter {
        tenant: Some(caller.session.account.tenant.clone()),
        visible: VisibleSessions::of_account(&caller.session.account),
        foreground: true,
        limit: 2,
        ..SessionFilter::default()
    };
    let sessions = caller
        .context
        .store()
        .sessions(filter)
        .await
        .map_err(|error| error.problem().message)?;
    let other = sessions
        .into_iter()
        .find(|session| session.id != caller.session.id);
    other.ok_or_else(|| "No recent foreground agent found.".into())
}

/// The latest session of an agent: one that people or peers talk to, else one that this agent has started.
async fn latest(caller: &Caller, agent: &str) -> Result<Option<Session>, String> {
    let all = SessionFilter {
        tenant: Some(caller.session.account.tenant.clone()),
        visible: VisibleSessions::of_account(&caller.session.account),
        agent: Some(agent.to_owned()),
        limit: 1,
        ..SessionFilter::default()
    };
    let peers = SessionFilter {
        top_level: Some(true),
        ..all.clone()
    };
    let own = SessionFilter {
        parent: Some(caller.session.id.clone()),
        ..all
    };
    for filter in [peers, own] {
        let found = caller.context.store().sessions(filter).await;
        let found = found.map_err(|error| error.problem().message)?.pop();
        if found.is_some() {
            return Ok(found);
        }
    }
    Ok(None)
}
