//! Reads single keys from the terminal while a question is open.
//!
//! Only then: between questions the terminal is left as it is, and what was typed before a question is thrown away, so
//! that no key typed for something else permits anything. The thread that reads ends with the question, because a line
//! editor may be the next reader.

use std::{
    fs::File,
    io::{ErrorKind, PipeReader, PipeWriter, Read},
    thread::JoinHandle,
};

use rustix::{
    event::{PollFd, PollFlags, poll},
    termios::{self, LocalModes, OptionalActions, QueueSelector, SpecialCodeIndex, Termios},
};
use tokio::sync::mpsc;

use super::controlling_tty;

/// How the terminal hands over what is typed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyboardMode {
    /// Each key at once, not shown.
    Keys,
    /// Whole lines, shown and editable.
    Lines,
    /// Whole lines, not shown: what is typed ahead does not disturb what is drawn.
    Hidden,
}

/// The keyboard. Dropping it leaves the terminal as it was found.
pub struct KeyboardInput {
    tty: Option<File>,
    before: Option<Termios>,
    reader: Option<KeyReader>,
    /// How the terminal is between questions.
    idle: KeyboardMode,
}

/// A thread that reads keys. Dropping it ends the thread.
struct KeyReader {
    typed: mpsc::UnboundedReceiver<char>,
    /// Closing it tells the thread to end.
    stop: Option<PipeWriter>,
    thread: Option<JoinHandle<()>>,
}

impl KeyboardInput {
    /// Remembers how the terminal is.
    pub fn new() -> Self {
        let tty = controlling_tty::for_reading();
        Self {
            before: tty.as_ref().and_then(|tty| termios::tcgetattr(tty).ok()),
            tty,
            reader: None,
            idle: KeyboardMode::Lines,
        }
    }

    /// A keyboard without input, so that a test leaves the terminal alone.
    #[cfg(test)]
    pub fn absent() -> Self {
        Self {
            tty: None,
            before: None,
            reader: None,
            idle: KeyboardMode::Lines,
        }
    }

    /// Starts to read; what was typed before is read too.
    pub fn begin(&mut self, mode: KeyboardMode) {
        self.set(mode);
        if let (None, Some(tty)) = (&self.reader, &self.tty) {
            self.reader = tty.try_clone().ok().and_then(KeyReader::start);
        }
    }

    /// Starts to listen for an answer; earlier keys do not count.
    pub fn listen(&mut self, mode: KeyboardMode) {
        self.set(mode);
        let Some(tty) = &self.tty else { return };
        let _ = termios::tcflush(tty, QueueSelector::IFlush);
        self.begin(mode);
        if let Some(reader) = &mut self.reader {
            while reader.typed.try_recv().is_ok() {}
        }
    }

    /// Stops reading, and leaves the terminal as it is between questions.
    pub fn restore_terminal(&mut self) {
        if self.reader.take().is_some() {
            self.set(self.idle);
        }
    }

    /// From now on what is typed between questions is not shown.
    pub fn hide_typing(&mut self) {
        self.idle = KeyboardMode::Hidden;
        self.set(self.idle);
    }

    /// Stops reading; returns what was read and not taken yet.
    pub fn finish(mut self) -> String {
        let left = self.reader.take().map(KeyReader::stop).unwrap_or_default();
        self.set(KeyboardMode::Lines);
        left
    }

    /// Leaves the terminal as it was found, also if another reader has changed it.
    pub fn reset(&self) {
        self.set(KeyboardMode::Lines);
    }

    /// The next key; waits for ever if reading is off or nothing can be typed any more.
    pub async fn next(&mut self) -> char {
        match self.next_or_end().await {
            Some(key) => key,
            None => std::future::pending().await,
        }
    }

    /// The next key; none if reading is off or nothing can be typed any more.
    pub async fn next_or_end(&mut self) -> Option<char> {
        self.reader.as_mut()?.typed.recv().await
    }

    fn set(&self, mode: KeyboardMode) {
        let (Some(tty), Some(mut wanted)) = (&self.tty, self.before.clone()) else {
            return;
        };
        if mode == KeyboardMode::Hidden {
            wanted.local_modes.remove(LocalModes::ECHO);
        }
        if mode == KeyboardMode::Keys {
            wanted
                .local_modes
                .remove(LocalModes::ICANON | LocalModes::ECHO);
            wanted.special_codes[SpecialCodeIndex::VMIN] = 1;
            wanted.special_codes[SpecialCodeIndex::VTIME] = 0;
        }
        let _ = termios::tcsetattr(tty, OptionalActions::Now, &wanted);
    }
}

impl Drop for KeyboardInput {
    fn drop(&mut self) {
        let is_changed = self.idle != KeyboardMode::Lines;
        self.idle = KeyboardMode::Lines;
        self.restore_terminal();
        if is_changed {
            self.set(KeyboardMode::Lines);
        }
    }
}

impl KeyReader {
    fn start(tty: File) -> Option<Self> {
        let (stopped, stop) = std::io::pipe().ok()?;
        let (tx, typed) = mpsc::unbounded_channel();
        let thread = std::thread::spawn(move || read_keys(tty, &stopped, &tx));
        Some(Self {
            typed,
            stop: Some(stop),
            thread: Some(thread),
        })
    }
}

impl KeyReader {
    /// Ends the thread; returns what it has read and no one has taken.
    fn stop(mut self) -> String {
        self.end();
        let mut left = String::new();
        while let Ok(key) = self.typed.try_recv() {
            left.push(key);
        }
        left
    }

    fn end(&mut self) {
        self.stop = None;
        // It reads without blocking, so it ends at once.
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Drop for KeyReader {
    fn drop(&mut self) {
        self.end();
    }
}

/// Reads until it is told to stop or the terminal is gone.
fn read_keys(mut tty: File, stopped: &PipeReader, tx: &mpsc::UnboundedSender<char>) {
    let (mut pending, mut buffer) = (Vec::new(), [0; 256]);
    loop {
        let mut watched = [
            PollFd::new(&tty, PollFlags::IN),
            PollFd::new(stopped, PollFlags::IN),
        ];
        match poll(&mut watched, None) {
            Err(rustix::io::Errno::INTR) => continue,
            Err(_) => return,
            Ok(_)
                if watched
                    .get(1)
                    .is_some_and(|stop| !stop.revents().is_empty()) =>
            {
                return;
            }
            Ok(_) => {}
        }
        let read = match tty.read(&mut buffer) {
            Ok(0) => return,
            Ok(read) => read,
            Err(error)
                if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) =>
            {
                continue;
            }
            Err(_) => return,
        };
        for byte in buffer.iter().take(read) {
            pending.push(*byte);
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
    }
}
