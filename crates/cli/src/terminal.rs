//! Terminal input and output: lines, colours, the live view, permission and question prompts.

pub mod agent_tree;
pub mod answer_text;
pub mod confirm;
pub mod controlling_tty;
pub mod footer;
pub mod keys;
pub mod line;
pub mod live;
pub mod permission_prompt;
pub mod plain;
pub mod prompt_on_tty;
pub mod question_prompt;
pub mod run_text;
pub mod sanitize;
pub mod screen;
pub mod select_view;
pub mod status;
pub mod todos;
pub mod tools;
pub mod view;
pub mod wrap;

use rustix::termios;

/// Default width in columns if the terminal's is unknown.
const USUAL_WIDTH: usize = 80;

/// Rows of the terminal that standard output goes to.
pub fn height() -> Option<usize> {
    let size = termios::tcgetwinsize(rustix::stdio::stdout()).ok()?;
    Some(usize::from(size.ws_row)).filter(|rows| *rows > 0)
}

/// Columns of the terminal: the one standard error goes to, else the one standard output goes to.
pub fn width() -> usize {
    let size = termios::tcgetwinsize(rustix::stdio::stderr())
        .or_else(|_| termios::tcgetwinsize(rustix::stdio::stdout()));
    size.ok()
        .map(|size| usize::from(size.ws_col))
        .filter(|columns| *columns > 0)
        .unwrap_or(USUAL_WIDTH)
}
