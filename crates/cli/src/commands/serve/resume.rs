//! Resumes sessions that were interrupted when the server starts, and says which go on.

use rooftree_protocol::Problem;
use rooftree_runtime::{AgentRuntime, UnfinishedSession};

use crate::{control, environment::Environment, output};

/// Which unfinished sessions the server resumes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum ResumeMode {
    Everything,
    Nothing,
}

impl ResumeMode {
    pub(super) fn new(no_resume: bool) -> Self {
        if no_resume {
            Self::Nothing
        } else {
            Self::Everything
        }
    }
}

/// Resumes unfinished sessions, names each with its mode, and says why one stays unfinished. Returns how many
/// there are, in words.
pub(super) async fn resumed(
    runtime: &AgentRuntime,
    resume: ResumeMode,
    environment: &Environment,
) -> Result<String, Problem> {
    let unfinished = match resume {
        ResumeMode::Everything => runtime.recover().await,
        ResumeMode::Nothing => runtime.unfinished().await,
    };
    let unfinished = unfinished.map_err(|error| error.problem())?;
    let client = control::client(&runtime.handle());
    let mut count = 0_u32;
    for one in &unfinished {
        let UnfinishedSession {
            session,
            title,
            mode,
            problem,
        } = one;
        let about = title.as_deref().unwrap_or("a message waits");
        let work = client.session_work(&session.id).await;
        let elsewhere = work.ok().and_then(|work| work.elsewhere);
        let words = match (problem, elsewhere) {
            (Some(problem), _) => {
                format!("stays unfinished: {}: {}", session.id, problem.message)
            }
            (None, Some(process)) => format!(
                "{process} works on {} ({about}); when it ends, the server goes on with it",
                session.id
            ),
            (None, None) if resume == ResumeMode::Nothing => {
                format!("stays unfinished: {} ({about})", session.id)
            }
            (None, None) => {
                count += 1;
                format!(
                    "goes on: {} ({}, mode {mode}): {about}",
                    session.id, session.agent
                )
            }
        };
        output::print_note(environment, &words);
    }
    Ok(match (count, resume) {
        (_, ResumeMode::Nothing) if !unfinished.is_empty() => {
            "; --no-resume: nothing goes on".to_owned()
        }
        (0, _) => String::new(),
        (1, _) => "; 1 session goes on".to_owned(),
        (count, _) => format!("; {count} sessions go on"),
    })
}
