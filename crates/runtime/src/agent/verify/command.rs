//! A verifier that is a command and says it with its exit code.

use std::sync::Arc;

use rooftree_protocol::{CallId, ErrorCode};
use rooftree_tools::{Reach, ToolContext, toolset::Found};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::{super::Agent, Checked, Worked, undisturbed, words};
use crate::Error;

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
    let stop = CancellationToken::new();
    let call = CallId::from_entropy(agent.world.entropy());
    let input = json!({"command": command, "timeout_secs": seconds});
    let running = shell.run(input, context(agent, call, stop.clone()));
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
        session: agent.session.id.clone(),
        call,
        cwd: agent.session.cwd.as_path().into(),
        reach: Reach::default(),
        cancel,
        caller: None,
        way_back: None,
        views: agent.views.clone(),
        todos: agent.history.todos(),
        // It is the user's, not the agent's.
        sandbox: None,
        progress: Arc::new(|_| {}),
        ask: rooftree_tools::tool::nobody(),
        blobs: Arc::new(|_| Box::pin(async { None })),
    }
}
