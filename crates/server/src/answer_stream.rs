//! Folds a run's events into the text that is streamed to the HTTP client, and tracks what the run waits for. Pure.
//!
//! All the agent's replies are the answer, with an empty line between two. Fed with all events, it streams
//! pieces as they come; fed with the journal alone, the same text in whole replies. A model that fails in the
//! middle and is retried repeats itself: text that was sent already is not sent twice.

use std::collections::HashMap;

use rooftree_protocol::{
    Event, EventBody, Outcome, RunId, SessionId, Usage,
    event::{ReplyRecord, RunEnd, RunMode, StopReason, WaitReason},
};

/// A piece of the stream for the client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum AnswerPiece {
    /// A piece of the answer.
    Text(String),
    /// A line about what the agent does meanwhile.
    Deed(String),
}

/// Whether such lines are sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AnswerDetail {
    Answer,
    AnswerAndDeeds,
}

/// A permission request or question that must be answered before the run can go on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PendingInquiry {
    /// `permission` or `question`.
    pub(crate) kind: &'static str,
    pub(crate) id: String,
    /// In words.
    pub(crate) about: String,
    session: SessionId,
}

/// A session that works for the run.
struct ChildSession {
    above: SessionId,
    is_background: bool,
    is_at_work: bool,
}

/// Follows one run.
pub(crate) struct AnswerFold {
    session: SessionId,
    run: RunId,
    detail: AnswerDetail,
    /// Text of the current reply that was sent already.
    said: String,
    /// Text of the retried reply so far, while the model repeats itself.
    again: Option<String>,
    /// Separator between the last reply and the next.
    between: &'static str,
    below: HashMap<SessionId, ChildSession>,
    asked: Vec<PendingInquiry>,
    usage: Usage,
    end: Option<Box<RunEnd>>,
}

impl AnswerFold {
    pub(crate) fn new(session: SessionId, run: RunId, detail: AnswerDetail) -> Self {
        Self {
            session,
            run,
            detail,
            said: String::new(),
            again: None,
            between: "",
            below: HashMap::new(),
            asked: Vec::new(),
            usage: Usage::none(),
            end: None,
        }
    }

    /// Takes an event in and returns what to send for it.
    pub(crate) fn apply_event(&mut self, event: &Event) -> Option<AnswerPiece> {
        self.note_question(&event.session, &event.body);
        if event.session == self.session && event.run.as_ref() == Some(&self.run) {
            return self.apply_own_event(event);
        }
        self.track_child(event);
        self.below
            .contains_key(&event.session)
            .then(|| self.activity_line(event))
            .flatten()
    }

    /// Takes in a request that is opened or settled.
    pub(crate) fn note_question(&mut self, session: &SessionId, body: &EventBody) {
        let (kind, id, about) = match body {
            EventBody::PermissionRequested {
                id, tool, title, ..
            } => ("permission", id.to_string(), format!("{tool} {title}")),
            EventBody::QuestionRequested { id, questions, .. } => {
                let asked: Vec<&str> = questions
                    .iter()
                    .map(|question| question.text.as_str())
                    .collect();
                ("question", id.to_string(), asked.join(" "))
            }
            EventBody::PermissionResolved { id, .. } => return self.forget(id.as_str()),
            EventBody::QuestionAnswered { id, .. } => return self.forget(id.as_str()),
            _ => return,
        };
        self.forget(&id);
        self.asked.push(PendingInquiry {
            kind,
            id,
            about,
            session: session.clone(),
        });
    }

    fn forget(&mut self, id: &str) {
        self.asked.retain(|held| held.id != id);
    }

    /// The request that blocks the run: the first one of its own session, which has one run at a time, or of
    /// an agent it waits for. Requests of background agents block no run.
    pub(crate) fn blocking_inquiry(&self) -> Option<&PendingInquiry> {
        self.asked
            .iter()
            .find(|held| self.is_waited_for(&held.session))
    }

    fn is_waited_for(&self, session: &SessionId) -> bool {
        let mut session = session;
        // No longer than there are sessions: a circle ends too.
        for _ in 0..=self.below.len() {
            if *session == self.session {
                return true;
            }
            match self.below.get(session) {
                Some(below) if !below.is_background => session = &below.above,
                _ => return false,
            }
        }
        false
    }

    /// How the run ended, if it has.
    pub(crate) fn end(&self) -> Option<&RunEnd> {
        self.end.as_deref()
    }

