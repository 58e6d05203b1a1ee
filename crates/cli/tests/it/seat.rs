//! A terminal of its own for the program (`script`), and a person before it who reads and types.

use std::{
    io::{Read, Write},
    process::{Child, ChildStdin, Command, Stdio},
    sync::mpsc,
    time::Duration,
};

use crate::run::fixture::Desk;

/// The program on a pseudo-terminal, and the keys that a person types there.
pub struct Seat {
    pub child: Child,
    keyboard: Option<ChildStdin>,
    screen: mpsc::Receiver<Vec<u8>>,
    /// All that came, with escape sequences.
    raw: Vec<u8>,
    /// How much of that is in `seen`.
    read: usize,
    /// What is to be looked at, without escape sequences.
    seen: String,
}

impl Seat {
    /// `rooftree run …` on a terminal that cannot redraw.
    pub fn take(desk: &Desk, arguments: &str) -> Self {
        let program = env!("CARGO_BIN_EXE_rooftree");
        Self::with_line(desk, &format!("{program} run {arguments}"))
    }

    /// A line of a shell on a terminal that cannot redraw.
    pub fn with_line(desk: &Desk, line: &str) -> Self {
        let mut command = Self::command(desk, line);
        command.env("TERM", "dumb").env("NO_COLOR", "1");
        Self::begin(command)
    }

    /// `rooftree …` on a terminal with colours and a cursor that moves.
    pub fn coloured(desk: &Desk, arguments: &str) -> Self {
        let program = env!("CARGO_BIN_EXE_rooftree");
        let mut command =
            Self::command(desk, &format!("stty cols 100; exec {program} {arguments}"));
        command.env("TERM", "xterm-256color").env_remove("NO_COLOR");
        Self::begin(command)
    }

    fn command(desk: &Desk, line: &str) -> Command {
        let run = desk.command(&[]);
        let mut command = Command::new("script");
        command
            .args(["-qfec", line, "/dev/null"])
            .current_dir(desk.path());
        for (name, value) in run.get_envs() {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        command.env("SHELL", "/bin/sh").env_remove("USER");
        command
    }

    fn begin(mut command: Command) -> Self {
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let mut out = child.stdout.take().unwrap();
        let (tx, screen) = mpsc::channel();
        std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(length @ 1..) = out.read(&mut buffer) {
                if tx.send(buffer[..length].to_vec()).is_err() {
                    return;
                }
            }
        });
        let keyboard = child.stdin.take();
        Self {
            child,
            keyboard,
            screen,
            raw: Vec::new(),
            read: 0,
            seen: String::new(),
        }
    }

    /// Adds what came. A character or escape sequence that is not complete waits for its rest.
    fn take_in(&mut self, bytes: &[u8]) {
        self.raw.extend_from_slice(bytes);
        let rest = &self.raw[self.read..];
        let whole = rest.iter().rposition(|byte| *byte == 0x1b).filter(|at| {
            let sequence = &rest[at + 1..];
            !sequence
                .iter()
                .skip(1)
                .any(|byte| (0x40..0x7f).contains(byte))
        });
        let rest = &rest[..whole.unwrap_or(rest.len())];
        let length = match std::str::from_utf8(rest) {
            Ok(text) => text.len(),
            Err(error) => error.valid_up_to(),
        };
        let text = std::str::from_utf8(&rest[..length]).unwrap();
        let mut characters = text.chars();
        while let Some(character) = characters.next() {
            if character != '\u{1b}' {
                self.seen.push(character);
            } else if characters.next() == Some('[') {
                // Up to the letter that ends it.
                characters.find(|end| ('@'..='~').contains(end));
            }
        }
        self.read += length;
    }

    /// Looks until these words are there; what was on the screen before them is forgotten.
    #[track_caller]
    pub fn sees(&mut self, words: &str) {
        while !self.seen.contains(words) {
            match self.screen.recv_timeout(Duration::from_secs(60)) {
                Ok(bytes) => self.take_in(&bytes),
                Err(error) => panic!("`{words}` did not come ({error}):\n{}", self.seen),
            }
        }
        let at = self.seen.find(words).unwrap() + words.len();
        self.seen = self.seen.split_off(at);
    }

    /// Presses a key until these words are there: keys count only after a card was seen for a while.
    #[track_caller]
    pub fn presses_until(&mut self, key: &str, words: &str) {
        for _ in 0..300 {
            self.types(key);
            // What follows a key is read until it is quiet, at most for a while: a status line never is.
            for _ in 0..10 {
                match self.screen.recv_timeout(Duration::from_millis(200)) {
                    Ok(bytes) => self.take_in(&bytes),
                    Err(_) => break,
                }
                if self.seen.contains(words) {
                    return self.sees(words);
                }
            }
        }
        panic!("`{words}` did not come:\n{}", self.seen);
    }

    pub fn types(&mut self, text: &str) {
        // The program may have ended meanwhile.
        if let Some(keyboard) = &mut self.keyboard {
            let _ = keyboard
                .write_all(text.as_bytes())
                .and_then(|()| keyboard.flush());
        }
    }

    /// All that comes until the program has ended.
    pub fn reads_to_end(mut self) -> String {
        self.keyboard = None;
        while let Ok(bytes) = self.screen.recv_timeout(Duration::from_secs(60)) {
            self.raw.extend_from_slice(&bytes);
        }
        let _ = self.child.wait();
        String::from_utf8_lossy(&self.raw).into_owned()
    }

    pub fn ends(mut self) -> i32 {
        self.keyboard = None;
        self.child.wait().unwrap().code().unwrap()
    }
}

/// A test that fails leaves no program behind: `script` ends what runs on its terminal.
impl Drop for Seat {
    fn drop(&mut self) {
        if let Ok(None) = self.child.try_wait() {
            let id = self.child.id().to_string();
            let _ = Command::new("kill").args(["-TERM", &id]).status();
            let _ = self.child.wait();
        }
    }
}
