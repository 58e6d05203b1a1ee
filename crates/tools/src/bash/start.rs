//! Starts a shell for a command: in the sandbox of the session, or without one and then with a warning.

use std::{io, sync::Arc};

use rooftree_process::{
    ChildEnvironment, EnvironmentFilter, Error, Process, ProcessInput, Sandbox, SpawnRequest,
    sandbox::SandboxBackend, sandbox_probe::available_backend, spawn,
};
use rooftree_protocol::{ErrorCode, Network, SandboxMode};

use super::{
    background_processes::BackgroundProcesses,
    sandbox_hints::{self, SandboxHint},
};
use crate::{
    SandboxConfig, ToolContext, ToolOutput,
    notice::Notice,
    proxy::{ProxyRefusals, SandboxProxy},
    sandbox_config::SessionSandbox,
    web::guard::NetworkGuard,
};

/// A command that runs, and what to say about how it runs.
pub(super) struct StartedCommand {
    pub(super) process: Process,
    pub(super) remark: Option<String>,
    /// Hosts that the proxy refused.
    pub(super) refused: ProxyRefusals,
    /// Notices for the user about the run.
    pub(super) notices: Vec<Notice>,
    /// Hint for the case that the sandbox refuses something.
    pub(super) told: SandboxHint,
}

/// Starts it; else says why not, for the model.
pub(super) async fn start(
    command: &str,
    context: &ToolContext,
    processes: &BackgroundProcesses,
    guard: &NetworkGuard,
) -> Result<StartedCommand, ToolOutput> {
    let confining = context.sandbox.as_ref();
    let confined = confined(context).await?;
    let unkept = match &confined {
        Some(confined) => unkept(confined).await,
        None => None,
    };
    let mut sandbox = confined.map(|confined| confined.sandbox);
    let refused = ProxyRefusals::default();
    let network = confining.map(|confining| &confining.confinement.network);
    if let (Some(sandbox), Some(Network::Hosts(hosts))) = (&mut sandbox, network) {
        let proxy = SandboxProxy::new(hosts, guard.clone(), refused.clone());
        sandbox.gate = Some(proxy.gate().map_err(unreachable)?);
    }
    let mut environment = environment(processes.inheritance());
    if let Some(way_back) = &context.way_back {
        environment = way_back.told(environment);
        sandbox
            .iter_mut()
            .for_each(|sandbox| way_back.open(sandbox, &context.cwd));
    }
    let mut request = SpawnRequest {
        program: "bash".into(),
        args: vec!["-c".into(), "--".into(), command.into()],
        cwd: context.cwd.to_path_buf(),
        environment,
        input: ProcessInput::Nothing,
        sandbox: sandbox.map(Into::into),
    };
    let told = SandboxHint::about(request.sandbox.as_ref(), &context.cwd).await;
    match shell(&mut request).await {
        Ok(process) => Ok(StartedCommand {
            process,
            remark: unkept,
            refused,
            notices: Vec::new(),
            told,
        }),
        Err(Error::Unconfined { reason, .. }) if is_required(context) => Err(unstarted(&reason)),
        Err(Error::Unconfined { reason, .. }) => {
            let (process, remark) = looser(&mut request, &reason).await.map_err(failed)?;
            let remark = processes.is_first_unconfined().then_some(remark);
            let notices = remark
                .iter()
                .map(|remark| sandbox_hints::unconfined_notice(remark))
                .collect();
            let told = if request.sandbox.is_some() {
                told
            } else {
                SandboxHint::default()
            };
            Ok(StartedCommand {
                process,
                remark,
                refused,
                notices,
                told,
            })
        }
        Err(error) => Err(failed(error)),
    }
}

/// The sandbox, if there is to be one. What it needs to know may have to be looked for on the disk.
async fn confined(context: &ToolContext) -> Result<Option<SessionSandbox>, ToolOutput> {
    let is_meant = |confining: &&SandboxConfig| confining.confinement.mode != SandboxMode::Off;
    // Another thread has to be woken for it, which takes longer than a small command.
    let Some(confining) = context.sandbox.as_ref().filter(is_meant).cloned() else {
        return Ok(None);
    };
    let (session, cwd) = (context.session.clone(), context.cwd.clone());
    let made = tokio::task::spawn_blocking(move || confining.sandbox(&session, &cwd)).await;
    made.map_err(|error| {
        ToolOutput::failed(ErrorCode::Internal, format!("The sandbox broke: {error}."))
    })
}

/// Warning about files that deny rules exclude and this command could still read.
async fn unkept(confined: &SessionSandbox) -> Option<String> {
    let open = confined.sandbox.beyond_landlock();
    if let (Ok(SandboxBackend::Landlock), Some(first)) = (available_backend().await, open.first()) {
        let more = if open.len() > 1 {
            format!(" and {} more", open.len() - 1)
        } else {
            String::new()
        };
        return Some(format!(
            "[rules deny reading {}{more}; that cannot be kept from commands here, it needs bubblewrap (bwrap)]",
            first.display()
        ));
    }
    confined.is_partial.then(|| {
        "[there are too many files here to find all that rules deny reading: commands may reach some]"
            .to_owned()
    })
}

/// As confined as can be had: where hosts cannot be told apart, none is reached.
async fn looser(request: &mut SpawnRequest, reason: &str) -> Result<(Process, String), Error> {
    let gated = request
        .sandbox
        .take()
        .filter(|sandbox| sandbox.gate.is_some());
    if let Some(sandbox) = gated {
        request.sandbox = Some(
            Sandbox {
                gate: None,
                ..Sandbox::clone(&sandbox)
            }
            .into(),
        );
        match shell(request).await {
            Err(Error::Unconfined { .. }) => request.sandbox = None,
            started => {
                return Ok((
                    started?,
                    format!("[commands have no network here: {reason}]"),
                ));
            }
        }
    }
    Ok((
        shell(request).await?,
        format!("[commands are not confined here: {reason}]"),
    ))
}

fn is_required(context: &ToolContext) -> bool {
    context
        .sandbox
        .as_ref()
        .is_some_and(|confining| confining.confinement.mode == SandboxMode::Required)
}

/// Bash if there is one, else whatever `sh` is. Never a login shell: it would read people's profiles.
async fn shell(request: &mut SpawnRequest) -> Result<Process, Error> {
    request.program = "bash".into();
    match spawn(request.clone()).await {
        Err(Error::Start { source, .. }) if source.kind() == std::io::ErrorKind::NotFound => {
            request.program = "sh".into();
            spawn(request.clone()).await
        }
        started => started,
    }
}

/// Environment without pagers and password prompts: no user is at the terminal. Git runs programs that the settings
/// of a repository name, even for read-only commands; those that do not change its output are turned off.
fn environment(inheritance: Arc<EnvironmentFilter>) -> ChildEnvironment {
    ChildEnvironment::inheriting(inheritance)
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

fn unreachable(error: io::Error) -> ToolOutput {
    ToolOutput::failed(
        ErrorCode::ToolFailed,
        format!("Could not open a way to the network: {error}."),
    )
}

fn unstarted(reason: &str) -> ToolOutput {
    let words = format!(
        "The command was not started: it has to be confined, and nothing here can do that ({reason}). \
         People can install bubblewrap (bwrap), see `rooftree doctor`, or set sandbox.mode to auto."
    );
    ToolOutput::failed(ErrorCode::ToolFailed, words)
}
