//! Describes a program to start: arguments, directory, environment, input and sandbox.

use std::{ffi::OsString, os::fd::OwnedFd, path::PathBuf, sync::Arc};

use crate::{ChildEnvironment, sandbox::Sandbox};

/// A program to start.
#[derive(Clone, Debug)]
pub struct SpawnRequest {
    /// A path, or a name looked up in PATH.
    pub program: OsString,
    /// Its arguments.
    pub args: Vec<OsString>,
    /// Where it runs.
    pub cwd: PathBuf,
    /// What it finds in its environment.
    pub environment: ChildEnvironment,
    /// What it can read.
    pub input: ProcessInput,
    /// What it may see and touch; none: whatever this process may.
    pub sandbox: Option<Arc<Sandbox>>,
}

/// What a program reads from its standard input.
#[derive(Clone, Debug, Default)]
pub enum ProcessInput {
    /// Nothing: it ends at once.
    #[default]
    Nothing,
    /// These bytes, then the end.
    Bytes(Vec<u8>),
    /// Whatever can be read here, for as long as it can.
    From(Arc<OwnedFd>),
}
