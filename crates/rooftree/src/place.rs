//! Where everything is kept: nowhere for long, in a file, or in a store somebody else has opened.

use std::{path::PathBuf, sync::Arc};

use rooftree_protocol::{Confinement, ErrorCode, Problem};
use rooftree_runtime::{exposure, workspace};
use rooftree_store::{SqliteStore, Store};
use rooftree_tools::Confining;
use tempfile::TempDir;

use crate::error::{Error, Result};

/// How much of a directory that is no repository is copied for a child that writes.
const COPY_BYTES: u64 = 500 * 1024 * 1024;
const COPY_FILES: u64 = 20_000;

/// Where everything is kept.
pub(crate) enum Place {
    /// Nowhere for long: in a directory that goes when the work is done.
    Temporary,
    /// In this file.
    File(PathBuf),
    /// In a store somebody else has opened.
    Given(Arc<dyn Store>),
}

impl Place {
    /// Where working copies of children are. Beside a file; never in a directory that goes when the
    /// work is done, because a copy may hold work nobody has taken over.
    pub(crate) fn workspaces(&self) -> workspace::Place {
        let directory = match self {
            Self::File(file) => {
                std::path::absolute(file).unwrap_or_else(|_| file.clone()).with_file_name("workspaces")
            }
            Self::Temporary | Self::Given(_) => std::env::temp_dir().join("rooftree-workspaces"),
        };
        workspace::Place { directory, copy_limit_bytes: COPY_BYTES, copy_limit_files: COPY_FILES }
    }

    /// Where commands of agents find their way back: beside a file. The program that goes it is the
    /// `rooftree` of the PATH, for this one may be any program.
    pub(crate) fn calls(&self) -> Option<exposure::Place> {
        let Self::File(file) = self else { return None };
        let file = std::path::absolute(file).unwrap_or_else(|_| file.clone());
        Some(exposure::Place { directory: file.with_file_name("calls"), program: None })
    }

    /// No command sees the database, and each session has its own `/tmp` beside it.
    pub(crate) fn confining(&self, confinement: Confinement) -> Confining {
        let Self::File(file) = self else { return Confining { confinement, ..Confining::default() } };
        let file = std::path::absolute(file).unwrap_or_else(|_| file.clone());
        let beside = |ending: &str| {
            let mut name = file.clone().into_os_string();
            name.push(ending);
            PathBuf::from(name)
        };
        let scratch = Some(file.with_file_name("scratch"));
        let private = ["", "-wal", "-shm"].map(beside).into();
        Confining { confinement, private, scratch, ..Confining::default() }
    }

    pub(crate) fn open(self) -> Result<(Arc<dyn Store>, Option<TempDir>)> {
        match self {
            Self::Given(store) => Ok((store, None)),
            Self::File(path) => Ok((Arc::new(SqliteStore::open(path)?), None)),
            Self::Temporary => {
                let place = TempDir::with_prefix("rooftree-").map_err(|error| {
                    let problem =
                        Problem::new(ErrorCode::StoreFailed, "cannot make a directory for the session");
                    Error::from(problem.cause(error.to_string()))
                })?;
                let store = SqliteStore::open(place.path().join("rooftree.db"))?;
                Ok((Arc::new(store), Some(place)))
            }
        }
    }
}
