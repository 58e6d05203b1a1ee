//! Estimates whether a directory is small enough to scan quickly, with a timeout.

use std::{
    collections::VecDeque,
    fs,
    path::Path,
    time::{Duration, Instant},
};

use crate::demo_models::DemoExtent;

/// Maximum number of entries that can be scanned without a noticeable delay.
const MANY: usize = 20_000;
/// Timeout of the scan that counts them.
const PATIENCE: Duration = Duration::from_millis(250);

/// Whether a directory holds generated files: tools skip it, as ignore files say.
fn is_made(directory: &Path) -> bool {
    let name = directory.file_name().unwrap_or_default();
    name == ".git" || name == "node_modules" || directory.join("CACHEDIR.TAG").is_file()
}

/// Counts entries until the limit or the timeout. Unreadable ones do not count: no tool will read them either.
pub fn extent(directory: &Path) -> DemoExtent {
    let since = Instant::now();
    let mut count = 0;
    let mut rest = VecDeque::from([directory.to_owned()]);
    while let Some(place) = rest.pop_front() {
        for entry in fs::read_dir(place).into_iter().flatten().flatten() {
            count += 1;
            if count > MANY || since.elapsed() > PATIENCE {
                return DemoExtent::Top;
            }
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) && !is_made(&entry.path()) {
                rest.push_back(entry.path());
            }
        }
    }
    DemoExtent::All
}
