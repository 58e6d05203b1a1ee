//! Tells from the disk alone how far a delegation was when its process was killed.

use std::collections::BTreeMap;

use super::{
    audit::audit,
    fixture::{Asked, House, Mode, arrivals, asked, open_calls},
};
use crate::{
    audit::{Findings, verified},
    notebook::Notebook,
    window::{self, Window},
};

/// Between which two durable facts a delegation is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stage {
    /// The call is stored, the child has not begun.
    Asked,
    /// The child's model is to be asked, or has been and its reply is not stored.
    Model,
    /// The child's reply has a call, which has no result.
    Tool,
    /// The child's last reply is stored, its run is not settled.
    Settling,
    /// The child is settled, and a call of the parent waits for it.
    Returning,
    /// The child is settled, no call waits for it, and its reply is in the parent's inbox.
    Posted,
    /// The parent's conversation has the result.
    Heard,
}

impl Stage {
    pub const ALL: [Self; 7] = [
        Self::Asked,
        Self::Model,
        Self::Tool,
        Self::Settling,
        Self::Returning,
        Self::Posted,
        Self::Heard,
    ];

    /// Those that must each be hit often.
    pub const REQUIRED: [Self; 5] = [
        Self::Model,
        Self::Tool,
        Self::Settling,
        Self::Returning,
        Self::Posted,
    ];

    fn name(self) -> &'static str {
        match self {
            Self::Asked => "asked → child begins",
            Self::Model => "child's model call",
            Self::Tool => "child's tool",
            Self::Settling => "child settling",
            Self::Returning => "settled → call returns",
            Self::Posted => "posted → parent takes it",
            Self::Heard => "result heard",
        }
    }
}

/// How far each delegation of the lead's latest task is.
pub fn stages(house: &House) -> Vec<(Mode, Stage)> {
    let lead = house.events(&house.scene.session);
    let open = open_calls(&lead);
    let all = asked(&lead);
    let latest = all.last().map(|asked| asked.mode);
    let unheard = all
        .iter()
        .filter(|asked| arrivals(&lead, &asked.task()) == 0);
    let mut found: Vec<_> = unheard
        .map(|asked| {
            // Where no call waits for it, only a call of TaskOutput can be open.
            let is_awaited =
                open.contains(&asked.call.id) || (is_behind(asked) && !open.is_empty());
            (asked.mode, stage(house, asked, is_awaited))
        })
        .collect();
    if let (Some(mode), true) = (latest, found.is_empty()) {
        found.push((mode, Stage::Heard));
    }
    found
}

fn is_behind(asked: &Asked) -> bool {
    matches!(asked.mode, Mode::Background | Mode::Fetched)
}

fn stage(house: &House, asked: &Asked, is_awaited: bool) -> Stage {
    let events = house.events(&asked.child());
    match window::of_run(&events) {
        Some(Window::ReplyToSettle) => Stage::Settling,
        Some(Window::ReplyToIntent | Window::IntentToResult) => Stage::Tool,
        Some(_) => Stage::Model,
        None if !events
            .iter()
            .any(|event| event.body.name() == "run.completed") =>
        {
            Stage::Asked
        }
        None if is_awaited => Stage::Returning,
        None => Stage::Posted,
    }
}

/// Kills so far.
#[derive(Default)]
pub struct Kills {
    counts: BTreeMap<(Stage, Mode), u32>,
    /// What the models of the present house were asked.
    notebook: Notebook,
    delegations: usize,
    effects: usize,
    pub findings: Findings,
}

impl Kills {
    /// Counts a kill whose process is gone, once: where it was aimed if the disk shows that, else
    /// where the furthest delegation was. Checks what it left.
    pub fn count(&mut self, house: &House, aimed: Option<Stage>) {
        let found = stages(house);
        let hit = found.iter().find(|(_, stage)| Some(*stage) == aimed);
        let furthest = || found.iter().max_by_key(|(_, stage)| *stage);
        if let Some((mode, stage)) = hit.or_else(furthest) {
            *self.counts.entry((*stage, *mode)).or_default() += 1;
        }
        let sessions = house.children().into_iter().map(|child| child.id);
        let journals: Vec<_> = sessions
            .chain([house.scene.session.clone()])
            .map(|session| house.events(&session))
            .collect();
        self.notebook
            .mark_all(&house.scene, journals.iter().map(Vec::as_slice));
        verified(&house.report(), &mut self.findings);
    }

    /// Checks a house in which nothing is left to do; the next kill is in another one.
    pub fn leave(&mut self, house: &House) {
        self.findings
            .merge(audit(house, &std::mem::take(&mut self.notebook)));
        self.delegations += asked(&house.events(&house.scene.session)).len();
        self.effects += house.scene.effects().len();
    }

    pub fn total(&self) -> u32 {
        self.counts.values().sum()
    }

    pub fn at(&self, stage: Stage) -> u32 {
        Mode::ALL.iter().map(|mode| self.by(stage, *mode)).sum()
    }

    fn by(&self, stage: Stage, mode: Mode) -> u32 {
        self.counts.get(&(stage, mode)).copied().unwrap_or_default()
    }

    /// One line per stage, one column per mode; then what was found.
    pub fn table(&self) -> String {
        let heads: String = Mode::ALL
            .iter()
            .map(|mode| format!("{:>12}", mode.name()))
            .collect();
        let line = |stage: &Stage| {
            let counts: String = Mode::ALL
                .iter()
                .map(|mode| format!("{:>12}", self.by(*stage, *mode)))
                .collect();
            format!("  {:<26}{counts}{:>7}\n", stage.name(), self.at(*stage))
        };
        let lines: String = Stage::ALL.iter().map(line).collect();
        format!(
            "  {:<26}{heads}{:>7}\n{lines}  {:<74}{:>7}\n{} delegations, {} effects; found afterwards:\n{}",
            "killed at",
            "all",
            "all",
            self.total(),
            self.delegations,
            self.effects,
            self.findings.table()
        )
    }
}
