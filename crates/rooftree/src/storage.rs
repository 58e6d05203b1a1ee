//! Storage of a runtime: a temporary directory, a SQLite file, or a store the caller has opened.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use rooftree_protocol::{Confinement, ErrorCode, Problem};
use rooftree_runtime::{WorkspaceConfig, exposure};
use rooftree_store::{SqliteStore, Store};
use rooftree_tools::SandboxConfig;
use tempfile::TempDir;

use crate::error::{Error, Result};

/// How much of a directory that is no repository is copied for a child that writes.
const COPY_BYTES: u64 = 500 * 1024 * 1024;
const COPY_FILES: u64 = 20_000;

/// Where a [`Runtime`](crate::Runtime) keeps everything: the path of a SQLite file, which is made if it is not
/// there, or a store that is open.
pub struct Storage(pub(crate) StorageLocation);

/// Where everything is kept.
pub(crate) enum StorageLocation {
    /// Only temporarily: in a directory that is deleted when the work is done.
    Temporary,
    /// In this file.
    File(PathBuf),
    /// In a store the caller has opened, and its file if it has one.
    Given(Arc<dyn Store>, Option<PathBuf>),
}

impl StorageLocation {
    /// The file it is, if it is one, wherever the process is later.
    fn file(&self) -> Option<PathBuf> {
        match self {
            Self::File(file) | Self::Given(_, Some(file)) => {
                Some(std::path::absolute(file).unwrap_or_else(|_| file.clone()))
            }
            Self::Temporary | Self::Given(_, None) => None,
        }
    }

    /// Where working copies of children are. Beside a file; never in a directory that is deleted when the
    /// work is done, because a copy may hold work that was not taken over.
    pub(crate) fn workspaces(&self) -> WorkspaceConfig {
        let directory = match self.file() {
            Some(file) => file.with_file_name("workspaces"),
            None => std::env::temp_dir().join("rooftree-workspaces"),
        };
        WorkspaceConfig {
            directory,
            copy_limit_bytes: COPY_BYTES,
            copy_limit_files: COPY_FILES,
        }
    }

    /// The socket through which commands of agents call tools: beside a file. They use the `rooftree` of the
    /// PATH, for this one may be any program.
    pub(crate) fn call_socket_location(&self) -> Option<exposure::CallSocketConfig> {
        let directory = self.file()?.with_file_name("calls");
        Some(exposure::CallSocketConfig {
            directory,
            program: None,
        })
    }

    /// No command sees the database, and each session has its own `/tmp` beside it.
    pub(crate) fn confining(&self, confinement: Confinement) -> SandboxConfig {
        let Some(file) = self.file() else {
            return SandboxConfig {
                confinement,
                ..SandboxConfig::default()
            };
        };
        let beside = |ending: &str| {
            let mut name = file.clone().into_os_string();
            name.push(ending);
            PathBuf::from(name)
        };
        let scratch = Some(file.with_file_name("scratch"));
        let private = ["", "-wal", "-shm"].map(beside).into();
        SandboxConfig {
            confinement,
            private,
            scratch,
            ..SandboxConfig::default()
        }
    }

    pub(crate) fn open(self) -> Result<(Arc<dyn Store>, Option<TempDir>)> {
        match self {
            Self::Given(store, _) => Ok((store, None)),
            Self::File(path) => Ok((Arc::new(SqliteStore::open(path)?), None)),
            Self::Temporary => {
                let place = TempDir::with_prefix("rooftree-").map_err(|error| {
                    let problem = Problem::new(
                        ErrorCode::StoreFailed,
                        "cannot make a directory for the session",
                    );
                    Error::from(problem.cause(error.to_string()))
                })?;
                let store = SqliteStore::open(place.path().join("rooftree.db"))?;
                Ok((Arc::new(store), Some(place)))
            }
        }
    }
}

impl From<SqliteStore> for Storage {
    fn from(store: SqliteStore) -> Self {
        let file = store.path().to_owned();
        Self(StorageLocation::Given(Arc::new(store), Some(file)))
    }
}

impl From<Arc<dyn Store>> for Storage {
    fn from(store: Arc<dyn Store>) -> Self {
        Self(StorageLocation::Given(store, None))
    }
}

impl<S: Store + 'static> From<Arc<S>> for Storage {
    fn from(store: Arc<S>) -> Self {
        Self(StorageLocation::Given(store, None))
    }
}

impl From<&Path> for Storage {
    fn from(file: &Path) -> Self {
        Self(StorageLocation::File(file.to_owned()))
    }
}

impl From<PathBuf> for Storage {
    fn from(file: PathBuf) -> Self {
        Self(StorageLocation::File(file))
    }
}

impl From<&PathBuf> for Storage {
    fn from(file: &PathBuf) -> Self {
        file.as_path().into()
    }
}

impl From<&str> for Storage {
    fn from(file: &str) -> Self {
        Path::new(file).into()
    }
}

impl From<String> for Storage {
    fn from(file: String) -> Self {
        PathBuf::from(file).into()
    }
}
