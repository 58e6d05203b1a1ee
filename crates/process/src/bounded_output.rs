//! Bounded buffer for the output of a program: keeps its head and its tail and counts the rest.

use std::collections::VecDeque;

/// Head and tail of a stream of bytes. However much is pushed, memory stays bounded.
#[derive(Clone, Debug)]
pub struct BoundedOutput {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    head_bytes: usize,
    tail_bytes: usize,
    total: u64,
}

impl BoundedOutput {
    /// Room for this many bytes, half at each end.
    pub fn new(bytes: usize) -> Self {
        let head_bytes = bytes / 2;
        Self {
            head: Vec::new(),
            tail: VecDeque::new(),
            head_bytes,
            tail_bytes: bytes - head_bytes,
            total: 0,
        }
    }

    /// Takes in what was written.
    pub fn push(&mut self, bytes: &[u8]) {
        self.total = self.total.saturating_add(bytes.len() as u64);
        let room = self
            .head_bytes
            .saturating_sub(self.head.len())
            .min(bytes.len());
        let (to_head, rest) = bytes.split_at_checked(room).unwrap_or((bytes, &[]));
        self.head.extend_from_slice(to_head);
        let kept = rest
            .get(rest.len().saturating_sub(self.tail_bytes)..)
            .unwrap_or_default();
        let overflow = (self.tail.len() + kept.len()).saturating_sub(self.tail_bytes);
        self.tail.drain(..overflow.min(self.tail.len()));
        self.tail.extend(kept);
    }

    /// How much was ever written.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// How many bytes were let go.
    pub fn left_out(&self) -> u64 {
        self.total - self.head.len() as u64 - self.tail.len() as u64
    }

    /// All that is kept, with a mark where something is missing.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.bytes_since(0)).into_owned()
    }

    /// What was written after `position`, and the position to ask from the next time.
    ///
    /// A character that has only begun to arrive is left for the next time.
    pub fn text_since(&self, position: u64) -> (String, u64) {
        let bytes = self.bytes_since(position);
        let begun = unfinished_bytes(&bytes);
        let whole = bytes.get(..bytes.len() - begun).unwrap_or_default();
        (
            String::from_utf8_lossy(whole).into_owned(),
            self.total - begun as u64,
        )
    }

    /// The last few bytes, at most as many as the tail holds.
    pub fn last_bytes(&self, count: u64) -> Vec<u8> {
        let position = self.total.saturating_sub(count.min(self.tail_bytes as u64));
        self.bytes_since(position)
    }

    fn bytes_since(&self, position: u64) -> Vec<u8> {
        let tail_start = self.total - self.tail.len() as u64;
        let head_from = usize::try_from(position)
            .unwrap_or(usize::MAX)
            .min(self.head.len());
        let tail_from = usize::try_from(position.saturating_sub(tail_start)).unwrap_or(usize::MAX);
        let missing = tail_start.saturating_sub(position.max(self.head.len() as u64));
        let head = self.head.get(head_from..).unwrap_or_default();
        if missing == 0 {
            return head
                .iter()
                .chain(self.tail.iter().skip(tail_from))
                .copied()
                .collect();
        }
        // Half a word at either side of the gap goes too: half a secret cannot be told from a word.
        let before = cut_word(head.iter().rev());
        let after = cut_word(self.tail.iter().skip(tail_from));
        let missing = missing + (before + after) as u64;
        let mut bytes = head.get(..head.len() - before).unwrap_or_default().to_vec();
        bytes.extend_from_slice(format!("\n[… {missing} bytes left out …]\n").as_bytes());
        bytes.extend(self.tail.iter().skip(tail_from + after));
        bytes
    }
}

/// How many bytes from the gap on are of a word that was cut; none if no word ends near it.
fn cut_word<'a>(bytes: impl Iterator<Item = &'a u8>) -> usize {
    const LONGEST: usize = 1024;
    bytes
        .take(LONGEST)
        .position(u8::is_ascii_whitespace)
        .unwrap_or(0)
}

/// How many bytes at the end are the beginning of a character.
fn unfinished_bytes(bytes: &[u8]) -> usize {
    let last = bytes
        .get(bytes.len().saturating_sub(3)..)
        .unwrap_or_default();
    let lead = last
        .iter()
        .rposition(|byte| byte & 0b1100_0000 != 0b1000_0000);
    let Some(begun) = lead.and_then(|at| last.get(at..)) else {
        return 0;
    };
    let length = match begun.first() {
        Some(0xC0..=0xDF) => 2,
        Some(0xE0..=0xEF) => 3,
        Some(0xF0..=0xF7) => 4,
        _ => 1,
    };
    if begun.len() < length { begun.len() } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_that_the_gap_cuts_is_left_out_whole() {
        let mut kept = BoundedOutput::new(20);
        kept.push(b"one two three four five six seven");
        assert_eq!(kept.text(), "one two \n[… 15 bytes left out …]\n six seven");
    }

    #[test]
    fn head_and_tail_are_kept_and_the_rest_is_counted() {
        let mut kept = BoundedOutput::new(8);
        for byte in b'a'..=b'z' {
            kept.push(&[byte]);
        }
        assert_eq!(kept.text(), "abcd\n[… 18 bytes left out …]\nwxyz");
        assert_eq!((kept.total(), kept.left_out()), (26, 18));
        let mut at_once = BoundedOutput::new(8);
        at_once.push(b"abcdefghijklmnopqrstuvwxyz");
        assert_eq!(at_once.text(), kept.text());
    }

    #[test]
    fn a_second_look_shows_only_what_is_new() {
        let mut kept = BoundedOutput::new(100);
        kept.push(b"one ");
        let (text, position) = kept.text_since(0);
        assert_eq!(text, "one ");
        assert_eq!(kept.text_since(position).0, "");
        kept.push("zwölf".as_bytes());
        assert_eq!(kept.text_since(position).0, "zwölf");
    }

    #[test]
    fn a_look_after_much_output_says_how_much_it_missed() {
        let mut kept = BoundedOutput::new(8);
        kept.push(b"abcd");
        kept.push(b"efghijklmnop");
        assert_eq!(kept.text_since(4).0, "\n[… 8 bytes left out …]\nmnop");
        assert_eq!(kept.text_since(14).0, "op");
    }

    #[test]
    fn a_character_that_has_only_begun_waits_for_its_end() {
        let mut kept = BoundedOutput::new(100);
        kept.push(b"a\xc3");
        let (text, position) = kept.text_since(0);
        assert_eq!((text.as_str(), position), ("a", 1));
        kept.push(b"\xa4");
        assert_eq!(kept.text_since(position), ("ä".to_owned(), 3));
    }
}
