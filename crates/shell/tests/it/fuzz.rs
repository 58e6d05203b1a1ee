//! Any bytes are read without a panic and without a hang.

use rooftree_testkit::fuzz;

use super::dice::{Dice, PIECES, broken, script};

const CORPUS: &str = include_str!("../../../tools/tests/corpora/shell.txt");

#[test]
fn fuzz_the_shell_grammar() {
    let seeds: Vec<&[u8]> = CORPUS
        .lines()
        .filter_map(|line| line.rsplit('\t').next())
        .map(str::as_bytes)
        .collect();
    fuzz::run(&seeds, &PIECES, rooftree_shell::fuzz);
}

#[test]
fn broken_lines_are_read_without_a_panic() {
    for seed in 0..1000 {
        let mut dice = Dice::new(seed + 99);
        let text = script(&mut dice, 3);
        rooftree_shell::fuzz(text.as_bytes());
        rooftree_shell::fuzz(broken(&mut dice, &text).as_bytes());
    }
}

#[test]
fn long_lines_take_no_long_time() {
    for piece in [
        "a;", "sudo ", "-a ", "nice ", "cd a;", "a[ ", "$x", "'a'", "\\\n", "{a,", "*", "<<E\n",
        "`", "a=b ", ">a ", "&&a", "((", "sh -c '",
    ] {
        let line = piece.repeat(10_000 / piece.len());
        rooftree_shell::fuzz(line.as_bytes());
    }
}
