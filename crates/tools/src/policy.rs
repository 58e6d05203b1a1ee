//! Rules, modes and effects → allow, ask or deny, with the reason in words.
//!
//! The layers are asked in the order of [`Layer`], and the first that has something to say decides;
//! `judge` and `explain` are one walk through them. A path is judged by where its links lead, so a link in
//! the working directory is no way out of it; what is denied is denied under both names.

mod call;
mod derivation;
mod domain;
mod followed;
mod granting;
pub mod import;
mod line;
mod narrow;
mod path;
mod reach;
mod rule;
mod trespass;
mod wording;

use rooftree_protocol::{Effect, PermissionMode};

use crate::{Reach, obeyed::Obeyed, place::Pinned, scope::FileScope};
use call::{Beyond, Facts, Family, Hit, family};
use line::{Cover, Line, Uncovered};
use wording::{name_of, weakest_mode_for, words_for};

pub use call::Judged;
pub use derivation::{Derivation, Layer, Step};
pub use followed::Followed;
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
    /// Skills that are followed: each of them refuses what it leaves out.
    pub followed: Vec<Followed>,
}

impl Policy {
    /// Judges one call. Reads links, nothing else.
    pub fn judge(&self, judged: &Judged<'_>) -> Verdict {
        self.explain(judged).verdict
    }

    /// Judges one call whose links were followed before, and does not follow them again: what is
    /// judged is what will be opened.
    pub fn judge_at(&self, judged: &Judged<'_>, reach: &Reach) -> Verdict {
        self.explain_at(judged, reach).verdict
    }

    /// Judges one call and tells how.
    pub fn explain(&self, judged: &Judged<'_>) -> Derivation {
        self.explain_within(judged, judged.pinned().as_ref(), &FileScope::default())
    }

    /// Judges one call whose links were followed before, and tells how.
    pub fn explain_at(&self, judged: &Judged<'_>, reach: &Reach) -> Derivation {
        self.explain_within(judged, reach.pinned(), reach.scope())
    }

    fn explain_within(&self, judged: &Judged<'_>, pinned: Option<&Pinned>, scope: &FileScope) -> Derivation {
        let facts = Facts::of(judged, pinned, scope);
        let mut walk = Walk { policy: self, facts: &facts, effect: facts.effect(), uncovered: None };
        let mut steps = Vec::with_capacity(8);
        let skill = (!self.followed.is_empty()).then_some(Layer::Skill);
        let scope = (family(judged.tool) == Family::Path).then_some(Layer::Scope);
        let others = [Layer::Plan, Layer::Ask, Layer::Grants, Layer::Allow];
        let others = others.into_iter().chain(scope).chain([Layer::Mode]);
        for layer in [Layer::Deny].into_iter().chain(skill).chain(others) {
            let verdict = walk.ask(layer);
            let uncovered = walk.uncovered_in(layer);
            let is_deciding = verdict.is_some();
            steps.push(Step { layer, rules: self.rules_of(layer), is_deciding, uncovered });
            if let Some(verdict) = verdict {
                return Derivation { mode: self.mode, effect: walk.effect, steps, verdict };
            }
        }
        steps.push(Step { layer: Layer::Person, rules: 0, is_deciding: true, uncovered: None });
        let verdict = Verdict::Ask(walk.why_asked());
        Derivation { mode: self.mode, effect: walk.effect, steps, verdict }
    }

    /// The narrowest rule that would allow this call the next time.
    pub fn suggested_rule(judged: &Judged<'_>) -> Rule {
        Facts::of(judged, judged.pinned().as_ref(), &FileScope::default()).exact_rule()
    }

    fn rules_of(&self, layer: Layer) -> usize {
        match layer {
            Layer::Deny => self.deny.len(),
            Layer::Skill => self.followed.iter().map(Followed::rules).sum(),
            Layer::Ask => self.ask.len(),
            Layer::Grants => self.allow.iter().filter(|rule| is_grant(rule)).count(),
            Layer::Allow => self.allow.iter().filter(|rule| !is_grant(rule)).count(),
            Layer::Plan | Layer::Scope | Layer::Mode | Layer::Person => 0,
        }
    }
}

/// Whether a rule that allows is about paths or hosts.
fn is_grant(rule: &Rule) -> bool {
    rule.subject.is_some() && matches!(family(&rule.tool), Family::Path | Family::Address)
}

/// One call on its way through the layers.
struct Walk<'a> {
    policy: &'a Policy,
    facts: &'a Facts<'a>,
    effect: Effect,
    /// Why the rules do not allow a command line.
    uncovered: Option<Uncovered>,
}

