//! Ends a tree of processes that has become too many.
//!
//! The kernel counts processes per user, which is too much for one program and nothing at all for
//! root, and control groups are there on few machines. So somebody looks from time to time: cheaply
//! at how many there are on the machine, and closely only when those have become many more.

use std::{fs, time::Duration};

use tokio::{task::JoinHandle, time::sleep};

use crate::{
    kill,
    process_tree::{ProcessTree, TreeMembers, is_alive},
};

/// How often it is looked.
const PAUSE: Duration = Duration::from_millis(100);

/// Somebody who looks, until it is dropped.
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

/// How many threads there are. Zero if nobody can tell, which is never many.
fn on_this_machine() -> usize {
    let load = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let counts = load
        .split_whitespace()
        .nth(3)
        .and_then(|counts| counts.split_once('/'));
    counts.and_then(|(_, all)| all.parse().ok()).unwrap_or(0)
}
