//! Inboxes of sessions, and commands for the process that owns one. Part of [`Store`](crate::Store).

use rooftree_protocol::{Lane, MessageId, SessionId};

use crate::{
    Claim, CommandRow, InboxChange, InboxChangeOutcome, InboxItem, InboxPost, Pending, PostReceipt,
};

/// Inboxes of sessions, and commands for the process that owns one.
pub trait InboxStore: Send + Sync {
    /// Puts a message into an inbox. The same key in the same session returns the first item's place and stores
    /// nothing; a message without an explicit key uses its id as key and is not deduplicated. A full lane is
    /// [`Error::InboxFull`](crate::Error).
    fn post(&self, post: InboxPost) -> Pending<PostReceipt>;

    /// The same, but a deleted session counts as missing: for callers that have not just looked it up.
    fn post_to_living(&self, post: InboxPost) -> Pending<PostReceipt>;

    /// Leaves a command for whichever process owns the session.
    fn put_command(&self, session: &SessionId, row: CommandRow) -> Pending<()>;

    /// Takes the commands left for a session, oldest first; each is handed out once.
    fn take_commands(&self, claim: &Claim) -> Pending<Vec<CommandRow>>;

    /// Withdraws or replaces a message that was not taken yet. Its place stays. A withdrawn message is still listed by
    /// `waiting`, because its place must be taken; the commit that takes it holds `inbox.dropped` instead of it.
    fn change_waiting(
        &self,
        session: &SessionId,
        message: &MessageId,
        change: InboxChange,
    ) -> Pending<InboxChangeOutcome>;

    /// Items of a lane not yet taken, in order; withdrawn ones included.
    fn waiting(&self, session: &SessionId, lane: Lane, limit: usize) -> Pending<Vec<InboxItem>>;
}
