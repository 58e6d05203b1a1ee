//! Reports the output of a running command to the progress callback, throttled.

use std::{
    sync::{Mutex, PoisonError},
    time::Duration,
};

use rooftree_process::BoundedOutput;

use crate::tool::ProgressCallback;

/// Shortest interval between two reports.
const PAUSE: Duration = Duration::from_millis(100);

/// Bytes per report; of more, only the head and the tail are kept.
const TOLD_BYTES: usize = 16 * 1024;

pub(super) struct OutputReporter {
    progress: ProgressCallback,
    untold: Mutex<BoundedOutput>,
}

impl OutputReporter {
    pub fn new(progress: ProgressCallback) -> Self {
        Self {
            progress,
            untold: Mutex::new(BoundedOutput::new(TOLD_BYTES)),
        }
    }

    /// Takes in what was written.
    pub fn push(&self, bytes: &[u8]) {
        self.untold
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(bytes);
    }

    /// Tells what has not been told. A character that has only begun waits for the next time.
    pub fn report(&self) {
        let news = {
            let mut untold = self.untold.lock().unwrap_or_else(PoisonError::into_inner);
            let (news, position) = untold.text_since(0);
            let begun = untold.last_bytes(untold.total() - position);
            *untold = BoundedOutput::new(TOLD_BYTES);
            untold.push(&begun);
            news
        };
        if !news.is_empty() {
            (self.progress)(&news);
        }
    }

    /// Tells now and then, forever.
    pub async fn report_periodically(&self) {
        loop {
            tokio::time::sleep(PAUSE).await;
            self.report();
        }
    }
}
