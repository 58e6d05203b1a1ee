//! The agent that calls a tool, with the state that delegation tools need from it.

use std::sync::Arc;

use rooftree_protocol::{Above, Confinement, Mandate, ModelChoice, RunId, Session};
use rooftree_tools::{Policy, ToolContext};

use crate::{
    ProjectContext, post_turn::PostTurn, resolved_agent::ResolvedAgent,
    runtime_context::RuntimeContext,
};

/// By what name the runtime itself calls Task, to have work checked. No model is told of it, and none
/// reaches a tool by it.
pub(crate) const VERIFYING: &str = "verify work";

/// An agent in the middle of a run, as its tools see it.
pub(crate) struct Caller {
    pub(crate) context: Arc<RuntimeContext>,
    pub(crate) session: Arc<Session>,
    pub(crate) run: RunId,
    pub(crate) resolved: Arc<ResolvedAgent>,
    /// What it found around it when its run began.
    pub(crate) project_context: Arc<ProjectContext>,
    /// What it may do, as it is now.
    pub(crate) rights: CallerRights,
    /// Whether a program asks through it, and has the answer.
    pub(crate) is_directed: bool,
    /// The model it thinks with.
    pub(crate) model: Option<ModelChoice>,
    pub(crate) mandate: Option<Box<Mandate>>,
    /// The number of the reply that calls.
    pub(crate) reply_at: u64,
    /// How many runs that reply delegates to.
    pub(crate) delegations: usize,
    /// When it is this call's turn to post, among the calls of the reply.
    pub(crate) turn: PostTurn,
    /// US dollars it may still spend, if that is bounded.
    pub(crate) money_left: Option<f64>,
}

/// What an agent that calls a tool may do, as it is now.
pub(crate) struct CallerRights {
    /// What may happen without asking.
    pub(crate) policy: Policy,
    /// How the programs it runs are confined.
    pub(crate) confinement: Confinement,
    /// Whether it has read something from outside.
    pub(crate) outside: bool,
    /// Whether it is in a narrower mode because it wanted to.
    pub(crate) has_entered_plan: bool,
}

impl Caller {
    /// The caller in what a tool is given; none outside of the runtime.
    pub(crate) fn of(context: &ToolContext) -> Option<Arc<Self>> {
        context.caller.clone()?.downcast().ok()
    }

    /// The first run above, or this one.
    pub(crate) fn root(&self) -> RunId {
        self.mandate
            .as_ref()
            .map_or_else(|| self.run.clone(), |mandate| mandate.root.clone())
    }

    /// The chain of agents above one that this agent delegates to, itself included.
    pub(crate) fn chain(&self) -> Vec<Above> {
        let mut above = self
            .mandate
            .as_ref()
            .map(|mandate| mandate.above.clone())
            .unwrap_or_default();
        above.push(Above {
            agent: self.session.agent.clone(),
            session: self.session.id.clone(),
        });
        above
    }

    /// Depth of delegation: the number of agents above.
    pub(crate) fn depth(&self) -> u32 {
        self.mandate.as_ref().map_or(0, |mandate| mandate.depth())
    }
}
