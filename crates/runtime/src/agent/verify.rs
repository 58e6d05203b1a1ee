//! Verifies the work of an agent that says it is done, and returns it if it is not.
//!
//! What checks is named by the definition: commands, which say it with their exit code, models that
//! judge, agents that look for themselves, and functions of the program around. The verdict is an event; `history.rs` turns one that
//! found something wanting into a message, so that the same session goes on. The number of times is
//! bounded.

mod agent;
mod command;
mod function;
mod judge;
mod parse_verdict;
mod work_summary;

use rooftree_protocol::{
    EventBody, Usage, Verifier,
    event::{Report, TaskNote, Verdict},
    message::text_of,
};
use rooftree_tools::{ToolOutput, truncate};
use tokio_util::sync::CancellationToken;

use self::agent::VerifierAgent;
use super::{AgentActor, limits::RunEndReason};
use crate::{Error, checks::WorkCheck};

/// Characters of what a verifier says that are kept.
const SAID: usize = 4_000;

/// Runs all verifiers and keeps their verdict. Says if the run must end for something that came meanwhile.
pub(super) async fn verify(agent: &mut AgentActor) -> Result<Option<RunEndReason>, Error> {
    let attempt = agent
        .history
        .run()
        .map_or(1, |run| run.verification.attempts + 1);
    let (mut reports, mut usage) = (Vec::new(), Usage::none());
    for (name, verifier) in agent.verifiers.clone().iter() {
        let checked = match verifier {
            WorkCheck::Function(checker) => function::call(agent, checker.clone()).await?,
            WorkCheck::Written(Verifier::Command {
                command,
                timeout_secs,
                pass_on_exit_0,
            }) => command::run(agent, command, *timeout_secs, *pass_on_exit_0).await?,
            WorkCheck::Written(Verifier::Judge { prompt }) => {
                judge::judge(agent, prompt, &mut usage).await?
            }
            WorkCheck::Written(Verifier::Agent {
                agent: who,
                prompt,
                timeout_secs,
                max_turns,
            }) => {
                let prompt = prompt.as_deref();
                let (timeout_secs, max_turns) = (*timeout_secs, *max_turns);
                let inspector = VerifierAgent {
                    name,
                    who,
                    prompt,
                    timeout_secs,
                    max_turns,
                };
                inspector.look(agent, attempt, &reports).await?
            }
        };
        match checked {
            VerifierOutcome::Said { passed, said, task } => {
                reports.push(Report {
                    name: name.clone(),
                    passed,
                    said: shortened(&said),
                    task,
                });
            }
            VerifierOutcome::Ended(end) => return Ok(Some(end)),
        }
    }
    let passed = reports.iter().all(|report| report.passed);
    let attempts = agent.resolved.limits.verify_attempts;
    let again = !passed && attempt < attempts;
    rooftree_store::failpoint::reach_at("run.verified", agent.depth());
    agent.note(EventBody::RunVerified(Verdict {
        attempt,
        passed,
        again,
        attempts,
        reports,
        usage,
    }));
    Ok(None)
}

/// Outcome of one verifier.
enum VerifierOutcome {
    Said {
        passed: bool,
        said: String,
        task: Option<TaskNote>,
    },
    Ended(RunEndReason),
}

impl VerifierOutcome {
    fn said(passed: bool, said: impl Into<String>) -> Self {
        Self::Said {
            passed,
            said: said.into(),
            task: None,
        }
    }
}

/// Outcome of a tool that works for a verifier.
enum VerifierToolOutcome {
    Done(Box<ToolOutput>),
    Ended(RunEndReason),
}

/// Waits for a tool, and stops it if the run must end meanwhile.
async fn undisturbed(
    agent: &mut AgentActor,
    work: impl Future<Output = ToolOutput>,
    stop: CancellationToken,
) -> Result<VerifierToolOutcome, Error> {
    let mut work = std::pin::pin!(work);
    loop {
        let came = tokio::select! {
            biased;
            came = agent.interruption() => came,
            output = &mut work => return Ok(VerifierToolOutcome::Done(Box::new(output))),
        };
        if let Some(end) = agent.apply_interruption(came)? {
            stop.cancel();
            let _ = work.await;
            return Ok(VerifierToolOutcome::Ended(end));
        }
    }
}

fn words(output: &ToolOutput) -> String {
    text_of(&output.content)
}

fn shortened(said: &str) -> String {
    if truncate::is_long(said, SAID) {
        truncate::truncate(said, SAID, None).text
    } else {
        said.to_owned()
    }
}
