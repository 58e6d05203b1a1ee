//! Progress of one session: how far its journal was sent, and what of the reply that is being written.

use rooftree_protocol::{Event, EventBody, MessageId, Session, SessionId, event::ReplyPlace};
use rooftree_view::SessionSnapshot;

/// How far one session was sent.
pub(crate) struct SessionProgress {
    /// The watched session above it, or itself.
    pub(crate) root: SessionId,
    /// The last durable event that was sent or left out.
    position: u64,
    /// The head of its journal when it joined: a snapshot follows it.
    target: u64,
    has_snapshot: bool,
    /// Its metadata as they were sent last.
    meta: Option<Session>,
    /// The reply whose text was sent so far.
    reply: Option<SentReply>,
}

/// How much of a reply was sent.
struct SentReply {
    message: MessageId,
    text: u64,
    thinking: u64,
}

/// How a delta fits to what was sent before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DeltaPlace {
    /// It is none.
    NotDelta,
    /// It continues what was sent.
    Fits,
    /// It was sent already, or a snapshot will tell it.
    Told,
    /// Deltas before it were lost.
    Gap,
}

impl SessionProgress {
    pub(crate) fn new(root: SessionId, after: u64, target: u64) -> Self {
        Self {
            root,
            position: after,
            target,
            has_snapshot: false,
            meta: None,
            reply: None,
        }
    }

    pub(crate) fn position(&self) -> u64 {
        self.position
    }

    pub(crate) fn is_snapshot_due(&self) -> bool {
        !self.has_snapshot && self.position >= self.target
    }

    /// A snapshot was sent.
    pub(crate) fn has_told(&mut self, snapshot: &SessionSnapshot) {
        self.has_snapshot = true;
        self.meta = Some(snapshot.meta.clone());
        self.reply = snapshot.messages.first().map(|draft| SentReply {
            message: draft.id.clone(),
            text: draft.text.len() as u64,
            thinking: draft.thinking.len() as u64,
        });
    }

    /// Notes metadata that are about to be sent. Whether they are other ones than those that were sent last; before the
    /// snapshot they are not sent by themselves.
    pub(crate) fn takes_meta(&mut self, meta: &Session) -> bool {
        let is_other = |sent: &Session| metadata(sent) != metadata(meta);
        let is_news = self.meta.as_ref().is_some_and(is_other);
        if is_news {
            self.meta = Some(meta.clone());
        }
        is_news
    }

    /// Takes an event that is about to be sent.
    pub(crate) fn take(&mut self, event: &Event) -> DeltaPlace {
        match &event.body {
            EventBody::MessageDelta { text, place } => {
                self.take_delta(text, place.as_ref(), |reply| &mut reply.text)
            }
            EventBody::ThinkingDelta { text, place } => {
                self.take_delta(text, place.as_ref(), |reply| &mut reply.thinking)
            }
            _ => {
                if let Some(id) = event.id {
                    self.position = id;
                    // What follows may be another reply. If it is not, the next delta leads to a snapshot.
                    self.reply = None;
                }
                DeltaPlace::NotDelta
            }
        }
    }

    fn take_delta(
        &mut self,
        text: &str,
        place: Option<&ReplyPlace>,
        part: impl FnOnce(&mut SentReply) -> &mut u64,
    ) -> DeltaPlace {
        let Some(ReplyPlace { message, at }) = place else {
            return DeltaPlace::Fits;
        };
        if !self.has_snapshot {
            return DeltaPlace::Told;
        }
        let reply = self.reply.take().filter(|reply| reply.message == *message);
        let is_new = reply.is_none();
        let reply = self.reply.insert(reply.unwrap_or_else(|| SentReply {
            message: message.clone(),
            text: 0,
            thinking: 0,
        }));
        let sent = part(reply);
        match at.cmp(sent) {
            std::cmp::Ordering::Equal => {
                *sent += text.len() as u64;
                DeltaPlace::Fits
            }
            std::cmp::Ordering::Less if !is_new => DeltaPlace::Told,
            _ => DeltaPlace::Gap,
        }
    }
}

/// What of a session people and programs change; the rest follows from its journal.
fn metadata(session: &Session) -> impl PartialEq {
    let Session {
        name,
        model,
        pinned_at,
        deleted_at,
        attributes,
        ..
    } = session;
    (name, model, pinned_at, deleted_at, attributes)
}

#[cfg(test)]
mod tests {
    use rooftree_protocol::Timestamp;

    use super::*;

    fn session() -> SessionId {
        SessionId::from_entropy(1)
    }

    fn event(id: Option<u64>, body: EventBody) -> Event {
        Event {
            v: 1,
            id,
            ts: Timestamp(1),
            session: session(),
            run: None,
            parent_run: None,
            agent: "a".into(),
            who: None,
            body,
        }
    }

    fn delta(message: u128, at: u64, text: &str) -> Event {
        let place = Some(ReplyPlace {
            message: MessageId::from_entropy(message),
            at,
        });
        let text = text.into();
        event(None, EventBody::MessageDelta { text, place })
    }

    #[test]
    fn a_delta_after_lost_ones_is_noticed_and_one_that_was_told_is_left_out() {
        let mut progress = SessionProgress::new(session(), 3, 3);
        assert!(progress.is_snapshot_due());
        assert_eq!(progress.take(&delta(1, 0, "ab")), DeltaPlace::Told);
        progress.has_snapshot = true;
        assert_eq!(progress.take(&delta(1, 0, "ab")), DeltaPlace::Fits);
        assert_eq!(progress.take(&delta(1, 0, "ab")), DeltaPlace::Told);
        assert_eq!(progress.take(&delta(1, 2, "c")), DeltaPlace::Fits);
        assert_eq!(progress.take(&delta(1, 5, "f")), DeltaPlace::Gap);
        assert_eq!(progress.take(&delta(2, 0, "x")), DeltaPlace::Fits);
        let notice = EventBody::TodoUpdated { items: Vec::new() };
        assert_eq!(progress.take(&event(Some(4), notice)), DeltaPlace::NotDelta);
        assert_eq!(progress.position(), 4);
        assert_eq!(progress.take(&delta(2, 1, "y")), DeltaPlace::Gap);
    }
}
