//! Applies each kind of event to a history (the fold of the journal).

use std::sync::Arc;

use rooftree_protocol::{
    Answer, CallId, EventBody, Lane, Message, Origin, Outcome, Part, PromptContext, RunId,
    SessionId, SpawnGroup, Timestamp, ToolCall, ToolResult, Usage,
    event::{HookNote, PolicyNote, ReplyRecord, TaskNote, ToolRecord, Verdict},
    file_undo::FileUndo,
};
use rooftree_providers::ModelMessage;
use rooftree_tools::returns_outside_text;

use super::{History, INTERRUPTED, OpenToolCall, go_on, images_in, results_of};
use crate::{
    agent::{
        message_text,
        run_view::{RunInquiry, RunRoute},
        window,
    },
    hand_back,
};

impl History {
    /// Applies a changed permission policy of the run.
    pub(super) fn hold_to(&mut self, policy: &PolicyNote) {
        if let Some(run) = &mut self.run {
            run.rights.policy = Some(Box::new(policy.clone()));
        }
    }

    pub(super) fn push(&mut self, message: ModelMessage) {
        self.push_shared(Arc::new(message));
    }

    pub(super) fn push_shared(&mut self, message: Arc<ModelMessage>) {
        self.conversation.images.extend(images_in(&message));
        self.conversation.estimate += window::weigh(&message);
        Arc::make_mut(&mut self.conversation.messages).push(message);
    }

    pub(super) fn take_message(&mut self, message: &Message, lane: Lane, position: u64) {
        self.close_open(INTERRUPTED);
        self.taken.note(lane, position);
        if let (Some(run), Lane::Mail) = (&mut self.run, lane) {
            run.mail = Some(position);
            run.mandate.clone_from(&message.mandate);
            (run.budget, run.context) = match &message.origin {
                Origin::Schedule {
                    budget, context, ..
                } => (*budget, *context),
                _ => (None, PromptContext::Full),
            };
            run.is_directed = message.call.is_some();
            run.hands_back = hand_back::is_request(message);
        }
        if let Some(run) = &mut self.run
            && run.message == message.id
        {
            run.route = RunRoute::of(&message.origin);
        }
        if let (Some(run), Some(restriction)) = (&mut self.run, &message.restriction) {
            run.rights.commands.push(restriction.as_ref().clone());
        }
        self.take_woken_mandate(message);
        self.keep_last_mandate();
        if message.outside {
            self.outside
                .get_or_insert_with(|| "what another agent says".into());
        }
        if let Origin::Task { task, usage, .. } = &message.origin {
            self.hear_of_end(task, Some(*usage));
        }
        let worded = Arc::new(ModelMessage::User(message_text::user_parts(
            message, &self.mark,
        )));
        if let (Some(run), false) = (&mut self.run, matches!(message.origin, Origin::Task { .. })) {
            run.work.requests.push(worded.clone());
        }
        if matches!(message.origin, Origin::User | Origin::Connector { .. }) {
            self.conversation
                .prompts
                .push((message.id.clone(), worded.clone()));
        }
        self.conversation.request = Some(worded.clone());
        self.push_shared(worded);
    }

    /// A message of the runtime in the conversation, so that what stands before it stays the same.
    pub(super) fn tell_surroundings(&mut self, text: &str) {
        let told = message_text::surroundings(text, &self.mark);
        self.push(ModelMessage::User(vec![Part::text(told)]));
        self.conversation.surroundings = Some(text.to_owned());
    }

    pub(super) fn take_reply(&mut self, reply: &ReplyRecord) {
        self.close_open(INTERRUPTED);
        if self.is_cut_off() {
            self.push(go_on());
        }
        (self.shrunk, self.checked) = (0, false);
        self.conversation.prompts.clear();
        self.calls.last_stop = Some(reply.stop);
        let calls: Vec<ToolCall> = reply.calls().cloned().collect();
        if let Some(run) = &mut self.run {
            run.note_reply(reply, &calls);
        }
        self.push(ModelMessage::Assistant {
            model: reply.model.clone(),
            parts: reply.parts.clone(),
        });
        let open = |call| OpenToolCall {
            call,
            intent: None,
            kind: None,
            result: None,
            inside: None,
        };
        self.calls.open = calls.into_iter().map(open).collect();
    }

