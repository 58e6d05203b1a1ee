//! A started program as its process handle waits for it: a child of this process, or a command of a forker.

use crate::{ExitReason, child::WatchedChild, forked_command::ForkedCommand};

/// A program that was started: a child of this process, or a command of a forker.
#[derive(Debug)]
pub(crate) enum StartedChild {
    Own(WatchedChild),
    Forked(Box<ForkedCommand>),
    /// Its end was taken in, and its forker given back.
    Ended(ExitReason),
}

impl StartedChild {
    /// Waits for its end; may be asked again. Dropping the wait loses nothing.
    pub(crate) async fn wait(&mut self) -> ExitReason {
        match self {
            Self::Own(child) => child.wait().await,
            Self::Forked(command) => command.wait().await,
            Self::Ended(ending) => *ending,
        }
    }

    /// Whether it is known that nothing of it is left.
    pub(crate) fn is_swept(&self) -> bool {
        match self {
            Self::Own(_) => false,
            Self::Forked(command) => command.is_swept(),
            Self::Ended(_) => true,
        }
    }

    /// Lets a forker end with its command: it is not used again.
    pub(crate) fn hang_up(&mut self) {
        if let Self::Forked(command) = self {
            command.hang_up();
        }
    }

    /// Gives its forker back, once it has ended.
    pub(crate) fn release(&mut self, ending: ExitReason) {
        if let Self::Forked(command) = std::mem::replace(self, Self::Ended(ending)) {
            command.release();
        }
    }
}
