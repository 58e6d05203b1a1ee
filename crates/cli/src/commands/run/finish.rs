//! Prints the result of a run: the answer, denied calls, usage, and how to resume.

use rooftree_protocol::{
    ErrorCode, Event, EventBody, Problem, RunId, RunStatus, Session, SessionId, Usage,
    event::RunEnd,
};
use rooftree_runtime::AgentRuntime;
use rooftree_view::TreeRun;

use super::{
    PromptAnswerer, report::StdoutReport, result_json::RunResult, run_tracker::RunTracker,
};
use crate::{
    exit::Exit,
    failure,
    terminal::{
        self,
        line::{StyledLine, TextStyle},
        run_text,
        sanitize::clean,
        view::TerminalView,
    },
};

/// Where a run is followed from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FollowPlace {
    /// A command of its own, which says how to go on.
    #[default]
    Command,
    /// A conversation, which goes on by itself.
    Conversation,
    /// A command that follows the run of a server, which goes on without it.
    Server,
}

/// How following ended.
#[derive(Debug)]
pub enum FollowEnd {
    /// All that was asked for is done.
    Done,
    /// The user wants to quit without waiting.
    AtOnce(Exit),
    /// The program is told to end; the run can go on later.
    Paused(Exit),
}

/// A run that was followed to where it is left.
pub struct FollowedRun<'a> {
    pub answerer: PromptAnswerer,
    pub session: Session,
    pub watch: RunTracker,
    pub view: Box<dyn TerminalView>,
    pub report: &'a mut StdoutReport,
    /// Why the run was told to stop: the number to leave with.
    pub stopping: Option<Exit>,
    /// The number to leave with if nothing was done because a line could not be taken.
    pub refused: Option<Exit>,
    /// Commands that still run in background and end with the runtime.
    pub programs: Vec<String>,
    pub place: FollowPlace,
    /// The server that was named with `--server`.
    pub server: Option<String>,
}

/// How the program leaves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunExit {
    /// With which number.
    pub exit: Exit,
    /// Which session it leaves.
    pub session: SessionId,
    /// The run that began first.
    pub run: Option<RunId>,
    pub shutdown: ShutdownMode,
    /// Whether the program was told to end, and not only the run.
    pub is_leaving: bool,
    /// The number of the last event of the session that was shown.
    pub seen: u64,
}

/// Whether anything is waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShutdownMode {
    /// Everything that runs is stopped in order first.
    InOrder,
    /// Nothing is waited for.
    AtOnce,
}

impl RunExit {
    /// Stops the runtime, unless nothing is to be waited for: what was running can be resumed.
    pub async fn leave(self, runtime: AgentRuntime) -> Exit {
        if self.shutdown == ShutdownMode::InOrder {
            runtime.stop().await;
        }
        self.exit
    }
}

/// Says it on both streams.
pub fn finish(mut followed: FollowedRun<'_>, ended: FollowEnd) -> Result<RunExit, Problem> {
    followed.view.finish();
    let mut outcome = outcome(&followed, &ended);
    if let Some(outcome) = &mut outcome {
        let shown = followed.view.has_shown_answer();
        followed.report.result(outcome, shown)?;
    }
    if !followed.programs.is_empty() && !matches!(ended, FollowEnd::AtOnce(_)) {
        followed.view.say(&[ended_programs(&followed.programs)]);
    }
    let mut lines = Vec::new();
    if let Some(outcome) = &outcome {
        followed.view.fail(&failed(&outcome.end));
        if followed.answerer == PromptAnswerer::Nobody {
            lines.extend(run_text::denials(&outcome.end.denials));
        }
        let account = run_text::FinishedRun {
            end: &outcome.end,
            session: &followed.session.id,
            run: followed.watch.first(),
            agents: outcome.tree.delegated().count(),
        };
        lines.extend(match followed.place {
            FollowPlace::Command | FollowPlace::Server => {
                run_text::summary(&account, terminal::width())
            }
            FollowPlace::Conversation => vec![run_text::facts(&account)],
        });
    }
    if followed.place != FollowPlace::Conversation {
        lines.push(summary_line(&followed, &ended, outcome.as_ref()));
    }
    followed.view.conclude(&lines);
    if let Some(problem) = followed.report.take_failure() {
        return Err(problem);
    }
    let exit = match (&ended, &outcome) {
        _ if followed.report.is_closed() => Exit::CLOSED_PIPE,
        (FollowEnd::AtOnce(exit) | FollowEnd::Paused(exit), _) => *exit,
        (FollowEnd::Done, Some(outcome)) => outcome.exit,
        (FollowEnd::Done, None) => followed.refused.unwrap_or(Exit::DONE),
    };
    let shutdown = if matches!(ended, FollowEnd::AtOnce(_)) {
        ShutdownMode::AtOnce
    } else {
        ShutdownMode::InOrder
    };
    Ok(RunExit {
        exit,
        session: followed.session.id.clone(),
        run: followed.watch.first().cloned(),
        shutdown,
        is_leaving: matches!(ended, FollowEnd::Paused(_)),
        seen: followed.watch.seen,
    })
}