    /// Whether an agent it delegated to is still at work.
    pub(crate) fn has_active_children(&self) -> bool {
        self.below.values().any(|below| below.is_at_work)
    }

    /// Usage of the run and of all agents it delegated to, as far as it is known.
    pub(crate) fn usage(&self) -> Usage {
        match &self.end {
            Some(end) => {
                let mut usage = end.usage;
                usage += end.delegated;
                usage
            }
            None => self.usage,
        }
    }

    fn apply_own_event(&mut self, event: &Event) -> Option<AnswerPiece> {
        match &event.body {
            EventBody::MessageDelta { text } => self.piece(text),
            EventBody::MessageCompleted(reply) => {
                self.usage += reply.usage;
                self.whole(reply)
            }
            EventBody::RunWaiting {
                reason: WaitReason::Retry | WaitReason::RateLimit,
                ..
            } => self.restart_reply(),
            EventBody::Notice { code, .. } if code == "fallback" => self.restart_reply(),
            EventBody::RunCompleted(end) => {
                self.end = Some(Box::new(end.clone()));
                None
            }
            _ => self.activity_line(event),
        }
    }

    /// The model request is retried for the same reply.
    fn restart_reply(&mut self) -> Option<AnswerPiece> {
        if !self.said.is_empty() {
            self.again = Some(String::new());
        }
        None
    }

    fn piece(&mut self, text: &str) -> Option<AnswerPiece> {
        let Some(mut again) = self.again.take() else {
            return self.tell(text);
        };
        again.push_str(text);
        if self.said.starts_with(&again) {
            self.again = Some(again);
            return None;
        }
        self.catch_up(&again)
    }

    fn whole(&mut self, reply: &ReplyRecord) -> Option<AnswerPiece> {
        let told = self.catch_up(&reply.text);
        (self.again, self.said) = (None, String::new());
        if !reply.text.is_empty() {
            self.between = if reply.stop == StopReason::MaxOutput {
                ""
            } else {
                "\n\n"
            };
        }
        told
    }

    /// Sends what is missing of a reply. If it does not begin with what was sent so far, all of it is sent.
    fn catch_up(&mut self, reply: &str) -> Option<AnswerPiece> {
        match reply.strip_prefix(self.said.as_str()) {
            Some(rest) => self.tell(rest),
            None => {
                self.said = reply.to_owned();
                Some(AnswerPiece::Text(format!("\n\n{reply}")))
            }
        }
    }

    fn tell(&mut self, text: &str) -> Option<AnswerPiece> {
        if text.is_empty() {
            return None;
        }
        let before = if self.said.is_empty() {
            self.between
        } else {
            ""
        };
        self.said.push_str(text);
        Some(AnswerPiece::Text(format!("{before}{text}")))
    }

    /// Tracks the sessions that work for the run, and whether it waits for them.
    fn track_child(&mut self, event: &Event) {
        match &event.body {
            EventBody::RunStarted {
                parent: Some(parent),
                mode,
                ..
            } => {
                let is_ours = parent.session == self.session && parent.run == self.run;
                if is_ours || self.below.contains_key(&parent.session) {
                    let is_background = *mode == RunMode::Background;
                    let below = ChildSession {
                        above: parent.session.clone(),
                        is_background,
                        is_at_work: true,
                    };
                    self.below.insert(event.session.clone(), below);
                }
            }
            EventBody::RunCompleted(_) => {
                if let Some(below) = self.below.get_mut(&event.session) {
                    below.is_at_work = false;
                }
            }
            EventBody::MessageCompleted(reply) if self.below.contains_key(&event.session) => {
                self.usage += reply.usage;
            }
            _ => {}
        }
    }

    fn activity_line(&self, event: &Event) -> Option<AnswerPiece> {
        if self.detail == AnswerDetail::Answer {
            return None;
        }
        let deed = match &event.body {
            EventBody::ToolStarted { tool, title, .. } => in_a_line(tool, title),
            EventBody::ToolCompleted(record) if record.outcome != Outcome::Done => {
                format!("{} did not succeed", in_a_line(&record.tool, &record.title))
            }
            _ => return None,
        };
        let who = if event.session == self.session {
            String::new()
        } else {
            format!("{} › ", event.agent)
        };
        Some(AnswerPiece::Deed(format!("{who}{deed}\n")))
    }
}

fn in_a_line(tool: &str, title: &str) -> String {
    let title = title.lines().next().unwrap_or_default();
    format!("{tool} {title}").trim_end().to_owned()
}

#[cfg(test)]
mod tests;
