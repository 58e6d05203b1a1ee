//! Blocking file operations on a separate thread, so that the async runtime is not blocked.

use std::{
    fs,
    path::{Path, PathBuf},
};

use rooftree_protocol::{ErrorCode, Problem};

use super::{WorkspaceConfig, errors};

/// Runs the work on a thread for blocking operations. Once begun it runs to the end, even if its caller is cancelled.
pub(super) async fn run<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Problem> + Send + 'static,
) -> Result<T, Problem> {
    let broken =
        |error: tokio::task::JoinError| Problem::new(ErrorCode::Internal, error.to_string());
    tokio::task::spawn_blocking(work).await.map_err(broken)?
}

/// Where a path really leads. It must be text, because it is kept in the store and told to models.
pub(super) async fn canonical(path: &Path) -> Result<PathBuf, Problem> {
    let path = path.to_owned();
    run(move || {
        let real = fs::canonicalize(&path).map_err(errors::at("open", &path))?;
        match real.to_str() {
            Some(_) => Ok(real),
            None => Err(
                errors::failed(format!("the path {} is not text", real.display()))
                    .cause("its name is not valid UTF-8")
                    .fix("rename the directory"),
            ),
        }
    })
    .await
}

/// The place with its directory made and its real path.
pub(super) async fn prepared(place: &WorkspaceConfig) -> Result<WorkspaceConfig, Problem> {
    let directory = place.directory.clone();
    run(move || fs::create_dir_all(&directory).map_err(errors::at("create", &directory))).await?;
    Ok(WorkspaceConfig {
        directory: canonical(&place.directory).await?,
        ..place.clone()
    })
}
