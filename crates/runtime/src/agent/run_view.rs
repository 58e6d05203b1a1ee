//! State of a run, folded from its events. Pure.

use std::{collections::VecDeque, path::PathBuf, sync::Arc};

use rooftree_protocol::{
    Answer, CallId, Mandate, MessageId, Outcome, RunBounds, RunId, SessionId, Timestamp, ToolCall,
    Usage,
    event::{
        AnswerText, Denial, HookNote, PolicyNote, ReplyRecord, Report, RunMode, SkillNote,
        StopReason, ToolRecord,
    },
    tool_call::{FileAction, FileNote},
};
use rooftree_providers::ModelMessage;

/// Steps that are remembered.
const STEPS: usize = 50;
/// Files looked at that are remembered.
const EXPLORED: usize = 200;
/// Bytes of diffs that are remembered.
const DIFFS: usize = 32 * 1024;

/// Something people were asked.
#[derive(Clone, Debug, PartialEq)]
pub struct RunInquiry {
    /// Its name.
    pub id: String,
    /// The call it is about.
    pub call: CallId,
    /// Names exactly what was asked.
    pub digest: String,
    /// When it is too late for an answer.
    pub until: Timestamp,
    /// The session that was told of it besides those above.
    pub told: Option<SessionId>,
    /// Whether it stands no longer.
    pub settled: bool,
    /// What was said about a permission.
    pub answer: Option<Answer>,
}

/// State of the open run.
#[derive(Clone, Debug, PartialEq)]
pub struct RunView {
    /// Which one.
    pub id: RunId,
    /// The message it answers.
    pub message: MessageId,
    /// That message's place in the mail lane, if it came by mail.
    pub mail: Option<u64>,
    /// Since when.
    pub started_at: Timestamp,
    /// What started it.
    pub mode: RunMode,
    /// What it is about, in short.
    pub title: String,
    /// What may happen in it without asking, as the journal last told.
    pub policy: Option<Box<PolicyNote>>,
    /// The policy it began with.
    pub began: Option<Box<PolicyNote>>,
    /// The mode, tools, sandbox and limits it began with; absent in runs of earlier versions.
    pub bounds: Option<Box<RunBounds>>,
    /// Replies so far.
    pub turns: u32,
    /// Calls that ended so far.
    pub calls: u32,
    /// What it cost so far.
    pub usage: Usage,
    /// What it was asked for, in this run.
    pub requests: Vec<Arc<ModelMessage>>,
    /// Files it changed so far.
    pub files: Vec<FileNote>,
    /// How it changed them, as unified diffs; the first ones if they are many.
    pub diff: String,
    /// Files it looked at so far.
    pub explored: Vec<PathBuf>,
    /// Tools it used so far, in the order of first use.
    pub tools: Vec<String>,
    /// What it did last, in a few words each.
    pub steps: VecDeque<String>,
    /// What runs it delegated to cost so far.
    pub delegated: Usage,
    /// How often its work was checked.
    pub verifications: u32,
    /// What came of the last check.
    pub verified: Option<bool>,
    /// The verifiers that found the work bad when it was last checked.
    pub failed_checks: Vec<Report>,
    /// For whom it works, if another agent asked.
    pub mandate: Option<Box<Mandate>>,
    /// Whether it makes one call that was requested by a client and not by the model.
    pub is_directed: bool,
    /// How its last call ended.
    pub last_outcome: Option<Outcome>,
    /// Calls that were refused so far.
    pub denials: Vec<Denial>,
    /// What the model has answered so far.
    pub text: AnswerText,
    /// How often the last calls were asked for in a row.
    pub identical: u32,
    /// How many replies in a row hit the model's output limit.
    pub cut_off: u32,
    /// When a provider wants to be asked again.
    pub waiting_until: Option<Timestamp>,
    /// The session that was told of what is asked next.
    pub told: Option<SessionId>,
    /// What people were asked about the last reply's calls.
    pub asked: Vec<RunInquiry>,
    /// How often a hook has kept it from ending.
    pub put_off: u32,
    /// Whether hooks were told that it ends, and let it.
    pub is_end_told: bool,
    /// The skill that was loaded last.
    pub skill: Option<SkillNote>,
    /// Why a hook refused its message, if one did.
    pub refused: Option<String>,
    /// At which points hooks said something with an effect, and about what.
    heard: Vec<(String, Option<String>)>,
    last_calls: Vec<ToolCall>,
}

