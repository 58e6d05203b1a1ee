//! Which calls and runs belong to the checks of a run: they follow from the run, so they are known before
//! they are made and after a crash.

use rooftree_protocol::{CallId, RunId, Verifier};
use sha2::{Digest, Sha256};

use super::Agent;
use crate::checks::Check;

/// The call that asks an agent to check.
pub(super) fn call(run: &RunId, attempt: u32, verifier: &str) -> CallId {
    let digest = Sha256::digest(format!("{run}\0{attempt}\0{verifier}"));
    CallId::from_entropy(digest.iter().take(16).fold(0, |number, byte| number << 8 | u128::from(*byte)))
}

/// Which check of this run's work is the next one.
pub(super) fn attempt(agent: &Agent) -> u32 {
    agent.history.run().map_or(1, |run| run.verifications + 1)
}

/// Whether this task is an agent that checks the open run: its answer is part of the verdict, and
/// not something to be told besides.
pub(super) fn is_inspection(agent: &Agent, task: &RunId) -> bool {
    let Some(run) = agent.run_id() else { return false };
    let inspectors =
        agent.verifiers.iter().filter(|(_, one)| matches!(one, Check::Written(Verifier::Agent { .. })));
    let mut names = inspectors.map(|(name, _)| name);
    names.any(|name| {
        let task_of = |attempt| RunId::akin_to(call(&run, attempt, name).as_str());
        (1..=attempt(agent)).any(|attempt| task_of(attempt) == *task)
    })
}
