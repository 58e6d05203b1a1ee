//! Exit reasons of a program: exit code, signal, timeout or cancellation.

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
