//! Redacts streamed text: holds back what could be part of a secret until that is decided.
//!
//! A secret cut in two must not get through in halves. Plain words pass at once; a word that looks
//! like a key waits for its end, a line that sets a password for the end of its value. What was told
//! last is remembered, because it may say what follows is.

use std::fmt;

use super::{SecretMatch, SecretRedactor, scan};

/// Held back no longer than this: no secret is so long.
const LONGEST: usize = 32 * 1024;

/// How much of what was told is remembered.
const REMEMBERED: usize = 96;

/// What is held back of one stream of text.
#[derive(Clone, Default)]
pub struct StreamRedactor {
    /// The end of what was told, and what was not.
    text: String,
    /// How much of it was told.
    told: usize,
}

impl StreamRedactor {
    /// Takes in the next piece; gives back what can be told, without secrets. May be empty.
    pub fn push(&mut self, secrets: &SecretRedactor, piece: &str) -> String {
        self.text.push_str(piece);
        let mut open = scan::open_from(&self.text).max(self.told);
        if let Some(known) = secrets.known() {
            open = open.min(known.open_from(&self.text, self.told));
        }
        if self.text.len() - open > LONGEST {
            open = self.text.len();
        }
        let found = secrets.find(&self.text);
        // What reaches beyond what is clear goes out whole, later.
        let reaching = found
            .iter()
            .find(|found| found.place.start < open && open < found.place.end);
        let open = reaching.map_or(open, |found| found.place.start.max(self.told));
        self.tell(&found, open)
    }

    /// Nothing more comes: what was held back, without secrets.
    pub fn finish(&mut self, secrets: &SecretRedactor) -> String {
        let found = secrets.find(&self.text);
        let rest = self.tell(&found, self.text.len());
        *self = Self::default();
        rest
    }

    /// What was not told, up to here.
    fn tell(&mut self, found: &[SecretMatch], to: usize) -> String {
        let mut clean = String::with_capacity(to - self.told);
        let told = self.told;
        let fresh = found
            .iter()
            .filter(|found| found.place.end > told && found.place.end <= to);
        for SecretMatch { place, name, .. } in fresh {
            clean.push_str(
                self.text
                    .get(self.told..place.start.max(self.told))
                    .unwrap_or_default(),
            );
            super::mark(&mut clean, name);
            self.told = place.end;
        }
        clean.push_str(self.text.get(self.told..to).unwrap_or_default());
        self.told = to;
        self.forget();
        clean
    }

    /// Forgets what was told long ago.
    fn forget(&mut self) {
        if self.told > 2 * REMEMBERED {
            let mut from = self.told - REMEMBERED;
            while !self.text.is_char_boundary(from) {
                from += 1;
            }
            self.text.drain(..from);
            self.told -= from;
        }
    }
}

impl fmt::Debug for StreamRedactor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Held(…)")
    }
}
