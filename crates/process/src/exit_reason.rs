//! Exit reason of a program: by itself, by a signal, or because it was ended.

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
