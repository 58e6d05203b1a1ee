//! State of a run, folded from its events. Pure.

mod work_report;

use std::{
    collections::HashMap,
    hash::{DefaultHasher, Hash, Hasher},
};

use rooftree_protocol::{
    Answer, CallId, ChatTarget, ErrorCode, Mandate, MessageId, Origin, Outcome, PromptContext,
    RunBounds, RunBudget, RunId, RunStatus, SessionId, SpawnGroup, Timestamp, ToolCall, Usage,
    event::{
        AnswerFinding, AnswerText, Denial, HookNote, PolicyNote, ReplyRecord, Report, RunEnd,
        RunMode, SkillNote, StopReason, ToolRecord,
    },
};

use rooftree_providers::agent_program;

pub use self::work_report::WorkReport;

/// Something people were asked.
#[derive(Clone, Debug, PartialEq)]
pub struct RunInquiry {
    /// Its name.
    pub id: String,
    /// The call it is about.
    pub call: CallId,
    /// Names exactly what was asked.
    pub digest: String,
    /// The agents it is about, if it is about those that a reply starts.
    pub spawn: Vec<SpawnGroup>,
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
    /// That message's position in the mail lane, if it came by mail.
    pub mail: Option<u64>,
    /// Since when.
    pub started_at: Timestamp,
    /// What started it.
    pub mode: RunMode,
    /// What it is about, in short.
    pub title: String,
    /// For whom it works, if another agent asked.
    pub mandate: Option<Box<Mandate>>,
    /// Where its answer goes.
    pub route: RunRoute,
    /// What it may cost, if its schedule says so.
    pub budget: Option<RunBudget>,
    /// What it reads besides the conversation.
    pub context: PromptContext,
    /// Whether it makes one call that was requested by a client and not by the model.
    pub is_directed: bool,
    /// Whether it writes what the session that this conversation came from is told.
    pub hands_back: bool,
    /// The policy and bounds it works under.
    pub rights: RunRights,
    /// Turns, calls and cost so far.
    pub progress: RunProgress,
    /// What it was asked for and what it did so far.
    pub work: WorkReport,
    /// How its work was verified.
    pub verification: RunVerification,
    /// What it waits for.
    pub waits: RunWaits,
    /// What hooks said about it.
    pub hooks: RunHooks,
    /// The answer so far, and whether replies repeat or are cut off.
    pub reply: ReplyState,
}

/// Where the answer of a run goes, as the message says that started it.
///
/// Invariant: it is set once. Messages that join the run do not change it, so an answer never reaches another chat than
/// the one that asked.
#[derive(Clone, Debug, PartialEq)]
pub enum RunRoute {
    /// No message of a person started it: a result or another agent did.
    Inside,
    /// A person at a client, who reads it there.
    Client,
    /// A chat.
    Chat(ChatTarget),
    /// A schedule, and the chat that it names.
    Schedule(Option<ChatTarget>),
}

impl RunRoute {
    /// Where the answer to a message from there goes.
    pub(super) fn of(origin: &Origin) -> Self {
        match origin {
            Origin::User => Self::Client,
            Origin::Connector { reply, .. } => reply.clone().map_or(Self::Client, Self::Chat),
            Origin::Schedule { target, .. } => Self::Schedule(target.clone()),
            Origin::Agent { .. } | Origin::Task { .. } | Origin::System { .. } => Self::Inside,
        }
    }
}

/// The policy and bounds a run works under.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunRights {
    /// What may happen in it without asking, as the journal last told.
    pub policy: Option<Box<PolicyNote>>,
    /// The policy it began with.
    pub initial_policy: Option<Box<PolicyNote>>,
    /// The mode, tools, sandbox and limits it began with; absent in runs of earlier versions.
    pub bounds: Option<Box<RunBounds>>,
    /// The skill that was loaded last.
    pub skill: Option<SkillNote>,
    /// Command files that the user had the run follow. They hold until it ends.
    pub commands: Vec<SkillNote>,
}

