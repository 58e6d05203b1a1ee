//! Error type of the store.

use rooftree_protocol::{ErrorCode, Problem, SessionId};

/// Why a store did not do it.
#[derive(Clone, Debug, thiserror::Error)]
pub enum Error {
    /// Another process has taken over the claim on the session; stop.
    #[error("the claim on the session was taken over")]
    Fenced,
    /// There is no such session.
    #[error("there is no session {0}")]
    NoSession(SessionId),
    /// Another live session has that name.
    #[error("there is already a session called `{0}`")]
    NameTaken(String),
    /// The lane is full.
    #[error("the inbox is full ({0} messages wait)")]
    InboxFull(u64),
    /// A batch did not fit the journal's head or the lane's order: a bug of the caller.
    #[error("out of order: {0}")]
    OutOfOrder(String),
    /// A message was withdrawn or replaced after the caller read it: nothing was written, read it again.
    #[error("the message {0} was withdrawn or replaced meanwhile")]
    Superseded(rooftree_protocol::MessageId),
    /// The disk is full.
    #[error("no space left to store it: {0}")]
    Full(String),
    /// Something that was stored is missing, or a file is cut off. Nothing is written to such a database.
    #[error("the database is damaged: {0}")]
    Damaged(String),
    /// An older program wrote the database; opening it read-only does not migrate the schema.
    #[error(
        "the database has version {0}, which an older rooftree wrote; this one reads version {1}"
    )]
    Older(i64, i64),
    /// The directory or file of the database cannot be written.
    #[error("cannot write {0}")]
    Unwritable(String),
    /// Another process uses the database, or writes the same file.
    #[error("in use: {0}")]
    InUse(String),
    /// The store is broken, busy for too long, or closed.
    #[error("{0}")]
    Failed(String),
}

impl Error {
    /// The same in words for people.
    pub fn problem(&self) -> Problem {
        match self {
            Self::Fenced => Problem::new(ErrorCode::SessionBusy, self.to_string())
                .fix("follow it with: rooftree sessions events ID --follow"),
            Self::NoSession(_) => Problem::new(ErrorCode::SessionNotFound, self.to_string())
                .fix("rooftree sessions list shows what there is"),
            Self::NameTaken(_) => {
                Problem::new(ErrorCode::InvalidArguments, self.to_string()).fix("choose another name")
            }
            Self::InboxFull(_) => Problem::new(ErrorCode::InboxFull, self.to_string())
                .fix("wait until the agent has worked some of it off"),
            Self::Full(_) => Problem::new(ErrorCode::StoreFailed, self.to_string())
                .cause("the disk that holds the database is full")
                .fix("free some space and run the same command again; nothing accepted was lost"),
            Self::Damaged(_) => Problem::new(ErrorCode::StoreFailed, self.to_string()).fix(
                "rooftree doctor salvage saves what can be read to a new file; if you put an older copy there on purpose, remove rooftree.db-mark beside it",
            ),
            Self::Older(..) => Problem::new(ErrorCode::StoreFailed, self.to_string())
                .fix("rooftree sessions list brings it up to date, and so does every command that may write"),
            Self::Unwritable(_) => Problem::new(ErrorCode::StoreFailed, self.to_string())
                .cause("sessions are kept there, and this user may not write there, or the disk is read-only")
                .fix("set ROOFTREE_HOME to a directory that you may write"),
            Self::InUse(_) => Problem::new(ErrorCode::StoreFailed, self.to_string())
                .cause("its files must not be exchanged under a process that has them open")
                .fix("end all rooftree processes (a service: systemctl --user stop rooftree), then try again"),
            Self::OutOfOrder(_) | Self::Superseded(_) | Self::Failed(_) => Problem::new(ErrorCode::StoreFailed, self.to_string())
                .fix("rooftree doctor checks the database"),
        }
    }
}
