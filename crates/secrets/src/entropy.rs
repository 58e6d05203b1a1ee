//! Entropy heuristics: tells generated keys from ordinary text.

/// Whether a text is as mixed as a made-up key: not `xxxx…`, not `your-key-here`.
pub(super) fn is_mixed(text: &str) -> bool {
    let has = |kind: fn(&u8) -> bool| usize::from(text.as_bytes().iter().any(kind));
    let kinds = has(u8::is_ascii_digit) + has(u8::is_ascii_lowercase) + has(u8::is_ascii_uppercase);
    kinds >= 2 && is_varied(text)
}

/// Whether a text has as many different characters as a made-up key, of whichever kind they are.
pub(super) fn is_varied(text: &str) -> bool {
    distinct(text) >= 8.min(text.len() / 2)
}

/// Whether a value beside a name like `password` is one that was made up by a machine. Stricter than
/// [`is_mixed`]: such names are everywhere in code, and what stands beside them mostly is code.
pub(super) fn is_random(value: &str) -> bool {
    let letters = value.bytes().filter(u8::is_ascii_alphabetic).count();
    let digits = value.bytes().filter(u8::is_ascii_digit).count();
    let capitals = value.bytes().filter(u8::is_ascii_uppercase).count();
    // Of a long one a single digit is enough, if its letters are of both cases.
    let is_mixture = (letters >= 3 && digits >= 2)
        || (value.len() >= 24 && digits == 1 && capitals >= 4 && letters - capitals >= 4);
    value.len() >= 16 && is_mixture && bits(value) >= 3.3 && !is_worded(value)
}

/// Words, versions and numbers put together by hand: `gpt-4o-2024-08-06`, `session_2026`.
fn is_worded(value: &str) -> bool {
    let pieces = value.split(['-', '_', '.', '/', ':']);
    let is_plain = |piece: &str| {
        let digits = piece.bytes().filter(u8::is_ascii_digit).count();
        let first = piece.find(|letter: char| letter.is_ascii_digit());
        // One run of digits at the end of a word at most, and no unpronounceable word.
        let trails =
            first.is_none_or(|at| piece.get(at..).is_some_and(|tail| tail.len() == digits));
        let one_case = piece.get(1..).is_none_or(|rest| {
            !rest.bytes().any(|byte| byte.is_ascii_uppercase())
                || !piece.bytes().any(|byte| byte.is_ascii_lowercase())
        });
        piece.len() <= 12 && trails && one_case && digits <= 8
    };
    let mut count = 0;
    pieces.inspect(|_| count += 1).all(is_plain) && count > 1
}

/// How many different bytes there are.
fn distinct(text: &str) -> usize {
    let mut seen = [false; 256];
    let mut count = 0;
    for byte in text.bytes() {
        if let Some(seen) = seen.get_mut(usize::from(byte))
            && !std::mem::replace(seen, true)
        {
            count += 1;
        }
    }
    count
}

/// Bits of surprise per byte, by how often each byte comes.
fn bits(text: &str) -> f64 {
    let mut counts = [0u32; 256];
    for byte in text.bytes() {
        if let Some(count) = counts.get_mut(usize::from(byte)) {
            *count += 1;
        }
    }
    let whole = text.len().max(1) as f64;
    let share = |count: &u32| f64::from(*count) / whole;
    counts
        .iter()
        .filter(|count| **count > 0)
        .map(share)
        .map(|share| -share * share.log2())
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_random_and_what_people_write_is_not() {
        let random = [
            "hT8k2Lq9ZxV4mN7p",
            "9f86d081884c7d659a2feaa0c55ad015",
            "aB3/xY7+Qw9rT5uI1oP0",
            "x7Kp-29fLmQ_4tRz8Wv",
        ];
        let written = [
            "gpt-4o-2024-08-06",
            "some_function_name_2",
            "aaaaaaaaaaaaaaaa1111",
            "correct-horse-battery-staple",
            "1234567890123456",
            "session_20261115",
            "hunter2",
        ];
        for text in random {
            assert!(is_random(text), "{text}");
        }
        for text in written {
            assert!(!is_random(text), "{text}");
        }
    }

    #[test]
    fn placeholders_are_not_mixed() {
        for text in [
            "xxxxxxxxxxxxxxxxxxxx",
            "your-api-key-goes-here",
            "00000000000000000000",
        ] {
            assert!(!is_mixed(text), "{text}");
        }
        assert!(is_mixed("Zq3vT8yLp0wXn5BcR1dF"));
    }
}