/// Turns, calls and cost of a run so far.
#[derive(Clone, Debug, PartialEq)]
pub struct RunProgress {
    /// The run whose budget it uses, if a result of that run's work woke it.
    pub budget_of: Option<RunId>,
    /// Replies so far.
    pub turns: u32,
    /// Calls that ended so far.
    pub calls: u32,
    /// What it cost so far.
    pub usage: Usage,
    /// What runs it delegated to cost so far.
    pub delegated: Usage,
    /// How its last call ended.
    pub last_outcome: Option<Outcome>,
    /// Calls that were refused so far.
    pub denials: Vec<Denial>,
}

impl Default for RunProgress {
    fn default() -> Self {
        Self {
            budget_of: None,
            turns: 0,
            calls: 0,
            usage: Usage::none(),
            delegated: Usage::none(),
            last_outcome: None,
            denials: Vec::new(),
        }
    }
}

/// How the work of a run was verified.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunVerification {
    /// How often its work was checked.
    pub attempts: u32,
    /// What came of the last check.
    pub passed: Option<bool>,
    /// The verifiers that found the work bad when it was last checked.
    pub failed_checks: Vec<Report>,
}

/// What a run waits for: a rate limit, or answers of people.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunWaits {
    /// When a provider wants to be asked again.
    pub until: Option<Timestamp>,
    /// What people were asked about the last reply's calls.
    pub asked: Vec<RunInquiry>,
    /// The session that was told of what is asked next.
    pub told: Option<SessionId>,
}

/// What hooks said about a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunHooks {
    /// How often a hook has kept it from ending.
    pub refused_ends: u32,
    /// Whether hooks were told that it ends, and let it.
    pub is_end_told: bool,
    /// Why a hook refused its message, if one did.
    pub refused_message: Option<String>,
    /// At which points hooks said something with an effect, and about what.
    effects: Vec<(String, Option<String>)>,
}

/// The answer of a run so far, and whether replies repeat or are cut off.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ReplyState {
    /// What the model has answered so far.
    pub text: AnswerText,
    /// How often the last calls were asked for in a row.
    pub identical: u32,
    /// How many replies in a row hit the model's output limit.
    pub cut_off: u32,
    /// How many turns in a row brought nothing new: each call was refused or wrong, or had the result it had before.
    pub idle_turns: u32,
    /// How often the runtime has sent a reply back to the model.
    pub corrections: u32,
    last_calls: Vec<ToolCall>,
    /// Hashes of the calls made so far and of their last results.
    results: HashMap<u64, u64>,
    /// Whether the calls of the last reply brought something new.
    is_turn_new: bool,
}

impl ReplyState {
    /// Counts the turn before this reply as idle if its calls brought nothing new.
    fn close_turn(&mut self) {
        self.idle_turns = self.idle_so_far();
        self.is_turn_new = false;
    }

    /// Idle turns, with the last one whose results are there.
    pub fn idle_so_far(&self) -> u32 {
        let is_idle = !self.last_calls.is_empty() && !self.is_turn_new;
        if is_idle { self.idle_turns + 1 } else { 0 }
    }

    fn note_result(&mut self, record: &ToolRecord) {
        let Some(call) = self.last_calls.iter().find(|call| call.id == record.call) else {
            return;
        };
        let key = hash(&(call.tool.as_str(), call.input.to_string()));
        let result = hash(&rooftree_protocol::message::text_of(&record.content));
        let is_other = self.results.insert(key, result) != Some(result);
        // A command that ran and failed says something: a test that fails in another way, for example.
        let has_run = matches!(
            record.outcome,
            Outcome::Done | Outcome::Failed(ErrorCode::ToolFailed)
        );
        self.is_turn_new |= is_other && has_run;
    }
}

