//! One call as the rules see it: its subject, where links lead, and the commands of a shell line.

use std::path::{Path, PathBuf};

use rooftree_protocol::Effect;
use serde_json::Value;

use super::{
    command_line::{self, CommandLine, Touched},
    domain_match, path_match,
    rule::{MatchStrictness, PermissionRule, is_glob_match},
    scope_violation::{PathUse, ScopeViolation},
};
use crate::{
    declarations::{declared, declared_for_rule},
    file_scope::{FileAccess, FileScope},
    resolved_path::normalize_lexically,
    resolved_path::{LastLink, ResolvedPath},
    sensitive_paths::{self, SensitivePath},
    tool_info::{FileUse, SubjectKind, ToolSubject},
};

/// A call for the policy to judge.
#[derive(Clone, Copy, Debug)]
pub struct PolicyRequest<'a> {
    /// Canonical tool name.
    pub tool: &'a str,
    /// The path or command, if the tool has one.
    pub subject: Option<&'a str>,
    /// The normalised arguments, for rules about one of them.
    pub input: Option<&'a Value>,
    /// What the call does to the world.
    pub effect: Effect,
    /// Where relative paths start, in the subject and in rules.
    pub cwd: &'a Path,
}

/// Why a call is more than its tool says.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum EffectEscalation {
    Outside,
    /// It only looks, outside the file scope.
    Reading,
    Obeyed(&'static SensitivePath),
}

/// A rule that matches, and the part of a command line by which it does.
pub(super) struct RuleMatch<'p> {
    pub rule: &'p PermissionRule,
    pub part: Option<String>,
}

/// A call, looked at once.
pub(super) struct PolicyCallFacts<'a> {
    written: PolicyRequest<'a>,
    /// The same path and directory behind all links, if that differs from how they are written.
    real: Option<(String, PathBuf)>,
    pub line: Option<CommandLine<'a>>,
    /// Whether its path is one that no system call takes.
    pub is_too_long: bool,
    /// Sensitive paths that it would change.
    obeyed: Vec<&'static SensitivePath>,
    /// Which files the session may touch without a rule.
    pub scope: &'a FileScope,
    /// What the scope says about where its path leads.
    access: FileAccess,
}

impl<'a> PolicyCallFacts<'a> {
    pub fn of(
        judged: &PolicyRequest<'a>,
        pinned: Option<&ResolvedPath>,
        scope: &'a FileScope,
    ) -> Self {
        let line = judged
            .subject
            .filter(|_| family(judged.tool) == SubjectKind::Command)
            .map(CommandLine::read);
        let moved = pinned.filter(|pinned| pinned.real != pinned.written);
        let real = moved.map(|pinned| {
            (
                pinned.real.to_string_lossy().into_owned(),
                pinned.home.clone(),
            )
        });
        let is_too_long = pinned.is_some_and(ResolvedPath::is_too_long);
        let access = pinned.map_or(FileAccess::Free, |pinned| scope.access(&pinned.real));
        let obeyed = Vec::new();
        let mut facts = Self {
            written: *judged,
            real,
            line,
            is_too_long,
            obeyed,
            scope,
            access,
        };
        facts.obeyed = facts
            .changed()
            .map(|path| facts.obeyed_at(&path))
            .unwrap_or_default();
        facts
    }

    /// The path it would change, from the working directory on if it is below that.
    fn changed(&self) -> Option<PathBuf> {
        let real = self.real();
        let is_change = family(real.tool) == SubjectKind::Path && real.effect != Effect::ReadOnly;
        let path = normalize_lexically(&real.cwd.join(real.subject.filter(|_| is_change)?));
        Some(
            path.strip_prefix(normalize_lexically(real.cwd))
                .map(Path::to_owned)
                .unwrap_or(path),
        )
    }