/// Why a run did not succeed; none if it succeeded, was cancelled or was left running.
fn failed(end: &RunEnd) -> Vec<StyledLine> {
    let words = match (end.status, &end.error) {
        (_, Some(problem)) => failure::in_words(problem),
        (RunStatus::Completed, None) if end.is_refuted() => {
            format!(
                "error: the work was not verified: {}",
                clean(&end.refutation())
            )
        }
        (RunStatus::Truncated, None) => {
            "error: the answer was cut off at the model's output limit".to_owned()
        }
        (RunStatus::MaxTurns, None) => "error: the run used up its turns".to_owned(),
        (RunStatus::Budget, None) => "error: the run used up its money".to_owned(),
        (RunStatus::TimedOut, None) => "error: the run used up its time".to_owned(),
        _ => return Vec::new(),
    };
    words
        .lines()
        .map(|line| StyledLine::of(TextStyle::Bad, line))
        .collect()
}

/// Background commands end with the runtime; the user is told which ones.
fn ended_programs(programs: &[String]) -> StyledLine {
    let count = run_text::counted(programs.len() as u64, "program");
    let verb = if programs.len() == 1 { "was" } else { "were" };
    let commands: Vec<String> = programs.iter().map(|command| clean(command)).collect();
    let words = format!(
        "{count} in background {verb} ended: {}",
        commands.join(", ")
    );
    StyledLine::of(TextStyle::Warning, "! ").with(TextStyle::Plain, words)
}

/// The end of the run; one that was left has none yet and is told as interrupted.
fn outcome(followed: &FollowedRun<'_>, ended: &FollowEnd) -> Option<RunResult> {
    let watch = &followed.watch;
    let (run, end, exit) = match (ended, watch.last_end()) {
        (FollowEnd::Done, None) => return None,
        (FollowEnd::Done, Some((run, end))) => {
            let end = with_delegated_totals(watch, end);
            let exit = followed.stopping.unwrap_or(Exit::for_run(&end));
            (Some(run.clone()), end, exit)
        }
        (FollowEnd::AtOnce(exit) | FollowEnd::Paused(exit), _) => {
            (watch.run().cloned(), left(watch), *exit)
        }
    };
    Some(RunResult {
        session: followed.session.clone(),
        run,
        model: watch.model().to_owned(),
        by_model: watch.by_model(),
        end,
        tree: watch.tree.clone(),
        exit,
        structured: None,
    })
}

/// The end of a run that delegated, with usage and calls summed over all its agents.
fn with_delegated_totals(watch: &RunTracker, end: &RunEnd) -> RunEnd {
    if watch.tree.delegated().next().is_none() && watch.ended_runs() <= 1 {
        return end.clone();
    }
    let so_far = watch.so_far();
    let theirs: u32 = watch.tree.delegated().map(TreeRun::total_calls).sum();
    let denials = end.denials.iter().cloned().chain(watch.denials()).collect();
    RunEnd {
        usage: watch.usage(),
        calls: so_far.calls + theirs,
        denials,
        duration_ms: so_far.milliseconds,
        ..end.clone()
    }
}

fn left(watch: &RunTracker) -> RunEnd {
    let so_far = watch.so_far();
    let mut usage = Usage::none();
    for used in watch.by_model().values() {
        usage += *used;
    }
    RunEnd {
        text: so_far.text.to_owned(),
        turns: so_far.turns,
        calls: so_far.calls,
        usage,
        duration_ms: so_far.milliseconds,
        ..RunEnd::new(RunStatus::Interrupted)
    }
}

fn summary_line(
    followed: &FollowedRun<'_>,
    ended: &FollowEnd,
    outcome: Option<&RunResult>,
) -> StyledLine {
    let id = &followed.session.id;
    let server = followed.server.as_ref();
    let server = server.map_or_else(String::new, |url| format!(" --server {url}"));
    let resume = format!("rooftree{server} run -s {}", run_text::short(id));
    let speak = format!("{resume} \"…\"");
    let words = match (ended, outcome) {
        (FollowEnd::Paused(_), _) => format!("  the run is kept; it goes on with: {resume}"),
        (FollowEnd::AtOnce(_), _) if followed.watch.is_working() => {
            format!("  left at once; it goes on with: {resume}")
        }
        (FollowEnd::AtOnce(_), _) => {
            format!("  your message stays queued; follow it with: {resume}")
        }
        (FollowEnd::Done, None) => {
            format!("nothing is unfinished; say something with: {speak}")
        }
        (FollowEnd::Done, Some(_)) => format!("  continue with: {speak}"),
    };
    StyledLine::of(TextStyle::Dim, words)
}

/// The agent could not go on, and no run will end to say so.
pub fn agent_stopped(event: &Event) -> Option<Problem> {
    match &event.body {
        EventBody::Notice {
            code,
            message,
            hint,
            ..
        } if event.id.is_none() && code == "agent_stopped" => {
            let problem = Problem::new(ErrorCode::StoreFailed, message.clone());
            Some(
                hint.clone()
                    .map_or(problem.clone(), |hint| problem.fix(hint)),
            )
        }
        _ => None,
    }
}
