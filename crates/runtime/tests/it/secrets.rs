//! Secrets: what is taken out of text, what stays, and that no way into the journal is without it.

mod funnel;
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

/// What of a canary can be read in a text.
fn read_in<'a>(text: &str, canary: &'a SecretCanary) -> Option<&'a str> {
    // A few letters of a long secret say nothing; half of it does.
    let telling = |piece: &&str| piece.len() >= 10 && text.contains(*piece);
    let pieces = canary.secret.iter().filter(|piece| piece.len() >= 10);
    pieces
        .flat_map(|piece| [piece.as_str(), &piece[piece.len() - 10..]])
        .find(telling)
}
