//! Journal records of runs: verdicts, compactions, waits, ends, and what hooks said.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{answer_finding::AnswerFinding, call_records::TaskNote};
use crate::{CallId, PermissionMode, Problem, RunStatus, SkillNote, Usage, tool_call::FileNote};

/// What the verifiers of an agent found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Verdict {
    /// How often the work of this run has been checked, this time included.
    pub attempt: u32,
    /// Whether all of them found it good.
    pub passed: bool,
    /// Whether the work is given back.
    pub again: bool,
    /// How often it is checked at most; 0 in journals that do not say it.
    #[serde(default)]
    pub attempts: u32,
    /// What each of them said.
    pub reports: Vec<Report>,
    /// What judging cost.
    pub usage: Usage,
}

/// What one verifier said.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Report {
    /// Which one.
    pub name: String,
    /// Whether it found the work good.
    pub passed: bool,
    /// In its words.
    pub said: String,
    /// The run that looked, if it is an agent; what it cost is there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskNote>,
}

impl Report {
    /// Maximum characters of a verifier's report in one line.
    const IN_A_LINE: usize = 160;

    /// The verifier's name and the first line of its report.
    pub fn one_line(&self) -> String {
        let said = self.said.trim().lines().next().unwrap_or_default().trim();
        match said.char_indices().nth(Self::IN_A_LINE) {
            _ if said.is_empty() => self.name.clone(),
            Some((at, _)) => format!("{}: {}…", self.name, said.get(..at).unwrap_or_default()),
            None => format!("{}: {said}", self.name),
        }
    }
}

/// How a context was made smaller.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Compaction {
    /// In which way.
    #[serde(flatten)]
    pub how: CompactionKind,
    /// How many messages at the end stay as they are.
    pub kept: u64,
    /// Estimated tokens before.
    pub before: u64,
    /// Estimated tokens after.
    pub after: u64,
    /// What it cost to summarise.
    pub usage: Usage,
}

/// The ways a context is made smaller.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "how", rename_all = "snake_case")]
pub enum CompactionKind {
    /// Older messages are replaced by a summary.
    Summary {
        /// The summary.
        summary: String,
    },
    /// Older tool results are cut to so many characters.
    Trimmed {
        /// How many.
        chars: usize,
    },
}

/// Why a context starts anew.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ClearReason {
    /// Somebody asked for it.
    Asked,
    /// The context had grown beyond what could be made smaller; the last request is kept.
    Emergency,
}

/// What may happen without asking, and what may not happen at all, as rules are written.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct PolicyNote {
    /// The mode.
    pub mode: PermissionMode,
    /// Rules that allow.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub allow: Vec<String>,
    /// Rules that have a person asked.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ask: Vec<String>,
    /// Rules that refuse.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub deny: Vec<String>,
    /// Skills that those above follow, which refuse what they leave out.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub skills: Vec<SkillNote>,
    /// What from outside the agent has read, where the mode is narrower for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wary: Option<String>,
}

/// What a run can wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WaitReason {
    /// A yes or no.
    Permission,
    /// An answer to the agent's question.
    Question,
    /// A delegated run.
    Child,
    /// The provider, which said "later".
    RateLimit,
    /// The provider, which failed and will be asked again.
    Retry,
}

/// Everything about a run's end.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunEnd {
    /// How it ended.
    pub status: RunStatus,
    /// What it was asked, in short; empty in runs of earlier versions.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub task: String,
    /// The agent's answer: its last reply, with all pieces of it if the output limit cut it.
    pub text: String,
    /// Model replies.
    pub turns: u32,
    /// Tool calls made.
    pub calls: u32,
    /// What it cost.
    pub usage: Usage,
    /// How long it took, waiting included.
    pub duration_ms: u64,
    /// Files it changed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<FileNote>,
    /// Files it looked at, and those that its searches named.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub explored: Vec<PathBuf>,
    /// Places that its answer names, each with what it says about it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<AnswerFinding>,
    /// Tools it used, in the order of first use.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<String>,
    /// What it did, in a few words each; the last ones if there were many.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<String>,
    /// What the runs it delegated to cost, not in `usage`.
    #[serde(default)]
    pub delegated: Usage,
    /// What it changed in a working copy of its own, which is still to be brought in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<Box<WorkspaceNote>>,
    /// Whether what it says it did was checked, and found to be so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verified: Option<bool>,
    /// The verifiers that found the work bad when it was last checked, and what they said.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failed_checks: Vec<Report>,
    /// Whether something from outside, such as a web page, went into it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub outside: bool,
    /// Calls that were refused.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub denials: Vec<Denial>,
    /// What went wrong.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<Problem>,
}

impl RunEnd {
    /// The end of a run that did nothing.
    pub fn new(status: RunStatus) -> Self {
        Self {
            status,
            task: String::new(),
            text: String::new(),
            turns: 0,
            calls: 0,
            usage: Usage::none(),
            duration_ms: 0,
            files: Vec::new(),
            explored: Vec::new(),
            findings: Vec::new(),
            tools: Vec::new(),
            steps: Vec::new(),
            delegated: Usage::none(),
            workspace: None,
            verified: None,
            failed_checks: Vec::new(),
            outside: false,
            denials: Vec::new(),
            error: None,
        }
    }

    /// Whether it completed and no verifier rejected the work.
    pub fn is_success(&self) -> bool {
        self.status == RunStatus::Completed && !self.is_refuted()
    }

    /// Whether its verifiers rejected the work in the last check.
    pub fn is_refuted(&self) -> bool {
        self.verified == Some(false)
    }

    /// The outcome in a few words: `completed`, `completed, not verified`.
    pub fn summary(&self) -> String {
        let verdict = if self.is_refuted() {
            ", not verified"
        } else {
            ""
        };
        format!("{}{verdict}", self.status)
    }

    /// The report of each failed verifier, in one line: `tests: ok.txt is missing; lint: 2 warnings`.
    pub fn refutation(&self) -> String {
        self.failed_checks
            .iter()
            .map(Report::one_line)
            .collect::<Vec<_>>()
            .join("; ")
    }
}

/// What a run changed in a working copy of its own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WorkspaceNote {
    /// Where the copy is.
    pub root: PathBuf,
    /// The branch its work is on, if there is git.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// The commit it started from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<String>,
    /// What changed, to read; or why that cannot be said.
    pub diffstat: String,
    /// The files that changed.
    pub files: Vec<PathBuf>,
}

/// A call that was refused.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Denial {
    /// Which call.
    pub call: CallId,
    /// Canonical tool name.
    pub tool: String,
    /// What it would have done.
    pub title: String,
    /// Why not, and what would have allowed it.
    pub reason: String,
}

/// How bad a notice is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum NoticeLevel {
    /// Good to know.
    Info,
    /// Should be looked at.
    Warning,
    /// Something failed.
    Error,
}

/// What hooks said at one point. What has no effect is not kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HookNote {
    /// At which point: `PostToolUse`, `Stop` …
    pub point: String,
    /// What it is about: the id of a call or of a message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub about: Option<String>,
    /// Whether it keeps something from happening: a message is left out, a run does not end yet.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub blocks: bool,
    /// In words. The model reads them, unless they are about a message that it does not get.
    pub text: String,
}

impl HookNote {
    /// The point at which the runtime itself sends a reply back to the model.
    pub const REPLY: &'static str = "Reply";
}
