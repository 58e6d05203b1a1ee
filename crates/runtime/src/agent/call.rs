//! Life of one tool call: its state, the context its tool gets, and the result recorded if it is not made.

use std::{
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
};

use rooftree_protocol::{
    CallId, Effect, EventBody, Outcome, Part, Repeat, RunId, ToolCall, event::ToolRecord,
};
use rooftree_secrets::StreamRedactor;
use rooftree_tools::{
    CallReach, SandboxConfig, Tool, ToolContext, tool::ProgressCallback, toolset::ToolLookup,
};
use rooftree_workspace::copied_from;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::{AgentActor, journal::EventPublisher};
use crate::{
    SecretRedactor,
    caller::{Caller, CallerRights},
    memory,
    post_turn::PostTurn,
};

/// A call that passed every check but the last.
#[derive(Clone)]
pub(super) struct PreparedCall {
    pub(super) call: ToolCall,
    pub(super) tool: Arc<dyn Tool>,
    pub(super) input: Value,
    pub(super) effect: Effect,
    pub(super) repeat: Repeat,
    pub(super) title: String,
    /// The files it was judged by, and may touch.
    pub(super) reach: CallReach,
    /// What lets it happen, in words.
    pub(super) permitted: String,
    /// The call it is made from inside of.
    pub(super) inside: Option<CallId>,
}

impl PreparedCall {
    /// Notes who or what lets it happen, beside what is known about it already.
    pub(super) fn permitted_by(&mut self, by: String) {
        let before = std::mem::take(&mut self.permitted);
        self.permitted = if before.is_empty() {
            by
        } else {
            format!("{by}; {before}")
        };
    }

    pub(super) fn is_concurrent(&self) -> bool {
        self.tool.is_concurrent(&self.input)
    }
}

/// Context of a tool besides its arguments.
pub(super) fn context(
    agent: &AgentActor,
    one: &PreparedCall,
    cancel: CancellationToken,
    turn: PostTurn,
) -> ToolContext {
    let call = &one.call.id;
    let store = agent.context.store().clone();
    ToolContext {
        session: agent.session.id.clone(),
        call: call.clone(),
        cwd: agent.session.cwd.as_path().into(),
        reach: one.reach.clone(),
        cancel,
        caller: called_by(agent, one, turn),
        way_back: None,
        views: agent.calls.file_views.clone(),
        todos: agent.history.todos(),
        ask: agent.calls.questions.inquirer(call),
        sandbox: Some(confining(agent)),
        progress: progress(agent, call),
        blobs: Arc::new(move |id| {
            let store = store.clone();
            Box::pin(async move {
                let id = rooftree_protocol::BlobId::parse(&id).ok()?;
                store.blob(&id).await.ok().flatten()
            })
        }),
    }
}

/// Current sandbox configuration of the programs this agent runs.
pub(super) fn confining(agent: &AgentActor) -> SandboxConfig {
    let options = &agent.context.options;
    let confinement = agent.confinement();
    let cwd = &agent.session.cwd;
    let copy = copied_from(cwd, &options.agents.workspaces);
    let shared = shared(agent, copy.is_some()).into();
    let confining = options
        .rights
        .sandbox
        .with(confinement, agent.rights.policy.unreadable(cwd));
    SandboxConfig {
        shared,
        copy,
        ..confining
    }
}

/// Directories of our own that file tools of this agent may read: its skills, its memory, its `/tmp`, and the
/// working copies of children, unless it works in one.
fn shared(agent: &AgentActor, is_in_copy: bool) -> Vec<PathBuf> {
    let options = &agent.context.options;
    let skills = agent
        .project_context
        .skills
        .iter()
        .map(|skill| skill.directory.clone());
    let memory = memory::directory(
        &agent.resolved.definition,
        &options.agents.memory,
        &agent.session.cwd,
    );
    let temporary = options
        .rights
        .sandbox
        .scratch
        .as_ref()
        .map(|place| place.join(agent.session.id.as_str()));
    let copies = Some(options.agents.workspaces.directory.clone()).filter(|_| !is_in_copy);
    skills
        .chain(memory)
        .chain(temporary)
        .chain(copies)
        .collect()
}

