//! File descriptors inherited from the parent process, beyond standard input and output (unsafe code, one line).
#![expect(
    unsafe_code,
    reason = "a number becomes a descriptor, which whoever started this program left to it"
)]

use std::os::fd::{FromRawFd, OwnedFd, RawFd};

use nix::libc;

/// A descriptor this program was started with, by its number; none if it is not open.
///
/// To be asked for once for each number, first thing in `main`, before anything else can have it.
pub(crate) fn inherited_fd(number: RawFd) -> Option<OwnedFd> {
    if number <= libc::STDERR_FILENO {
        return None;
    }
    // SAFETY: only looks whether there is such a descriptor.
    let is_open = unsafe { libc::fcntl(number, libc::F_GETFD) } >= 0;
    // SAFETY: it is open, and nothing else in this program owns it.
    is_open.then(|| unsafe { OwnedFd::from_raw_fd(number) })
}
