//! What the tests share: a shell command, and who of it is still alive.

use std::{fs, path::Path, time::Duration};

use rooftree_process::{
    ChildEnvironment, FinishedProcess, Process, ProcessBounds, ProcessIdentity, ProcessInput,
    SpawnRequest, is_alive, spawn,
};
use tokio_util::sync::CancellationToken;

pub const PLENTY: ProcessBounds = ProcessBounds {
    time: Some(Duration::from_secs(60)),
    output: 1 << 20,
};

pub fn shell(script: &str, cwd: &Path) -> SpawnRequest {
    SpawnRequest {
        program: "bash".into(),
        args: vec!["-c".into(), script.into()],
        cwd: cwd.to_owned(),
        environment: ChildEnvironment::default(),
        input: ProcessInput::Nothing,
        sandbox: None,
    }
}

pub async fn start(script: &str, cwd: &Path) -> Process {
    spawn(shell(script, cwd)).await.unwrap()
}

pub async fn finish(script: &str, bounds: ProcessBounds) -> FinishedProcess {
    let directory = tempfile::tempdir().unwrap();
    let process = start(script, directory.path()).await;
    process
        .finish(bounds, &CancellationToken::new(), |_| {})
        .await
}

/// The processes whose numbers a script has written to files ending in `.pid`.
///
/// Waits until there are `count`, because a script needs a moment to get there.
pub async fn written(directory: &Path, count: usize) -> Vec<ProcessIdentity> {
    loop {
        let files = fs::read_dir(directory)
            .unwrap()
            .flatten()
            .map(|entry| entry.path());
        let pids =
            files.filter(|path| path.extension().is_some_and(|extension| extension == "pid"));
        let numbers: Vec<i32> = pids
            .filter_map(|path| fs::read_to_string(path).ok()?.trim().parse().ok())
            .collect();
        if numbers.len() == count {
            return numbers
                .into_iter()
                .filter_map(ProcessIdentity::of)
                .collect();
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

pub fn living(processes: &[ProcessIdentity]) -> Vec<ProcessIdentity> {
    processes
        .iter()
        .copied()
        .filter(|process| is_alive(*process))
        .collect()
}