    /// Sensitive paths in a path: by name, or because the settings of git name it.
    fn obeyed_at(&self, path: &Path) -> Vec<&'static SensitivePath> {
        let mut found = sensitive_paths::sensitive_in_path(path);
        let cwd = self.real().cwd.to_owned();
        if found.is_empty() && sensitive_paths::named_by_git(&cwd.join(path), &cwd) {
            found.push(&sensitive_paths::NAMED_BY_GIT);
        }
        found
    }

    /// The call with its links resolved.
    pub fn real(&self) -> PolicyRequest<'_> {
        match &self.real {
            Some((subject, cwd)) => PolicyRequest {
                subject: Some(subject),
                cwd,
                ..self.written
            },
            None => self.written,
        }
    }

    /// Effect of the call: the one that the tool declares, raised to destructive for files outside or sensitive paths.
    pub fn effect(&self) -> Effect {
        match self.escalation() {
            Some(EffectEscalation::Outside | EffectEscalation::Obeyed(_)) => Effect::Destructive,
            Some(EffectEscalation::Reading) | None => self.written.effect,
        }
    }

    /// Why it does more to the world than its tool says.
    pub fn escalation(&self) -> Option<EffectEscalation> {
        let real = self.real();
        let subject = real
            .subject
            .filter(|_| family(real.tool) == SubjectKind::Path)?;
        if let Some(obeyed) = self.obeyed.first() {
            return Some(EffectEscalation::Obeyed(obeyed));
        }
        match real.effect {
            Effect::LocalMutation => {
                (!path_match::is_below(subject, real.cwd)).then_some(EffectEscalation::Outside)
            }
            Effect::ReadOnly => {
                (self.access != FileAccess::Free).then_some(EffectEscalation::Reading)
            }
            Effect::Destructive | Effect::RemoteAction => None,
        }
    }

    /// Where its path leads although no mode alone allows that; none if the mode may decide.
    pub fn scope_violation(&self) -> Option<ScopeViolation> {
        let real = self.real();
        let path = normalize_lexically(
            &real.cwd.join(
                real.subject
                    .filter(|_| family(real.tool) == SubjectKind::Path)?,
            ),
        );
        let is_change = real.effect != Effect::ReadOnly;
        ScopeViolation::of(
            self.scope,
            &self.access,
            PathUse {
                path: &path,
                is_change,
            },
        )
    }

    /// The private place that it touches and a rule that means it does not name.
    ///
    /// Invariant: a wildcard allows nothing in a private place.
    pub fn unnamed_private(&self, rule: &PermissionRule) -> Option<String> {
        let FileAccess::Private(place) = &self.access else {
            return None;
        };
        let named = rule
            .subject
            .as_deref()
            .is_some_and(|spec| path_match::begins_in(spec, self.real().cwd, place));
        (!named && self.is_meant_by(rule)).then(|| place.display().to_string())
    }

    /// The sensitive path that it would change and that the rule does not name literally.
    ///
    /// Invariant: a wildcard allows no change of a sensitive path.
    pub fn unnamed(&self, rule: &PermissionRule) -> Option<&'static SensitivePath> {
        let spec = rule.subject.as_deref().unwrap_or("*");
        let mut unnamed = self
            .obeyed
            .iter()
            .filter(|obeyed| !sensitive_paths::is_named(spec, obeyed));
        unnamed.next().copied().filter(|_| self.is_meant_by(rule))
    }

    /// The first of these rules that may mean this call, under any of its names.
    pub fn denied_by<'p>(&self, rules: &'p [PermissionRule]) -> Option<RuleMatch<'p>> {
        rules.iter().find_map(|rule| {
            let part = self.meant_by(&self.written, rule).or_else(|| {
                self.real.as_ref()?;
                self.meant_by(&self.real(), rule)
            })?;
            Some(RuleMatch {
                rule,
                part: Some(part).filter(|part| !part.is_empty()),
            })
        })
    }

    /// What in the call a rule may mean: a part of a command line, or nothing in particular.
    fn meant_by(&self, judged: &PolicyRequest<'_>, rule: &PermissionRule) -> Option<String> {
        let whole = |is_meant: bool| is_meant.then(String::new);
        let Some(spec) = &rule.subject else {
            return whole(rule.concerns(judged.tool, MatchStrictness::Denying));
        };
        if let Some(line) = &self.line {
            let touched = || {
                let reads = rule.is_about_reading().then_some(Touched::Reading);
                let kind = reads.or(rule.is_about_writing().then_some(Touched::Writing))?;
                line.part_reaching(kind, spec, judged.cwd)
            };
            let concerns = rule.concerns(judged.tool, MatchStrictness::Denying);
            return concerns
                .then(|| line.part_denied_by(spec))
                .flatten()
                .or_else(touched)
                .or_else(|| whole(concerns && has_argument(judged.input, spec)));
        }
        let is_meant = rule.concerns(judged.tool, MatchStrictness::Denying)
            && (may_match(judged, spec) || has_argument(judged.input, spec));
        whole(is_meant)
    }

    /// Whether a rule allows this call. Command lines are covered as a whole, elsewhere.
    pub fn is_allowed_by(&self, rule: &PermissionRule) -> bool {
        self.is_meant_by(rule)
            && self.unnamed(rule).is_none()
            && self.unnamed_private(rule).is_none()
    }

    /// Whether a rule surely means this call.
    fn is_meant_by(&self, rule: &PermissionRule) -> bool {
        let judged = self.real();
        if !rule.concerns(judged.tool, MatchStrictness::Allowing) {
            return false;
        }
        let (Some(spec), Some(subject)) = (&rule.subject, subject(&judged)) else {
            return rule.subject.is_none();
        };
        match family(judged.tool) {
            SubjectKind::Command => false,
            SubjectKind::Path => path_match::is_matched_by(&subject, spec, judged.cwd),
            SubjectKind::Address => match spec.strip_prefix("domain:") {
                Some(host) => domain_match::is_on(&subject, host),
                None => is_glob_match(spec, &subject),
            },
            SubjectKind::Name => is_glob_match(spec, &subject),
        }
    }

    /// The rule that matches this call and as little else as possible.
    pub fn exact_rule(&self) -> PermissionRule {
        let judged = self.real();
        let spec = subject(&judged).map(|subject| match family(judged.tool) {
            SubjectKind::Command => command_line::literal(&subject),
            SubjectKind::Path => path_match::literal(&subject, judged.cwd),
            SubjectKind::Address | SubjectKind::Name => globset::escape(&subject),
        });
        PermissionRule {
            tool: judged.tool.to_owned(),
            subject: spec.filter(|spec| !spec.is_empty()),
        }
    }
}

