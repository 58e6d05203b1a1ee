//! Counts kills by the window the disk was in, and prints what came of it all.

use std::{collections::BTreeMap, io::Write};

use crate::{
    audit::{Findings, verified},
    fixture::Scene,
    notebook::Notebook,
    window::{self, Window},
};

/// How a kill was aimed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Aim {
    /// The worker stood still at a named place.
    Stalled,
    /// It was running.
    Running,
}

/// Kills so far.
#[derive(Default)]
pub struct Tally {
    kills: BTreeMap<(Window, Aim), u32>,
    pub notebook: Notebook,
    pub findings: Findings,
}

impl Tally {
    /// Counts a kill whose process is gone, and checks what it left.
    pub fn count(&mut self, scene: &Scene, aim: Aim) {
        let sight = scene.look();
        *self.kills.entry((window::of(&sight), aim)).or_default() += 1;
        self.notebook.mark(scene, &sight);
        verified(&sight.report, &mut self.findings);
    }

    pub fn total(&self) -> u32 {
        self.kills.values().sum()
    }

    pub fn in_window(&self, window: Window) -> u32 {
        self.by(window, Aim::Stalled) + self.by(window, Aim::Running)
    }

    fn by(&self, window: Window, aim: Aim) -> u32 {
        self.kills.get(&(window, aim)).copied().unwrap_or_default()
    }

    /// One line per window.
    pub fn table(&self) -> String {
        let line = |window: &Window| {
            let (stalled, running) = (
                self.by(*window, Aim::Stalled),
                self.by(*window, Aim::Running),
            );
            format!(
                "  {:<18}{stalled:>9}{running:>9}{:>9}\n",
                window.name(),
                stalled + running
            )
        };
        let lines: String = Window::ALL.iter().map(line).collect();
        format!(
            "  {:<18}{:>9}{:>9}{:>9}\n{lines}  {:<36}{:>9}\n",
            "killed in",
            "stalled",
            "running",
            "all",
            "all",
            self.total()
        )
    }
}

/// Prints past the test runner, which keeps what passing tests say to itself.
pub fn print(text: &str) {
    let _ = std::io::stderr().write_all(format!("\n{text}\n").as_bytes());
}
