//! Rules, modes and effects → allow, ask or deny, with the reason in words.
//!
//! Order: deny rules, plan mode, ask rules, allow rules, mode × effect, ask. A path is judged by where its
//! links lead, so a link in the working directory is no way out of it; what is denied is denied
//! under both names. The full policy (grammar of shell commands, path grants) extends this
//! file, not its callers.

mod command;
mod granting;
mod path;
mod reach;
mod rule;

use std::path::Path;

use rooftree_protocol::{Effect, PermissionMode};

use crate::place::Pinned;
pub use rule::Rule;

/// What a policy says about one call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Go ahead, because …
    Allow(String),
    /// A person must say, because …
    Ask(String),
    /// No, because …
    Deny(String),
}

/// What may happen without asking, and what may not happen at all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Policy {
    /// The mode.
    pub mode: PermissionMode,
    /// Rules that allow.
    pub allow: Vec<Rule>,
    /// Rules that have a person asked, whatever allows it.
    pub ask: Vec<Rule>,
    /// Rules that refuse, in every mode.
    pub deny: Vec<Rule>,
}

/// What is to be judged.
#[derive(Clone, Copy, Debug)]
pub struct Judged<'a> {
    /// Canonical tool name.
    pub tool: &'a str,
    /// The path or command, if the tool has one.
    pub subject: Option<&'a str>,
    /// What the call does to the world.
    pub effect: Effect,
    /// Where relative paths start, in the subject and in rules.
    pub cwd: &'a Path,
}

impl Judged<'_> {
    /// Where the call's path leads now; none if it has no path.
    pub fn pinned(&self) -> Option<Pinned> {
        rule::pinned(self)
    }
}

impl Policy {
    /// Judges one call. Reads links, nothing else.
    pub fn judge(&self, judged: &Judged<'_>) -> Verdict {
        self.judge_at(judged, judged.pinned().as_ref())
    }

    /// Judges one call whose links were followed before, and does not follow them again: what is
    /// judged is what will be opened.
    pub fn judge_at(&self, judged: &Judged<'_>, pinned: Option<&Pinned>) -> Verdict {
        if pinned.is_some_and(Pinned::is_too_long) {
            return Verdict::Deny("its path is longer than the system takes".to_owned());
        }
        match pinned.filter(|pinned| pinned.real != pinned.written) {
            None => self.judge_as_written(judged),
            Some(Pinned { real, home, .. }) => self.denial(judged).unwrap_or_else(|| {
                let subject = real.to_string_lossy();
                self.judge_as_written(&Judged { subject: Some(&subject), cwd: home, ..*judged })
            }),
        }
    }

    fn denial(&self, judged: &Judged<'_>) -> Option<Verdict> {
        let rule = self.deny.iter().find(|rule| rule.denies(judged))?;
        Some(Verdict::Deny(format!("the deny rule `{rule}` refuses it, in every mode")))
    }

    fn judge_as_written(&self, judged: &Judged<'_>) -> Verdict {
        if let Some(denial) = self.denial(judged) {
            return denial;
        }
        let effect = effect_here(judged);
        // Invariant: in plan mode nothing is changed, whatever else is allowed.
        if self.mode == PermissionMode::Plan && effect != Effect::ReadOnly {
            return Verdict::Deny(format!("plan mode only looks, and this {}", words_for(effect)));
        }
        if let Some(rule) = self.ask.iter().find(|rule| rule.denies(judged)) {
            return Verdict::Ask(format!("the ask rule `{rule}` wants somebody to be asked"));
        }
        if let Some(rule) = self.allow.iter().find(|rule| rule.allows(judged)) {
            return Verdict::Allow(format!("the rule `{rule}` allows it"));
        }
        if self.mode.permits(effect) {
            return Verdict::Allow(self.why_permitted(effect));
        }
        Verdict::Ask(self.why_asked(judged, effect))
    }

    /// The narrowest rule that would allow this call the next time.
    pub fn suggested_rule(judged: &Judged<'_>) -> Rule {
        match judged.pinned().filter(|pinned| pinned.real != pinned.written) {
            None => Rule::exactly(judged),
            Some(Pinned { real, home, .. }) => {
                let subject = real.to_string_lossy();
                Rule::exactly(&Judged { subject: Some(&subject), cwd: &home, ..*judged })
            }
        }
    }

    fn why_permitted(&self, effect: Effect) -> String {
        if effect == Effect::ReadOnly {
            return "it only looks".to_owned();
        }
        format!("mode `{}` allows what {}", name_of(self.mode), words_for(effect))
    }

    fn why_asked(&self, judged: &Judged<'_>, effect: Effect) -> String {
        let rule = Self::suggested_rule(judged).to_string().replace('\'', r"'\''");
        format!(
            "{} {} and mode `{}` asks about that; --allow '{rule}' or --permission-mode {} would allow it",
            judged.tool,
            if effect == judged.effect {
                words_for(effect)
            } else {
                "changes files outside the working directory"
            },
            name_of(self.mode),
            name_of(weakest_mode_for(effect)),
        )
    }
}

/// A tool says what it does to files; where those are decides how much that is trusted.
fn effect_here(judged: &Judged<'_>) -> Effect {
    let is_outside = judged.subject.is_some_and(|subject| rule::is_outside(judged.tool, subject, judged.cwd));
    if judged.effect == Effect::LocalMutation && is_outside { Effect::Destructive } else { judged.effect }
}

fn words_for(effect: Effect) -> &'static str {
    match effect {
        Effect::ReadOnly => "only looks",
        Effect::LocalMutation => "changes files",
        Effect::Destructive => "may run or destroy anything",
        Effect::RemoteAction => "acts on something elsewhere",
    }
}

fn name_of(mode: PermissionMode) -> &'static str {
    match mode {
        PermissionMode::Plan => "plan",
        PermissionMode::Ask => "ask",
        PermissionMode::AcceptEdits => "accept-edits",
        PermissionMode::Auto => "auto",
        PermissionMode::Bypass => "bypass",
    }
}

/// The mode with the least trust that would not ask.
fn weakest_mode_for(effect: Effect) -> PermissionMode {
    let modes = [PermissionMode::Ask, PermissionMode::AcceptEdits, PermissionMode::Auto];
    modes.into_iter().find(|mode| mode.permits(effect)).unwrap_or(PermissionMode::Bypass)
}

#[cfg(test)]
mod tests;
