//! Shows a run as plain lines: for logs, pipes and terminals that cannot redraw.

use std::io::Write;

use rooftree_protocol::{Event, EventBody};
use rooftree_view::{RunTreeView, TreeChange};

use super::{
    agent_tree,
    line::{StyledLine, TextStyle},
    run_text,
    sanitize::clean,
    tools,
    view::{TerminalView, ViewDetail},
};

/// One line per thing that happened; nothing is ever taken back.
pub struct PlainView<W> {
    out: W,
    colours: bool,
    detail: ViewDetail,
    tree: RunTreeView,
    /// Whether the cursor stands behind a prompt: what comes next begins a row.
    at_prompt: bool,
}

impl<W: Write> PlainView<W> {
    /// Writes to this stream.
    pub fn new(out: W, colours: bool, detail: ViewDetail) -> Self {
        Self {
            out,
            colours,
            detail,
            tree: RunTreeView::default(),
            at_prompt: false,
        }
    }

    fn print(&mut self, line: &StyledLine) {
        // A log that is closed must not end the run.
        let _ = writeln!(self.out, "{}", line.paint(self.colours));
    }

    fn leave_prompt(&mut self) {
        if std::mem::take(&mut self.at_prompt) {
            let _ = writeln!(self.out);
        }
    }

    fn lines_for(&self, event: &Event) -> Vec<StyledLine> {
        match &event.body {
            // The text of a reply without calls is the answer: it goes to standard output.
            EventBody::MessageCompleted(reply) if reply.calls().next().is_some() => {
                clean(&reply.text)
                    .lines()
                    .map(|line| StyledLine::of_text(line.to_owned()))
                    .collect()
            }
            EventBody::ToolStarted { tool, input, .. } if self.detail == ViewDetail::Full => {
                vec![StyledLine::of(TextStyle::Dim, format!("◌ {tool} {input}"))]
            }
            EventBody::ToolCompleted(record) => vec![tools::ended(record, None)],
            _ => run_text::remarks(event),
        }
    }
}

impl PlainView<Vec<u8>> {
    /// What was written since the last look.
    pub fn taken(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.out)
    }

    /// Whether lines are coloured.
    pub fn has_colours(&self) -> bool {
        self.colours
    }
}

impl<W: Write> TerminalView for PlainView<W> {
    fn show(&mut self, event: &Event) {
        self.tree.set_root(&event.session);
        self.tree.apply(event);
        if self.detail > ViewDetail::Remarks {
            let lines = self.lines_for(event);
            lines.iter().for_each(|line| self.print(line));
        }
    }

    fn show_delegated(&mut self, event: &Event) {
        let change = self.tree.apply(event);
        let agent = event.run.as_ref().and_then(|run| self.tree.run(run));
        let lines = match (agent, change) {
            (Some(agent), TreeChange::Began) => vec![agent_tree::began(agent)],
            (Some(agent), TreeChange::Ended) => vec![agent_tree::ended("", agent)],
            (Some(agent), TreeChange::Updated) => {
                let named = |line| {
                    StyledLine::of(TextStyle::Strong, &agent.agent)
                        .with(TextStyle::Plain, ": ")
                        .and(line)
                };
                run_text::remarks(event).into_iter().map(named).collect()
            }
            _ => Vec::new(),
        };
        if self.detail > ViewDetail::Remarks {
            lines.iter().for_each(|line| self.print(line));
        }
    }

    fn say(&mut self, lines: &[StyledLine]) {
        if self.detail > ViewDetail::Quiet {
            lines.iter().for_each(|line| self.print(line));
        }
    }

    fn ask(&mut self, card: &[StyledLine], prompt: &StyledLine) {
        self.leave_prompt();
        card.iter().for_each(|line| self.print(line));
        let _ = write!(self.out, "{}", prompt.paint(self.colours)).and_then(|()| self.out.flush());
        self.at_prompt = true;
    }

    fn reveal(&mut self, lines: &[StyledLine]) {
        self.leave_prompt();
        lines.iter().for_each(|line| self.print(line));
    }

    fn wrong_key(&mut self, _card: &[StyledLine], hint: &StyledLine, prompt: &StyledLine) {
        self.ask(std::slice::from_ref(hint), prompt);
    }

    fn ask_for_words(&mut self, card: &[StyledLine], prompt: &StyledLine) {
        self.ask(card, prompt);
    }

    fn entered(&mut self) {
        self.at_prompt = false;
    }

    fn answered(&mut self, line: &StyledLine) {
        self.leave_prompt();
        self.print(line);
    }

    fn finish(&mut self) {}

    fn fail(&mut self, lines: &[StyledLine]) {
        lines.iter().for_each(|line| self.print(line));
    }

    fn conclude(&mut self, lines: &[StyledLine]) {
        if self.detail > ViewDetail::Remarks {
            self.say(lines);
        }
    }
}
