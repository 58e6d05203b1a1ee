//! The fold of events into what the model reads, and into how far the run is. Pure.
//!
//! Live and replayed events go through the same `apply`, so a session that was killed and one
//! that was not fold to the same history.
//! Invariant: in `messages()` every call has exactly one result, right after its reply.

mod shaped;

use std::{collections::BTreeSet, sync::Arc};

use rooftree_protocol::{
    Answer, BlobId, CallId, Event, EventBody, Lane, Limits, Message, MessageId, Origin, Part, PermissionMode,
    Repeat, RunId, Timestamp, Todo, ToolCall, ToolKind, ToolResult, Usage,
    event::{
        ClearReason, Compaction, HookNote, PolicyNote, ReplyRecord, Shrinking, SkillNote, StopReason,
        TaskNote, ToolRecord, Verdict, WaitReason,
    },
};
use rooftree_providers::ModelMessage;

pub(crate) use self::shaped::INTERRUPTED;
use self::shaped::{go_on, images_in, results_of, trimmed};
use super::{
    run_view::{Asked, RunView},
    window, wording,
};

/// What a session's events amount to.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct History {
    /// Shared with the request that is under way, so that a turn costs the same however long
    /// the conversation is. Requests are gone before something is added; if one is not, it
    /// keeps what it had.
    messages: Arc<Vec<Arc<ModelMessage>>>,
    /// Calls of the last reply, until all have results.
    open: Vec<OpenCall>,
    /// Calls made from inside those that are under way: the model reads nothing of them.
    inner: Vec<OpenCall>,
    last_stop: Option<StopReason>,
    run: Option<RunView>,
    todos: Arc<[Todo]>,
    estimate: u64,
    images: Vec<BlobId>,
    taken: Taken,
    /// The last thing somebody asked for, whatever became of the rest.
    request: Option<Arc<ModelMessage>>,
    shrunk: u32,
    /// Whether the last reply was checked.
    checked: bool,
    /// What people said since the last reply.
    prompts: Vec<(MessageId, Arc<ModelMessage>)>,
    /// What hooks said about calls, until all of these have results.
    aside: Vec<Part>,
    /// The number of the last reply.
    reply_at: u64,
    /// The first thing from outside that the model has read: a web page, what a server said.
    outside: Option<String>,
    /// How much may happen without asking, if that was changed.
    mode: Option<ChangedMode>,
    /// Tasks that were started and of whose end nothing was told.
    tasks: Vec<TaskNote>,
    /// Tasks of whose end a call has told, while the inbox may still hold it.
    told: Vec<RunId>,
    /// Tasks of whose end the conversation knows.
    heard: BTreeSet<RunId>,
}

/// The last message taken from each lane.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Taken {
    mail: u64,
    boundary: u64,
}

impl Taken {
    fn note(&mut self, lane: Lane, position: u64) {
        match lane {
            Lane::Mail => self.mail = position,
            Lane::Boundary => self.boundary = position,
        }
    }
}

/// How much may happen without asking, instead of what the session was started with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChangedMode {
    /// The mode.
    pub mode: PermissionMode,
    /// Whether a person wanted it; an agent can only narrow.
    pub is_wish: bool,
}

/// A call and how far it is.
#[derive(Clone, Debug, PartialEq)]
pub struct OpenCall {
    /// The call.
    pub call: ToolCall,
    /// What may be done again, if it was started.
    pub intent: Option<Repeat>,
    /// What became of it.
    pub result: Option<ToolResult>,
    /// The call it is made from inside of.
    pub inside: Option<CallId>,
}