impl Walk<'_> {
    /// What a layer says; none if the next one is to be asked.
    fn ask(&mut self, layer: Layer) -> Option<Verdict> {
        let Policy { mode, allow, ask, deny, followed } = self.policy;
        match layer {
            Layer::Deny if self.facts.is_too_long => {
                Some(Verdict::Deny("its path is longer than the system takes".to_owned()))
            }
            Layer::Deny => {
                let Hit { rule, part } = self.facts.denied_by(deny)?;
                Some(Verdict::Deny(format!("the deny rule `{rule}` refuses {}, in every mode", what(part))))
            }
            // Invariant: a skill narrows. What it names is still judged by every other layer.
            Layer::Skill => followed.iter().find_map(|one| followed::left_out(self, one)).map(Verdict::Deny),
            // Invariant: in plan mode nothing is changed, whatever else is allowed.
            Layer::Plan if *mode == PermissionMode::Plan && self.effect != Effect::ReadOnly => {
                Some(Verdict::Deny(format!("plan mode only looks, and this {}", words_for(self.effect))))
            }
            Layer::Ask => {
                let Hit { rule, part } = self.facts.denied_by(ask)?;
                Some(Verdict::Ask(format!(
                    "the ask rule `{rule}` wants somebody to be asked about {}",
                    what(part)
                )))
            }
            Layer::Grants => self.allowed_by(allow.iter().filter(|rule| is_grant(rule))),
            Layer::Allow => match &self.facts.line {
                Some(line) => self.allowed_line(line),
                None => self.allowed_by(allow.iter().filter(|rule| !is_grant(rule))),
            },
            Layer::Scope => self.facts.trespass().map(|trespass| trespass.verdict(&self.facts.exact_rule())),
            Layer::Mode if *mode < PermissionMode::Auto && self.facts.beyond() == Some(Beyond::Reading) => {
                None
            }
            // What other programs obey is no mode's to allow, but for the one that allows everything.
            Layer::Mode if *mode != PermissionMode::Bypass && self.is_obeyed() => None,
            Layer::Mode => mode.permits(self.effect).then(|| Verdict::Allow(self.why_permitted())),
            Layer::Plan | Layer::Person => None,
        }
    }

    fn is_obeyed(&self) -> bool {
        matches!(self.facts.beyond(), Some(Beyond::Obeyed(_)))
    }

    /// What the rules of a layer nearly allow, and why they do not.
    fn uncovered_in(&self, layer: Layer) -> Option<(Option<String>, &'static str)> {
        let line = self.uncovered.as_ref().filter(|_| layer == Layer::Allow);
        let line = line.map(|uncovered| (uncovered.part.clone(), uncovered.why));
        let is_here = |rule: &&Rule| match layer {
            Layer::Grants => is_grant(rule),
            Layer::Allow => !is_grant(rule),
            _ => false,
        };
        let mut rules = self.policy.allow.iter().filter(is_here);
        let mut unnamed = || rules.find_map(|rule| self.facts.unnamed(rule));
        let private = || {
            let mut rules = self.policy.allow.iter().filter(is_here);
            rules.find_map(|rule| self.facts.unnamed_private(rule))
        };
        let private = private().map(|place| (Some(place), "only a rule that names it would"));
        line.or(private).or_else(|| {
            unnamed().map(|obeyed| (Some(obeyed.name.to_owned()), "only a rule that names it would"))
        })
    }

    fn allowed_by<'p>(&self, mut rules: impl Iterator<Item = &'p Rule>) -> Option<Verdict> {
        let rule = rules.find(|rule| self.facts.is_allowed_by(rule))?;
        Some(Verdict::Allow(format!("the rule `{rule}` allows it")))
    }

    /// A line's commands are judged by rules for commands, the files it writes as if by Write.
    fn allowed_line(&mut self, line: &Line<'_>) -> Option<Verdict> {
        let tool = self.facts.real().tool;
        let rules = self.policy.allow.iter().filter(|rule| rule.concerns(tool, rule::Care::Allowing));
        let rules: Vec<(&Rule, &str)> =
            rules.map(|rule| (rule, rule.subject.as_deref().unwrap_or("*"))).collect();
        match line.cover(&rules, |path| self.may_write(path)) {
            Ok(Cover::Rule(rule)) => Some(Verdict::Allow(format!("the rule `{rule}` allows it"))),
            Ok(Cover::Files) => {
                Some(Verdict::Allow("it only looks, and what it writes is allowed".to_owned()))
            }
            Err(uncovered) => {
                self.uncovered = Some(uncovered).filter(|_| !rules.is_empty());
                None
            }
        }
    }

    fn may_write(&self, path: &str) -> bool {
        let real = self.facts.real();
        let write = Judged {
            tool: "Write",
            subject: Some(path),
            input: None,
            effect: Effect::LocalMutation,
            cwd: real.cwd,
        };
        let derivation = self.policy.explain_within(&write, write.pinned().as_ref(), self.facts.scope);
        matches!(derivation.verdict, Verdict::Allow(_))
    }

    fn why_permitted(&self) -> String {
        if self.effect == Effect::ReadOnly {
            return "it only looks".to_owned();
        }
        format!("mode `{}` allows what {}", name_of(self.policy.mode), words_for(self.effect))
    }

    fn why_asked(&self) -> String {
        let rule = self.facts.exact_rule().to_string().replace('\'', r"'\''");
        let does = match self.facts.beyond() {
            Some(Beyond::Outside) => "changes files outside the working directory".to_owned(),
            Some(Beyond::Reading) => {
                "reads files outside the working directory and what commands can read".to_owned()
            }
            Some(Beyond::Obeyed(Obeyed { name, by, .. })) => {
                format!("changes `{name}`, which {by}; no wildcard covers that,")
            }
            None => words_for(self.effect).to_owned(),
        };
        let weakest = match self.facts.beyond() {
            Some(Beyond::Obeyed(_)) => PermissionMode::Bypass,
            Some(Beyond::Reading) => PermissionMode::Auto,
            Some(Beyond::Outside) | None => weakest_mode_for(self.effect),
        };
        let uncovered = match &self.uncovered {
            Some(Uncovered { part: Some(part), why }) => format!(" (`{part}`: {why})"),
            Some(Uncovered { part: None, why }) => format!(" ({why})"),
            None => String::new(),
        };
        format!(
            "{} {does} and mode `{}` asks about that{uncovered}; --allow '{rule}' or --permission-mode {} would \
             allow it",
            self.facts.real().tool,
            name_of(self.policy.mode),
            name_of(weakest),
        )
    }
}

fn what(part: Option<String>) -> String {
    part.map_or_else(|| "it".to_owned(), |part| format!("`{part}`"))
}

#[cfg(test)]
mod tests;
