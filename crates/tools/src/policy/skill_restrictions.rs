//! Restrictions that a skill puts on an agent's permissions while it is followed. They only refuse, and never allow.

use rooftree_protocol::event::SkillNote;

use super::{
    PolicyEvaluation, command_line::CommandLine, rule::MatchStrictness, rule::PermissionRule,
};
use crate::{declared, tool_info::SkillExemption};

/// A skill that is followed, and the calls it wants made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SkillRestriction {
    /// Its name.
    pub skill: String,
    /// The only calls to be made; all if absent.
    pub allow: Option<Vec<PermissionRule>>,
    /// Calls not to be made.
    pub deny: Vec<PermissionRule>,
}

impl SkillRestriction {
    /// As the journal tells it. A rule that cannot be parsed narrows: one that allows is left out, and one that
    /// refuses refuses everything.
    pub fn of(note: &SkillNote) -> Self {
        let rules = |rules: &[String]| {
            rules
                .iter()
                .filter_map(|rule| PermissionRule::parse(rule).ok())
                .collect()
        };
        let everything = || PermissionRule {
            tool: "*".into(),
            subject: None,
        };
        let deny = note
            .deny
            .iter()
            .map(|rule| PermissionRule::parse(rule).unwrap_or_else(|_| everything()))
            .collect();
        Self {
            skill: note.name.clone(),
            allow: note.allow.as_deref().map(rules),
            deny,
        }
    }

    /// As the journal keeps it.
    pub fn note(&self) -> SkillNote {
        let written = |rules: &[PermissionRule]| rules.iter().map(ToString::to_string).collect();
        let allow = self.allow.as_deref().map(written);
        SkillNote {
            name: self.skill.clone(),
            allow,
            deny: written(&self.deny),
        }
    }

    /// How many rules it brings.
    pub(super) fn rules(&self) -> usize {
        self.allow.as_ref().map_or(0, Vec::len) + self.deny.len()
    }
}

/// Why a skill does not want this call; none if it has nothing against it.
pub(super) fn skill_refusal(
    walk: &PolicyEvaluation<'_>,
    followed: &SkillRestriction,
) -> Option<String> {
    let SkillRestriction { skill, allow, deny } = followed;
    let tool = walk.facts.real().tool;
    let exemption = declared(tool).skill_exemption;
    if exemption == SkillExemption::All {
        return None;
    }
    if let Some(hit) = walk.facts.denied_by(deny) {
        return Some(format!(
            "{} is followed, and its rule `{}` leaves it out",
            named(skill),
            hit.rule
        ));
    }
    let allow = allow
        .as_ref()
        .filter(|_| exemption == SkillExemption::None)?;
    let is_named = match &walk.facts.line {
        Some(line) => is_line_named(line, tool, allow),
        None => allow.iter().any(|rule| walk.facts.is_allowed_by(rule)),
    };
    if is_named {
        return None;
    }
    let rules: Vec<String> = allow.iter().map(ToString::to_string).collect();
    let rules = if rules.is_empty() {
        "no tools".to_owned()
    } else {
        rules.join(", ")
    };
    Some(format!(
        "{} is followed, and it uses only {rules}; {} ends that",
        named(skill),
        if is_command(skill) {
            "the next run"
        } else {
            "another skill or the next run"
        }
    ))
}

/// Whether it is a command file, whose name has a slash before it.
fn is_command(name: &str) -> bool {
    name.starts_with('/')
}

fn named(name: &str) -> String {
    let kind = if is_command(name) { "command" } else { "skill" };
    format!("the {kind} `{name}`")
}

fn is_line_named(line: &CommandLine<'_>, tool: &str, allow: &[PermissionRule]) -> bool {
    let concerned = allow
        .iter()
        .filter(|rule| rule.concerns(tool, MatchStrictness::Allowing));
    let specs: Vec<&str> = concerned
        .map(|rule| rule.subject.as_deref().unwrap_or("*"))
        .collect();
    !specs.is_empty() && line.is_named_by(&specs)
}
