//! Whether a line may read or write a path that a deny rule for files names.
//!
//! This catches what is written out. A program can name files by itself: the sandbox is what stops that.

use std::path::{Path, PathBuf};

use crate::{
    policy::path::{self, Places},
    shell::{Call, Deeds, Refusal, Way, Word, innermost, looks},
};

/// Who goes to more places is not followed: then it is enough that the name stands in the line.
const PLACES: usize = 16;

/// What a rule for files is about.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::policy) enum Kind {
    Reading,
    Writing,
}

/// What must not be reached.
pub(super) struct Wanted<'a> {
    pub kind: Kind,
    pub glob: &'a str,
    pub cwd: &'a Path,
}

/// The word by which a line may reach it.
pub(super) fn find(text: &str, deeds: &Result<Deeds, Refusal>, wanted: &Wanted<'_>) -> Option<String> {
    let goes = |deeds: &&Deeds| deeds.calls.iter().filter_map(place).count() <= PLACES;
    let Some(deeds) = deeds.as_ref().ok().filter(goes) else {
        let part = path::telling_part(wanted.glob)?;
        return text.contains(part).then(|| text.trim().to_owned());
    };
    let denied = Places::of(wanted.glob, wanted.cwd);
    let seen_from = deeds.calls.iter().filter_map(place).map(|place| wanted.cwd.join(place));
    let seen_from: Vec<PathBuf> = [wanted.cwd.to_owned()].into_iter().chain(seen_from).collect();
    let is_named = |path: &String| seen_from.iter().any(|from| denied.may_hold(path, from));
    let is_reached = |word: &&Word| candidates(word).iter().any(is_named);
    let is_way = |way| way == if wanted.kind == Kind::Reading { Way::Read } else { Way::Write };
    let files = deeds.files.iter().filter(|file| is_way(file.way)).map(|file| &file.target);
    // Who only looks may look at what must not be written.
    let calls = deeds.calls.iter().filter(|call| wanted.kind == Kind::Reading || !looks(call));
    let mut words = files.chain(calls.flat_map(Call::arguments));
    words.find(is_reached).map(Word::shape)
}

/// Where a line goes to.
fn place(call: &Call) -> Option<String> {
    let inner = innermost(call);
    let goes = matches!(inner.name().as_deref(), Some("cd" | "pushd"));
    inner.arguments().iter().rev().find_map(Word::literal).filter(|_| goes)
}

/// What in a word may be a path: all of it, what follows `=`, `@` or `:`, or an option's letter.
fn candidates(word: &Word) -> Vec<String> {
    let shape = word.shape();
    let after = |sign: char| shape.split_once(sign).map(|(_, rest)| rest.to_owned());
    let clung = shape.strip_prefix('-').and_then(|rest| rest.get(1..)).map(str::to_owned);
    let parts = [after('='), after('@'), after(':'), clung];
    parts
        .into_iter()
        .flatten()
        .chain([shape.clone()])
        .filter(|part| !part.is_empty() && part != "*")
        .collect()
}
