//! Entry points that start a program: without a sandbox, or in one; if the sandbox is not available, nothing is
//! started.

use crate::{
    Error, Process, SpawnRequest, StreamedProcess,
    launch::{launch, launch_forked, launch_streamed},
    sandbox::{SandboxBackend, helper},
    sandbox_probe::available_backend,
};

/// Starts a program. Its standard output and error are one stream, in the order written.
///
/// The program is the leader of its own group, and is killed when this process dies.
pub async fn spawn(spawn: SpawnRequest) -> Result<Process, Error> {
    let backend = backend(&spawn).await?;
    if let Some(confined) = backend
        && let Some(process) = launch_forked(&spawn, confined).await?
    {
        return Ok(process);
    }
    launch(&spawn, backend).await
}

/// Starts a program the same way, with its standard output and error apart, to be listened to.
pub async fn spawn_streamed(spawn: SpawnRequest) -> Result<StreamedProcess, Error> {
    launch_streamed(&spawn, backend(&spawn).await?).await
}

/// How a program is to be confined, if it is.
pub(crate) async fn backend(spawn: &SpawnRequest) -> Result<Option<SandboxBackend>, Error> {
    let Some(sandbox) = &spawn.sandbox else {
        return Ok(None);
    };
    let found = match sandbox.backend {
        Some(backend) => Ok(backend),
        None => available_backend().await,
    };
    let found = found.and_then(|backend| match &sandbox.gate {
        Some(_) => with_gate(backend),
        None => Ok(backend),
    });
    let program = || spawn.program.to_string_lossy().into_owned();
    found.map(Some).map_err(|reason| Error::Unconfined {
        program: program(),
        reason,
    })
}

/// The same way, if a program confined so can have a gate: it needs a network of its own to listen in.
fn with_gate(backend: SandboxBackend) -> Result<SandboxBackend, String> {
    let why = "it may reach only some hosts, and that";
    match backend {
        SandboxBackend::Landlock => Err(format!(
            "{why} needs bubblewrap (bwrap); Landlock cannot tell hosts apart"
        )),
        SandboxBackend::Bubblewrap if helper().is_none() => Err(format!(
            "{why} needs a helper; this program is not made to be one (sandbox::enter_if_asked)"
        )),
        SandboxBackend::Bubblewrap => Ok(backend),
    }
}
