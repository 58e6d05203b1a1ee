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
    /// Its working directory.
    pub cwd: PathBuf,
    /// Its environment variables.
    pub environment: ChildEnvironment,
    /// Its standard input.
    pub input: ProcessInput,
    /// Its sandbox; none: the access of this process.
    pub sandbox: Option<Arc<Sandbox>>,
}

/// Standard input of a program.
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
