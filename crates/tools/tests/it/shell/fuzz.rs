//! Any bytes are read without a panic.

use rooftree_tools::shell::fuzz;

use super::dice::{Dice, broken, script};

const CORPUS: &str = include_str!("../../corpora/shell.txt");

#[test]
fn broken_lines_are_read_without_a_panic() {
    for (case, line) in CORPUS.lines().enumerate() {
        let mut dice = Dice::new(case as u64 + 7);
        fuzz(line.as_bytes());
        for _ in 0..20 {
            fuzz(broken(&mut dice, line).as_bytes());
        }
    }
    for seed in 0..1000 {
        let mut dice = Dice::new(seed + 99);
        let text = script(&mut dice, 3);
        fuzz(text.as_bytes());
        let cut = dice.roll(text.len() + 1);
        fuzz(&text.as_bytes()[..cut]);
        let bytes: Vec<u8> = (0..dice.roll(200)).map(|_| u8::try_from(dice.roll(256)).unwrap()).collect();
        fuzz(&bytes);
    }
}