    /// Work that was found wanting goes back to the model, with the reasons.
    pub(super) fn take_verdict(&mut self, verdict: &Verdict) {
        self.checked = true;
        if let Some(run) = &mut self.run {
            run.verification.attempts = verdict.attempt;
            run.verification.passed = Some(verdict.passed);
            run.verification.failed_checks = verdict
                .reports
                .iter()
                .filter(|report| !report.passed)
                .cloned()
                .collect();
            run.progress.usage += verdict.usage;
        }
        for task in verdict
            .reports
            .iter()
            .filter_map(|report| report.task.as_ref())
        {
            if task.outside {
                self.outside
                    .get_or_insert_with(|| format!("what agent {} says", task.agent));
            }
            self.note_task(task);
        }
        if verdict.again {
            self.push(ModelMessage::User(vec![Part::text(message_text::verdict(
                verdict, &self.mark,
            ))]));
        }
    }

    /// Files were taken back: the model reads which, since what it remembers of them is not true any more.
    pub(super) fn take_undo(&mut self, undo: &FileUndo) {
        self.close_open(INTERRUPTED);
        let words = message_text::files_undone(undo, &self.mark);
        self.push(ModelMessage::User(vec![Part::text(words)]));
    }

    /// A call begins: one of the reply, or one from inside of another.
    pub(super) fn take_intent(&mut self, body: &EventBody) {
        let EventBody::ToolStarted {
            call,
            repeat,
            kind,
            tool,
            title,
            input,
            inside,
            ..
        } = body
        else {
            return;
        };
        if self.outside.is_none() && returns_outside_text(*kind, tool, input) {
            self.outside = Some(format!("{tool} {title}"));
        }
        if inside.is_some() {
            let call = ToolCall {
                id: call.clone(),
                tool: tool.clone(),
                input: input.clone(),
            };
            let inside = inside.clone();
            self.calls.nested.push(OpenToolCall {
                call,
                intent: Some(*repeat),
                kind: Some(*kind),
                result: None,
                inside,
            });
        } else if let Some(open) = self
            .calls
            .open
            .iter_mut()
            .find(|open| open.call.id == *call)
        {
            (open.intent, open.kind) = (Some(*repeat), Some(*kind));
        }
    }

    pub(super) fn take_result(&mut self, record: &ToolRecord) {
        if record.inside.is_some() {
            self.calls.nested.retain(|open| open.call.id != record.call);
            return self.note_result(record);
        }
        let Some(open) = self
            .calls
            .open
            .iter_mut()
            .find(|open| open.call.id == record.call && open.result.is_none())
        else {
            return;
        };
        let result = ToolResult {
            call: record.call.clone(),
            outcome: record.outcome,
            content: message_text::result_parts(record, open.kind, &self.mark),
        };
        open.result = Some(result);
        let is_made = open.intent.is_some() || record.outcome != Outcome::Cancelled;
        self.note_result(record);
        if let (false, Some(run)) = (is_made, &mut self.run) {
            // The run ended before the call began: it has a result and is no call that was made.
            run.progress.calls = run.progress.calls.saturating_sub(1);
        }
        if self.calls.open.iter().all(|open| open.result.is_some()) {
            self.close_open(INTERRUPTED);
        }
    }

    /// Records the effects of a call (outside content, tasks, run state), whether the model or a command made it.
    pub(super) fn note_result(&mut self, record: &ToolRecord) {
        if record.task.as_ref().is_some_and(|task| task.outside) {
            self.outside
                .get_or_insert_with(|| format!("{} {}", record.tool, record.title));
        }
        if let Some(task) = &record.task {
            self.note_task(task);
        }
        if let Some(run) = &mut self.run {
            run.note_result(record);
        }
    }

