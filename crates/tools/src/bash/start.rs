//! Starts a shell for a command: confined as the session is, or not at all and then with a word about it.

use rooftree_process::{Environment, Error, Input, Process, Spawn, spawn};
use rooftree_protocol::{ErrorCode, SandboxMode};

use super::processes::Processes;
use crate::{ToolContext, ToolOutput};

/// A command that runs, and what to say about how it runs.
pub(super) struct Started {
    pub(super) process: Process,
    pub(super) remark: Option<String>,
}

/// Starts it; else says why not, for the model.
pub(super) async fn start(
    command: &str,
    context: &ToolContext,
    processes: &Processes,
) -> Result<Started, ToolOutput> {
    let confining = context.sandbox.as_ref();
    let sandbox = confining.and_then(|confining| confining.sandbox(&context.session, &context.cwd));
    let mut request = Spawn {
        program: "bash".into(),
        args: vec!["-c".into(), "--".into(), command.into()],
        cwd: context.cwd.to_path_buf(),
        environment: environment(),
        input: Input::Nothing,
        sandbox: sandbox.map(Into::into),
    };
    match shell(&mut request).await {
        Ok(process) => Ok(Started { process, remark: None }),
        Err(Error::Unconfined { reason, .. }) if is_required(context) => Err(refused(&reason)),
        Err(Error::Unconfined { reason, .. }) => {
            request.sandbox = None;
            let process = shell(&mut request).await.map_err(failed)?;
            let remark = format!("[commands are not confined here: {reason}]");
            Ok(Started { process, remark: processes.is_first_unconfined().then_some(remark) })
        }
        Err(error) => Err(failed(error)),
    }
}

fn is_required(context: &ToolContext) -> bool {
    context.sandbox.as_ref().is_some_and(|confining| confining.confinement.mode == SandboxMode::Required)
}

/// Bash if there is one, else whatever `sh` is. Never a login shell: it would read people's profiles.
async fn shell(request: &mut Spawn) -> Result<Process, Error> {
    request.program = "bash".into();
    match spawn(request.clone()).await {
        Err(Error::Start { source, .. }) if source.kind() == std::io::ErrorKind::NotFound => {
            request.program = "sh".into();
            spawn(request.clone()).await
        }
        started => started,
    }
}

/// Nobody is there to page, or to type a password. Git runs what the settings of a repository name, even
/// when it only looks; what can be taken from it without changing what it says is.
fn environment() -> Environment {
    Environment::default()
        .with("PAGER", "cat")
        .with("GIT_PAGER", "cat")
        .with("GIT_TERMINAL_PROMPT", "0")
        .with("GIT_OPTIONAL_LOCKS", "0")
        .with("GIT_CONFIG_COUNT", "2")
        .with("GIT_CONFIG_KEY_0", "core.fsmonitor")
        .with("GIT_CONFIG_VALUE_0", "false")
        .with("GIT_CONFIG_KEY_1", "safe.bareRepository")
        .with("GIT_CONFIG_VALUE_1", "explicit")
        .with("TERM", "dumb")
}

fn failed(error: Error) -> ToolOutput {
    ToolOutput::failed(ErrorCode::ToolFailed, format!("Could not {error}."))
}

fn refused(reason: &str) -> ToolOutput {
    let words = format!(
        "The command was not started: it has to be confined, and nothing here can do that ({reason}). \
         People can install bubblewrap (bwrap), see `rooftree doctor`, or set sandbox.mode to auto."
    );
    ToolOutput::failed(ErrorCode::ToolFailed, words)
}
