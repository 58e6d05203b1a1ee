//! Yes/no prompt before anything runs. Enter alone is no.

use std::io::{self, Write};

use rooftree_protocol::{ErrorCode, Problem};

use super::{
    controlling_tty,
    keys::{KeyboardInput, KeyboardMode},
    line::StyledLine,
};

/// Asks on the terminal, also if standard input or standard error is redirected; only `y` and `yes` are yes. What was
/// typed before the question does not count.
pub async fn ask(lines: &[StyledLine], prompt: &str, colours: bool) -> Result<bool, Problem> {
    let mut text: String = lines
        .iter()
        .map(|line| line.paint(colours) + "\n")
        .collect();
    text.push_str(prompt);
    Ok(is_yes(&line(&text).await?))
}

/// Asks for one line of text. The end of input is an empty line.
pub async fn line(prompt: &str) -> Result<String, Problem> {
    let mut keys = KeyboardInput::new();
    keys.listen(KeyboardMode::Lines);
    show(prompt);
    let mut typed = String::new();
    loop {
        tokio::select! {
            key = keys.next_or_end() => match key {
                None | Some('\n') => return Ok(typed),
                Some(key) => typed.push(key),
            },
            _ = tokio::signal::ctrl_c() => {
                show("\n");
                return Err(Problem::new(ErrorCode::Cancelled, "stopped; nothing was changed"));
            }
        }
    }
}

/// Writes to the terminal, on standard error if that is one.
fn show(text: &str) {
    let terminal = if io::IsTerminal::is_terminal(&io::stderr()) {
        None
    } else {
        controlling_tty::for_writing()
    };
    // A write fails only if the terminal is gone; then no answer can come either.
    let _ = match terminal {
        Some(mut tty) => tty.write_all(text.as_bytes()),
        None => io::stderr().write_all(text.as_bytes()),
    };
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
