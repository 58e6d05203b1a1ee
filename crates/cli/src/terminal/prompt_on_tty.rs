//! A view whose prompts are on the controlling terminal while everything else goes to a redirected standard error.

use std::fs::File;

use rooftree_protocol::Event;

use super::{line::StyledLine, plain::PlainView, view::TerminalView};

/// Events go to the log, prompts to the terminal, and how they were answered to both.
pub struct PromptOnTty {
    pub log: Box<dyn TerminalView>,
    pub prompts: PlainView<File>,
}

impl TerminalView for PromptOnTty {
    fn show(&mut self, event: &Event) {
        self.log.show(event);
    }

    fn show_delegated(&mut self, event: &Event) {
        self.log.show_delegated(event);
    }

    fn say(&mut self, lines: &[StyledLine]) {
        self.log.say(lines);
    }

    fn ask(&mut self, card: &[StyledLine], prompt: &StyledLine) {
        self.prompts.ask(card, prompt);
    }

    fn reveal(&mut self, lines: &[StyledLine]) {
        self.prompts.reveal(lines);
    }

    fn wrong_key(&mut self, card: &[StyledLine], hint: &StyledLine, prompt: &StyledLine) {
        self.prompts.wrong_key(card, hint, prompt);
    }

    fn ask_for_words(&mut self, card: &[StyledLine], prompt: &StyledLine) {
        self.prompts.ask_for_words(card, prompt);
    }

    fn entered(&mut self) {
        self.prompts.entered();
    }

    fn answered(&mut self, line: &StyledLine) {
        self.prompts.answered(line);
        self.log.say(std::slice::from_ref(line));
    }

    fn finish(&mut self) {
        self.log.finish();
    }

    fn fail(&mut self, lines: &[StyledLine]) {
        self.log.fail(lines);
    }

    fn conclude(&mut self, lines: &[StyledLine]) {
        self.log.conclude(lines);
    }

    fn has_shown_answer(&self) -> bool {
        self.log.has_shown_answer()
    }
}
