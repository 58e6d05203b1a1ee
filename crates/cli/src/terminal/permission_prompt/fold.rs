//! Fits a permission prompt into the screen: the middle of a long command, diff or rule is folded.

use rooftree_protocol::Effect;

use super::{
    super::line::{StyledLine, TextStyle},
    PermissionPrompt,
};
use crate::terminal;

/// Lines on the screen besides the card: the gap above it, a hint, and where the answer is typed.
pub(super) const BESIDES: usize = 3;

/// Fewest lines of a folded piece: its beginning, the fold, its end.
const FEWEST: usize = 4;

/// Room for a card.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScreenSize {
    pub columns: usize,
    pub rows: usize,
}

impl ScreenSize {
    /// That of the terminal now.
    pub fn now() -> Self {
        Self {
            columns: terminal::width(),
            rows: terminal::height(),
        }
    }
}

impl PermissionPrompt {
    /// The card in lines of so many columns, at most so many; `waiting` more questions are behind it.
    pub fn lines(&self, waiting: usize, screen: ScreenSize) -> Vec<StyledLine> {
        let columns = screen.columns.max(20);
        let (body, rule) = self.folded(waiting, screen);
        let mut lines = self.heading(waiting, columns);
        lines.extend(body);
        lines.extend(self.keys(columns));
        lines.extend(rule);
        lines
    }

    /// All of it, however long.
    pub fn whole(&self, columns: usize) -> Vec<StyledLine> {
        let columns = columns.max(20);
        let mut lines = self.body(columns);
        lines.extend(self.rule_lines(columns));
        lines
    }

    /// Whether a part of a command has not been shown: it must not be permitted unseen.
    pub fn hides_command(&self, waiting: usize, screen: ScreenSize) -> bool {
        let is_command = self.effect != Effect::LocalMutation;
        is_command && !self.is_whole && self.is_folded(waiting, screen)
    }

    /// Whether the card is taller than the screen.
    pub fn is_folded(&self, waiting: usize, screen: ScreenSize) -> bool {
        let (body, rule) = self.folded(waiting, screen);
        body.len() + rule.len() < self.whole(screen.columns).len()
    }

    /// The body and the rule, with their middles left out where the screen is too small for them.
    fn folded(&self, waiting: usize, screen: ScreenSize) -> (Vec<StyledLine>, Vec<StyledLine>) {
        let columns = screen.columns.max(20);
        let fixed = self.heading(waiting, columns).len() + self.keys(columns).len() + BESIDES;
        let room = screen.rows.saturating_sub(fixed);
        let (body, rule) = (self.body(columns), self.rule_lines(columns));
        if body.len() + rule.len() <= room {
            return (body, rule);
        }
        let rule = without_middle(rule, (room / 3).max(FEWEST));
        let left = room.saturating_sub(rule.len()).max(FEWEST);
        (without_middle(body, left), rule)
    }
}

/// Lines without those in the middle, if there are more than so many.
fn without_middle(mut lines: Vec<StyledLine>, most: usize) -> Vec<StyledLine> {
    let hidden = match lines.len().checked_sub(most) {
        None | Some(0) => return lines,
        Some(surplus) => surplus + 1,
    };
    let tail = (most.saturating_sub(1)) / 3;
    let begin = most.saturating_sub(1 + tail);
    let fold = StyledLine::of(TextStyle::Dim, format!("    … {hidden} more lines: "))
        .with(TextStyle::Accent, "v")
        .with(TextStyle::Dim, " shows them");
    lines.splice(begin..begin + hidden, [fold]);
    lines
}
