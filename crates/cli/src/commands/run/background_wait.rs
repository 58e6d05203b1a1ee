//! Timeout for background agents: how long to wait for them after the main run ends.

use std::time::{Duration, Instant};

use rooftree_view::RunTreeView;

use crate::terminal::run_text;

/// Timeout for agents that were told to stop.
const TO_STOP: Duration = Duration::from_secs(5);
/// Timeout for events that must be on their way: ends that calls have reported already.
const TO_ARRIVE: Duration = Duration::from_secs(2);

/// Policy for background agents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BackgroundPolicy {
    /// Wait for them, with this timeout.
    Wait(Duration),
    /// The same, and for commands in background too.
    WaitForAll(Duration),
    /// Leave them unfinished, to be resumed.
    Leave,
    /// Let them go on while the user types the next message.
    Detach,
}

/// The wait after the main run.
#[derive(Debug)]
pub struct BackgroundWait {
    policy: BackgroundPolicy,
    stage: BackgroundWaitStage,
}

#[derive(Clone, Copy, Debug)]
enum BackgroundWaitStage {
    Before,
    /// All have ended; what they said is on its way.
    Arriving(Instant),
    Waiting(Instant),
    Stopping(Instant),
}

/// What follows.
#[derive(Debug, PartialEq, Eq)]
pub enum BackgroundWaitStep {
    Wait,
    Over,
    /// Say this, and wait.
    Say(String),
    /// Say this, and stop them.
    Stop(String),
    /// Say this and how to go on, and leave.
    Leave(String),
    /// Say this, and go on with something else meanwhile.
    Detach(String),
}

impl BackgroundWait {
    pub fn new(policy: BackgroundPolicy) -> Self {
        Self {
            policy,
            stage: BackgroundWaitStage::Before,
        }
    }

    /// Whether only agents that were told to stop are waited for.
    pub fn is_ending(&self) -> bool {
        matches!(self.stage, BackgroundWaitStage::Stopping(_))
    }

    /// A run of the session is at work again: whatever was on its way has come.
    pub fn session_woke(&mut self) {
        if matches!(self.stage, BackgroundWaitStage::Arriving(_)) {
            self.stage = BackgroundWaitStage::Before;
        }
    }

    /// Whether commands in background are waited for.
    pub fn waits_for_programs(&self) -> bool {
        matches!(self.policy, BackgroundPolicy::WaitForAll(_))
    }

    /// The main run has ended: what now? `is_settled` says that nothing in the session is left to do.
    pub fn next(
        &mut self,
        tree: &RunTreeView,
        programs: &[String],
        is_settled: bool,
        is_stopping: bool,
    ) -> BackgroundWaitStep {
        let at_work = tree.delegated_at_work();
        let mut names: Vec<&str> = at_work.map(|agent| agent.agent.as_str()).collect();
        let agents_at_work = names.len();
        if !is_stopping {
            // They end with the runtime, not by being cancelled.
            names.extend(programs.iter().map(String::as_str));
        }
        let counted = || counted(agents_at_work, names.len() - agents_at_work);
        let now = Instant::now();
        match (self.stage, names.is_empty()) {
            (BackgroundWaitStage::Stopping(since), false) if since.elapsed() < TO_STOP => {
                BackgroundWaitStep::Wait
            }
            (BackgroundWaitStage::Stopping(_), _) => BackgroundWaitStep::Over,
            (_, false) if is_stopping => {
                self.stage = BackgroundWaitStage::Stopping(now);
                BackgroundWaitStep::Wait
            }
            (_, true) if is_stopping || (is_settled && have_all_ended(tree)) => {
                BackgroundWaitStep::Over
            }
            (BackgroundWaitStage::Waiting(since), false) => match self.policy {
                BackgroundPolicy::Wait(most) | BackgroundPolicy::WaitForAll(most)
                    if since.elapsed() >= most =>
                {
                    self.stage = BackgroundWaitStage::Stopping(now);
                    BackgroundWaitStep::Stop(format!(
                        "{} have passed: stopping {}",
                        spelled(most),
                        names.join(", ")
                    ))
                }
                _ => BackgroundWaitStep::Wait,
            },
            (_, false) => match self.policy {
                BackgroundPolicy::Leave => {
                    BackgroundWaitStep::Leave(format!("still at work: {}; resume with", counted()))
                }
                BackgroundPolicy::Detach => BackgroundWaitStep::Detach(format!(
                    "{} at work ({}): you are told when that ends; Enter watches, /tasks lists",
                    counted(),
                    names.join(", ")
                )),
                BackgroundPolicy::Wait(most) | BackgroundPolicy::WaitForAll(most) => {
                    self.stage = BackgroundWaitStage::Waiting(now);
                    let (who, most) = (names.join(", "), spelled(most));
                    BackgroundWaitStep::Say(format!(
                        "waiting for {}: {who} (at most {most})",
                        counted()
                    ))
                }
            },
            (BackgroundWaitStage::Arriving(since), true) if since.elapsed() >= TO_ARRIVE => {
                BackgroundWaitStep::Over
            }
            (BackgroundWaitStage::Arriving(_), true) => BackgroundWaitStep::Wait,
            (_, true) => {
                self.stage = BackgroundWaitStage::Arriving(now);
                BackgroundWaitStep::Wait
            }
        }
    }
}

