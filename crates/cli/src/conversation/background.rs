//! Tells what happens in a session while its person types: ends of background agents, answers of woken runs, requests.

use rooftree_protocol::{Event, EventBody, SessionId};
use rooftree_runtime::{EventFilter, Handle, TreeSubscription};

use crate::{
    control::owner,
    environment::Environment,
    terminal::{
        self,
        answer_text::AnswerFormat,
        line::{StyledLine, TextStyle},
        plain::PlainView,
        view::{TerminalView, ViewDetail},
    },
};

/// A subscription to a session that no run is followed in.
pub struct BackgroundEvents {
    handle: Handle,
    session: SessionId,
    subscription: TreeSubscription,
    view: PlainView<Vec<u8>>,
    format: AnswerFormat,
    /// The number of the last event of the session that was told.
    pub seen: u64,
}

impl BackgroundEvents {
    /// Listens to what comes after this number.
    pub fn after(
        handle: &Handle,
        session: &SessionId,
        seen: u64,
        environment: &Environment,
    ) -> Self {
        let colours = environment.colours(true);
        let filter = EventFilter {
            session: session.clone(),
            after: seen,
        };
        Self {
            handle: handle.clone(),
            session: session.clone(),
            subscription: handle.subscribe_tree(&owner(), filter),
            view: PlainView::new(Vec::new(), colours, ViewDetail::Usual),
            format: AnswerFormat::of(environment),
            seen,
        }
    }

    /// Waits for the next thing to tell, as lines that end with a line end. Dropping the wait loses nothing.
    pub async fn next(&mut self) -> String {
        loop {
            let Ok(event) = self.subscription.next().await else {
                return std::future::pending().await;
            };
            let is_own = event.session == self.session;
            if is_own {
                self.seen = event.id.unwrap_or(self.seen);
                self.view.show(&event);
            } else {
                self.view.show_delegated(&event);
            }
            let mut text = String::from_utf8_lossy(&self.view.taken()).into_owned();
            match &event.body {
                EventBody::RunCompleted(end) if is_own => {
                    let columns = terminal::width().saturating_sub(1);
                    let answer = self.format.whole(end.text.trim(), columns);
                    text += &format!("{}:\n{}\n", event.agent, answer.trim_end());
                }
                EventBody::RunCompleted(_) => {}
                EventBody::PermissionRequested { .. } | EventBody::QuestionRequested { .. } => {
                    text = self.asked(&event).await;
                }
                // What a delegated agent does step by step was or is shown where it is followed.
                _ if !is_own => text.clear(),
                _ => {}
            }
            if !text.trim().is_empty() {
                return text;
            }
        }
    }

    /// A line about a request, unless it was answered already.
    async fn asked(&self, event: &Event) -> String {
        let id = match &event.body {
            EventBody::PermissionRequested { id, .. } => id.as_str(),
            EventBody::QuestionRequested { id, .. } => id.as_str(),
            _ => return String::new(),
        };
        let inquiry = self.handle.queries(&owner()).inquiry(id).await;
        let is_open = inquiry
            .ok()
            .flatten()
            .is_some_and(|inquiry| inquiry.answer.is_none() && !inquiry.settled);
        if !is_open {
            return String::new();
        }
        let what = match &event.body {
            EventBody::PermissionRequested { tool, title, .. } => format!("wants {tool} {title}"),
            _ => "has a question".to_owned(),
        };
        let line = StyledLine::of(TextStyle::Warning, "? ")
            .with(TextStyle::Strong, &event.agent)
            .with(TextStyle::Plain, format!(" {what}: press Enter to answer"));
        line.paint(self.view.has_colours()) + "\n"
    }
}