impl History {
    /// Takes one event in.
    pub fn apply(&mut self, event: &Event) {
        match &event.body {
            EventBody::SessionOpened { forked_from: Some(_), .. } => {
                self.close_open("forked here");
                self.inner.clear();
                self.run = None;
                self.taken = Taken::default();
                // They will be told to the session that started them.
                (self.tasks, self.told) = (Vec::new(), Vec::new());
            }
            EventBody::SessionCleared { reason: ClearReason::Asked } => self.clear(),
            EventBody::SessionCleared { reason: ClearReason::Emergency } => self.start_over(),
            EventBody::ContextCompacted(compaction) => self.shrink(compaction),
            EventBody::RunStarted { mode, message, title, policy, .. } => {
                self.close_open(INTERRUPTED);
                self.run = event.run.clone().map(|id| {
                    let mut run = RunView::new(id, message.clone(), *mode, event.ts);
                    (run.title, run.policy) = (title.clone(), policy.clone());
                    run
                });
            }
            EventBody::InboxDelivered { task, lane, position, .. } => {
                self.taken.note(*lane, *position);
                self.told.retain(|told| told != task);
            }
            EventBody::MessageUser { message, lane, position } => {
                self.take_message(message, *lane, *position);
            }
            EventBody::MessageCompleted(reply) => {
                self.reply_at = event.id.unwrap_or(self.reply_at);
                self.take_reply(reply);
            }
            EventBody::ToolStarted { .. } => self.take_intent(&event.body),
            EventBody::ToolCompleted(record) => self.take_result(record),
            EventBody::RunWaiting { reason: WaitReason::RateLimit | WaitReason::Retry, until, .. } => {
                self.set_waiting(*until);
            }
            EventBody::RunResumed { .. } => self.set_waiting(None),
            EventBody::PermissionRequested { id, call, digest, until, .. } => {
                self.note_asked(id.as_str(), call, digest, *until);
            }
            EventBody::PermissionResolved { id, answer, .. } => {
                self.note_settled(id.as_str(), Some(answer));
            }
            EventBody::QuestionRequested { id, call, until, .. } => {
                self.note_asked(id.as_str(), call, "", *until);
            }
            EventBody::QuestionAnswered { id, .. } => self.note_settled(id.as_str(), None),
            EventBody::ModeChanged { mode, by } => {
                self.mode = mode.map(|mode| ChangedMode { mode, is_wish: by == "user" });
            }
            EventBody::PolicyChanged(policy) => self.hold_to(policy),
            EventBody::HookSaid(note) => self.hear_hook(note),
            EventBody::TodoUpdated { items } => self.todos = items.as_slice().into(),
            EventBody::RunVerified(verdict) => self.take_verdict(verdict),
            EventBody::RunCompleted(_) => {
                self.close_open(INTERRUPTED);
                self.inner.clear();
                self.run = None;
            }
            _ => {}
        }
    }

    /// What may happen in the run without asking is something else now.
    fn hold_to(&mut self, policy: &PolicyNote) {
        if let Some(run) = &mut self.run {
            run.policy = Some(Box::new(policy.clone()));
        }
    }

    /// The conversation for a request. Calls without a result get one that says so.
    pub fn messages(&self) -> Arc<Vec<Arc<ModelMessage>>> {
        let mut messages = self.messages.clone();
        if !self.open.is_empty() {
            Arc::make_mut(&mut messages).push(Arc::new(results_of(&self.open, INTERRUPTED)));
        } else if self.is_cut_off() {
            Arc::make_mut(&mut messages).push(Arc::new(go_on()));
        }
        messages
    }

    /// The run being worked on.
    pub fn run(&self) -> Option<&RunView> {
        self.run.as_ref()
    }

    /// Calls of the last reply that have no result yet, in call order.
    pub fn open_calls(&self) -> impl Iterator<Item = &OpenCall> {
        self.open.iter().filter(|open| open.result.is_none())
    }

    /// Calls made from inside others that have no result yet.
    pub fn inner_calls(&self) -> impl Iterator<Item = &OpenCall> {
        self.inner.iter()
    }

    /// The skill that is followed.
    pub fn skill(&self) -> Option<&SkillNote> {
        self.run.as_ref().and_then(|run| run.skill.as_ref())
    }

    /// How the last reply ended, if it is the last thing that was said.
    pub fn last_reply(&self) -> Option<StopReason> {
        match self.messages.last().map(Arc::as_ref) {
            Some(ModelMessage::Assistant { .. }) if self.open.is_empty() => self.last_stop,
            _ => None,
        }
    }

    /// Whether the last thing said is a reply that hit the model's output limit.
    pub fn is_cut_off(&self) -> bool {
        self.last_reply() == Some(StopReason::MaxOutput)
    }

