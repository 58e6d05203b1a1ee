//! Verifiers of an agent's work: a command, a model that judges, or a function of the embedding program.

use std::{fmt, path::PathBuf, sync::Arc};

use futures::future::BoxFuture;
use rooftree_protocol::{RunId, SessionId, Verifier};

/// The work as a verifier function sees it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct CheckedWork {
    /// The session that did it.
    pub session: SessionId,
    /// In which run.
    pub run: Option<RunId>,
    /// The definition at work.
    pub agent: String,
    /// What it was asked, in short.
    pub asked: String,
    /// What it answered.
    pub answer: String,
    /// Files it changed.
    pub files: Vec<PathBuf>,
    /// Where it works.
    pub cwd: PathBuf,
}

/// A function that checks work. An error says what is wanting, in words for the model.
pub type VerifierFunction =
    Arc<dyn Fn(CheckedWork) -> BoxFuture<'static, Result<(), String>> + Send + Sync>;

/// One way to check work.
#[derive(Clone)]
pub enum WorkCheck {
    /// As files write it.
    Written(Verifier),
    /// By calling a function.
    Function(VerifierFunction),
}

impl From<Verifier> for WorkCheck {
    fn from(verifier: Verifier) -> Self {
        Self::Written(verifier)
    }
}

impl fmt::Debug for WorkCheck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Written(verifier) => verifier.fmt(f),
            Self::Function(_) => f.write_str("a function of the program"),
        }
    }
}

impl CheckedWork {
    /// What the work of one run amounts to.
    pub(crate) fn new(session: &rooftree_protocol::Session) -> Self {
        Self {
            session: session.id.clone(),
            run: None,
            agent: session.agent.clone(),
            asked: String::new(),
            answer: String::new(),
            files: Vec::new(),
            cwd: session.cwd.clone(),
        }
    }
}
