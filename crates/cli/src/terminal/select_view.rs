//! Selects the view of a run, live or plain, and its level of detail.

use std::io::{IsTerminal, stderr};

use super::{
    answer_text::AnswerFormat,
    controlling_tty,
    live::LiveView,
    plain::PlainView,
    prompt_on_tty::PromptOnTty,
    screen::TerminalScreen,
    view::{TerminalView, ViewDetail},
};
use crate::environment::{Environment, variable};

/// The view for these surroundings.
pub fn view(environment: &Environment, detail: ViewDetail) -> Box<dyn TerminalView> {
    let is_terminal = stderr().is_terminal();
    let colours = environment.colours(is_terminal);
    let can_redraw = is_terminal
        && !environment.everywhere.plain
        && variable("TERM").is_some_and(|term| term != "dumb");
    if can_redraw && detail > ViewDetail::Remarks {
        return Box::new(LiveView::new(
            TerminalScreen::new(stderr(), colours),
            AnswerFormat::of(environment),
            detail,
        ));
    }
    Box::new(PlainView::new(stderr(), colours, detail))
}

/// The same where a person answers prompts: they are shown on the terminal, also if standard error goes elsewhere.
pub fn view_for_person(environment: &Environment, detail: ViewDetail) -> Box<dyn TerminalView> {
    let log = view(environment, detail);
    match controlling_tty::for_writing().filter(|_| !stderr().is_terminal()) {
        Some(tty) => {
            let prompts = PlainView::new(tty, environment.colours(true), detail);
            Box::new(PromptOnTty { log, prompts })
        }
        None => log,
    }
}

/// How much is to be said.
pub fn detail(environment: &Environment) -> ViewDetail {
    match (environment.everywhere.quiet, environment.everywhere.verbose) {
        (true, _) => ViewDetail::Quiet,
        (false, 0) => ViewDetail::Usual,
        (false, _) => ViewDetail::Full,
    }
}
