//! How long it takes to look for secrets in text that has none, per kilobyte.
//!
//! `cargo run --release -p rooftree-secrets --example redaction_speed FILE …`

use std::time::Instant;

use rooftree_secrets::{SecretRedactor, StreamRedactor};

fn main() {
    let begun = Instant::now();
    let known = (0..20).map(|number| {
        (
            format!("key {number}"),
            format!("{number}-Zq3vT8yLp0wXn5BcR1dF-{number}"),
        )
    });
    let secrets = SecretRedactor::knowing(known);
    secrets.clean("made once");
    println!("made in {:?}", begun.elapsed());
    let text: String = std::env::args()
        .skip(1)
        .filter_map(|path| std::fs::read_to_string(path).ok())
        .collect();
    let kilobytes = text.len() as f64 / 1024.0;
    let begun = Instant::now();
    let found = secrets.clean(&text).is_some();
    let whole = begun.elapsed().as_nanos() as f64 / kilobytes;
    println!("{kilobytes:.0} kB, found something: {found}: {whole:.0} ns per kB");
    let (begun, mut held, mut count) = (Instant::now(), StreamRedactor::default(), 0);
    for word in text.split_inclusive(' ').take(100_000) {
        held.push(&secrets, word);
        count += 1;
    }
    println!(
        "{count} words one by one: {} ns each",
        begun.elapsed().as_nanos() / count.max(1)
    );
}
