//! How a decision came about: the layers that were looked at, in order, and the one that decided.

use std::fmt;

use rooftree_protocol::{Effect, PermissionMode};

use super::{Verdict, wording};

/// One layer of the policy. The order is the one in which they are asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Layer {
    /// Rules that refuse.
    Deny,
    /// Skills that are followed, which leave calls out.
    Skill,
    /// Plan mode, which changes nothing.
    Plan,
    /// Rules that have a person asked.
    Ask,
    /// Rules that allow paths and hosts.
    Grants,
    /// Other rules that allow.
    Allow,
    /// The file scope: private places and what lies outside of a working copy.
    Scope,
    /// What the mode allows without a rule.
    Mode,
    /// A person.
    Person,
}

/// What one layer said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// Which.
    pub layer: Layer,
    /// How many rules it has.
    pub rules: usize,
    /// Whether it decided; then it is the last step.
    pub is_deciding: bool,
    /// The part of a command line that no rule allows, and why.
    pub uncovered: Option<(Option<String>, &'static str)>,
}

/// A decision and the way to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Derivation {
    /// The mode in which it was made.
    pub mode: PermissionMode,
    /// What the call does to the world, here.
    pub effect: Effect,
    /// The layers that were asked, in order; the last one decided.
    pub steps: Vec<Step>,
    /// The decision.
    pub verdict: Verdict,
}

impl fmt::Display for Derivation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, step) in self.steps.iter().enumerate() {
            writeln!(f, "{}. {}: {}", at + 1, self.looked_at(step), Self::said(step))?;
        }
        match &self.verdict {
            Verdict::Allow(reason) => write!(f, "allow: {reason}"),
            Verdict::Ask(reason) => write!(f, "ask: {reason}"),
            Verdict::Deny(reason) => write!(f, "deny: {reason}"),
        }
    }
}

impl Derivation {
    fn looked_at(&self, step: &Step) -> String {
        let (mode, effect) = (wording::name_of(self.mode), wording::words_for(self.effect));
        match step.layer {
            Layer::Deny => format!("deny rules ({})", step.rules),
            Layer::Skill => format!("skills that are followed ({} rules)", step.rules),
            Layer::Plan => "plan mode".to_owned(),
            Layer::Ask => format!("ask rules ({})", step.rules),
            Layer::Grants => format!("path and network grants ({})", step.rules),
            Layer::Allow => format!("allow rules ({})", step.rules),
            Layer::Scope => "file scope: private places, working copies".to_owned(),
            Layer::Mode => format!("mode `{mode}`, and the call {effect}"),
            Layer::Person => "a person".to_owned(),
        }
    }

    fn said(step: &Step) -> String {
        match (&step.uncovered, step.is_deciding) {
            (_, true) => "decides".to_owned(),
            (Some((Some(part), why)), _) => format!("do not cover `{part}`: {why}"),
            (Some((None, why)), _) => format!("do not cover it: {why}"),
            (None, false) => match step.layer {
                Layer::Skill => "have nothing against it".to_owned(),
                Layer::Plan => "not on, or it only looks".to_owned(),
                Layer::Scope => "has nothing against it".to_owned(),
                Layer::Mode => "does not allow it".to_owned(),
                _ => "none matches".to_owned(),
            },
        }
    }
}
