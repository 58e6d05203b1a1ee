//! The activity of one session, folded from its own events: open run, last outcome, wait, open calls and questions,
//! todos, headline.
//!
//! A store keeps it in the session's row and writes it in the commit that holds the events. `doctor verify` folds the
//! journal and compares.

use rooftree_protocol::{CallId, ErrorCode, RunId, RunStatus, Timestamp, event::WaitReason};
use serde::{Deserialize, Serialize};

pub use super::session_outcome::SessionOutcome;
use super::{
    activity_step::{ActivityChange, ActivityStep, EndedActivity},
    headline::Headline,
};

/// What a session does and did, as far as the board needs it. What a fork inherited does not count.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SessionActivity {
    /// What its first run was asked, in short.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub title: String,
    /// Where its first message came from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub origin: Option<String>,
    /// The run that is open.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run: Option<ActivityRun>,
    /// The run that ended last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last: Option<EndedRun>,
    /// What the open run waits for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wait: Option<ActivityWait>,
    /// Calls of the open run that have begun and have no result.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<OpenCall>,
    /// Permissions and questions of the open run that are not settled.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub asked: Vec<String>,
    /// Todos that are done, and all of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub todo: Option<[u32; 2]>,
    /// What it does or said last.
    pub headline: Headline,
    /// The last event that a person would want to read; zero if there is none.
    pub news: u64,
    /// A tool that was found changed in its latest run, and since when.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub changed_tool: Option<(String, Timestamp)>,
}

/// A run that is open.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ActivityRun {
    /// Which one.
    pub run: RunId,
    /// Since when.
    pub started: Timestamp,
}

/// A run that has ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EndedRun {
    /// Which one.
    pub run: RunId,
    /// How it ended.
    pub status: RunStatus,
    /// The same, as far as the board tells it apart.
    pub outcome: SessionOutcome,
    /// What went wrong.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<ErrorCode>,
    /// The same in words.
    pub words: String,
    /// When it began; none in a journal that begins with its end.
    pub started: Option<Timestamp>,
    /// When it ended.
    pub ended: Timestamp,
    /// The event that says so.
    pub seq: u64,
}

/// What a run waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ActivityWait {
    /// For what.
    pub reason: WaitReason,
    /// Until when at most.
    pub until: Option<Timestamp>,
}

/// A call that has begun.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenCall {
    /// Which one.
    pub call: CallId,
    /// Whether another agent does the work.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub delegates: bool,
}

impl SessionActivity {
    /// Takes in what an event changes.
    pub fn apply(&mut self, step: &ActivityStep) {
        let (seq, ts) = (step.seq, step.ts);
        match &step.change {
            ActivityChange::RunStarted { run, title } => self.start(run, title, ts),
            ActivityChange::RunEnded(result) => self.end(result, seq, ts),
            ActivityChange::Waits(reason, until) => {
                let (reason, until) = (*reason, *until);
                self.wait = Some(ActivityWait { reason, until });
            }
            ActivityChange::Resumed => self.wait = None,
            ActivityChange::CameFrom(origin) => {
                self.origin.get_or_insert_with(|| origin.clone());
            }
            ActivityChange::Said(sentence) => {
                self.calls.clear();
                if let Some(sentence) = sentence {
                    self.headline.offer(sentence.clone(), ts);
                    self.news = seq;
                }
            }
            ActivityChange::CallStarted {
                call,
                delegates,
                title,
            } => {
                let (call, delegates) = (call.clone(), *delegates);
                self.calls.push(OpenCall { call, delegates });
                if !title.is_empty() {
                    self.headline.offer(title.clone(), ts);
                }
            }
            ActivityChange::CallEnded(call) => self.calls.retain(|open| open.call != *call),
            ActivityChange::Asked(id) => {
                self.asked.retain(|asked| asked != id);
                self.asked.push(id.clone());
                self.news = seq;
            }
            ActivityChange::Settled(id) => self.asked.retain(|asked| asked != id),
            ActivityChange::Todo(counts) => self.todo = Some(*counts).filter(|[_, all]| *all > 0),
            ActivityChange::ToolChanged(words) => {
                self.changed_tool = Some((words.clone(), ts));
                self.news = seq;
            }
        }
    }

    fn start(&mut self, run: &RunId, title: &str, started: Timestamp) {
        if self.title.is_empty() {
            self.title = title.to_owned();
        }
        let run = run.clone();
        self.run = Some(ActivityRun { run, started });
        self.forget_run();
        self.changed_tool = None;
    }

    fn end(&mut self, result: &EndedActivity, seq: u64, ended: Timestamp) {
        let open = self.run.take().filter(|open| open.run == result.run);
        self.last = Some(EndedRun {
            run: result.run.clone(),
            status: result.status,
            outcome: result.outcome,
            error: result.error,
            words: result.words.clone(),
            started: open.map(|open| open.started),
            ended,
            seq,
        });
        self.forget_run();
        if let Some(sentence) = &result.sentence {
            self.headline.offer(sentence.clone(), ended);
        }
        self.news = seq;
    }

    /// What belongs to a run that has begun or ended only.
    fn forget_run(&mut self) {
        self.wait = None;
        self.calls.clear();
        self.asked.clear();
    }

    /// Whether its last run failed and none has begun since.
    pub fn has_failed(&self) -> bool {
        let last = self.last.as_ref();
        self.run.is_none() && last.is_some_and(|last| last.outcome == SessionOutcome::Failed)
    }

    /// Whether all that its open run does is to wait for other agents.
    pub fn waits_for_child(&self) -> bool {
        !self.calls.is_empty() && self.calls.iter().all(|call| call.delegates)
    }
}
