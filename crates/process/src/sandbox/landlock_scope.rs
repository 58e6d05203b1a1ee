//! Keeps a program in a namespace of its own from abstract Unix sockets of the machine it shares a network with.
//!
//! Those sockets belong to the network, not to a file system: with the network of the machine a program reaches
//! X11, D-Bus and containers. Landlock can keep it from them (Linux 6.12), but only a process can ask for
//! that itself. So the helper is started inside, asks for it, and becomes the program.

use std::{
    convert::Infallible,
    ffi::{OsStr, OsString},
    fs::File,
    io,
    os::{
        fd::{AsRawFd, OwnedFd},
        unix::process::CommandExt,
    },
    path::Path,
    process::Command,
    sync::LazyLock,
};

use landlock::{
    CompatLevel, Compatible, Ruleset, RulesetAttr, RulesetCreated, RulesetError, Scope,
};

use crate::inherited_fds::inherited_fd;

/// The first argument of a program that is asked to leave abstract sockets and become another one.
const ENTRY: &str = "--rooftree-scope";

fn ruleset() -> Result<RulesetCreated, RulesetError> {
    let ruleset = Ruleset::default().set_compatibility(CompatLevel::HardRequirement);
    ruleset.scope(Scope::AbstractUnixSocket)?.create()
}

/// Whether the kernel can do that.
pub(crate) fn is_possible() -> bool {
    static POSSIBLE: LazyLock<bool> = LazyLock::new(|| ruleset().is_ok());
    *POSSIBLE
}

/// What stands before a command so that a helper does it, and what that needs to inherit.
pub(crate) fn scope_helper_prefix(helper: &Path) -> io::Result<(Vec<OsString>, OwnedFd)> {
    // By number: where the helper lies may be hidden inside, and it may have been replaced.
    let program: OwnedFd = File::open(helper)?.into();
    let file = program.as_raw_fd();
    let words = [
        format!("/proc/self/fd/{file}"),
        ENTRY.to_owned(),
        file.to_string(),
    ];
    Ok((words.map(OsString::from).into(), program))
}

/// Whether a program is asked for it.
pub(super) fn is_asked(first: &OsStr) -> bool {
    first == ENTRY
}

/// Leaves them, for good, and becomes the program. The words are what stands after the entry.
pub(super) fn restrict_and_exec(
    mut words: impl Iterator<Item = OsString>,
) -> Result<Infallible, String> {
    let file = words.next().and_then(|word| word.to_str()?.parse().ok());
    // Not for the program.
    drop(
        file.and_then(inherited_fd)
            .ok_or("its arguments are no order")?,
    );
    restrict_process()?;
    let Some(program) = words.next() else {
        return Err("it is nothing".to_owned());
    };
    let error = Command::new(&program).args(words).exec();
    Err(format!("start `{}`: {error}", program.to_string_lossy()))
}

/// Keeps the calling process from abstract sockets made elsewhere, for good.
pub(super) fn restrict_process() -> Result<(), String> {
    let restricted = ruleset().and_then(RulesetCreated::restrict_self);
    restricted
        .map(drop)
        .map_err(|error| format!("leave abstract sockets: {error}"))
}
