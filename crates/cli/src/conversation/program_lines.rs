//! Prints lines of the program itself in a conversation: greeting, last exchange, notes, remarks, errors and farewell.

use rooftree_protocol::{EventBody, Problem, message::text_of};
use rooftree_view::board::plain_line;

use super::{
    line_mode::{ConversationStep, LineMode, write},
    state::mode_name,
};
use crate::{
    control,
    exit::Exit,
    failure,
    human_format::place,
    terminal::{
        self,
        line::{StyledLine, TextStyle},
        run_text,
        sanitize::clean_line,
        wrap,
    },
};

/// Events of a journal among which the last question and the last answer are looked for.
const LAST_EVENTS: usize = 200;

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

    /// A message that was typed before the conversation began, as it would stand at the prompt.
    pub(super) fn show_typed(&self, text: &str) {
        let prompt = self.state.prompt();
        let lines = text.lines().enumerate().map(|(number, line)| {
            let prompt = if number == 0 { prompt.as_str() } else { "" };
            StyledLine::of(TextStyle::Plain, format!("{prompt}{}", clean_line(line)))
        });
        self.print(&lines.collect::<Vec<_>>());
    }

    /// What was last asked and answered in the session that goes on, a line each. What cannot be read is left out.
    pub(super) async fn show_last_exchange(&self) {
        let Some(session) = &self.state.session else {
            return;
        };
        let after = session.head.saturating_sub(LAST_EVENTS as u64);
        let client = control::client(&self.handle);
        let events = client.events(&session.id, after, LAST_EVENTS).await;
        let (mut asked, mut answered) = (String::new(), String::new());
        for event in events.unwrap_or_default() {
            match event.body {
                EventBody::MessageUser { message, .. } => asked = text_of(&message.parts),
                EventBody::MessageCompleted(reply) if !reply.text.trim().is_empty() => {
                    answered = reply.text;
                }
                _ => {}
            }
        }
        let room = terminal::width().saturating_sub(1).max(20);
        let lines = [("› ", asked), ("● ", answered)].map(|(sign, text)| {
            let line = text.lines().find(|line| !line.trim().is_empty())?;
            let line = StyledLine::of(TextStyle::Dim, format!("{sign}{}", plain_line(line)));
            Some(line.cut(room))
        });
        self.print(&lines.into_iter().flatten().collect::<Vec<_>>());
    }

    /// The session is kept: the last line says how to come back to it.
    pub(super) fn say_how_to_continue(&self, exit: Exit) {
        if let (Some(session), Exit::DONE) = (&self.state.session, exit) {
            let id = run_text::short(&session.id);
            self.note(&format!("continue with: rooftree chat -s {id}"));
        }
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
