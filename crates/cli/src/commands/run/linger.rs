//! How long those are waited for who still work when the main run has ended.

use std::time::{Duration, Instant};

use crate::terminal::{agents::Agents, wording};

/// How long agents that were told to stop may take.
const TO_STOP: Duration = Duration::from_secs(5);
/// How long news may take that must be on its way: ends that calls have told already.
const TO_ARRIVE: Duration = Duration::from_secs(2);

/// What to do about agents in background.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Policy {
    /// Wait for them, at most so long.
    Wait(Duration),
    /// The same, and for commands in background too.
    WaitForAll(Duration),
    /// Leave them to be resumed.
    Leave,
}

/// The wait after the main run.
#[derive(Debug)]
pub struct Linger {
    policy: Policy,
    stage: Stage,
}

#[derive(Clone, Copy, Debug)]
enum Stage {
    Before,
    /// All have ended; what they said is on its way.
    Arriving(Instant),
    Waiting(Instant),
    Stopping(Instant),
}

/// What follows.
#[derive(Debug, PartialEq, Eq)]
pub enum Next {
    Wait,
    Over,
    /// Say this, and wait.
    Say(String),
    /// Say this, and stop them.
    Stop(String),
    /// Say this and how to go on, and leave.
    Leave(String),
}

impl Linger {
    pub fn new(policy: Policy) -> Self {
        Self { policy, stage: Stage::Before }
    }

    /// Whether only the end of those is waited for who were told to stop.
    pub fn is_ending(&self) -> bool {
        matches!(self.stage, Stage::Stopping(_))
    }

    /// A run of the session is at work again: whatever was on its way has come.
    pub fn is_awake(&mut self) {
        if matches!(self.stage, Stage::Arriving(_)) {
            self.stage = Stage::Before;
        }
    }

    /// Whether commands in background are waited for.
    pub fn waits_for_programs(&self) -> bool {
        matches!(self.policy, Policy::WaitForAll(_))
    }

    /// The main run has ended: what now? `is_settled` says that nothing in the session is left to do.
    pub fn next(
        &mut self,
        agents: &Agents,
        programs: &[String],
        is_settled: bool,
        is_stopping: bool,
    ) -> Next {
        let mut names: Vec<&str> = agents.at_work().map(|agent| agent.agent.as_str()).collect();
        let agents_at_work = names.len();
        if !is_stopping {
            // They end with the runtime, not by being cancelled.
            names.extend(programs.iter().map(String::as_str));
        }
        let counted = || counted(agents_at_work, names.len() - agents_at_work);
        let now = Instant::now();
        match (self.stage, names.is_empty()) {
            (Stage::Stopping(since), false) if since.elapsed() < TO_STOP => Next::Wait,
            (Stage::Stopping(_), _) => Next::Over,
            (_, false) if is_stopping => {
                self.stage = Stage::Stopping(now);
                Next::Wait
            }
            (_, true) if is_stopping || (is_settled && agents.are_heard_out()) => Next::Over,
            (Stage::Waiting(since), false) => match self.policy {
                Policy::Wait(most) | Policy::WaitForAll(most) if since.elapsed() >= most => {
                    self.stage = Stage::Stopping(now);
                    Next::Stop(format!("{} have passed: stopping {}", spelled(most), names.join(", ")))
                }
                _ => Next::Wait,
            },
            (_, false) => match self.policy {
                Policy::Leave => Next::Leave(format!("{} left at work; they go on with", counted())),
                Policy::Wait(most) | Policy::WaitForAll(most) => {
                    self.stage = Stage::Waiting(now);
                    let (who, most) = (names.join(", "), spelled(most));
                    Next::Say(format!("waiting for {}: {who} (at most {most})", counted()))
                }
            },
            (Stage::Arriving(since), true) if since.elapsed() >= TO_ARRIVE => Next::Over,
            (Stage::Arriving(_), true) => Next::Wait,
            (_, true) => {
                self.stage = Stage::Arriving(now);
                Next::Wait
            }
        }
    }
}

fn counted(agents: usize, programs: usize) -> String {
    let counts = [(agents, "agent"), (programs, "program")].into_iter().filter(|(count, _)| *count > 0);
    let words: Vec<String> = counts.map(|(count, what)| wording::counted(count as u64, what)).collect();
    format!("{} in background", words.join(" and "))
}

fn spelled(most: Duration) -> String {
    humantime::format_duration(most).to_string()
}

#[cfg(test)]
mod tests {
    use rooftree_protocol::{RunStatus, event::RunMode};

    use super::*;
    use crate::terminal::agents::tests::{began, ended};

    fn agents(ended_too: bool) -> Agents {
        let mut agents = Agents::default();
        agents.take(&began(1, 0, RunMode::Background));
        if ended_too {
            agents.take(&ended(1, RunStatus::Completed, "gold"));
        }
        agents
    }

    #[test]
    fn those_at_work_are_waited_for_and_then_what_they_wake() {
        let mut linger = Linger::new(Policy::Wait(Duration::from_secs(600)));
        let said = linger.next(&agents(false), &[], true, false);
        assert_eq!(said, Next::Say("waiting for 1 agent in background: agent1 (at most 10m)".into()));
        assert_eq!(linger.next(&agents(false), &[], true, false), Next::Wait);
        assert_eq!(
            linger.next(&agents(true), &[], false, false),
            Next::Wait,
            "its answer is still in the inbox"
        );
        assert_eq!(linger.next(&agents(true), &[], true, false), Next::Over);
    }

    #[test]
    fn when_the_time_is_over_they_are_stopped_and_nothing_more_is_waited_for() {
        let mut linger = Linger::new(Policy::Wait(Duration::ZERO));
        linger.next(&agents(false), &[], true, false);
        assert!(matches!(linger.next(&agents(false), &[], true, false), Next::Stop(_)));
        assert!(linger.is_ending());
        assert_eq!(linger.next(&agents(false), &[], false, true), Next::Wait);
        assert_eq!(linger.next(&agents(true), &[], false, true), Next::Over);
    }

    #[test]
    fn they_can_be_left_at_work() {
        let mut linger = Linger::new(Policy::Leave);
        assert!(matches!(linger.next(&agents(false), &[], true, false), Next::Leave(_)));
    }

    #[test]
    fn n_18_programs_are_waited_for_if_somebody_says_how_long() {
        let programs = ["make all".to_owned()];
        let mut linger = Linger::new(Policy::WaitForAll(Duration::from_secs(60)));
        let said = linger.next(&Agents::default(), &programs, true, false);
        assert_eq!(said, Next::Say("waiting for 1 program in background: make all (at most 1m)".into()));
        assert_eq!(linger.next(&Agents::default(), &programs, true, false), Next::Wait);
        assert_eq!(linger.next(&Agents::default(), &[], true, false), Next::Over);
        assert!(!Linger::new(Policy::Wait(Duration::from_secs(60))).waits_for_programs());
    }
}