/// Whether the end of each delegated run was heard from itself, and not only from the call that asked.
fn have_all_ended(tree: &RunTreeView) -> bool {
    tree.delegated().all(|run| run.end.is_some())
}

fn counted(agents: usize, programs: usize) -> String {
    let counts = [(agents, "agent"), (programs, "program")]
        .into_iter()
        .filter(|(count, _)| *count > 0);
    let words: Vec<String> = counts
        .map(|(count, what)| run_text::counted(count as u64, what))
        .collect();
    format!("{} in background", words.join(" and "))
}

fn spelled(most: Duration) -> String {
    humantime::format_duration(most).to_string()
}

#[cfg(test)]
mod tests {
    use rooftree_protocol::{RunStatus, event::RunMode};

    use super::*;
    use crate::terminal::agent_tree::tests::{begins, ends};

    fn agents(ended_too: bool) -> RunTreeView {
        let mut agents = RunTreeView::default();
        agents.apply(&begins(1, 0, RunMode::Background));
        if ended_too {
            agents.apply(&ends(1, RunStatus::Completed, "gold"));
        }
        agents
    }

    #[test]
    fn those_at_work_are_waited_for_and_then_what_they_wake() {
        let mut linger = BackgroundWait::new(BackgroundPolicy::Wait(Duration::from_secs(600)));
        let said = linger.next(&agents(false), &[], true, false);
        assert_eq!(
            said,
            BackgroundWaitStep::Say(
                "waiting for 1 agent in background: agent1 (at most 10m)".into()
            )
        );
        assert_eq!(
            linger.next(&agents(false), &[], true, false),
            BackgroundWaitStep::Wait
        );
        assert_eq!(
            linger.next(&agents(true), &[], false, false),
            BackgroundWaitStep::Wait,
            "its answer is still in the inbox"
        );
        assert_eq!(
            linger.next(&agents(true), &[], true, false),
            BackgroundWaitStep::Over
        );
    }

    #[test]
    fn when_the_time_is_over_they_are_stopped_and_nothing_more_is_waited_for() {
        let mut linger = BackgroundWait::new(BackgroundPolicy::Wait(Duration::ZERO));
        linger.next(&agents(false), &[], true, false);
        assert!(matches!(
            linger.next(&agents(false), &[], true, false),
            BackgroundWaitStep::Stop(_)
        ));
        assert!(linger.is_ending());
        assert_eq!(
            linger.next(&agents(false), &[], false, true),
            BackgroundWaitStep::Wait
        );
        assert_eq!(
            linger.next(&agents(true), &[], false, true),
            BackgroundWaitStep::Over
        );
    }

    #[test]
    fn they_can_be_left_at_work() {
        let mut linger = BackgroundWait::new(BackgroundPolicy::Leave);
        assert!(matches!(
            linger.next(&agents(false), &[], true, false),
            BackgroundWaitStep::Leave(_)
        ));
    }

    #[test]
    fn n_18_programs_are_waited_for_if_somebody_says_how_long() {
        let programs = ["make all".to_owned()];
        let mut linger = BackgroundWait::new(BackgroundPolicy::WaitForAll(Duration::from_secs(60)));
        let said = linger.next(&RunTreeView::default(), &programs, true, false);
        assert_eq!(
            said,
            BackgroundWaitStep::Say(
                "waiting for 1 program in background: make all (at most 1m)".into()
            )
        );
        assert_eq!(
            linger.next(&RunTreeView::default(), &programs, true, false),
            BackgroundWaitStep::Wait
        );
        assert_eq!(
            linger.next(&RunTreeView::default(), &[], true, false),
            BackgroundWaitStep::Over
        );
        assert!(
            !BackgroundWait::new(BackgroundPolicy::Wait(Duration::from_secs(60)))
                .waits_for_programs()
        );
    }
}
