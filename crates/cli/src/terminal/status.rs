//! The status line of the live view: current activity, agents at work, cost.

use std::time::Instant;

use super::{
    line::{StyledLine, TextStyle},
    run_text,
};

const SPINNER: [&str; 10] = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];

/// What goes on, in one line.
pub struct StatusLine {
    since: Instant,
    agent: String,
    model: String,
    pub turn: u32,
    pub tokens: u64,
    /// Delegated runs at work.
    pub agents: usize,
    pub doing: String,
    pub ticks: usize,
}

impl Default for StatusLine {
    fn default() -> Self {
        Self {
            since: Instant::now(),
            agent: String::new(),
            model: String::new(),
            turn: 0,
            tokens: 0,
            agents: 0,
            doing: "starting".into(),
            ticks: 0,
        }
    }
}

impl StatusLine {
    /// The sign that something is going on.
    pub fn spinner(&self) -> &'static str {
        SPINNER
            .get(self.ticks % SPINNER.len())
            .copied()
            .unwrap_or("⠋")
    }

    /// A run begins.
    pub fn begin(&mut self, agent: &str, model: &str) {
        self.agent = agent.to_owned();
        self.model = run_text::model(model);
        self.doing = "thinking".into();
    }

    /// As much as fits; what is left out first is what people know anyway.
    pub fn line(&self, columns: usize) -> StyledLine {
        let spinner = self.spinner();
        let milliseconds =
            u64::try_from(self.since.elapsed().as_millis()).unwrap_or(u64::MAX) / 100 * 100;
        let turns = if self.turn == 0 {
            String::new()
        } else {
            run_text::counted(self.turn.into(), "turn")
        };
        let agents = match self.agents {
            0 => String::new(),
            count => format!("{} at work", run_text::counted(count as u64, "agent")),
        };
        let used = if self.tokens == 0 {
            String::new()
        } else {
            run_text::tokens(self.tokens)
        };
        let time = run_text::duration(milliseconds);
        let (doing, agent, model) = (
            self.doing.as_str(),
            self.agent.as_str(),
            self.model.as_str(),
        );
        let choices: [&[&str]; 5] = [
            &[
                doing,
                agent,
                model,
                &turns,
                &agents,
                &used,
                &time,
                "Ctrl-C stops",
            ],
            &[doing, agent, model, &turns, &agents, &used, &time],
            &[doing, agent, &turns, &agents, &used, &time],
            &[doing, &agents, &time],
            &[doing, &time],
        ];
        let lines = choices.map(|facts| {
            let facts: Vec<&str> = facts
                .iter()
                .copied()
                .filter(|fact| !fact.is_empty())
                .collect();
            StyledLine::of(TextStyle::Accent, spinner)
                .with(TextStyle::Dim, format!(" {}", facts.join(" · ")))
        });
        lines
            .into_iter()
            .find(|line| line.width() <= columns)
            .unwrap_or_else(|| StyledLine::of(TextStyle::Accent, spinner))
    }
}
