//! Verifier that is a function of the embedding program. A panic is not an approval.

use std::panic::AssertUnwindSafe;

use futures::FutureExt;

use super::{AgentActor, VerifierOutcome};
use crate::{
    Error,
    checks::{CheckedWork, VerifierFunction},
};

/// Shows it the work and hears what it says, unless the run must end first.
pub(super) async fn call(
    agent: &mut AgentActor,
    checker: VerifierFunction,
) -> Result<VerifierOutcome, Error> {
    let mut work = CheckedWork::new(&agent.session);
    if let Some(run) = agent.history.run() {
        (work.run, work.asked, work.answer) = (
            Some(run.id.clone()),
            run.title.clone(),
            run.reply.text.as_str().to_owned(),
        );
        work.files = run
            .work
            .files
            .iter()
            .map(|file| file.path.clone())
            .collect();
    }
    // Calling it may panic as well as waiting for it.
    let calling = AssertUnwindSafe(async move { checker(work).await }).catch_unwind();
    let mut calling = std::pin::pin!(calling);
    loop {
        let came = tokio::select! {
            biased;
            came = agent.interruption() => came,
            said = &mut calling => return Ok(match said {
                Ok(Ok(())) => VerifierOutcome::said(true, ""),
                Ok(Err(words)) => VerifierOutcome::said(false, words),
                Err(_) => VerifierOutcome::said(false, "the verifier crashed"),
            }),
        };
        if let Some(end) = agent.apply_interruption(came)? {
            return Ok(VerifierOutcome::Ended(end));
        }
    }
}
