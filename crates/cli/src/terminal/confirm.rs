//! Yes/no prompt before anything runs. Enter alone is no.

use std::io::{self, BufRead, Write};

use rooftree_protocol::{ErrorCode, Problem};
use rustix::termios::{QueueSelector, tcflush};

use super::line::StyledLine;

/// Asks; only `y` and `yes` are yes. What was typed before the question does not count.
pub async fn ask(lines: &[StyledLine], prompt: &str, colours: bool) -> Result<bool, Problem> {
    let _ = tcflush(io::stdin(), QueueSelector::IFlush);
    let text: String = lines
        .iter()
        .map(|line| line.paint(colours) + "\n")
        .collect();
    // A write fails only if standard error is closed; then no answer can come either.
    let _ = write!(io::stderr(), "{text}{prompt}").and_then(|()| io::stderr().flush());
    let reading = tokio::task::spawn_blocking(|| {
        let mut line = String::new();
        io::stdin().lock().read_line(&mut line).map(|_| line)
    });
    tokio::select! {
        read = reading => {
            let line = read.unwrap_or_else(|error| Err(io::Error::other(error))).unwrap_or_default();
            Ok(is_yes(&line))
        }
        _ = tokio::signal::ctrl_c() => {
            let _ = writeln!(io::stderr());
            Err(Problem::new(ErrorCode::Cancelled, "stopped; nothing was changed"))
        }
    }
}

fn is_yes(line: &str) -> bool {
    matches!(line.trim().to_ascii_lowercase().as_str(), "y" | "yes")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_yes_is_yes() {
        assert!(["y\n", " YES \n"].iter().all(|line| is_yes(line)));
        assert!(
            ["", "\n", "n\n", "yy\n", "sure\n"]
                .iter()
                .all(|line| !is_yes(line))
        );
    }
}
