//! Folds a run's events into the text that is streamed to the HTTP client, and tracks what the run waits for. Pure.
//!
//! All the agent's replies are the answer, with an empty line between two. Fed with all events, it streams
//! pieces as they come; fed with the journal alone, the same text in whole replies. A model that fails in the
//! middle and is retried repeats itself: text that was sent already is not sent twice.

use rooftree_protocol::{
    Event, EventBody, Outcome, RunId, SessionId, Usage,
    event::{ReplyRecord, RunEnd, RunMode, StopReason, WaitReason},
};
use rooftree_view::{OpenInquiry, ReplyPiece, RunTreeView, StreamedReply, TreeRun};

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

/// Follows one run.
pub(crate) struct AnswerFold {
    session: SessionId,
    run: RunId,
    detail: AnswerDetail,
    tree: RunTreeView,
    /// What of the current reply was sent already.
    reply: StreamedReply,
    /// Separator between the last reply and the next.
    between: &'static str,
}

impl AnswerFold {
    pub(crate) fn new(session: SessionId, run: RunId, detail: AnswerDetail) -> Self {
        Self {
            tree: RunTreeView::of(session.clone()),
            session,
            run,
            detail,
            reply: StreamedReply::default(),
            between: "",
        }
    }

    /// Takes an event in and returns what to send for it.
    pub(crate) fn apply_event(&mut self, event: &Event) -> Option<AnswerPiece> {
        self.tree.apply(event);
        if event.session == self.session && event.run.as_ref() == Some(&self.run) {
            return self.apply_own_event(event);
        }
        let is_ours = self.run_above(&event.session).is_some();
        is_ours.then(|| self.activity_line(event)).flatten()
    }

    /// Takes in a request that was open before the subscription began.
    pub(crate) fn add_inquiry(&mut self, inquiry: OpenInquiry) {
        self.tree.add_inquiry(inquiry);
    }

    /// The request that blocks the run: the first one of its own session, which has one run at a time, or of
    /// an agent it waits for. Requests of background agents block no run.
    pub(crate) fn blocking_inquiry(&self) -> Option<&OpenInquiry> {
        let mut inquiries = self.tree.inquiries().iter();
        inquiries.find(|open| self.is_waited_for(&open.session))
    }

    fn is_waited_for(&self, session: &SessionId) -> bool {
        let mut session = session;
        // No longer than there are sessions: a circle ends too.
        for _ in 0..=self.tree.sessions().len() {
            if *session == self.session {
                return true;
            }
            match self.run_above(session) {
                Some((run, above)) if run.mode() != RunMode::Background => session = above,
                _ => return false,
            }
        }
        false
    }

    /// The last run of a session that works for this run, and the session that delegated it.
    fn run_above<'a>(&'a self, session: &'a SessionId) -> Option<(&'a TreeRun, &'a SessionId)> {
        let delegated = self
            .tree
            .runs_in(session)
            .filter(|run| run.origin.mode.is_some());
        let last = delegated.filter(|run| run.origin.parent.is_some()).last()?;
        let is_ours = *session != self.session && self.tree.is_within(&last.run, &self.run);
        let above = &last.origin.parent.as_ref()?.session;
        is_ours.then_some((last, above))
    }

    /// How the run ended, if it has.
    pub(crate) fn end(&self) -> Option<&RunEnd> {
        self.tree.run(&self.run)?.end.as_deref()
    }

    /// Whether an agent it delegated to is still at work.
    pub(crate) fn has_active_children(&self) -> bool {
        self.runs_below().any(|run| run.end.is_none())
    }

    fn runs_below(&self) -> impl Iterator<Item = &TreeRun> {
        let below = self
            .tree
            .delegated()
            .filter(|run| run.origin.mode.is_some());
        below.filter(|run| self.tree.is_within(&run.run, &self.run))
    }

    /// Usage of the run and of all agents it delegated to, as far as it is known.
    pub(crate) fn usage(&self) -> Usage {
        let mut usage = Usage::none();
        let own = self.tree.run(&self.run);
        if let Some(end) = own.and_then(|run| run.end.as_ref()) {
            usage += end.usage;
            usage += end.delegated;
            return usage;
        }
        for run in own.into_iter().chain(self.runs_below()) {
            run.counts.by_model.values().for_each(|used| usage += *used);
        }
        usage
    }

    fn apply_own_event(&mut self, event: &Event) -> Option<AnswerPiece> {
        match &event.body {
            EventBody::MessageDelta { text, .. } => {
                let is_first = self.reply.is_empty();
                let piece = self.reply.delta(text);
                self.tell(is_first, piece)
            }
            EventBody::MessageCompleted(reply) => self.whole(reply),
            // The model request is retried for the same reply.
            EventBody::RunWaiting {
                reason: WaitReason::Retry | WaitReason::RateLimit,
                ..
            } => {
                self.reply.restart();
                None
            }
            EventBody::Notice { code, .. } if code == "fallback" => {
                self.reply.restart();
                None
            }
            EventBody::RunCompleted(_) => None,
            _ => self.activity_line(event),
        }
    }

    fn whole(&mut self, reply: &ReplyRecord) -> Option<AnswerPiece> {
        let is_first = self.reply.is_empty();
        let piece = self.reply.whole(&reply.text);
        let told = self.tell(is_first, piece);
        if !reply.text.is_empty() {
            self.between = if reply.stop == StopReason::MaxOutput {
                ""
            } else {
                "\n\n"
            };
        }
        told
    }

    /// What is sent for a piece. A reply that does not begin with what was sent so far is sent as another one.
    fn tell(&self, is_first: bool, piece: ReplyPiece) -> Option<AnswerPiece> {
        let text = match piece {
            ReplyPiece::Rest(rest) if rest.is_empty() => return None,
            ReplyPiece::Rest(rest) if is_first => format!("{}{rest}", self.between),
            ReplyPiece::Rest(rest) => rest,
            ReplyPiece::Anew(reply) => format!("\n\n{reply}"),
        };
        Some(AnswerPiece::Text(text))
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
