//! Prompts for a secret at the terminal without echo.

use std::io::{self, BufRead, Write};

use rooftree_protocol::{ErrorCode, Problem};
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};

/// Asks, and reads one line unseen. Ctrl-C gives the terminal back as it was.
pub async fn read_hidden_line(question: &str) -> Result<String, Problem> {
    let hidden = HiddenInput::begin().map_err(|error| {
        Problem::new(
            ErrorCode::InteractionUnavailable,
            "cannot hide what is typed at this terminal",
        )
        .cause(error.to_string())
        .fix("give the key on standard input: rooftree auth set PROVIDER -")
    })?;
    // A write fails only if standard error is closed; then no answer can come either.
    let _ = write!(io::stderr(), "{question}").and_then(|()| io::stderr().flush());
    let reading = tokio::task::spawn_blocking(|| {
        let mut line = String::new();
        io::stdin().lock().read_line(&mut line).map(|_| line)
    });
    let read = tokio::select! {
        read = reading => read.unwrap_or_else(|error| Err(io::Error::other(error))),
        _ = tokio::signal::ctrl_c() => Err(io::ErrorKind::Interrupted.into()),
    };
    drop(hidden);
    let _ = writeln!(io::stderr());
    read.map_err(|error| match error.kind() {
        io::ErrorKind::Interrupted => {
            Problem::new(ErrorCode::Cancelled, "stopped; nothing was stored")
        }
        _ => Problem::new(
            ErrorCode::InteractionUnavailable,
            "cannot read from the terminal",
        )
        .cause(error.to_string()),
    })
}

/// A terminal that shows nothing of what is typed, until this is dropped.
struct HiddenInput {
    before: Termios,
}

impl HiddenInput {
    fn begin() -> io::Result<Self> {
        let before = tcgetattr(io::stdin())?;
        let mut silent = before.clone();
        silent.local_modes.remove(LocalModes::ECHO);
        tcsetattr(io::stdin(), OptionalActions::Flush, &silent)?;
        Ok(Self { before })
    }
}

impl Drop for HiddenInput {
    fn drop(&mut self) {
        // If the terminal has gone, there is nothing to give back.
        let _ = tcsetattr(io::stdin(), OptionalActions::Now, &self.before);
    }
}
