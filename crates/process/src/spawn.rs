//! The ways to start a program: bare, or in a sandbox, which is had or the program is not started.

use crate::{
    Error, Process, Spawn, Streamed,
    launch::{launch, launch_streamed},
    sandbox::Backend,
    standing::available,
};

/// Starts a program. Its standard output and error are one stream, in the order written.
///
/// The program is the leader of its own group, and is killed when this process dies.
pub async fn spawn(spawn: Spawn) -> Result<Process, Error> {
    launch(&spawn, backend(&spawn).await?).await
}

/// Starts a program the same way, with its standard output and error apart, to be listened to.
pub async fn spawn_streamed(spawn: Spawn) -> Result<Streamed, Error> {
    launch_streamed(&spawn, backend(&spawn).await?).await
}

/// How a program is to be confined, if it is.
pub(crate) async fn backend(spawn: &Spawn) -> Result<Option<Backend>, Error> {
    let Some(sandbox) = &spawn.sandbox else { return Ok(None) };
    if sandbox.backend.is_some() {
        return Ok(sandbox.backend);
    }
    let program = || spawn.program.to_string_lossy().into_owned();
    available().await.map(Some).map_err(|reason| Error::Unconfined { program: program(), reason })
}
