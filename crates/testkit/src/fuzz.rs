//! Fuzzing: runs mutated input through code that parses external data, for a limited time.
//!
//! Each target has seeds, which are inputs that reach deep code, and words that matter to it. An input that
//! makes it panic, or takes too long, is printed so that it can become a test of its own.

use std::{
    env,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    time::{Duration, Instant},
};

/// Maximum time for one input. Generous: other tests run at the same time.
const LONGEST: Duration = Duration::from_secs(10);
/// Maximum size of an input.
const LARGEST: usize = 16 * 1024;

/// Runs a target over seeds and mutations of them: briefly, or for as many seconds as `ROOFTREE_FUZZ_SECS`
/// says, with the random seed `ROOFTREE_FUZZ_SEED`. Returns how many inputs were tried.
pub fn run(seeds: &[&[u8]], words: &[&str], target: impl Fn(&[u8])) -> u64 {
    let time = env::var("ROOFTREE_FUZZ_SECS")
        .ok()
        .and_then(|secs| secs.parse().ok());
    let time = time.map_or(Duration::from_millis(500), Duration::from_secs);
    let seed = env::var("ROOFTREE_FUZZ_SEED")
        .ok()
        .and_then(|seed| seed.parse().ok());
    let mut chance = FuzzRng(seed.unwrap_or(SEED));
    let since = Instant::now();
    let mut tried = 0;
    for input in seeds {
        attempt(input, &target);
        tried += 1;
    }
    while since.elapsed() < time {
        let mut input = chance
            .pick(seeds)
            .map(|seed| seed.to_vec())
            .unwrap_or_default();
        for _ in 0..=chance.below(8) {
            mutate(&mut input, seeds, words, &mut chance);
        }
        input.truncate(LARGEST);
        attempt(&input, &target);
        tried += 1;
    }
    eprintln!("{tried} inputs in {:.1} s", since.elapsed().as_secs_f64());
    tried
}

/// Default random seed: the same inputs in every run, so that a failure is caused by a code change. Set another
/// seed to search for new flaws.
const SEED: u64 = 0x2026_1116_5afe_4a4d;

fn attempt(input: &[u8], target: &impl Fn(&[u8])) {
    let since = Instant::now();
    let outcome = catch_unwind(AssertUnwindSafe(|| target(input)));
    let shown = || format!("b\"{}\"", input.escape_ascii());
    if let Err(panic) = outcome {
        eprintln!("this input makes it panic:\n{}", shown());
        resume_unwind(panic);
    }
    assert!(
        since.elapsed() < LONGEST,
        "this input takes {:?}:\n{}",
        since.elapsed(),
        shown()
    );
}

/// Applies one random mutation to an input.
fn mutate(input: &mut Vec<u8>, seeds: &[&[u8]], words: &[&str], chance: &mut FuzzRng) {
    let at = chance.below(input.len() + 1);
    match chance.below(9) {
        0 => input.insert(at, chance.byte()),
        1 if at < input.len() => drop(input.remove(at)),
        2 => {
            if let Some(byte) = input.get_mut(at) {
                *byte ^= 1 << chance.below(8);
            }
        }
        3 => {
            let word = chance
                .pick(words)
                .map(|word| word.as_bytes().to_vec())
                .unwrap_or_default();
            input.splice(at..at, word);
        }
        4 => {
            let end = (at + chance.below(32)).min(input.len());
            input.drain(at..end);
        }
        5 => {
            let end = (at + 1 + chance.below(32)).min(input.len());
            let piece = input.get(at..end).unwrap_or_default().to_vec();
            let most = if chance.below(50) == 0 { 400 } else { 4 };
            let times = 1 + chance.below(most);
            let to = chance.below(input.len() + 1);
            input.splice(to..to, piece.repeat(times));
        }
        6 => {
            let other = chance.pick(seeds).copied().unwrap_or_default();
            let from = chance.below(other.len() + 1);
            input.truncate(at);
            input.extend_from_slice(other.get(from..).unwrap_or_default());
        }
        7 => {
            const ODD: [&str; 10] = [
                "\0",
                "\u{1b}",
                "\u{202e}",
                "\u{200b}",
                "\u{ff0f}",
                "\r\n",
                "\\",
                "\u{10ffff}",
                "\"",
                "é",
            ];
            let odd = chance.pick(&ODD).copied().unwrap_or_default();
            input.splice(at..at, odd.bytes());
        }
        _ => input.insert(
            at,
            *b" \n\t;&|<>$`(){}[]'\"#*?~!=/:.,-%@^"
                .get(chance.below(34))
                .unwrap_or(&b' '),
        ),
    }
}

/// Simple pseudo-random numbers, the same from the same seed.
struct FuzzRng(u64);

impl FuzzRng {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.next() >> 11).unwrap_or(0) % end.max(1)
    }

    fn byte(&mut self) -> u8 {
        (self.next() >> 24) as u8
    }

    fn pick<'a, T>(&mut self, from: &'a [T]) -> Option<&'a T> {
        from.get(self.below(from.len()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[should_panic(expected = "found it")]
    fn a_flaw_that_two_words_in_a_row_show_is_found() {
        let flawed =
            |input: &[u8]| assert!(!input.windows(4).any(|part| part == b"onon"), "found it");
        run(&[b"nothing"], &["on"], flawed);
    }
}
