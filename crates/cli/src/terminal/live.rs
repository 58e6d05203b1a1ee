//! Shows a run as it happens: text as it streams, calls as they run, a status line below.

use std::{collections::VecDeque, io::Write, time::Instant};

use rooftree_protocol::{CallId, Event, EventBody, Todo, event::WaitReason};

use super::{
    clean::Cleaner,
    flow::Flow,
    line::{Line, Look},
    screen::Screen,
    status::Status,
    todos, tools,
    view::{Detail, View},
    width, wording,
};

/// Running calls shown at a time; more are counted.
const CALLS_SHOWN: usize = 5;
/// Columns the foot leaves free: what a terminal echoes for Ctrl-C must not begin a new row.
const ECHO: usize = 2;

/// The live view.
pub struct Live<W> {
    screen: Screen<W>,
    detail: Detail,
    cleaner: Cleaner,
    flow: Flow,
    /// The raw text of the reply that is coming, to tell whether pieces of it were missed.
    streamed: String,
    last: Block,
    calls: Vec<Running>,
    todos: Vec<Todo>,
    status: Status,
    /// Lines that wait until a question is answered; none if nobody is asked.
    held: Option<VecDeque<Line>>,
    answer_shown: bool,
}

/// What was printed last, for the empty line between different things.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Block {
    Nothing,
    Text,
    Work,
    Question,
}

struct Running {
    call: CallId,
    tool: String,
    title: String,
    since: Instant,
    says: String,
}

impl<W: Write> Live<W> {
    /// Draws on this stream.
    pub fn new(out: W, colours: bool, detail: Detail) -> Self {
        Self {
            screen: Screen::new(out, colours),
            detail,
            cleaner: Cleaner::default(),
            flow: Flow::default(),
            streamed: String::new(),
            last: Block::Nothing,
            calls: Vec::new(),
            todos: Vec::new(),
            status: Status::default(),
            held: None,
            answer_shown: false,
        }
    }

    /// Prints lines that stay, with an empty one before them if they are of another kind.
    fn print(&mut self, block: Block, mut lines: Vec<Line>) {
        if lines.is_empty() {
            return self.draw(&[]);
        }
        if self.last != Block::Nothing && self.last != block {
            lines.insert(0, Line::default());
        }
        self.last = block;
        match &mut self.held {
            Some(held) => held.extend(lines),
            None => self.draw(&lines),
        }
    }

    fn draw(&mut self, above: &[Line]) {
        if self.held.is_none() {
            let foot = self.foot();
            self.screen.draw(above, &foot);
        }
    }

    fn print_text(&mut self, piece: &str) {
        self.streamed.push_str(piece);
        let clean = self.cleaner.push(piece);
        let rows = self.flow.push(&clean, columns());
        self.print(Block::Text, rows.into_iter().map(Line::of_text).collect());
    }

    /// Ends the text that is coming, whole or not.
    fn end_text(&mut self) {
        let rest = self.flow.finish().map(Line::of_text);
        self.print(Block::Text, rest.into_iter().collect());
        self.cleaner = Cleaner::default();
        self.streamed.clear();
    }

    /// The whole reply is known: whatever did not come in pieces is printed now.
    fn complete_text(&mut self, text: &str) {
        match text.strip_prefix(self.streamed.as_str()) {
            Some(missing) => self.print_text(missing),
            None => {
                self.end_text();
                self.print_text(text);
            }
        }
        self.end_text();
    }

    fn foot(&self) -> Vec<Line> {
        let columns = columns().max(ECHO + 1);
        let mut lines = Vec::new();
        if !self.flow.rest().is_empty() {
            if self.last == Block::Work {
                lines.push(Line::default());
            }
            lines.push(Line::of_text(self.flow.rest().to_owned()));
        }
        let spinner = self.status.spinner();
        for call in self.calls.iter().take(CALLS_SHOWN) {
            let elapsed = u64::try_from(call.since.elapsed().as_millis()).unwrap_or(u64::MAX);
            lines.push(tools::running(spinner, &call.tool, &call.title, elapsed));
            if !call.says.is_empty() {
                lines.push(Line::of(Look::Dim, format!("  {}", call.says)));
            }
        }
        if let Some(more @ 1..) = self.calls.len().checked_sub(CALLS_SHOWN) {
            lines.push(Line::of(Look::Dim, format!("  and {more} more")));
        }
        let todos = todos::lines(&self.todos);
        if !todos.is_empty() {
            lines.push(Line::default());
            lines.extend(todos);
        }
        if !lines.is_empty() || self.last != Block::Nothing {
            lines.push(Line::default());
        }
        lines.push(self.status.line(columns - ECHO));
        lines.into_iter().map(|line| line.cut(columns - ECHO)).collect()
    }

