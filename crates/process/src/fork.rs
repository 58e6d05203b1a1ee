//! Forks a process of one thread, such as the sandbox helper (unsafe code, one line).
#![expect(
    unsafe_code,
    reason = "only the helper forks, first thing in `main`, before it can have a second thread"
)]

use nix::unistd::{ForkResult, Pid, fork};

/// Forks this process, which must have one thread only; the child runs `work`, which becomes another
/// program or ends the child.
pub(crate) fn fork_child(work: impl FnOnce()) -> nix::Result<Pid> {
    // SAFETY: with one thread no lock is held by another one, so the child may allocate and call anything.
    match unsafe { fork() }? {
        ForkResult::Parent { child } => Ok(child),
        ForkResult::Child => {
            work();
            std::process::exit(127)
        }
    }
}
