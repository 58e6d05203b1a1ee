//! Starts a hook's program, sandboxed if required; without sandbox support it is refused, or started with a warning.

use rooftree_process::{Error, Sandbox, SpawnRequest, StreamedProcess, spawn_streamed};
use rooftree_protocol::{Network, SandboxMode};
use rooftree_tools::{
    proxy::{ProxyRefusals, SandboxProxy},
    web::guard::NetworkGuard,
};

use super::{HookError, HookPayload, HookRunContext};

/// Starts it, and says what people should know about how it runs.
pub(super) async fn started(
    mut spawn: SpawnRequest,
    payload: &HookPayload,
    run_context: &HookRunContext,
) -> Result<(StreamedProcess, Option<String>), HookError> {
    spawn.sandbox = sandbox(payload, run_context)?.map(Into::into);
    match spawn_streamed(spawn.clone()).await {
        Ok(program) => Ok((program, None)),
        Err(Error::Unconfined { reason, .. }) => {
            if run_context.confining.confinement.mode == SandboxMode::Required {
                return Err(HookError::Unconfined(reason));
            }
            looser(spawn, &reason, run_context).await
        }
        Err(error) => Err(HookError::NotStarted(error.to_string())),
    }
}

/// The sandbox of the session, in which the whole project can be read.
fn sandbox(
    payload: &HookPayload,
    run_context: &HookRunContext,
) -> Result<Option<Sandbox>, HookError> {
    let confined = run_context
        .confining
        .sandbox(&payload.session, &payload.cwd);
    let Some(mut sandbox) = confined.map(|confined| confined.sandbox) else {
        return Ok(None);
    };
    sandbox.readable.push(run_context.root(payload));
    if let Network::Hosts(hosts) = &run_context.confining.confinement.network {
        let proxy = SandboxProxy::new(
            hosts,
            NetworkGuard::new(&run_context.web),
            ProxyRefusals::default(),
        );
        let gate = proxy
            .gate()
            .map_err(|error| HookError::NotStarted(error.to_string()))?;
        sandbox.gate = Some(gate);
    }
    Ok(Some(sandbox))
}

/// As confined as can be had: where hosts cannot be told apart, none is reached.
async fn looser(
    mut spawn: SpawnRequest,
    reason: &str,
    run_context: &HookRunContext,
) -> Result<(StreamedProcess, Option<String>), HookError> {
    let failed = |error: Error| HookError::NotStarted(error.to_string());
    let gated = spawn
        .sandbox
        .take()
        .filter(|sandbox| sandbox.gate.is_some());
    let mut words = format!("hooks are not confined here: {reason}");
    if let Some(sandbox) = gated {
        spawn.sandbox = Some(
            Sandbox {
                gate: None,
                ..Sandbox::clone(&sandbox)
            }
            .into(),
        );
        match spawn_streamed(spawn.clone()).await {
            Err(Error::Unconfined { .. }) => spawn.sandbox = None,
            Ok(program) => {
                words = format!("hooks have no network here: {reason}");
                return Ok((program, run_context.is_first().then_some(words)));
            }
            Err(error) => return Err(failed(error)),
        }
    }
    let program = spawn_streamed(spawn).await.map_err(failed)?;
    Ok((program, run_context.is_first().then_some(words)))
}