impl RunView {
    pub(super) fn new(id: RunId, message: MessageId, mode: RunMode, started_at: Timestamp) -> Self {
        Self {
            id,
            message,
            mail: None,
            started_at,
            mode,
            title: String::new(),
            policy: None,
            began: None,
            bounds: None,
            told: None,
            turns: 0,
            calls: 0,
            usage: Usage::none(),
            requests: Vec::new(),
            files: Vec::new(),
            diff: String::new(),
            explored: Vec::new(),
            tools: Vec::new(),
            steps: VecDeque::new(),
            delegated: Usage::none(),
            verifications: 0,
            verified: None,
            failed_checks: Vec::new(),
            mandate: None,
            is_directed: false,
            last_outcome: None,
            denials: Vec::new(),
            text: AnswerText::default(),
            identical: 0,
            cut_off: 0,
            waiting_until: None,
            asked: Vec::new(),
            put_off: 0,
            is_end_told: false,
            skill: None,
            refused: None,
            heard: Vec::new(),
            last_calls: Vec::new(),
        }
    }

    /// The inquiry with this id.
    pub(super) fn asked(&self, id: &str) -> Option<&RunInquiry> {
        self.asked.iter().find(|asked| asked.id == id)
    }

    /// Whether a hook said something with an effect at this point, about this.
    pub(super) fn has_heard(&self, point: &str, about: Option<&str>) -> bool {
        self.heard
            .iter()
            .any(|(known, what)| known == point && what.as_deref() == about)
    }

    pub(super) fn note_hook(&mut self, note: &HookNote) {
        match note.point.as_str() {
            "Stop" | "SubagentStop" if note.blocks => self.put_off += 1,
            "SubagentStop" => self.is_end_told = true,
            "UserPromptSubmit"
                if note.blocks && note.about.as_deref() == Some(self.message.as_str()) =>
            {
                self.refused = Some(note.text.clone());
            }
            // Only what begins once is asked for.
            "UserPromptSubmit" | "SubagentStart" => {}
            _ => return,
        }
        self.heard.push((note.point.clone(), note.about.clone()));
    }

    pub(super) fn note_reply(&mut self, reply: &ReplyRecord, calls: &[ToolCall]) {
        self.turns += 1;
        self.is_end_told = false;
        self.cut_off = if reply.stop == StopReason::MaxOutput {
            self.cut_off + 1
        } else {
            0
        };
        self.usage += reply.usage;
        self.text.take(reply);
        let same = calls.len() == self.last_calls.len()
            && calls
                .iter()
                .zip(&self.last_calls)
                .all(|(a, b)| a.tool == b.tool && a.input == b.input);
        self.identical = if same && !calls.is_empty() {
            self.identical + 1
        } else {
            1
        };
        self.last_calls = calls.to_vec();
        self.asked.clear();
    }

    fn note_step(&mut self, record: &ToolRecord) {
        if !self.tools.contains(&record.tool) {
            self.tools.push(record.tool.clone());
        }
        if self.steps.len() == STEPS {
            self.steps.pop_front();
        }
        self.steps.push_back(
            format!("{} {}", record.tool, record.title)
                .trim()
                .to_owned(),
        );
        for note in record
            .files
            .iter()
            .filter(|note| note.action == FileAction::Read)
        {
            if self.explored.len() < EXPLORED && !self.explored.contains(&note.path) {
                self.explored.push(note.path.clone());
            }
        }
    }

    fn note_diff(&mut self, diff: &str) {
        let room = DIFFS.saturating_sub(self.diff.len());
        if room == 0 {
            return;
        }
        self.diff.push_str(
            diff.get(..diff.floor_char_boundary(room))
                .unwrap_or_default(),
        );
        self.diff.push_str(if diff.len() > room {
            "\n[more was changed]"
        } else {
            "\n"
        });
    }

    pub(super) fn note_result(&mut self, record: &ToolRecord) {
        self.calls += 1;
        self.usage += record.usage.unwrap_or_else(Usage::none);
        self.last_outcome = Some(record.outcome);
        if self.is_directed && self.turns == 1 {
            self.text = rooftree_protocol::message::text_of(&record.content).into();
        }
        if let Some(diff) = &record.diff {
            self.note_diff(diff);
        }
        if record.outcome == Outcome::Denied {
            let reason = rooftree_protocol::message::text_of(&record.content);
            let (call, tool, title) = (
                record.call.clone(),
                record.tool.clone(),
                record.title.clone(),
            );
            self.denials.push(Denial {
                call,
                tool,
                title,
                reason,
            });
        }
        self.note_step(record);
        if record.skill.is_some() {
            self.skill.clone_from(&record.skill);
        }
        for note in record
            .files
            .iter()
            .filter(|note| note.action != FileAction::Read)
        {
            match self.files.iter_mut().find(|known| known.path == note.path) {
                Some(known) => {
                    let (added, removed) = (known.added + note.added, known.removed + note.removed);
                    *known = FileNote {
                        added,
                        removed,
                        ..note.clone()
                    };
                }
                None => self.files.push(note.clone()),
            }
        }
    }
}
