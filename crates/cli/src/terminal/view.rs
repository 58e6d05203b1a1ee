//! The interface of views that show a run on standard error.

use rooftree_protocol::Event;

use super::line::StyledLine;

/// Shows what happens. The answer itself goes to standard output and is not its business,
/// unless both are the same terminal.
pub trait TerminalView {
    /// Something happened.
    fn show(&mut self, event: &Event);

    /// Something happened in a session below it.
    fn show_delegated(&mut self, event: &Event);

    /// Lines from the program itself.
    fn say(&mut self, lines: &[StyledLine]);

    /// Time has passed.
    fn tick(&mut self) {}

    /// Prompts for a key: these lines, then a place for it. Nothing else is drawn until
    /// [`TerminalView::answered`], which may take the card away.
    fn ask(&mut self, card: &[StyledLine], prompt: &StyledLine);

    /// Prints lines that stay, while a key is prompted for: all of what a card shows only in part.
    fn reveal(&mut self, lines: &[StyledLine]);

    /// A key was pressed that is no answer: says so, below the card that is asked about.
    fn wrong_key(&mut self, card: &[StyledLine], hint: &StyledLine, prompt: &StyledLine);

    /// Prompts for a line of text: the same, but what is typed is shown and stays.
    fn ask_for_words(&mut self, card: &[StyledLine], prompt: &StyledLine);

    /// A line was typed and ended: the cursor is at the beginning of a row again.
    fn entered(&mut self);

    /// The question is settled; this says how.
    fn answered(&mut self, line: &StyledLine);

    /// The run is over: what is not to stay is taken away.
    fn finish(&mut self);

    /// Why the run failed. It is said however little else is.
    fn fail(&mut self, lines: &[StyledLine]);

    /// The last lines: what it cost, how to go on. Unless only the result is wanted.
    fn conclude(&mut self, lines: &[StyledLine]);

    /// Whether the answer has been seen already.
    fn has_shown_answer(&self) -> bool {
        false
    }
}

/// How much is said.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ViewDetail {
    /// Only errors and questions.
    Quiet,
    /// Also what the program itself remarks, but no events: those are told elsewhere.
    Remarks,
    /// What people want to know.
    Usual,
    /// Everything.
    Full,
}
