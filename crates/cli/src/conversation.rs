//! The conversation of a person with agents on a terminal: slash commands, completion, history and drafts as plain data,
//! and a line mode that draws them.
//!
//! `input`, `completion`, `draft`, `help`, `history` and `state` know no terminal. `line_editor` reads lines, `line_mode`
//! is the loop, `perform` carries out slash commands through the handle of the runtime.

mod background;
mod chat;
mod completion;
mod cost;
mod draft;
mod help;
mod history;
mod input;
mod line_editor;
mod line_mode;
mod perform;
mod program_lines;
mod state;
mod unfinished_work;

pub use self::chat::execute;