/// What a rule's subject is compared with. Who is asked is a delegation's.
fn subject(judged: &PolicyRequest<'_>) -> Option<String> {
    let agent = || match declared(judged.tool).subject {
        asked @ ToolSubject::Agent(_) => asked.of(judged.input?),
        _ => None,
    };
    judged.subject.map(str::to_owned).or_else(agent)
}

fn may_match(judged: &PolicyRequest<'_>, spec: &str) -> bool {
    let Some(subject) = subject(judged) else {
        return false;
    };
    match family(judged.tool) {
        SubjectKind::Command => false,
        SubjectKind::Path => {
            path_match::RulePaths::of(spec, judged.cwd).may_hold(&subject, judged.cwd)
        }
        SubjectKind::Address => match spec.strip_prefix("domain:") {
            Some(host) => domain_match::may_be_on(&subject, host),
            None => is_glob_match(&spec.to_lowercase(), &subject.to_lowercase()),
        },
        SubjectKind::Name => is_glob_match(&spec.to_lowercase(), &subject.to_lowercase()),
    }
}

/// `param:value`: whether the call has that argument with a value that matches. Only rules that
/// deny or ask are compared so: there is always another argument that an allowing one forgot.
fn has_argument(input: Option<&Value>, spec: &str) -> bool {
    let Some((name, wanted)) = spec.split_once(':') else {
        return false;
    };
    let value = match input.and_then(|input| input.get(name.trim())) {
        None => return false,
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    };
    is_glob_match(wanted.trim(), &value)
}

impl PolicyRequest<'_> {
    /// Where the call's path leads now; none if it has no path.
    pub fn pinned(&self) -> Option<ResolvedPath> {
        let subject = self
            .subject
            .filter(|_| family(self.tool) == SubjectKind::Path)?;
        // Deleting a link takes the link away, not what it leads to.
        let last = if declared(self.tool).file_use == FileUse::Deletes {
            LastLink::Kept
        } else {
            LastLink::Followed
        };
        Some(ResolvedPath::of(Path::new(subject), self.cwd, last))
    }
}

/// How the subject of this tool is compared with that of a rule.
pub(super) fn family(tool: &str) -> SubjectKind {
    declared_for_rule(tool).subject.kind()
}
