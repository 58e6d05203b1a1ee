//! Derivation of a verdict: the policy layers that were evaluated, in order, and the one that decided.

use std::fmt;

use rooftree_protocol::{Effect, PermissionMode};

use super::{PolicyVerdict, wording};

/// One layer of the policy. The order is the one in which they are asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PolicyLayer {
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

/// Result of one layer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DerivationStep {
    /// Which.
    pub layer: PolicyLayer,
    /// Number of its rules.
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
    pub steps: Vec<DerivationStep>,
    /// The decision.
    pub verdict: PolicyVerdict,
}

impl fmt::Display for Derivation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, step) in self.steps.iter().enumerate() {
            writeln!(
                f,
                "{}. {}: {}",
                at + 1,
                self.looked_at(step),
                Self::said(step)
            )?;
        }
        match &self.verdict {
            PolicyVerdict::Allow(reason) => write!(f, "allow: {reason}"),
            PolicyVerdict::Ask(reason) => write!(f, "ask: {reason}"),
            PolicyVerdict::Deny(reason) => write!(f, "deny: {reason}"),
        }
    }
}

impl Derivation {
    fn looked_at(&self, step: &DerivationStep) -> String {
        let (mode, effect) = (wording::name_of(self.mode), wording::words_for(self.effect));
        match step.layer {
            PolicyLayer::Deny => format!("deny rules ({})", step.rules),
            PolicyLayer::Skill => format!("skills that are followed ({} rules)", step.rules),
            PolicyLayer::Plan => "plan mode".to_owned(),
            PolicyLayer::Ask => format!("ask rules ({})", step.rules),
            PolicyLayer::Grants => format!("path and network grants ({})", step.rules),
            PolicyLayer::Allow => format!("allow rules ({})", step.rules),
            PolicyLayer::Scope => "file scope: private places, working copies".to_owned(),
            PolicyLayer::Mode => format!("mode `{mode}`, and the call {effect}"),
            PolicyLayer::Person => "a person".to_owned(),
        }
    }

    fn said(step: &DerivationStep) -> String {
        match (&step.uncovered, step.is_deciding) {
            (_, true) => "decides".to_owned(),
            (Some((Some(part), why)), _) => format!("do not cover `{part}`: {why}"),
            (Some((None, why)), _) => format!("do not cover it: {why}"),
            (None, false) => match step.layer {
                PolicyLayer::Skill => "have nothing against it".to_owned(),
                PolicyLayer::Plan => "not on, or it only looks".to_owned(),
                PolicyLayer::Scope => "has nothing against it".to_owned(),
                PolicyLayer::Mode => "does not allow it".to_owned(),
                _ => "none matches".to_owned(),
            },
        }
    }
}
