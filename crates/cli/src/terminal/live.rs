//! Shows a run as it happens: text as it streams, calls as they run, a status line below.

use std::{collections::VecDeque, io::Write};

use rooftree_protocol::{Event, EventBody};
use rooftree_view::{ReplyPiece, StreamedReply};

use super::{
    answer_text::{AnswerFormat, AnswerRenderer},
    footer::LiveFooter,
    line::StyledLine,
    run_text,
    screen::TerminalScreen,
    tools,
    view::{TerminalView, ViewDetail},
    width,
};

/// Columns the foot leaves free: what a terminal echoes for Ctrl-C must not begin a new row.
const ECHO: usize = 2;
/// Rows after the first of a remark stand below its text, not below its mark.
const HANGING: usize = 2;

/// The live view.
pub struct LiveView<W> {
    screen: TerminalScreen<W>,
    detail: ViewDetail,
    text: AnswerRenderer,
    /// What was printed of the reply that is coming.
    reply: StreamedReply,
    last: Block,
    foot: LiveFooter,
    /// Lines about others that wait until the text that is coming has ended.
    later: Vec<StyledLine>,
    /// Lines that are held back until a prompt is answered; none if no prompt is open.
    held: Option<VecDeque<StyledLine>>,
    answer_shown: bool,
    /// Whether the cursor stands behind what is being typed.
    at_prompt: bool,
}

/// What was printed last, for the empty line between different things.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Block {
    Nothing,
    Text,
    Work,
    Question,
}

impl<W: Write> LiveView<W> {
    /// Draws on this screen.
    pub fn new(screen: TerminalScreen<W>, format: AnswerFormat, detail: ViewDetail) -> Self {
        Self {
            screen,
            detail,
            text: AnswerRenderer::new(format),
            reply: StreamedReply::default(),
            last: Block::Nothing,
            foot: LiveFooter::default(),
            later: Vec::new(),
            held: None,
            answer_shown: false,
            at_prompt: false,
        }
    }

    /// Prints lines that stay, with an empty one before them if they are of another kind.
    fn print(&mut self, block: Block, mut lines: Vec<StyledLine>) {
        if lines.is_empty() {
            return self.draw(&[]);
        }
        if self.last != Block::Nothing && self.last != block {
            lines.insert(0, StyledLine::default());
        }
        self.last = block;
        match &mut self.held {
            Some(held) => held.extend(lines),
            None => self.draw(&lines),
        }
    }

    fn draw(&mut self, above: &[StyledLine]) {
        if self.held.is_none() {
            let foot = self.foot_lines();
            self.screen.draw(above, &foot);
        }
    }

    fn print_text(&mut self, piece: &str) {
        let lines = self.text.push(piece, columns());
        self.print(Block::Text, lines);
    }

    /// Ends the text that is coming, whole or not.
    fn end_text(&mut self) {
        let rest = self.text.finish();
        self.print(Block::Text, rest);
        self.reply.clear();
        let later = std::mem::take(&mut self.later);
        self.print(Block::Work, later);
    }

    /// The whole reply is known: whatever did not come in pieces is printed now.
    fn complete_text(&mut self, text: &str) {
        match self.reply.whole(text) {
            ReplyPiece::Rest(missing) => self.print_text(&missing),
            ReplyPiece::Anew(text) => {
                self.end_text();
                self.print_text(&text);
            }
        }
        self.end_text();
    }

    fn foot_lines(&self) -> Vec<StyledLine> {
        let columns = columns().max(ECHO + 1);
        let mut lines = Vec::new();
        let tail = self.text.tail();
        if !tail.is_empty() {
            if self.last == Block::Work {
                lines.push(StyledLine::default());
            }
            // It is wrapped already, and only the last row of the foot leaves columns free.
            lines.extend(tail.into_iter().map(|line| line.cut(columns)));
        }
        let begin = lines.len();
        lines.extend(self.foot.lines(columns - ECHO));
        if !lines.is_empty() || self.last != Block::Nothing {
            lines.push(StyledLine::default());
        }
        lines.push(self.foot.status.line(&self.foot.tree, columns - ECHO));
        let below = lines.split_off(begin);
        lines.extend(below.into_iter().map(|line| line.cut(columns - ECHO)));
        lines
    }

    fn remark(&mut self, event: &Event) {
        if let EventBody::RunWaiting { .. } = &event.body {
            // What had come of a reply that broke off will come again.
            self.end_text();
        }
        let lines = run_text::remarks(event);
        if !lines.is_empty() {
            self.print(Block::Work, wrapped(lines));
        }
    }
}

