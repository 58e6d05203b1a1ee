//! Adds up the tokens and the cost of a session and of the sessions below it, for `/cost`.

use rooftree_protocol::{EventBody, Problem, SessionId, Usage};
use rooftree_store::SessionFilter;

use super::line_mode::{ConversationStep, LineMode};
use crate::{control::owner, terminal::run_text};

/// Sessions below a session that are added up.
const DEEPEST: usize = 8;

impl LineMode<'_> {
    /// Tokens and cost of the session and of those below it.
    pub(super) async fn cost(&self) -> Result<ConversationStep, Problem> {
        if let Some(session) = &self.state.session {
            let (mut usage, mut below) = (Usage::none(), Usage::none());
            self.add_usage(&session.id, &mut usage).await?;
            self.add_usage_below(&session.id, &mut below).await?;
            let words = |usage: &Usage| {
                let tokens = run_text::tokens(usage.total());
                format!("{tokens} · {}", run_text::money(usage))
            };
            self.note(&format!("this session: {}", words(&usage)));
            if below.total() > 0 {
                self.note(&format!("agents it delegated to: {}", words(&below)));
            }
        }
        Ok(ConversationStep::Ask)
    }

    async fn add_usage(&self, session: &SessionId, into: &mut Usage) -> Result<(), Problem> {
        let queries = self.handle.queries(&owner());
        let events = queries.all_events(session, 0).await;
        for event in events.map_err(|error| error.problem())? {
            if event.session != *session {
                continue;
            }
            match &event.body {
                EventBody::RunCompleted(end) => *into += end.usage,
                // In a run it is part of what the run used.
                EventBody::ContextCompacted(done) if event.run.is_none() => *into += done.usage,
                _ => {}
            }
        }
        Ok(())
    }

    async fn add_usage_below(&self, root: &SessionId, into: &mut Usage) -> Result<(), Problem> {
        let queries = self.handle.queries(&owner());
        let mut level = vec![root.clone()];
        for _ in 0..DEEPEST {
            let mut next = Vec::new();
            for parent in level {
                let filter = SessionFilter {
                    parent: Some(parent),
                    ..SessionFilter::default()
                };
                let children = queries.sessions(filter).await;
                for child in children.map_err(|error| error.problem())? {
                    self.add_usage(&child.id, into).await?;
                    next.push(child.id);
                }
            }
            level = next;
        }
        Ok(())
    }
}
