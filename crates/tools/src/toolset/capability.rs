//! Capabilities of a tool, as words that an agent definition can allow or deny.

use rooftree_protocol::Scope;

use super::is_match;
use crate::{Tool, declared};

/// Capability of a tool that declares none; an allow list must allow `unknown`.
const UNKNOWN: &[&str] = &["unknown"];

/// The capabilities of a tool: those it declares, else those declared under its name.
fn of(tool: &dyn Tool) -> &'static [&'static str] {
    let by_name = || declared(&tool.spec().name).capabilities;
    let found = match tool.capabilities() {
        [] => by_name(),
        own => own,
    };
    if found.is_empty() { UNKNOWN } else { found }
}

/// Invariant: a list allows a tool only if it allows all that the tool can do, and denies it if it denies any.
pub(super) fn is_in_scope(tool: &dyn Tool, scope: &Scope) -> bool {
    let matches = |globs: &[String], one: &&str| globs.iter().any(|glob| is_match(glob, one));
    let can = of(tool);
    let is_allowed = scope
        .allow
        .as_deref()
        .is_none_or(|allow| can.iter().all(|one| matches(allow, one)));
    is_allowed && !can.iter().any(|one| matches(&scope.deny, one))
}
