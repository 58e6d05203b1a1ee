//! Whoever shows a run on standard error, and which one it is.

use std::io::{IsTerminal, stderr};

use rooftree_protocol::Event;

use super::{line::Line, live::Live, plain::Plain};
use crate::environment::{Environment, variable};

/// Shows what happens. The answer itself goes to standard output and is not its business,
/// unless both are the same terminal.
pub trait View {
    /// Something happened.
    fn show(&mut self, event: &Event);

    /// Lines from the program itself.
    fn say(&mut self, lines: &[Line]);

    /// Time has passed.
    fn tick(&mut self) {}

    /// Somebody is asked: these lines, then a place for the answer. Nothing else is drawn
    /// until [`View::answered`].
    fn ask(&mut self, card: &[Line], prompt: &Line);

    /// The question is settled; this says how.
    fn answered(&mut self, line: &Line);

    /// The run is over: what is not to stay is taken away.
    fn finish(&mut self);

    /// The last lines: what it cost, how to go on. Unless only the result is wanted.
    fn conclude(&mut self, lines: &[Line]);

    /// Whether the answer has been seen already.
    fn has_shown_answer(&self) -> bool {
        false
    }
}

/// How much is said.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Detail {
    /// Only what must be.
    Quiet,
    /// What people want to know.
    Usual,
    /// Everything.
    Full,
}

/// The view for these surroundings.
pub fn choose(environment: &Environment, detail: Detail) -> Box<dyn View> {
    let is_terminal = stderr().is_terminal();
    let colours = environment.colours(is_terminal);
    let can_redraw = is_terminal && variable("TERM").is_some_and(|term| term != "dumb");
    if can_redraw && detail > Detail::Quiet {
        return Box::new(Live::new(stderr(), colours, detail));
    }
    Box::new(Plain::new(stderr(), colours, detail))
}

/// How much is to be said.
pub fn detail(environment: &Environment) -> Detail {
    match (environment.everywhere.quiet, environment.everywhere.verbose) {
        (true, _) => Detail::Quiet,
        (false, 0) => Detail::Usual,
        (false, _) => Detail::Full,
    }
}
