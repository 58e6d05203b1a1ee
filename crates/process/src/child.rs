//! The group leader of a started program as a child process: waits for it, and always reaps it.

use std::{io, os::fd::OwnedFd, thread};

use nix::{
    sys::{
        signal::{Signal, kill},
        wait::{WaitPidFlag, WaitStatus, waitpid},
    },
    unistd::Pid,
};
use tokio::io::unix::AsyncFd;

use crate::{clone, sandbox::ForkedCommand};

/// A child that is not reaped yet, so its number is still its own. Dropping it kills and reaps it.
#[derive(Debug)]
pub(crate) struct GroupLeader {
    pid: Pid,
    ending: Option<ExitReason>,
}

impl GroupLeader {
    pub(crate) fn new(pid: Pid) -> Self {
        Self { pid, ending: None }
    }

    pub(crate) fn pid(&self) -> i32 {
        self.pid.as_raw()
    }

    /// How it ended, if it has.
    fn reap(&mut self) -> Option<ExitReason> {
        if self.ending.is_none() {
            self.ending = match waitpid(self.pid, Some(WaitPidFlag::WNOHANG)) {
                Ok(WaitStatus::Exited(_, code)) => Some(ExitReason::Exited(code)),
                Ok(WaitStatus::Signaled(_, signal, _)) => {
                    Some(ExitReason::Signalled(signal as i32))
                }
                Ok(_) => None,
                // There is no such child: other code in this process has reaped it, and its exit status is lost.
                Err(_) => Some(ExitReason::Signalled(0)),
            };
        }
        self.ending
    }
}

impl Drop for GroupLeader {
    fn drop(&mut self) {
        if self.reap().is_some() {
            return;
        }
        let pid = self.pid;
        let _ = kill(pid, Signal::SIGKILL);
        // Reap it on a thread of its own: its death may take a while, and a drop must not block.
        let reaping = move || waitpid(pid, None);
        let _ = thread::Builder::new()
            .name("reaper".to_owned())
            .spawn(reaping);
    }
}

/// A leader that is waited for.
#[derive(Debug)]
pub(crate) struct WatchedChild {
    leader: GroupLeader,
    /// Readable once the leader has ended.
    watch: AsyncFd<OwnedFd>,
}

impl WatchedChild {
    /// Only inside a tokio runtime.
    pub(crate) fn new(leader: GroupLeader, watch: OwnedFd) -> io::Result<Self> {
        Ok(Self {
            leader,
            watch: clone::watch_exit(watch)?,
        })
    }

    /// The child alone, to be waited for elsewhere.
    pub(crate) fn into_parts(self) -> (GroupLeader, OwnedFd) {
        (self.leader, self.watch.into_inner())
    }

    /// Waits for its end; may be asked again. Dropping the wait loses nothing.
    pub(crate) async fn wait(&mut self) -> ExitReason {
        loop {
            if let Some(ending) = self.leader.ending {
                return ending;
            }
            let Ok(mut ready) = self.watch.readable().await else {
                return ExitReason::Signalled(0);
            };
            if self.leader.reap().is_none() {
                ready.clear_ready();
            }
        }
    }
}

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

/// How a program ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExitReason {
    /// By itself, with this code.
    Exited(i32),
    /// By a signal from elsewhere.
    Signalled(i32),
    /// Its time was over and it was killed.
    TimedOut,
    /// It was stopped on request.
    Cancelled,
}