    fn start_call(&mut self, call: &CallId, tool: &str, title: &str) {
        self.status.doing = "working".into();
        let (call, tool, title) = (call.clone(), tool.to_owned(), title.to_owned());
        self.calls.push(Running { call, tool, title, since: Instant::now(), says: String::new() });
        self.draw(&[]);
    }

    fn remark(&mut self, body: &EventBody) {
        if let EventBody::RunWaiting { reason, .. } = body {
            // What had come of a reply that broke off will come again.
            self.end_text();
            self.status.doing = match reason {
                WaitReason::Permission | WaitReason::Question => "waiting for you".into(),
                _ => "waiting".into(),
            };
        }
        if let Some(line) = wording::remark(body) {
            self.print(Block::Work, vec![line]);
        }
    }
}

impl<W: Write> View for Live<W> {
    fn show(&mut self, event: &Event) {
        match &event.body {
            EventBody::RunStarted { model, .. } => {
                self.status.begin(&event.agent, model);
                self.draw(&[]);
            }
            EventBody::MessageDelta { text } => {
                self.status.doing = "answering".into();
                self.print_text(text);
            }
            EventBody::ThinkingDelta { .. } => self.status.doing = "thinking".into(),
            EventBody::MessageCompleted(reply) => {
                self.status.turn += 1;
                self.status.tokens += reply.usage.total();
                self.complete_text(&reply.text);
                self.answer_shown = !reply.text.is_empty();
            }
            EventBody::ToolStarted { call, tool, title, .. } => self.start_call(call, tool, title),
            EventBody::ToolOutput { call, text } => {
                if let Some(running) = self.calls.iter_mut().find(|running| running.call == *call) {
                    running.says = text.trim_end().lines().last().unwrap_or_default().to_owned();
                }
            }
            EventBody::ToolCompleted(record) => {
                self.calls.retain(|running| running.call != record.call);
                if self.calls.is_empty() {
                    self.status.doing = "thinking".into();
                }
                let room = (self.detail < Detail::Full).then(columns);
                self.print(Block::Work, vec![tools::ended(record, room)]);
            }
            EventBody::TodoUpdated { items } => {
                self.todos.clone_from(items);
                self.draw(&[]);
            }
            other => self.remark(other),
        }
    }

    fn say(&mut self, lines: &[Line]) {
        self.print(Block::Work, lines.to_vec());
    }

    fn tick(&mut self) {
        self.status.ticks += 1;
        self.draw(&[]);
    }

    fn ask(&mut self, card: &[Line], prompt: &Line) {
        self.print(Block::Question, card.to_vec());
        self.screen.prompt(prompt);
        self.held = Some(VecDeque::new());
    }

    fn answered(&mut self, line: &Line) {
        let held = self.held.take().unwrap_or_default();
        let lines: Vec<Line> = std::iter::once(line.clone()).chain(held).collect();
        self.draw(&lines);
    }

    fn finish(&mut self) {
        self.end_text();
        let held: Vec<Line> = self.held.take().unwrap_or_default().into();
        self.screen.draw(&held, &[]);
        if self.last != Block::Nothing {
            self.screen.draw(&[Line::default()], &[]);
        }
        // From here on lines are only added.
        self.held = None;
        self.last = Block::Nothing;
    }

    fn conclude(&mut self, lines: &[Line]) {
        self.screen.draw(lines, &[]);
    }

    fn has_shown_answer(&self) -> bool {
        self.answer_shown
    }
}

/// One column stays free: a full row would move the cursor to the next one.
fn columns() -> usize {
    width().saturating_sub(1).max(1)
}
