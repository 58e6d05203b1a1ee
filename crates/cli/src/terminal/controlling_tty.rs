//! The controlling terminal `/dev/tty`: where a person is asked even if standard input or standard error is redirected.

use std::{
    fs::{File, OpenOptions},
    io::{IsTerminal, stderr, stdin, stdout},
    os::{fd::AsFd, unix::fs::OpenOptionsExt},
};

use nix::{fcntl::OFlag, unistd::getpgrp};
use rustix::termios;

/// The names under which the terminal can be opened, in this order. The second one is for a process that has a
/// terminal as standard input but no controlling terminal.
const NAMES: [&str; 2] = ["/dev/tty", "/proc/self/fd/0"];

/// Whether a person can be asked: one of the standard streams is a terminal, and this process is in its foreground. A
/// program whose streams are all redirected was started by another program, and a background job must not read keys.
pub fn has_person() -> bool {
    let is_shown = stdin().is_terminal() || stdout().is_terminal() || stderr().is_terminal();
    is_shown && for_reading().is_some_and(|tty| is_in_foreground(&tty))
}

/// The terminal for reading keys. A read never blocks: it is an open file of its own, so the mode is not shared with
/// standard input.
pub fn for_reading() -> Option<File> {
    open(
        OpenOptions::new()
            .read(true)
            .write(true)
            .custom_flags((OFlag::O_NONBLOCK | OFlag::O_NOCTTY).bits()),
    )
}

/// The terminal for writing prompts.
pub fn for_writing() -> Option<File> {
    open(
        OpenOptions::new()
            .write(true)
            .custom_flags(OFlag::O_NOCTTY.bits()),
    )
}

fn open(options: &OpenOptions) -> Option<File> {
    let mut files = NAMES.iter().filter_map(|name| options.open(name).ok());
    files.find(File::is_terminal)
}

/// A terminal that does not tell its foreground group is taken for ours: there is no job control then.
fn is_in_foreground(tty: impl AsFd) -> bool {
    let group = termios::tcgetpgrp(tty).map(|group| group.as_raw_nonzero().get());
    group.is_ok_and(|group| group == getpgrp().as_raw()) || group.is_err()
}
