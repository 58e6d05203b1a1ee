//! Checks whether a shell line may read or write a path that a deny rule for files names.
//!
//! This catches paths that are written in the line. A program can open other files by itself: the sandbox prevents
//! that.

use std::path::{Path, PathBuf};

use rooftree_shell::{
    RedirectKind, ShellCall, ShellEffects, ShellParseError, ShellWord, innermost, is_read_only_call,
};

use crate::policy::path_match::{self, RulePaths};

/// Maximum number of directory changes that are tracked; beyond that, it is enough that the name occurs in the line.
const PLACES: usize = 16;

/// The kind of access that a rule for files is about.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::policy) enum FileRuleKind {
    Reading,
    Writing,
}

/// A path that must not be accessed.
pub(super) struct DeniedPathQuery<'a> {
    pub kind: FileRuleKind,
    pub glob: &'a str,
    pub cwd: &'a Path,
}

/// The word by which a line may reach it.
pub(super) fn find(
    text: &str,
    deeds: &Result<ShellEffects, ShellParseError>,
    wanted: &DeniedPathQuery<'_>,
) -> Option<String> {
    let goes = |deeds: &&ShellEffects| deeds.calls.iter().filter_map(place).count() <= PLACES;
    let Some(deeds) = deeds.as_ref().ok().filter(goes) else {
        let part = path_match::longest_literal(wanted.glob)?;
        return text.contains(part).then(|| text.trim().to_owned());
    };
    let denied = RulePaths::of(wanted.glob, wanted.cwd);
    let seen_from = deeds
        .calls
        .iter()
        .filter_map(place)
        .map(|place| wanted.cwd.join(place));
    let seen_from: Vec<PathBuf> = [wanted.cwd.to_owned()]
        .into_iter()
        .chain(seen_from)
        .collect();
    let is_named = |path: &String| seen_from.iter().any(|from| denied.may_hold(path, from));
    let is_reached = |word: &&ShellWord| candidates(word).iter().any(is_named);
    let is_way = |way| {
        way == if wanted.kind == FileRuleKind::Reading {
            RedirectKind::Read
        } else {
            RedirectKind::Write
        }
    };
    let files = deeds
        .files
        .iter()
        .filter(|file| is_way(file.way))
        .map(|file| &file.target);
    // Who only looks may look at what must not be written.
    let calls = deeds
        .calls
        .iter()
        .filter(|call| wanted.kind == FileRuleKind::Reading || !is_read_only_call(call));
    let mut words = files.chain(calls.flat_map(ShellCall::arguments));
    words.find(is_reached).map(ShellWord::shape)
}

/// Where a line goes to.
fn place(call: &ShellCall) -> Option<String> {
    let inner = innermost(call);
    let goes = matches!(inner.name().as_deref(), Some("cd" | "pushd"));
    inner
        .arguments()
        .iter()
        .rev()
        .find_map(ShellWord::literal)
        .filter(|_| goes)
}

/// What in a word may be a path: all of it, what follows `=`, `@` or `:`, or an option's letter.
fn candidates(word: &ShellWord) -> Vec<String> {
    let shape = word.shape();
    let after = |sign: char| shape.split_once(sign).map(|(_, rest)| rest.to_owned());
    let clung = shape
        .strip_prefix('-')
        .and_then(|rest| rest.get(1..))
        .map(str::to_owned);
    let parts = [after('='), after('@'), after(':'), clung];
    parts
        .into_iter()
        .flatten()
        .chain([shape.clone()])
        .filter(|part| !part.is_empty() && part != "*")
        .collect()
}
