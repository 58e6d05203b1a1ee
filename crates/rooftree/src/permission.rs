//! A permission request for one tool call, or for the agents that one reply starts, and the decision on it.

use rooftree_protocol::{
    CallId, Effect, Event, EventBody, PermissionId, PermissionKind, PermissionScope, RunId,
    SessionId, SpawnGroup, Timestamp, command::Answer,
};

/// A tool call, or all calls of a reply that start agents, need a yes or no.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct PermissionRequest {
    /// Its name, for [`Runtime::respond`](crate::Runtime::respond).
    pub id: PermissionId,
    /// The session that asks: that of a sub-agent if one asks.
    pub session: SessionId,
    /// The run that waits.
    pub run: Option<RunId>,
    /// The definition at work.
    pub agent: String,
    /// Which call; the first one, for kind `Spawn`.
    pub call: CallId,
    /// Canonical tool name.
    pub tool: String,
    /// What it would do: a path, a command.
    pub title: String,
    /// More about it: the diff of an edit, the list of agents.
    pub detail: String,
    /// What it does to the world.
    pub effect: Effect,
    /// The rule that a yes for the whole session would add.
    pub rule: String,
    /// When it is answered with no by itself.
    pub until: Timestamp,
    /// Why a person is asked.
    pub reason: String,
    /// Whether it is about one call or about all agents of a reply.
    pub kind: PermissionKind,
    /// The agents that would be started, for kind `Spawn`.
    pub spawn: Vec<SpawnGroup>,
}

impl PermissionRequest {
    /// The permission request in an event, if it is one.
    pub fn from_event(event: &Event) -> Option<Self> {
        let EventBody::PermissionRequested {
            id,
            call,
            tool,
            title,
            detail,
            effect,
            rule,
            until,
            reason,
            kind,
            spawn,
            ..
        } = &event.body
        else {
            return None;
        };
        Some(Self {
            id: id.clone(),
            session: event.session.clone(),
            run: event.run.clone(),
            agent: event.agent.clone(),
            call: call.clone(),
            tool: tool.clone(),
            title: title.clone(),
            detail: detail.clone(),
            effect: *effect,
            rule: rule.clone(),
            until: *until,
            reason: reason.clone(),
            kind: *kind,
            spawn: spawn.clone(),
        })
    }
}

/// The answer to a [`PermissionRequest`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision(Answer);

impl Decision {
    /// Yes, this once.
    pub fn allow() -> Self {
        Self(Answer::allow(PermissionScope::Once))
    }

    /// No, and why, in words for the model.
    pub fn deny(because: impl Into<String>) -> Self {
        let because = Some(because.into()).filter(|words| !words.is_empty());
        Self(Answer::deny(because))
    }

    /// The same for all calls that match the question's rule, in this conversation and by all agents that
    /// work for it.
    pub fn for_session(mut self) -> Self {
        self.0.scope = PermissionScope::Session;
        self
    }

    /// The same for all calls that match the question's rule, in this project.
    pub fn for_project(mut self) -> Self {
        self.0.scope = PermissionScope::Project;
        self
    }

    /// The same for all calls that match the question's rule, everywhere.
    pub fn always(mut self) -> Self {
        self.0.scope = PermissionScope::Always;
        self
    }

    pub(crate) fn answer(self) -> Answer {
        self.0
    }
}
