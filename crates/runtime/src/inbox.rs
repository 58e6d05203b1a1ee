//! A session's inbox queue: ordered, stored before a message is accepted, read only by its agent.

use rooftree_protocol::{
    ErrorCode, Lane, Message, MessageId, Origin, Part, Principal, Problem, SessionId, SkillNote,
    ToolCall, command::Delivery,
};
use rooftree_store::{InboxItem, InboxPost, batch_limit};

use crate::{Clock, Error, runtime_context::RuntimeContext};

/// A message on its way into an inbox.
pub(crate) struct OutgoingMessage {
    pub(crate) session: SessionId,
    pub(crate) parts: Vec<Part>,
    pub(crate) origin: Origin,
    pub(crate) key: Option<String>,
    pub(crate) delivery: Delivery,
    pub(crate) capacity: u64,
    /// A call to make instead of asking the model what to do.
    pub(crate) call: Option<Box<ToolCall>>,
    /// The only tools to be used in its run.
    pub(crate) restriction: Option<Box<SkillNote>>,
    /// A line about the sender's surroundings, kept verbatim.
    pub(crate) context: Option<String>,
    /// Who sends it.
    pub(crate) who: Option<Box<Principal>>,
}

/// Converts an outgoing message to a post. Without an explicit key the message's id is the key.
pub(crate) fn post(clock: &dyn Clock, outgoing: OutgoingMessage) -> InboxPost {
    let id = MessageId::from_entropy(clock.entropy());
    let key = outgoing.key.unwrap_or_else(|| id.to_string());
    let (lane, silent) = match outgoing.delivery {
        Delivery::Queue => (Lane::Mail, false),
        Delivery::Steer => (Lane::Boundary, false),
        Delivery::Silent => (Lane::Boundary, true),
    };
    let message = Message {
        id,
        parts: outgoing.parts,
        origin: outgoing.origin,
        silent,
        outside: false,
        context: outgoing.context,
        mandate: None,
        call: outgoing.call,
        restriction: outgoing.restriction,
        revision: 0,
        who: outgoing.who,
        at: clock.now(),
    };
    InboxPost {
        session: outgoing.session,
        lane,
        key,
        message,
        capacity: outgoing.capacity,
    }
}

/// The error for a different message under the same idempotency key: taking it for the first would lose it, and taking
/// it for a new one would make the key worth nothing.
pub(crate) fn used(key: &str) -> Problem {
    Problem::new(
        ErrorCode::InvalidArguments,
        format!("the key `{key}` was used for another message"),
    )
    .cause("a key stands for one message, so that sending it again does nothing twice")
    .fix("send the same message again, or give this one a key of its own")
}

/// Messages that wait in a lane, in order, as far as the store knows.
pub(crate) async fn waiting(
    context: &RuntimeContext,
    session: &SessionId,
    lane: Lane,
) -> Result<Vec<InboxItem>, Error> {
    Ok(context
        .store()
        .waiting(session, lane, batch_limit(lane))
        .await?)
}

/// Messages that waited when the session was claimed: an agent that has just woken need not query them.
pub(crate) struct InboxPrefetch(Vec<(Lane, Vec<InboxItem>)>);

impl InboxPrefetch {
    pub(crate) fn new(waiting: impl IntoIterator<Item = (Lane, Vec<InboxItem>)>) -> Self {
        Self(waiting.into_iter().collect())
    }

    /// The prefetched messages of a lane. Each lane is returned once: later there may be more.
    pub(crate) fn take(&mut self, lane: Lane) -> Option<Vec<InboxItem>> {
        let at = self.0.iter().position(|(of, _)| *of == lane)?;
        Some(self.0.swap_remove(at).1)
    }

    /// Something new has come.
    pub(crate) fn forget(&mut self) {
        self.0.clear();
    }
}
