//! Kills a process tree that exceeds its process limit (fork-bomb guard).
//!
//! The kernel counts processes per user, which is too coarse for one program and has no effect for root, and control
//! groups are available on few machines. So a task polls: cheaply the number of threads on the machine, and the tree
//! itself only when that number has grown by more than the limit.

use std::{fs, time::Duration};

use tokio::{task::JoinHandle, time::sleep};

use crate::{
    kill,
    process_tree::{ProcessTree, TreeMembers, is_alive},
};

/// Polling interval.
const PAUSE: Duration = Duration::from_millis(100);

/// The polling task; stops when it is dropped.
#[derive(Debug)]
pub(crate) struct ProcessLimiter(JoinHandle<()>);

impl ProcessLimiter {
    /// Only inside a tokio runtime.
    pub(crate) fn start(tree: ProcessTree, most: usize) -> Self {
        Self(tokio::spawn(enforce_limit(tree, most)))
    }
}

impl Drop for ProcessLimiter {
    fn drop(&mut self) {
        self.0.abort();
    }
}

async fn enforce_limit(tree: ProcessTree, most: usize) {
    let mut fewest = on_this_machine();
    while is_alive(tree.leader) {
        sleep(PAUSE).await;
        let now = on_this_machine();
        fewest = fewest.min(now);
        if now.saturating_sub(fewest) > most && TreeMembers::new(&tree).living().len() > most {
            kill::kill_tree(&tree);
        }
    }
}

/// Number of threads on this machine. Zero if `/proc/loadavg` cannot be parsed, so the limit never triggers then.
fn on_this_machine() -> usize {
    let load = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let counts = load
        .split_whitespace()
        .nth(3)
        .and_then(|counts| counts.split_once('/'));
    counts.and_then(|(_, all)| all.parse().ok()).unwrap_or(0)
}