fn hash(value: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
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
            mandate: None,
            route: RunRoute::Inside,
            budget: None,
            context: PromptContext::Full,
            is_directed: false,
            hands_back: false,
            rights: RunRights::default(),
            progress: RunProgress::default(),
            work: WorkReport::default(),
            verification: RunVerification::default(),
            waits: RunWaits::default(),
            hooks: RunHooks::default(),
            reply: ReplyState::default(),
        }
    }

    /// The record of its end so far.
    pub fn end(&self, status: RunStatus, now: Timestamp) -> RunEnd {
        let lasted = now.since(self.started_at).as_millis();
        RunEnd {
            task: self.title.clone(),
            text: self.reply.text.as_str().to_owned(),
            findings: AnswerFinding::all_in(self.reply.text.as_str()),
            turns: self.progress.turns,
            calls: self.progress.calls,
            usage: self.progress.usage,
            duration_ms: u64::try_from(lasted).unwrap_or(u64::MAX),
            files: self.work.files.clone(),
            explored: self.work.explored.clone(),
            tools: self.work.tools.clone(),
            steps: self.work.steps.iter().cloned().collect(),
            delegated: self.progress.delegated,
            denials: self.progress.denials.clone(),
            ..RunEnd::new(status)
        }
    }

    /// The inquiry with this id.
    pub(super) fn asked(&self, id: &str) -> Option<&RunInquiry> {
        self.waits.asked.iter().find(|asked| asked.id == id)
    }

    /// The inquiry about agents of a reply that lists this call.
    pub(super) fn asked_to_spawn(&self, call: &CallId) -> Option<&RunInquiry> {
        let is_listed = |group: &SpawnGroup| group.calls.iter().any(|listed| listed.call == *call);
        self.waits
            .asked
            .iter()
            .find(|asked| asked.spawn.iter().any(is_listed))
    }

    /// Whether a hook said something with an effect at this point, about this.
    pub(super) fn has_heard(&self, point: &str, about: Option<&str>) -> bool {
        self.hooks
            .effects
            .iter()
            .any(|(known, what)| known == point && what.as_deref() == about)
    }

    pub(super) fn note_hook(&mut self, note: &HookNote) {
        match note.point.as_str() {
            "Stop" | "SubagentStop" if note.blocks => self.hooks.refused_ends += 1,
            "SubagentStop" => self.hooks.is_end_told = true,
            HookNote::REPLY if note.blocks => self.reply.corrections += 1,
            "UserPromptSubmit"
                if note.blocks && note.about.as_deref() == Some(self.message.as_str()) =>
            {
                self.hooks.refused_message = Some(note.text.clone());
            }
            // Only what begins once is asked for.
            "UserPromptSubmit" | "SubagentStart" => {}
            _ => return,
        }
        self.hooks
            .effects
            .push((note.point.clone(), note.about.clone()));
    }

    pub(super) fn note_reply(&mut self, reply: &ReplyRecord, calls: &[ToolCall]) {
        self.progress.turns += 1;
        for activity in agent_program::activities(&reply.parts) {
            self.progress.calls += 1;
            self.work.note_activity(activity);
        }
        self.hooks.is_end_told = false;
        self.reply.cut_off = if reply.stop == StopReason::MaxOutput {
            self.reply.cut_off + 1
        } else {
            0
        };
        self.progress.usage += reply.usage;
        self.reply.text.take(reply);
        let same = calls.len() == self.reply.last_calls.len()
            && calls
                .iter()
                .zip(&self.reply.last_calls)
                .all(|(a, b)| a.tool == b.tool && a.input == b.input);
        self.reply.identical = if same && !calls.is_empty() {
            self.reply.identical + 1
        } else {
            1
        };
        self.reply.close_turn();
        self.reply.last_calls = calls.to_vec();
        self.waits.asked.clear();
    }

    pub(super) fn note_result(&mut self, record: &ToolRecord) {
        self.progress.calls += 1;
        self.progress.usage += record.usage.unwrap_or_else(Usage::none);
        self.progress.last_outcome = Some(record.outcome);
        self.reply.note_result(record);
        if self.is_directed && self.progress.turns == 1 {
            self.reply.text = rooftree_protocol::message::text_of(&record.content).into();
        }
        if record.outcome == Outcome::Denied {
            let reason = rooftree_protocol::message::text_of(&record.content);
            let (call, tool, title) = (
                record.call.clone(),
                record.tool.clone(),
                record.title.clone(),
            );
            self.progress.denials.push(Denial {
                call,
                tool,
                title,
                reason,
            });
        }
        self.work.note(record);
        if record.skill.is_some() {
            self.rights.skill.clone_from(&record.skill);
        }
    }
}
