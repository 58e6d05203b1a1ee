//! Drafts: the text of replies that models are writing now, for subscribers that join in the middle of one.
//!
//! Every delta says how many bytes came before it, so a subscriber that reads a draft and then hears deltas knows which
//! of them it has already.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use rooftree_protocol::{MessageId, RunId, SessionId, event::ReplyPlace};

/// What a model has written of a reply so far, without secrets.
#[derive(Clone, Debug, PartialEq)]
pub struct ReplyDraft {
    /// The reply.
    pub message: MessageId,
    /// The run that asked for it.
    pub run: Option<RunId>,
    /// Its text so far.
    pub text: String,
    /// The thinking so far.
    pub thinking: String,
}

type SharedDraft = Arc<Mutex<ReplyDraft>>;

/// The drafts of all sessions of this process. Cheap to clone.
#[derive(Clone, Default)]
pub(crate) struct ReplyDrafts(Arc<Mutex<HashMap<SessionId, SharedDraft>>>);

impl ReplyDrafts {
    /// Begins a reply; its draft is there until the returned value is dropped.
    pub(crate) fn begin(
        &self,
        session: &SessionId,
        run: Option<RunId>,
        message: MessageId,
    ) -> OpenDraft {
        let draft = Arc::new(Mutex::new(ReplyDraft {
            message,
            run,
            text: String::new(),
            thinking: String::new(),
        }));
        let mut drafts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        drafts.insert(session.clone(), draft.clone());
        OpenDraft {
            drafts: self.clone(),
            session: session.clone(),
            draft,
        }
    }

    /// The reply that is being written in a session, if one is.
    pub(crate) fn of(&self, session: &SessionId) -> Option<ReplyDraft> {
        let drafts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let draft = drafts.get(session).cloned();
        drop(drafts);
        draft.map(|draft| lock(&draft).clone())
    }
}

/// A draft that is being written.
pub(crate) struct OpenDraft {
    drafts: ReplyDrafts,
    session: SessionId,
    draft: SharedDraft,
}

impl OpenDraft {
    /// Adds a piece of text; returns its place.
    pub(crate) fn text(&self, piece: &str) -> ReplyPlace {
        self.add(piece, |draft| &mut draft.text)
    }

    /// Adds a piece of thinking; returns its place.
    pub(crate) fn thinking(&self, piece: &str) -> ReplyPlace {
        self.add(piece, |draft| &mut draft.thinking)
    }

    fn add(&self, piece: &str, part: impl FnOnce(&mut ReplyDraft) -> &mut String) -> ReplyPlace {
        let mut draft = lock(&self.draft);
        let message = draft.message.clone();
        let text = part(&mut draft);
        let at = text.len() as u64;
        text.push_str(piece);
        ReplyPlace { message, at }
    }
}

impl Drop for OpenDraft {
    fn drop(&mut self) {
        let mut drafts = self.drafts.0.lock().unwrap_or_else(PoisonError::into_inner);
        if drafts
            .get(&self.session)
            .is_some_and(|known| Arc::ptr_eq(known, &self.draft))
        {
            drafts.remove(&self.session);
        }
    }
}

fn lock(draft: &SharedDraft) -> std::sync::MutexGuard<'_, ReplyDraft> {
    draft.lock().unwrap_or_else(PoisonError::into_inner)
}
