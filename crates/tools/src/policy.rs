//! Permission policy: rules, modes and effects → allow, ask or deny, with the reason in words.
//!
//! The layers are evaluated in the order of [`PolicyLayer`], and the first that has a verdict decides;
//! `judge` and `explain` are one walk through them. A path is judged by where its links lead, so a link in
//! the working directory is no way out of it; what is denied is denied under both names.

mod call;
mod command_line;
mod delegable_rules;
mod derivation;
mod domain_match;
pub mod import;
mod narrow;
mod path_match;
mod reach;
mod rule;
mod scope_violation;
mod skill_restrictions;
mod spawn;
mod wording;

use rooftree_protocol::{Effect, PermissionMode};

use crate::{
    CallReach, file_scope::FileScope, resolved_path::ResolvedPath, sensitive_paths::SensitivePath,
    tool_info::SubjectKind,
};
use call::{EffectEscalation, PolicyCallFacts, RuleMatch, family};
use command_line::{CommandLine, RuleCoverage, UncoveredPart};
use wording::{name_of, weakest_mode_for, words_for};

pub use call::PolicyRequest;
pub use derivation::{Derivation, DerivationStep, PolicyLayer};
pub use rule::PermissionRule;
pub use skill_restrictions::SkillRestriction;
pub use spawn::{SpawnSize, SpawnVerdict};

/// What a policy says about one call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PolicyVerdict {
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
    pub allow: Vec<PermissionRule>,
    /// Rules that have a person asked, whatever allows it.
    pub ask: Vec<PermissionRule>,
    /// Rules that refuse, in every mode.
    pub deny: Vec<PermissionRule>,
    /// Skills that are followed: each of them refuses what it leaves out.
    pub followed: Vec<SkillRestriction>,
}

impl Policy {
    /// Judges one call. Reads links, nothing else.
    pub fn judge(&self, judged: &PolicyRequest<'_>) -> PolicyVerdict {
        self.explain(judged).verdict
    }

    /// Judges one call whose links were followed before, and does not follow them again: what is
    /// judged is what will be opened.
    pub fn judge_at(&self, judged: &PolicyRequest<'_>, reach: &CallReach) -> PolicyVerdict {
        self.explain_at(judged, reach).verdict
    }

    /// Judges one call and tells how.
    pub fn explain(&self, judged: &PolicyRequest<'_>) -> Derivation {
        self.explain_within(judged, judged.pinned().as_ref(), &FileScope::default())
    }

    /// Judges one call whose links were followed before, and tells how.
    pub fn explain_at(&self, judged: &PolicyRequest<'_>, reach: &CallReach) -> Derivation {
        self.explain_within(judged, reach.pinned(), reach.scope())
    }

    fn explain_within(
        &self,
        judged: &PolicyRequest<'_>,
        pinned: Option<&ResolvedPath>,
        scope: &FileScope,
    ) -> Derivation {
        let facts = PolicyCallFacts::of(judged, pinned, scope);
        let mut walk = PolicyEvaluation {
            policy: self,
            facts: &facts,
            effect: facts.effect(),
            uncovered: None,
        };
        let mut steps = Vec::with_capacity(8);
        let skill = (!self.followed.is_empty()).then_some(PolicyLayer::Skill);
        let scope = (family(judged.tool) == SubjectKind::Path).then_some(PolicyLayer::Scope);
        let others = [
            PolicyLayer::Plan,
            PolicyLayer::Ask,
            PolicyLayer::Grants,
            PolicyLayer::Allow,
        ];
        let others = others.into_iter().chain(scope).chain([PolicyLayer::Mode]);
        for layer in [PolicyLayer::Deny].into_iter().chain(skill).chain(others) {
            let verdict = walk.ask(layer);
            let uncovered = walk.uncovered_in(layer);
            let is_deciding = verdict.is_some();
            steps.push(DerivationStep {
                layer,
                rules: self.rules_of(layer),
                is_deciding,
                uncovered,
            });
            if let Some(verdict) = verdict {
                return Derivation {
                    mode: self.mode,
                    effect: walk.effect,
                    steps,
                    verdict,
                };
            }
        }
        steps.push(DerivationStep {
            layer: PolicyLayer::Person,
            rules: 0,
            is_deciding: true,
            uncovered: None,
        });
        let verdict = PolicyVerdict::Ask(walk.why_asked());
        Derivation {
            mode: self.mode,
            effect: walk.effect,
            steps,
            verdict,
        }
    }

