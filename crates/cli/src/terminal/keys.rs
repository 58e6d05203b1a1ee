//! Reads single keys from the terminal while a question is open.
//!
//! Only then: between questions the terminal is left as it is, and what was typed before a
//! question is thrown away, so that no key typed for something else permits anything.

use std::io::Read;

use rustix::termios::{
    self, LocalModes, OptionalActions, QueueSelector, SpecialCodeIndex, Termios,
};
use tokio::sync::mpsc;

/// How the terminal hands over what is typed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyboardMode {
    /// Each key at once, not shown.
    Keys,
    /// Whole lines, shown and editable.
    Lines,
}

/// The keyboard. Dropping it leaves the terminal as it was found.
pub struct KeyboardInput {
    before: Option<Termios>,
    typed: Option<mpsc::UnboundedReceiver<char>>,
}

impl KeyboardInput {
    /// Remembers how the terminal is.
    pub fn new() -> Self {
        Self {
            before: termios::tcgetattr(rustix::stdio::stdin()).ok(),
            typed: None,
        }
    }

    /// A keyboard without input, so that a test leaves the terminal alone.
    #[cfg(test)]
    pub fn absent() -> Self {
        let (_, typed) = mpsc::unbounded_channel();
        Self {
            before: None,
            typed: Some(typed),
        }
    }

    /// Starts to listen for an answer; earlier keys do not count.
    pub fn listen(&mut self, mode: KeyboardMode) {
        self.set(mode);
        if self.before.is_some() {
            let _ = termios::tcflush(rustix::stdio::stdin(), QueueSelector::IFlush);
        }
        let typed = self.typed.get_or_insert_with(read);
        while typed.try_recv().is_ok() {}
    }

    /// Leaves the terminal as it was found.
    pub fn restore_terminal(&self) {
        self.set(KeyboardMode::Lines);
    }

    /// The next key; waits for ever if reading is off or nothing can be typed any more.
    pub async fn next(&mut self) -> char {
        if let Some(typed) = &mut self.typed
            && let Some(key) = typed.recv().await
        {
            return key;
        }
        std::future::pending().await
    }

    fn set(&self, mode: KeyboardMode) {
        let Some(mut wanted) = self.before.clone() else {
            return;
        };
        if mode == KeyboardMode::Keys {
            wanted
                .local_modes
                .remove(LocalModes::ICANON | LocalModes::ECHO);
            wanted.special_codes[SpecialCodeIndex::VMIN] = 1;
            wanted.special_codes[SpecialCodeIndex::VTIME] = 0;
        }
        let _ = termios::tcsetattr(rustix::stdio::stdin(), OptionalActions::Now, &wanted);
    }
}

impl Drop for KeyboardInput {
    fn drop(&mut self) {
        if self.typed.is_some() {
            self.restore_terminal();
        }
    }
}

/// A thread that reads until the program ends: a blocked read cannot be taken back.
fn read() -> mpsc::UnboundedReceiver<char> {
    let (tx, rx) = mpsc::unbounded_channel();
    std::thread::spawn(move || {
        let mut pending = Vec::new();
        for byte in std::io::stdin().lock().bytes() {
            let Ok(byte) = byte else { return };
            pending.push(byte);
            let Ok(text) = std::str::from_utf8(&pending) else {
                if pending.len() >= 4 {
                    pending.clear();
                }
                continue;
            };
            if text.chars().any(|key| tx.send(key).is_err()) {
                return;
            }
            pending.clear();
        }
    });
    rx
}
