//! The status line of the live view: current activity, agents at work, cost.

use std::{borrow::Cow, time::Instant};

use rooftree_protocol::event::WaitReason;
use rooftree_view::{RunActivity, RunPhase, RunTreeView, TreeRun};

use super::{
    line::{StyledLine, TextStyle},
    run_text,
};

const SPINNER: [&str; 10] = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];

/// What goes on, in one line.
pub struct StatusLine {
    since: Instant,
    pub ticks: usize,
}

impl Default for StatusLine {
    fn default() -> Self {
        Self {
            since: Instant::now(),
            ticks: 0,
        }
    }
}

/// What the followed session does, in a word or two.
fn doing(run: Option<&TreeRun>) -> Cow<'static, str> {
    let Some(run) = run else {
        return "starting".into();
    };
    let words = match (&run.phase, &run.activity) {
        // What is still drawn after its end waits for agents in background.
        (RunPhase::Ended { .. }, _) => "waiting",
        (RunPhase::Waiting { reason, .. }, _) => match reason {
            WaitReason::Permission | WaitReason::Question => "waiting for you",
            _ => "waiting",
        },
        _ if !run.log.running.is_empty() => "working",
        (_, RunActivity::Answering) => "answering",
        (_, RunActivity::Reading { tokens }) => return run_text::reading(*tokens).into(),
        _ => "thinking",
    };
    words.into()
}

/// Tokens that the replies of all runs took.
fn tokens(tree: &RunTreeView) -> u64 {
    let used = tree
        .runs()
        .iter()
        .flat_map(|run| run.counts.by_model.values());
    used.map(|usage| usage.total()).sum()
}

impl StatusLine {
    /// The sign that something is going on.
    pub fn spinner(&self) -> &'static str {
        SPINNER
            .get(self.ticks % SPINNER.len())
            .copied()
            .unwrap_or("⠋")
    }

    /// As much as fits; what is left out first is what people know anyway.
    pub fn line(&self, tree: &RunTreeView, columns: usize) -> StyledLine {
        let spinner = self.spinner();
        let milliseconds =
            u64::try_from(self.since.elapsed().as_millis()).unwrap_or(u64::MAX) / 100 * 100;
        let runs = || tree.root().into_iter().flat_map(|root| tree.runs_in(root));
        let turns = match runs().map(|run| u64::from(run.counts.turns)).sum() {
            0 => String::new(),
            count => run_text::counted(count, "turn"),
        };
        let agents = match tree.delegated_at_work().count() {
            0 => String::new(),
            count => format!("{} at work", run_text::counted(count as u64, "agent")),
        };
        let used = match tokens(tree) {
            0 => String::new(),
            count => run_text::tokens(count),
        };
        let time = run_text::duration(milliseconds);
        let last = runs().filter(|run| run.origin.mode.is_some()).last();
        let doing = doing(runs().last());
        let doing = doing.as_ref();
        let agent = last.map_or("", |run| run.agent.as_str());
        let model = last.map_or_else(String::new, |run| run_text::model(&run.origin.first_model));
        let choices: [&[&str]; 5] = [
            &[
                doing,
                agent,
                &model,
                &turns,
                &agents,
                &used,
                &time,
                "Ctrl-C stops",
            ],
            &[doing, agent, &model, &turns, &agents, &used, &time],
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
