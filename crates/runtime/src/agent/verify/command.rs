//! A verifier that is a command and says it with its exit code.
//!
//! Invariant: it is confined as the agent's own commands are, and not run if a script that it names has changed
//! since this program started: the agent may have written what it runs.

use rooftree_protocol::{CallId, ErrorCode};
use rooftree_tools::{ToolContext, toolset::Found};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::{
    super::{Agent, call::confining},
    Checked, Worked, undisturbed, words,
};
use crate::{Error, hooks::Failure};

/// Runs a command as the shell tool does: bounded, in a process group, in the session's directory.
pub(super) async fn run(
    agent: &mut Agent,
    command: &str,
    seconds: u64,
    zero_is_good: bool,
) -> Result<Checked, Error> {
    let Found::Tool(shell) = agent.world.options.tools.find("Bash") else {
        return Ok(Checked::said(false, "there is no shell here to run it with"));
    };
    let hooks = &agent.world.options.hooks;
    if let Err(Failure::Changed(path)) = hooks.check_verifier(command, &agent.session.cwd) {
        let words = format!("it was not run: {} has changed since this program started", path.display());
        return Ok(Checked::said(false, words));
    }
    let stop = CancellationToken::new();
    let call = CallId::from_entropy(agent.world.entropy());
    let input = json!({"command": command, "timeout_secs": seconds});
    // What it runs, the agent may have written: it gets no more rights than the agent's own commands.
    let sandbox = Some(confining(agent));
    let running = shell.run(input, ToolContext { sandbox, ..context(agent, call, stop.clone()) });
    let output = match undisturbed(agent, running, stop).await? {
        Worked::Done(output) => output,
        Worked::Ended(end) => return Ok(Checked::Ended(end)),
    };
    let said = words(&output);
    let passed = match output.failure {
        None => zero_is_good,
        // Only a command that ran to its end has said anything.
        Some(ErrorCode::ToolFailed) => !zero_is_good && said.contains("[exit code "),
        Some(_) => false,
    };
    Ok(Checked::said(passed, said))
}

/// What a tool that no model called is given.
pub(super) fn context(agent: &Agent, call: CallId, cancel: CancellationToken) -> ToolContext {
    ToolContext {
        cancel,
        views: agent.views.clone(),
        todos: agent.history.todos(),
        ..ToolContext::alone(agent.session.id.clone(), call, &agent.session.cwd)
    }
}