/// Progress callback of a tool. Text that could be the beginning of a secret is held back until what follows it is
/// known, or the tool has ended.
fn progress(agent: &AgentActor, call: &CallId) -> ProgressCallback {
    let telling = ProgressReporter {
        publisher: agent.journal.publisher().clone(),
        run: agent.run_id(),
        call: call.clone(),
        secrets: agent.context.secrets().clone(),
        held: Mutex::default(),
    };
    Arc::new(move |text| telling.tell(|held, secrets| held.push(secrets, text)))
}

struct ProgressReporter {
    publisher: EventPublisher,
    run: Option<RunId>,
    call: CallId,
    secrets: Arc<SecretRedactor>,
    held: Mutex<StreamRedactor>,
}

impl ProgressReporter {
    fn tell(&self, next: impl FnOnce(&mut StreamRedactor, &SecretRedactor) -> String) {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        let text = next(&mut held, &self.secrets);
        if !text.is_empty() {
            self.publisher.say(
                self.run.clone(),
                EventBody::ToolOutput {
                    call: self.call.clone(),
                    text,
                },
            );
        }
    }
}

impl Drop for ProgressReporter {
    fn drop(&mut self) {
        self.tell(StreamRedactor::finish);
    }
}

/// The caller, for tools that delegate. Other tools do not get it, which saves the cost.
fn called_by(
    agent: &AgentActor,
    one: &PreparedCall,
    turn: PostTurn,
) -> Option<Arc<dyn std::any::Any + Send + Sync>> {
    let run = agent.run_id().filter(|_| one.tool.needs_caller())?;
    let asks = |open: &&super::history::OpenToolCall| matches!(agent.resolved.toolset.find(&open.call.tool), ToolLookup::Tool(tool) if tool.spec().name == "Task");
    let delegations = agent.history.open_calls().filter(asks).count();
    Some(Arc::new(Caller {
        turn,
        ..caller(agent, run, delegations)
    }))
}

/// An agent in the middle of a run that delegates to so many at once.
pub(super) fn caller(agent: &AgentActor, run: RunId, delegations: usize) -> Caller {
    Caller {
        context: agent.context.clone(),
        session: agent.journal.session().clone(),
        run,
        resolved: agent.resolved.clone(),
        project_context: agent.project_context.clone(),
        rights: CallerRights {
            policy: agent.rights.policy.clone(),
            confinement: agent.confinement(),
            outside: agent.history.outside().is_some(),
            has_entered_plan: agent.history.mode().is_some_and(|changed| !changed.is_wish),
        },
        is_directed: agent
            .history
            .run()
            .is_some_and(|run| run.is_directed && run.progress.turns == 1),
        model: agent
            .model
            .chosen
            .as_ref()
            .ok()
            .map(|model| model.choice.clone()),
        mandate: agent.mandate.clone(),
        reply_at: agent.history.reply_at(),
        delegations,
        turn: PostTurn::default(),
        money_left: super::budget::left(agent),
    }
}

/// Gives calls that will not be made a result that says so.
pub(super) fn record_cancelled(
    agent: &mut AgentActor,
    calls: impl IntoIterator<Item = ToolCall>,
    words: &str,
) {
    for call in calls {
        let record = not_made(&call, &call.tool, Outcome::Cancelled, words.to_owned());
        agent.note(EventBody::ToolCompleted(record));
    }
}

/// The record of a call that was not made.
pub(super) fn not_made(
    call: &ToolCall,
    title: &str,
    outcome: Outcome,
    words: String,
) -> ToolRecord {
    ToolRecord {
        call: call.id.clone(),
        tool: call.tool.clone(),
        title: title.to_owned(),
        outcome,
        content: vec![Part::text(words)],
        duration_ms: 0,
        full: None,
        inside: None,
        input: None,
        skill: None,
        files: Vec::new(),
        diff: None,
        task: None,
        usage: None,
    }
}
