//! Starts a hook's program: confined if it is to be; where nothing can do that, not at all or with a word.

use rooftree_process::{Error, Sandbox, Spawn, Streamed, spawn_streamed};
use rooftree_protocol::{Network, SandboxMode};
use rooftree_tools::{
    proxy::{Proxy, Refused},
    web::guard::Guard,
};

use super::{Failure, Ground, Occasion};

/// Starts it, and says what people should know about how it runs.
pub(super) async fn started(
    mut spawn: Spawn,
    occasion: &Occasion,
    ground: &Ground,
) -> Result<(Streamed, Option<String>), Failure> {
    spawn.sandbox = sandbox(occasion, ground)?.map(Into::into);
    match spawn_streamed(spawn.clone()).await {
        Ok(program) => Ok((program, None)),
        Err(Error::Unconfined { reason, .. }) => {
            if ground.confining.confinement.mode == SandboxMode::Required {
                return Err(Failure::Unconfined(reason));
            }
            looser(spawn, &reason, ground).await
        }
        Err(error) => Err(Failure::NotStarted(error.to_string())),
    }
}

/// The sandbox of the session, in which the whole project can be read.
fn sandbox(occasion: &Occasion, ground: &Ground) -> Result<Option<Sandbox>, Failure> {
    let confined = ground.confining.sandbox(&occasion.session, &occasion.cwd);
    let Some(mut sandbox) = confined.map(|confined| confined.sandbox) else { return Ok(None) };
    sandbox.readable.push(ground.root(occasion));
    if let Network::Hosts(hosts) = &ground.confining.confinement.network {
        let proxy = Proxy::new(hosts, Guard::new(&ground.web), Refused::default());
        let gate = proxy.gate().map_err(|error| Failure::NotStarted(error.to_string()))?;
        sandbox.gate = Some(gate);
    }
    Ok(Some(sandbox))
}

/// As confined as can be had: where hosts cannot be told apart, none is reached.
async fn looser(
    mut spawn: Spawn,
    reason: &str,
    ground: &Ground,
) -> Result<(Streamed, Option<String>), Failure> {
    let failed = |error: Error| Failure::NotStarted(error.to_string());
    let gated = spawn.sandbox.take().filter(|sandbox| sandbox.gate.is_some());
    let mut words = format!("hooks are not confined here: {reason}");
    if let Some(sandbox) = gated {
        spawn.sandbox = Some(Sandbox { gate: None, ..Sandbox::clone(&sandbox) }.into());
        match spawn_streamed(spawn.clone()).await {
            Err(Error::Unconfined { .. }) => spawn.sandbox = None,
            Ok(program) => {
                words = format!("hooks reach nobody here: {reason}");
                return Ok((program, ground.is_first().then_some(words)));
            }
            Err(error) => return Err(failed(error)),
        }
    }
    let program = spawn_streamed(spawn).await.map_err(failed)?;
    Ok((program, ground.is_first().then_some(words)))
}
