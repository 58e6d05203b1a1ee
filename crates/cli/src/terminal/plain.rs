//! Shows a run as plain lines: for logs, pipes and terminals that cannot redraw.

use std::io::Write;

use rooftree_protocol::{Event, EventBody};

use super::{
    agent::Change,
    agents::Agents,
    clean::clean,
    line::{Line, Look},
    tools, tree,
    view::{Detail, View},
    wording,
};

/// One line per thing that happened; nothing is ever taken back.
pub struct Plain<W> {
    out: W,
    colours: bool,
    detail: Detail,
    agents: Agents,
    /// Whether the cursor stands behind a prompt: what comes next begins a row.
    at_prompt: bool,
}

impl<W: Write> Plain<W> {
    /// Writes to this stream.
    pub fn new(out: W, colours: bool, detail: Detail) -> Self {
        Self { out, colours, detail, agents: Agents::default(), at_prompt: false }
    }

    fn print(&mut self, line: &Line) {
        // A log that is closed must not end the run.
        let _ = writeln!(self.out, "{}", line.paint(self.colours));
    }

    fn leave_prompt(&mut self) {
        if std::mem::take(&mut self.at_prompt) {
            let _ = writeln!(self.out);
        }
    }

    fn lines_for(&self, event: &Event) -> Vec<Line> {
        match &event.body {
            // The text of a reply without calls is the answer: it goes to standard output.
            EventBody::MessageCompleted(reply) if reply.calls().next().is_some() => {
                clean(&reply.text).lines().map(|line| Line::of_text(line.to_owned())).collect()
            }
            EventBody::ToolStarted { tool, input, .. } if self.detail == Detail::Full => {
                vec![Line::of(Look::Dim, format!("◌ {tool} {input}"))]
            }
            EventBody::ToolCompleted(record) => vec![tools::ended(record, None)],
            _ => wording::remarks(event),
        }
    }
}

#[cfg(test)]
impl Plain<Vec<u8>> {
    /// What was written since the last look.
    pub fn taken(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.out)
    }
}

impl<W: Write> View for Plain<W> {
    fn show(&mut self, event: &Event) {
        if self.detail > Detail::Remarks {
            let lines = self.lines_for(event);
            lines.iter().for_each(|line| self.print(line));
        }
    }

    fn show_delegated(&mut self, event: &Event) {
        let lines = match self.agents.take(event) {
            Some((agent, Change::Began)) => vec![tree::began(agent)],
            Some((agent, Change::Ended)) => vec![tree::ended("", agent)],
            Some((agent, Change::Other)) => {
                let named = |line| Line::of(Look::Strong, &agent.agent).with(Look::Plain, ": ").and(line);
                wording::remarks(event).into_iter().map(named).collect()
            }
            None => Vec::new(),
        };
        if self.detail > Detail::Remarks {
            lines.iter().for_each(|line| self.print(line));
        }
    }

    fn say(&mut self, lines: &[Line]) {
        if self.detail > Detail::Quiet {
            lines.iter().for_each(|line| self.print(line));
        }
    }

    fn ask(&mut self, card: &[Line], prompt: &Line) {
        self.leave_prompt();
        card.iter().for_each(|line| self.print(line));
        let _ = write!(self.out, "{}", prompt.paint(self.colours)).and_then(|()| self.out.flush());
        self.at_prompt = true;
    }

    fn ask_for_words(&mut self, card: &[Line], prompt: &Line) {
        self.ask(card, prompt);
    }

    fn entered(&mut self) {
        self.at_prompt = false;
    }

    fn answered(&mut self, line: &Line) {
        self.leave_prompt();
        self.print(line);
    }

    fn finish(&mut self) {}

    fn fail(&mut self, lines: &[Line]) {
        lines.iter().for_each(|line| self.print(line));
    }

    fn conclude(&mut self, lines: &[Line]) {
        if self.detail > Detail::Remarks {
            self.say(lines);
        }
    }
}
