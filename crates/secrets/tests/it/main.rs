//! Secrets: what is taken out of text, and what stays.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that cannot go on ends"
)]

mod further_forms;
mod pieces;
mod properties;
mod shapes;
mod staying;

use rooftree_testkit::secret_canaries::{SecretCanary, generate_canaries};

/// Made-up secrets of every shape.
fn canaries(seed: u64) -> Vec<SecretCanary> {
    generate_canaries(include_str!("../corpora/secret_shapes.txt"), seed)
}