    /// How often the context was made smaller since the model last replied.
    pub fn shrunk(&self) -> u32 {
        self.shrunk
    }

    /// The last thing somebody asked for.
    pub fn request(&self) -> Option<&Arc<ModelMessage>> {
        self.request.as_ref()
    }

    /// Whether there is anything besides the last request that could be left out.
    pub fn is_shrinkable(&self) -> bool {
        self.messages.len() > 1
    }

    /// Whether the run has used up its turns and has one more, to say how far it got: whoever
    /// delegated it reads nothing else.
    pub fn has_last_word(&self, limits: &Limits) -> bool {
        let is_asked = |run: &RunView| run.mandate.as_ref().is_some_and(|given| given.expects_answer());
        self.run.as_ref().is_some_and(|run| is_asked(run) && run.turns == limits.max_turns)
    }

    /// Whether the work of the run, as it is, was checked.
    pub fn is_checked(&self) -> bool {
        self.checked
    }

    /// Whether the last thing said is what tools answered.
    pub fn ends_with_results(&self) -> bool {
        matches!(self.messages.last().map(Arc::as_ref), Some(ModelMessage::Results(_)))
    }

    /// Whether all is done that the run is for: it was to make one call, which has been made, and nobody has
    /// said anything since.
    pub fn is_made(&self) -> bool {
        self.run.as_ref().is_some_and(|run| run.is_directed && run.turns == 1) && self.prompts.is_empty()
    }

    /// The todo list.
    pub fn todos(&self) -> Arc<[Todo]> {
        self.todos.clone()
    }

    /// The images and files the conversation names, in order.
    pub fn images(&self) -> &[BlobId] {
        &self.images
    }

    /// The last message that was taken from a lane.
    pub fn taken(&self, lane: Lane) -> u64 {
        match lane {
            Lane::Mail => self.taken.mail,
            Lane::Boundary => self.taken.boundary,
        }
    }

    /// The first thing from outside that the model has read, if there is any: its words may want
    /// something else than whoever the work is for.
    pub fn outside(&self) -> Option<&str> {
        self.outside.as_deref()
    }

    /// What people said since the last reply.
    pub(super) fn prompts(&self) -> &[(MessageId, Arc<ModelMessage>)] {
        &self.prompts
    }

    /// How much may happen without asking, if that was changed since the session began.
    pub fn mode(&self) -> Option<ChangedMode> {
        self.mode
    }

    /// The number of the last reply: where a fork that it asks for branches off.
    pub fn reply_at(&self) -> u64 {
        self.reply_at
    }

    /// Tasks that were started and of whose end nothing was told yet.
    pub fn tasks(&self) -> &[TaskNote] {
        &self.tasks
    }

    /// Whether a call has told how this task ended, while the inbox still held it.
    pub fn is_told(&self, task: &RunId) -> bool {
        self.told.contains(task)
    }

    /// Estimated tokens of the conversation.
    pub fn estimate(&self) -> u64 {
        self.estimate
    }

    fn clear(&mut self) {
        let (run, taken, reply_at) = (self.run.take(), self.taken, self.reply_at);
        let (tasks, told) = (std::mem::take(&mut self.tasks), std::mem::take(&mut self.told));
        let (heard, mode) = (std::mem::take(&mut self.heard), self.mode);
        *self = Self { run, taken, reply_at, tasks, told, heard, mode, ..Self::default() };
    }

    /// Forgets everything but the last request.
    fn start_over(&mut self) {
        let (request, shrunk) = (self.request.clone(), self.shrunk + 1);
        self.clear();
        self.shrunk = shrunk;
        if let Some(request) = request {
            // An image may be what did not fit.
            let request = Arc::new(trimmed(&request, usize::MAX));
            self.request = Some(request.clone());
            self.push_shared(request);
        }
    }

