//! Kind of a Discord channel: a thread of another one, a channel of a server, or a direct chat.

/// What a channel is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ChannelKind {
    /// The channel that a thread belongs to.
    pub(super) parent: Option<String>,
    pub(super) is_group: bool,
}
