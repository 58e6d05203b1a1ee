//! What people see and type: lines, colours, the live view, the card that asks.

pub mod agent;
pub mod agents;
pub mod card;
pub mod chosen;
pub mod clean;
pub mod confirm;
pub mod flow;
pub mod foot;
pub mod keys;
pub mod line;
pub mod live;
pub mod plain;
pub mod question;
pub mod screen;
pub mod status;
pub mod todos;
pub mod tools;
pub mod tree;
pub mod view;
pub mod wording;

use rustix::termios;

/// Columns when nobody can tell.
const USUAL_WIDTH: usize = 80;

/// Columns of the terminal standard error goes to.
pub fn width() -> usize {
    let size = termios::tcgetwinsize(rustix::stdio::stderr());
    size.ok().map(|size| usize::from(size.ws_col)).filter(|columns| *columns > 0).unwrap_or(USUAL_WIDTH)
}