    /// The narrowest rule that would allow this call the next time.
    pub fn suggested_rule(judged: &PolicyRequest<'_>) -> PermissionRule {
        PolicyCallFacts::of(judged, judged.pinned().as_ref(), &FileScope::default()).exact_rule()
    }

    fn rules_of(&self, layer: PolicyLayer) -> usize {
        match layer {
            PolicyLayer::Deny => self.deny.len(),
            PolicyLayer::Skill => self.followed.iter().map(SkillRestriction::rules).sum(),
            PolicyLayer::Ask => self.ask.len(),
            PolicyLayer::Grants => self.allow.iter().filter(|rule| is_grant(rule)).count(),
            PolicyLayer::Allow => self.allow.iter().filter(|rule| !is_grant(rule)).count(),
            PolicyLayer::Plan | PolicyLayer::Scope | PolicyLayer::Mode | PolicyLayer::Person => 0,
        }
    }
}

/// Whether a rule that allows is about paths or hosts.
fn is_grant(rule: &PermissionRule) -> bool {
    rule.subject.is_some() && matches!(family(&rule.tool), SubjectKind::Path | SubjectKind::Address)
}

/// One call on its way through the layers.
struct PolicyEvaluation<'a> {
    policy: &'a Policy,
    facts: &'a PolicyCallFacts<'a>,
    effect: Effect,
    /// Why the rules do not allow a command line.
    uncovered: Option<UncoveredPart>,
}

