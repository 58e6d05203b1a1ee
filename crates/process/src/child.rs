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

use crate::{ExitReason, clone};

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
