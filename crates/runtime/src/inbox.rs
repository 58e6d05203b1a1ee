//! A session's queue: ordered, stored before it is accepted, read by its agent alone.

use rooftree_protocol::{Lane, Message, MessageId, Origin, Part, SessionId, command::Delivery};
use rooftree_store::{InboxItem, Post};

use crate::{Error, world::World};

/// A message on its way into an inbox.
pub(crate) struct Letter {
    pub(crate) session: SessionId,
    pub(crate) parts: Vec<Part>,
    pub(crate) origin: Origin,
    pub(crate) key: Option<String>,
    pub(crate) delivery: Delivery,
    pub(crate) capacity: u64,
}

/// What the store is asked to keep for a letter. Without a key of its own a letter is its own key.
pub(crate) fn post(world: &World, letter: Letter) -> Post {
    let id = MessageId::from_entropy(world.entropy());
    let key = letter.key.unwrap_or_else(|| id.to_string());
    let (lane, silent) = match letter.delivery {
        Delivery::Queue => (Lane::Mail, false),
        Delivery::Steer => (Lane::Boundary, false),
        Delivery::Silent => (Lane::Boundary, true),
    };
    let message = Message {
        id,
        parts: letter.parts,
        origin: letter.origin,
        silent,
        context: None,
        mandate: None,
        at: world.now(),
    };
    Post { session: letter.session, lane, key, message, capacity: letter.capacity }
}

/// What waits in a lane, in order, as far as the store knows.
pub(crate) async fn waiting(world: &World, session: &SessionId, lane: Lane) -> Result<Vec<InboxItem>, Error> {
    Ok(world.store().waiting(session, lane, at_most(lane)).await?)
}

/// How many messages of a lane are looked at together.
pub(crate) fn at_most(lane: Lane) -> usize {
    if lane == Lane::Mail { 2 } else { 64 }
}
