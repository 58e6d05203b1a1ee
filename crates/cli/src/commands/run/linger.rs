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

    /// The main run has ended: what now? `is_settled` says that nothing in the session is left to do.
    pub fn next(&mut self, agents: &Agents, is_settled: bool, is_stopping: bool) -> Next {
        let names: Vec<&str> = agents.at_work().map(|agent| agent.agent.as_str()).collect();
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
                Policy::Wait(most) if since.elapsed() >= most => {
                    self.stage = Stage::Stopping(now);
                    Next::Stop(format!("{} have passed: stopping {}", spelled(most), names.join(", ")))
                }
                _ => Next::Wait,
            },
            (_, false) => match self.policy {
                Policy::Leave => {
                    Next::Leave(format!("{} left at work; they go on with", counted(names.len())))
                }
                Policy::Wait(most) => {
                    self.stage = Stage::Waiting(now);
                    let (who, most) = (names.join(", "), spelled(most));
                    Next::Say(format!("waiting for {}: {who} (at most {most})", counted(names.len())))
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

fn counted(agents: usize) -> String {
    format!("{} in background", wording::counted(agents as u64, "agent"))
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
        let said = linger.next(&agents(false), true, false);
        assert_eq!(said, Next::Say("waiting for 1 agent in background: agent1 (at most 10m)".into()));
        assert_eq!(linger.next(&agents(false), true, false), Next::Wait);
        assert_eq!(linger.next(&agents(true), false, false), Next::Wait, "its answer is still in the inbox");
        assert_eq!(linger.next(&agents(true), true, false), Next::Over);
    }

    #[test]
    fn when_the_time_is_over_they_are_stopped_and_nothing_more_is_waited_for() {
        let mut linger = Linger::new(Policy::Wait(Duration::ZERO));
        linger.next(&agents(false), true, false);
        assert!(matches!(linger.next(&agents(false), true, false), Next::Stop(_)));
        assert!(linger.is_ending());
        assert_eq!(linger.next(&agents(false), false, true), Next::Wait);
        assert_eq!(linger.next(&agents(true), false, true), Next::Over);
    }

    #[test]
    fn they_can_be_left_at_work() {
        let mut linger = Linger::new(Policy::Leave);
        assert!(matches!(linger.next(&agents(false), true, false), Next::Leave(_)));
    }
}