    pub(super) fn shrink(&mut self, compaction: &Compaction) {
        self.close_open(INTERRUPTED);
        let kept = usize::try_from(compaction.kept).unwrap_or(usize::MAX).min(self.messages.len());
        let mut older = Arc::unwrap_or_clone(std::mem::take(&mut self.messages));
        let tail = older.split_off(older.len() - kept);
        (self.estimate, self.images) = (0, Vec::new());
        match &compaction.how {
            Shrinking::Summary { summary } => {
                self.push(ModelMessage::User(vec![Part::text(summary.as_str())]))
            }
            Shrinking::Trimmed { chars } => {
                older.iter().for_each(|message| self.push(trimmed(message, *chars)))
            }
        }
        tail.into_iter().for_each(|message| self.push_shared(message));
        self.shrunk += 1;
        if let Some(run) = &mut self.run {
            run.usage += compaction.usage;
        }
    }

    fn push(&mut self, message: ModelMessage) {
        self.push_shared(Arc::new(message));
    }

    fn push_shared(&mut self, message: Arc<ModelMessage>) {
        self.images.extend(images_in(&message));
        self.estimate += window::weigh(&message);
        Arc::make_mut(&mut self.messages).push(message);
    }

    fn take_message(&mut self, message: &Message, lane: Lane, position: u64) {
        self.close_open(INTERRUPTED);
        self.taken.note(lane, position);
        if let (Some(run), Lane::Mail) = (&mut self.run, lane) {
            run.mail = Some(position);
            run.mandate.clone_from(&message.mandate);
            run.is_directed = message.call.is_some();
        }
        if message.outside {
            self.outside.get_or_insert_with(|| "what another agent says".into());
        }
        if let Origin::Task { task, usage, .. } = &message.origin {
            self.hear_of_end(task, Some(*usage));
        }
        let worded = Arc::new(ModelMessage::User(wording::user_parts(message)));
        if let (Some(run), false) = (&mut self.run, matches!(message.origin, Origin::Task { .. })) {
            run.wishes.push(worded.clone());
        }
        if matches!(message.origin, Origin::User | Origin::Connector { .. }) {
            self.prompts.push((message.id.clone(), worded.clone()));
        }
        self.request = Some(worded.clone());
        self.push_shared(worded);
    }

    fn take_reply(&mut self, reply: &ReplyRecord) {
        self.close_open(INTERRUPTED);
        if self.is_cut_off() {
            self.push(go_on());
        }
        (self.shrunk, self.checked) = (0, false);
        self.prompts.clear();
        self.last_stop = Some(reply.stop);
        let calls: Vec<ToolCall> = reply.calls().cloned().collect();
        if let Some(run) = &mut self.run {
            run.note_reply(reply, &calls);
        }
        self.push(ModelMessage::Assistant { model: reply.model.clone(), parts: reply.parts.clone() });
        let open = |call| OpenCall { call, intent: None, result: None, inside: None };
        self.open = calls.into_iter().map(open).collect();
    }

    /// Work that was found wanting goes back to the model, with the reasons.
    fn take_verdict(&mut self, verdict: &Verdict) {
        self.checked = true;
        if let Some(run) = &mut self.run {
            run.verifications = verdict.attempt;
            run.verified = Some(verdict.passed);
            run.usage += verdict.usage;
        }
        for task in verdict.reports.iter().filter_map(|report| report.task.as_ref()) {
            if task.outside {
                self.outside.get_or_insert_with(|| format!("what agent {} says", task.agent));
            }
            self.note_task(task);
        }
        if verdict.again {
            self.push(ModelMessage::User(vec![Part::text(wording::verdict(verdict))]));
        }
    }

    /// A call begins: one of the reply, or one from inside of another.
    fn take_intent(&mut self, body: &EventBody) {
        let EventBody::ToolStarted { call, repeat, kind, tool, title, input, inside, .. } = body else {
            return;
        };
        if *kind == ToolKind::Fetch && self.outside.is_none() {
            self.outside = Some(format!("{tool} {title}"));
        }
        if inside.is_some() {
            let call = ToolCall { id: call.clone(), tool: tool.clone(), input: input.clone() };
            let inside = inside.clone();
            self.inner.push(OpenCall { call, intent: Some(*repeat), result: None, inside });
        } else if let Some(open) = self.open.iter_mut().find(|open| open.call.id == *call) {
            open.intent = Some(*repeat);
        }
    }