impl<W: Write> TerminalView for LiveView<W> {
    fn show(&mut self, event: &Event) {
        self.foot.take(event);
        match &event.body {
            EventBody::RunStarted { .. }
            | EventBody::ToolStarted { .. }
            | EventBody::TodoUpdated { .. } => self.draw(&[]),
            EventBody::MessageDelta { text, .. } => match self.reply.delta(text) {
                ReplyPiece::Rest(text) | ReplyPiece::Anew(text) => self.print_text(&text),
            },
            EventBody::MessageCompleted(reply) => {
                self.complete_text(&reply.text);
                self.answer_shown = !reply.text.is_empty();
            }
            EventBody::ToolCompleted(record) => {
                let room = (self.detail < ViewDetail::Full).then(columns);
                let below = self
                    .foot
                    .end_call(&record.call)
                    .into_iter()
                    .map(|line| line.cut(columns()));
                let lines = std::iter::once(tools::ended(record, room))
                    .chain(below)
                    .collect();
                self.print(Block::Work, lines);
            }
            _ => self.remark(event),
        }
    }

    fn show_delegated(&mut self, event: &Event) {
        match self.foot.take_delegated(event) {
            Some(line) if !self.reply.is_empty() => self.later.push(line.cut(columns())),
            Some(line) => self.print(Block::Work, vec![line.cut(columns())]),
            None if matches!(event.body, EventBody::RunStarted { .. }) => self.draw(&[]),
            // Everything else is seen at the next tick: events come faster than people read.
            None => {}
        }
    }

    fn say(&mut self, lines: &[StyledLine]) {
        self.print(Block::Work, wrapped(lines.to_vec()));
    }

    fn tick(&mut self) {
        self.foot.status.ticks += 1;
        self.draw(&[]);
    }

    fn ask(&mut self, card: &[StyledLine], prompt: &StyledLine) {
        let gap = (self.last != Block::Nothing).then(StyledLine::default);
        let foot: Vec<StyledLine> = gap
            .into_iter()
            .chain(card.iter().cloned())
            .chain([prompt.clone()])
            .collect();
        self.screen.draw(&[], &foot);
        self.held.get_or_insert_default();
    }

    fn reveal(&mut self, lines: &[StyledLine]) {
        self.screen.draw(lines, &[]);
    }

    fn wrong_key(&mut self, card: &[StyledLine], hint: &StyledLine, prompt: &StyledLine) {
        let hint = hint.clone().cut(columns());
        let lines: Vec<StyledLine> = card.iter().cloned().chain([hint]).collect();
        self.ask(&lines, prompt);
    }

    fn ask_for_words(&mut self, card: &[StyledLine], prompt: &StyledLine) {
        let gap =
            (self.last != Block::Nothing && self.last != Block::Question).then(StyledLine::default);
        let lines: Vec<StyledLine> = gap.into_iter().chain(card.iter().cloned()).collect();
        self.screen.draw(&lines, &[]);
        self.screen.prompt(prompt);
        self.last = Block::Question;
        self.at_prompt = true;
        self.held.get_or_insert_default();
    }

    fn entered(&mut self) {
        self.at_prompt = false;
    }

    fn answered(&mut self, line: &StyledLine) {
        let is_apart = self.last != Block::Nothing && self.last != Block::Question;
        let gap = (is_apart || std::mem::take(&mut self.at_prompt)).then(StyledLine::default);
        let held = self.held.take().unwrap_or_default();
        let lines: Vec<StyledLine> = gap
            .into_iter()
            .chain([line.clone().cut(columns())])
            .chain(held)
            .collect();
        self.last = Block::Question;
        self.draw(&lines);
    }

    fn finish(&mut self) {
        self.end_text();
        let held: Vec<StyledLine> = self.held.take().unwrap_or_default().into();
        self.screen.draw(&held, &[]);
        if self.last != Block::Nothing {
            self.screen.draw(&[StyledLine::default()], &[]);
        }
        // From here on lines are only added.
        self.held = None;
        self.last = Block::Nothing;
    }

    fn fail(&mut self, lines: &[StyledLine]) {
        self.screen.draw(lines, &[]);
    }

    fn conclude(&mut self, lines: &[StyledLine]) {
        self.screen.draw(lines, &[]);
    }

    fn has_shown_answer(&self) -> bool {
        self.answer_shown
    }
}

/// Remarks in rows of the terminal, broken at words; rows after the first stand below the text.
fn wrapped(lines: Vec<StyledLine>) -> Vec<StyledLine> {
    let rows = lines
        .into_iter()
        .map(|line| line.wrapped(columns(), HANGING));
    rows.flatten().collect()
}

/// One column stays free: a full row would move the cursor to the next one.
fn columns() -> usize {
    width().saturating_sub(1).max(1)
}