impl PolicyEvaluation<'_> {
    /// What a layer says; none if the next one is to be asked.
    fn ask(&mut self, layer: PolicyLayer) -> Option<PolicyVerdict> {
        let Policy {
            mode,
            allow,
            ask,
            deny,
            followed,
        } = self.policy;
        match layer {
            PolicyLayer::Deny if self.facts.is_too_long => Some(PolicyVerdict::Deny(
                "its path is longer than the system takes".to_owned(),
            )),
            PolicyLayer::Deny => {
                let RuleMatch { rule, part } = self.facts.denied_by(deny)?;
                Some(PolicyVerdict::Deny(format!(
                    "the deny rule `{rule}` refuses {}, in every mode",
                    what(part)
                )))
            }
            // Invariant: a skill narrows. What it names is still judged by every other layer.
            PolicyLayer::Skill => followed
                .iter()
                .find_map(|one| skill_restrictions::skill_refusal(self, one))
                .map(PolicyVerdict::Deny),
            // Invariant: in plan mode nothing is changed, whatever else is allowed.
            PolicyLayer::Plan
                if *mode == PermissionMode::Plan && self.effect != Effect::ReadOnly =>
            {
                Some(PolicyVerdict::Deny(format!(
                    "plan mode only looks, and this {}",
                    words_for(self.effect)
                )))
            }
            PolicyLayer::Ask => {
                let RuleMatch { rule, part } = self.facts.denied_by(ask)?;
                Some(PolicyVerdict::Ask(format!(
                    "the ask rule `{rule}` requires that the user is asked about {}",
                    what(part)
                )))
            }
            PolicyLayer::Grants => self.allowed_by(allow.iter().filter(|rule| is_grant(rule))),
            PolicyLayer::Allow => match &self.facts.line {
                Some(line) => self.allowed_line(line),
                None => self.allowed_by(allow.iter().filter(|rule| !is_grant(rule))),
            },
            PolicyLayer::Scope => self
                .facts
                .scope_violation()
                .map(|trespass| trespass.verdict(&self.facts.exact_rule())),
            PolicyLayer::Mode
                if *mode < PermissionMode::Auto
                    && self.facts.escalation() == Some(EffectEscalation::Reading) =>
            {
                None
            }
            // What other programs obey is no mode's to allow, but for the one that allows everything.
            PolicyLayer::Mode if *mode != PermissionMode::Bypass && self.is_obeyed() => None,
            PolicyLayer::Mode => mode
                .permits(self.effect)
                .then(|| PolicyVerdict::Allow(self.why_permitted())),
            PolicyLayer::Plan | PolicyLayer::Person => None,
        }
    }

    fn is_obeyed(&self) -> bool {
        matches!(self.facts.escalation(), Some(EffectEscalation::Obeyed(_)))
    }

    /// What the rules of a layer nearly allow, and why they do not.
    fn uncovered_in(&self, layer: PolicyLayer) -> Option<(Option<String>, &'static str)> {
        let line = self
            .uncovered
            .as_ref()
            .filter(|_| layer == PolicyLayer::Allow);
        let line = line.map(|uncovered| (uncovered.part.clone(), uncovered.why));
        let is_here = |rule: &&PermissionRule| match layer {
            PolicyLayer::Grants => is_grant(rule),
            PolicyLayer::Allow => !is_grant(rule),
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
            unnamed().map(|obeyed| {
                (
                    Some(obeyed.name.to_owned()),
                    "only a rule that names it would",
                )
            })
        })
    }

    fn allowed_by<'p>(
        &self,
        mut rules: impl Iterator<Item = &'p PermissionRule>,
    ) -> Option<PolicyVerdict> {
        let rule = rules.find(|rule| self.facts.is_allowed_by(rule))?;
        Some(PolicyVerdict::Allow(format!("the rule `{rule}` allows it")))
    }

    /// A line's commands are judged by rules for commands, the files it writes as if by Write.
    fn allowed_line(&mut self, line: &CommandLine<'_>) -> Option<PolicyVerdict> {
        let tool = self.facts.real().tool;
        let rules = self
            .policy
            .allow
            .iter()
            .filter(|rule| rule.concerns(tool, rule::MatchStrictness::Allowing));
        let rules: Vec<(&PermissionRule, &str)> = rules
            .map(|rule| (rule, rule.subject.as_deref().unwrap_or("*")))
            .collect();
        match line.cover(&rules, |path| self.may_write(path)) {
            Ok(RuleCoverage::Rule(rule)) => {
                Some(PolicyVerdict::Allow(format!("the rule `{rule}` allows it")))
            }
            Ok(RuleCoverage::Files) => Some(PolicyVerdict::Allow(
                "it only looks, and what it writes is allowed".to_owned(),
            )),
            Err(uncovered) => {
                self.uncovered = Some(uncovered).filter(|_| !rules.is_empty());
                None
            }
        }
    }

    fn may_write(&self, path: &str) -> bool {
        let real = self.facts.real();
        let write = PolicyRequest {
            tool: "Write",
            subject: Some(path),
            input: None,
            effect: Effect::LocalMutation,
            cwd: real.cwd,
        };
        let derivation =
            self.policy
                .explain_within(&write, write.pinned().as_ref(), self.facts.scope);
        matches!(derivation.verdict, PolicyVerdict::Allow(_))
    }

    fn why_permitted(&self) -> String {
        if self.effect == Effect::ReadOnly {
            return "it only looks".to_owned();
        }
        format!(
            "mode `{}` allows what {}",
            name_of(self.policy.mode),
            words_for(self.effect)
        )
    }

    fn why_asked(&self) -> String {
        let rule = self.facts.exact_rule().to_string().replace('\'', r"'\''");
        let does = match self.facts.escalation() {
            Some(EffectEscalation::Outside) => {
                "changes files outside the working directory".to_owned()
            }
            Some(EffectEscalation::Reading) => {
                "reads files outside the working directory and what commands can read".to_owned()
            }
            Some(EffectEscalation::Obeyed(SensitivePath { name, by, .. })) => {
                format!("changes `{name}`, which {by}; no wildcard covers that,")
            }
            None => words_for(self.effect).to_owned(),
        };
        let weakest = match self.facts.escalation() {
            Some(EffectEscalation::Obeyed(_)) => PermissionMode::Bypass,
            Some(EffectEscalation::Reading) => PermissionMode::Auto,
            Some(EffectEscalation::Outside) | None => weakest_mode_for(self.effect),
        };
        let uncovered = match &self.uncovered {
            Some(UncoveredPart {
                part: Some(part),
                why,
            }) => format!(" (`{part}`: {why})"),
            Some(UncoveredPart { part: None, why }) => format!(" ({why})"),
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