    fn take_result(&mut self, record: &ToolRecord) {
        if record.inside.is_some() {
            self.inner.retain(|open| open.call.id != record.call);
            return self.note_result(record);
        }
        let Some(open) =
            self.open.iter_mut().find(|open| open.call.id == record.call && open.result.is_none())
        else {
            return;
        };
        let result = ToolResult {
            call: record.call.clone(),
            outcome: record.outcome,
            content: record.content.clone(),
        };
        open.result = Some(result);
        self.note_result(record);
        if self.open.iter().all(|open| open.result.is_some()) {
            self.close_open(INTERRUPTED);
        }
    }

    /// What a call did to what is known of the world, whoever made it.
    fn note_result(&mut self, record: &ToolRecord) {
        if record.task.as_ref().is_some_and(|task| task.outside) {
            self.outside.get_or_insert_with(|| format!("{} {}", record.tool, record.title));
        }
        if let Some(task) = &record.task {
            self.note_task(task);
        }
        if let Some(run) = &mut self.run {
            run.note_result(record);
        }
    }

    fn note_task(&mut self, task: &TaskNote) {
        match task.status {
            None if self.tasks.iter().all(|known| known.task != task.task) => self.tasks.push(task.clone()),
            None => {}
            Some(_) if self.hear_of_end(&task.task, task.usage) => self.told.push(task.task.clone()),
            Some(_) => {}
        }
    }

    /// A task has ended: nothing is owed any more, and its cost is known.
    /// Says whether that is new.
    fn hear_of_end(&mut self, task: &RunId, usage: Option<Usage>) -> bool {
        self.tasks.retain(|known| known.task != *task);
        if !self.heard.insert(task.clone()) {
            return false;
        }
        if let (Some(run), Some(usage)) = (&mut self.run, usage) {
            run.delegated += usage;
        }
        true
    }

    /// Ends the last reply's calls: those without a result get one with these words.
    fn close_open(&mut self, words: &str) {
        if !self.open.is_empty() {
            let results = results_of(&self.open, words);
            self.open.clear();
            self.push(results);
        }
        if !self.aside.is_empty() {
            let parts = std::mem::take(&mut self.aside);
            self.push(ModelMessage::User(parts));
        }
    }

    /// What a hook says is read after the results it is about. A message it refuses is not read at all.
    fn hear_hook(&mut self, note: &HookNote) {
        if let Some(run) = &mut self.run {
            run.note_hook(note);
        }
        let prompt = self.prompts.iter().position(|(id, _)| note.about.as_deref() == Some(id.as_str()));
        match prompt {
            Some(at) if note.blocks => {
                let (_, message) = self.prompts.remove(at);
                self.leave_out(&message);
            }
            _ if note.text.is_empty() => {}
            _ => {
                self.aside.push(Part::text(wording::hook(note)));
                if self.open.is_empty() {
                    self.close_open(INTERRUPTED);
                }
            }
        }
    }

    fn leave_out(&mut self, message: &Arc<ModelMessage>) {
        Arc::make_mut(&mut self.messages).retain(|kept| !Arc::ptr_eq(kept, message));
        self.estimate = self.estimate.saturating_sub(window::weigh(message));
        if self.request.as_ref().is_some_and(|request| Arc::ptr_eq(request, message)) {
            self.request = None;
        }
    }

    fn set_waiting(&mut self, until: Option<Timestamp>) {
        if let Some(run) = &mut self.run {
            run.waiting_until = until;
        }
    }

    fn note_asked(&mut self, id: &str, call: &CallId, digest: &str, until: Timestamp) {
        if let Some(run) = &mut self.run {
            let (id, call, digest) = (id.to_owned(), call.clone(), digest.to_owned());
            run.asked.push(Asked { id, call, digest, until, settled: false, answer: None });
        }
    }

    fn note_settled(&mut self, id: &str, answer: Option<&Answer>) {
        let asked = self.run.as_mut().and_then(|run| run.asked.iter_mut().find(|asked| asked.id == id));
        if let Some(asked) = asked {
            (asked.settled, asked.answer) = (true, answer.cloned());
        }
    }
}
