//! Prints lines of the program itself in a conversation: the greeting, notes, remarks and errors.

use rooftree_protocol::Problem;

use super::{
    line_mode::{ConversationStep, LineMode, write},
    state::mode_name,
};
use crate::{
    failure,
    human_format::place,
    terminal::{
        self,
        line::{StyledLine, TextStyle},
        run_text, wrap,
    },
};

impl LineMode<'_> {
    /// The first lines: with whom and what the conversation works.
    pub(super) fn greet(&self) {
        let state = &self.state;
        let facts = [
            state.agent.clone(),
            run_text::model(&state.model(&self.definitions)),
            mode_name(state.mode()),
            place(&state.cwd),
        ];
        let version = env!("CARGO_PKG_VERSION");
        let head = StyledLine::of(TextStyle::Strong, "rooftree").with(
            TextStyle::Dim,
            format!(" {version} · {}", facts.join(" · ")),
        );
        let mut lines = vec![head.cut(terminal::width().saturating_sub(1).max(20))];
        if let Some(session) = &state.session {
            let id = run_text::short(&session.id);
            lines.push(StyledLine::of(
                TextStyle::Dim,
                format!("goes on with session {id}"),
            ));
        }
        lines.push(StyledLine::of(
            TextStyle::Dim,
            "/help lists commands · Ctrl-C stops a run · Ctrl-D leaves",
        ));
        self.print(&lines);
    }

    /// Prints lines of the program itself.
    pub(super) fn print(&self, lines: &[StyledLine]) {
        let text: String = lines
            .iter()
            .map(|line| line.paint(self.colours) + "\n")
            .collect();
        write(&text);
    }

    /// Says something beside the work.
    pub(super) fn remark(&self, words: &str) {
        let room = terminal::width().saturating_sub(3).max(20);
        let rows = wrap::rows(words, room).into_iter().enumerate();
        let lines = rows.map(|(number, row)| {
            let sign = if number == 0 { "! " } else { "  " };
            StyledLine::of(TextStyle::Warning, sign).with(TextStyle::Plain, row)
        });
        self.print(&lines.collect::<Vec<_>>());
    }

    /// An error ends nothing but the line that led to it.
    pub(super) fn report(&self, problem: &Problem) -> ConversationStep {
        let words = failure::in_words(problem);
        let lines = words.lines().enumerate().map(|(number, line)| {
            let look = if number == 0 {
                TextStyle::Bad
            } else {
                TextStyle::Plain
            };
            StyledLine::of(look, line)
        });
        self.print(&lines.collect::<Vec<_>>());
        ConversationStep::Ask
    }
}