    pub(super) fn note_task(&mut self, task: &TaskNote) {
        match task.status {
            None if self.tasks.open.iter().all(|known| known.task != task.task) => {
                self.tasks.open.push(task.clone());
                self.keep_mandate(&task.task);
            }
            None => {}
            Some(_) if self.hear_of_end(&task.task, task.usage) => {
                self.tasks.told.push(task.task.clone())
            }
            Some(_) => {}
        }
    }

    /// A task has ended: nothing is owed any more, and its cost is known.
    /// Says whether that is new.
    pub(super) fn hear_of_end(&mut self, task: &RunId, usage: Option<Usage>) -> bool {
        self.tasks.open.retain(|known| known.task != *task);
        self.tasks.mandates.retain(|known| known.task != *task);
        if !self.tasks.ended.insert(task.clone()) {
            return false;
        }
        if let (Some(run), Some(usage)) = (&mut self.run, usage) {
            run.progress.delegated += usage;
        }
        true
    }

    /// Ends the last reply's calls: those without a result get one with these words.
    pub(super) fn close_open(&mut self, words: &str) {
        if !self.calls.open.is_empty() {
            let results = results_of(&self.calls.open, words);
            self.calls.open.clear();
            self.push(results);
        }
        if !self.calls.hook_texts.is_empty() {
            let parts = std::mem::take(&mut self.calls.hook_texts);
            self.push(ModelMessage::User(parts));
        }
    }

    /// Applies a hook's answer: its text is read after the results it is about. A message it refuses is not read at
    /// all.
    pub(super) fn hear_hook(&mut self, note: &HookNote) {
        if let Some(run) = &mut self.run {
            run.note_hook(note);
        }
        let prompt = self
            .conversation
            .prompts
            .iter()
            .position(|(id, _)| note.about.as_deref() == Some(id.as_str()));
        match prompt {
            Some(at) if note.blocks => {
                let (_, message) = self.conversation.prompts.remove(at);
                self.leave_out(&message);
            }
            _ if note.text.is_empty() => {}
            _ => {
                self.calls
                    .hook_texts
                    .push(Part::text(message_text::hook(note, &self.mark)));
                if self.calls.open.is_empty() {
                    self.close_open(INTERRUPTED);
                }
            }
        }
    }

    pub(super) fn leave_out(&mut self, message: &Arc<ModelMessage>) {
        Arc::make_mut(&mut self.conversation.messages).retain(|kept| !Arc::ptr_eq(kept, message));
        self.conversation.estimate = self
            .conversation
            .estimate
            .saturating_sub(window::weigh(message));
        if self
            .conversation
            .request
            .as_ref()
            .is_some_and(|request| Arc::ptr_eq(request, message))
        {
            self.conversation.request = None;
        }
    }

    pub(super) fn set_waiting(&mut self, until: Option<Timestamp>) {
        if let Some(run) = &mut self.run {
            run.waits.until = until;
        }
    }

    /// Records that the next question was also posted to this session.
    pub(super) fn set_told(&mut self, told: Option<SessionId>) {
        if let Some(run) = &mut self.run {
            run.waits.told = told;
        }
    }

    pub(super) fn note_asked(
        &mut self,
        id: &str,
        call: &CallId,
        (digest, spawn): (&str, &[SpawnGroup]),
        until: Timestamp,
    ) {
        if let Some(run) = &mut self.run {
            let (id, call, digest) = (id.to_owned(), call.clone(), digest.to_owned());
            let told = run.waits.told.take();
            run.waits.asked.push(RunInquiry {
                id,
                call,
                digest,
                spawn: spawn.to_vec(),
                until,
                told,
                settled: false,
                answer: None,
            });
        }
    }

    pub(super) fn note_settled(&mut self, id: &str, answer: Option<&Answer>) {
        let asked = self
            .run
            .as_mut()
            .and_then(|run| run.waits.asked.iter_mut().find(|asked| asked.id == id));
        if let Some(asked) = asked {
            (asked.settled, asked.answer) = (true, answer.cloned());
        }
    }
}
