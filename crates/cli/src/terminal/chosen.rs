//! Chooses how a run is shown, and how much of it.

use std::io::{IsTerminal, stderr};

use super::{
    live::Live,
    plain::Plain,
    view::{Detail, View},
};
use crate::environment::{Environment, variable};

/// The view for these surroundings.
pub fn view(environment: &Environment, detail: Detail) -> Box<dyn View> {
    let is_terminal = stderr().is_terminal();
    let colours = environment.colours(is_terminal);
    let can_redraw =
        is_terminal && !environment.everywhere.plain && variable("TERM").is_some_and(|term| term != "dumb");
    if can_redraw && detail > Detail::Remarks {
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
