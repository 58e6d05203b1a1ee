//! Shows a remark about files without effect once, not at each run: hashes of shown remarks are kept beside the database.

use std::fs;

use rooftree_stdx::atomic_file;
use sha2::{Digest, Sha256};

use crate::environment::Environment;

/// Remarks that are remembered.
const MOST: usize = 1_000;

/// The remarks without those that were shown before. Only remarks about fields without effect are shown once; what can
/// be mended or matters to this run is shown each time.
pub fn unseen(environment: &Environment, remarks: Vec<String>) -> Vec<String> {
    let path = environment.database.with_file_name("remarks-seen");
    let known = fs::read_to_string(&path).unwrap_or_default();
    let mut known: Vec<String> = known.lines().map(str::to_owned).collect();
    let before = known.len();
    let left = remarks
        .into_iter()
        .filter(|remark| !is_told_once(remark) || is_new(remark, &mut known))
        .collect();
    if known.len() > before {
        let first = known.len().saturating_sub(MOST);
        let kept = known.get(first..).unwrap_or_default().join("\n");
        // If it cannot be kept, the remark is shown again.
        let _ = atomic_file::replace_private(&path, format!("{kept}\n").as_bytes());
    }
    left
}

fn is_told_once(remark: &str) -> bool {
    remark.contains(": without effect: ")
}

fn is_new(remark: &str, known: &mut Vec<String>) -> bool {
    let digest = Sha256::digest(remark.as_bytes());
    let hash: String = digest
        .iter()
        .take(12)
        .map(|byte| format!("{byte:02x}"))
        .collect();
    if known.contains(&hash) {
        return false;
    }
    known.push(hash);
    true
}
