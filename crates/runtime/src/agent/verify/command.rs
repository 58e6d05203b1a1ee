//! Verifier that is a command: its exit code is the verdict.
//!
//! Invariant: it is confined as the agent's own commands are, and not run if a script that it names has changed
//! since this program started: the agent may have written what it runs.

use rooftree_protocol::{CallId, ErrorCode};
use rooftree_tools::{ToolContext, toolset::ToolLookup};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::{
    super::{AgentActor, call::confining},
    VerifierOutcome, VerifierToolOutcome, undisturbed, words,
};
use crate::{Error, hooks::HookError};

/// Runs a command as the shell tool does: bounded, in a process group, in the session's directory.
pub(super) async fn run(
    agent: &mut AgentActor,
    command: &str,
    seconds: u64,
    zero_is_good: bool,
) -> Result<VerifierOutcome, Error> {
    let ToolLookup::Tool(shell) = agent.context.options.tools.all.find("Bash") else {
        return Ok(VerifierOutcome::said(
            false,
            "there is no shell here to run it with",
        ));
    };
    let hooks = &agent.context.options.agents.hooks;
    if let Err(HookError::Changed(path)) = hooks.check_verifier(command, &agent.session.cwd) {
        let words = format!(
            "it was not run: {} has changed since this program started",
            path.display()
        );
        return Ok(VerifierOutcome::said(false, words));
    }
    let stop = CancellationToken::new();
    let call = CallId::from_entropy(agent.context.entropy());
    let input = json!({"command": command, "timeout_secs": seconds});
    // What it runs, the agent may have written: it gets no more rights than the agent's own commands.
    let sandbox = Some(confining(agent));
    let running = shell.run(
        input,
        ToolContext {
            sandbox,
            ..context(agent, call, stop.clone())
        },
    );
    let output = match undisturbed(agent, running, stop).await? {
        VerifierToolOutcome::Done(output) => output,
        VerifierToolOutcome::Ended(end) => return Ok(VerifierOutcome::Ended(end)),
    };
    let said = words(&output);
    let passed = match output.failure {
        None => zero_is_good,
        // Only a command that ran to its end has said anything.
        Some(ErrorCode::ToolFailed) => !zero_is_good && said.contains("[exit code "),
        Some(_) => false,
    };
    Ok(VerifierOutcome::said(passed, said))
}

/// Tool context for a verifier's command, which no model has called.
pub(super) fn context(agent: &AgentActor, call: CallId, cancel: CancellationToken) -> ToolContext {
    ToolContext {
        cancel,
        views: agent.calls.file_views.clone(),
        todos: agent.history.todos(),
        ..ToolContext::detached(agent.session.id.clone(), call, &agent.session.cwd)
    }
}
