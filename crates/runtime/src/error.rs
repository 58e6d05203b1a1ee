//! Error type of the runtime itself. A failing tool, child or model is not an error here.

use rooftree_protocol::Problem;

/// The store failed, a request was refused, or the runtime is shutting down.
#[derive(Clone, Debug, thiserror::Error)]
pub enum Error {
    /// The store did not do it.
    #[error(transparent)]
    Store(#[from] rooftree_store::Error),
    /// What was asked cannot be done, and why.
    #[error(transparent)]
    Refused(#[from] Problem),
    /// The runtime is shutting down.
    #[error("the runtime is shutting down")]
    Closed,
}

impl Error {
    /// The same in words for people.
    pub fn problem(&self) -> Problem {
        match self {
            Self::Store(error) => error.problem(),
            Self::Refused(problem) => problem.clone(),
            Self::Closed => Problem::new(rooftree_protocol::ErrorCode::Cancelled, self.to_string()),
        }
    }
}
