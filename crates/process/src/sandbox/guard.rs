//! Steps that the guard of one command and the forker of many have in common: hold signals, adopt orphans, confine a
//! child, become a program, end all descendants.

use std::{
    convert::Infallible,
    ffi::OsStr,
    os::unix::process::CommandExt,
    process::{Command, exit},
};

use nix::{
    errno::Errno,
    sys::{
        prctl::{set_child_subreaper, set_no_new_privs, set_pdeathsig},
        signal::{SigSet, Signal, kill},
        wait::{WaitPidFlag, WaitStatus, waitpid},
    },
    unistd::{Pid, getppid},
};
use rustix::thread::{
    CapabilitySet, CapabilitySets, remove_capability_from_bounding_set, set_capabilities,
};

use super::{
    SandboxBackend, SandboxNetwork, SeccompProfile,
    landlock::{OpenedGrants, restrict},
    seccomp::seccomp_program,
};
use crate::process_tree;

/// What the helper ends with if it cannot do what it is asked: the program has not been started.
pub(super) const REFUSED: i32 = 126;

/// Sent to the guard when its parent has died. Not SIGKILL, the usual choice, which cannot be handled.
pub(super) const OWNER_DIED: Signal = Signal::SIGHUP;

pub(super) fn refuse(reason: &str) -> ! {
    eprintln!("rooftree cannot confine this program, so it was not started: {reason}");
    exit(REFUSED)
}

/// SIGTERM is for the program to handle; the guard ends when the program has ended.
pub(super) fn held_signals() -> SigSet {
    SigSet::from_iter([
        Signal::SIGCHLD,
        OWNER_DIED,
        Signal::SIGTERM,
        Signal::SIGINT,
        Signal::SIGQUIT,
    ])
}

/// Adopts all orphans, and is told when the owner dies.
pub(super) fn watch_owner(owner: i32) -> Result<(), String> {
    let said = |error: Errno| error.to_string();
    set_child_subreaper(true).map_err(said)?;
    set_pdeathsig(OWNER_DIED).map_err(said)?;
    if getppid().as_raw() != owner {
        return Err("whoever wanted it is gone".to_owned());
    }
    Ok(())
}

/// Kills every descendant. An orphan becomes a child of the guard (subreaper), so none escapes: a guard without
/// children has no descendants, and the process table need not be read.
pub(super) fn end_all() {
    let own = Pid::this().as_raw();
    loop {
        match waitpid(None, Some(WaitPidFlag::WNOHANG)) {
            Ok(WaitStatus::StillAlive) => {}
            Ok(_) | Err(Errno::EINTR) => continue,
            Err(_) => return,
        }
        for seen in process_tree::descendants(own) {
            let _ = kill(Pid::from_raw(seen.pid), Signal::SIGKILL);
        }
        match waitpid(None, None) {
            Ok(_) | Err(Errno::EINTR) => {}
            Err(_) => return,
        }
    }
}

/// Confines the calling process, for good.
pub(super) fn confine(network: SandboxNetwork, grants: &OpenedGrants) -> Result<(), String> {
    let kind = SeccompProfile {
        backend: SandboxBackend::Landlock,
        network,
        has_unix: false,
    };
    let filter = seccomp_program(kind).ok_or("there is no filter for this machine")?;
    set_no_new_privs().map_err(|error| format!("refuse new privileges: {error}"))?;
    restrict(grants).map_err(|error| format!("apply Landlock rules: {error}"))?;
    give_up_capabilities().map_err(|error| format!("give up capabilities: {error}"))?;
    seccompiler::apply_filter(filter).map_err(|error| format!("filter system calls: {error}"))
}

/// Becomes a program: the file it was found in, else what a search along PATH finds. By the name it was asked for,
/// whichever file it is: programs look at how they were called.
pub(super) fn run_program(
    file: &OsStr,
    program: &OsStr,
    start: impl Fn(&OsStr) -> Command,
) -> Result<Infallible, String> {
    let mut error = None;
    for file in [file, program].into_iter().filter(|file| !file.is_empty()) {
        error = Some(start(file).exec());
    }
    let error = error.map_or_else(String::new, |error| error.to_string());
    Err(format!("start `{}`: {error}", program.to_string_lossy()))
}

/// Root without them is an ordinary user who owns many files; no new privileges means they stay away.
fn give_up_capabilities() -> rustix::io::Result<()> {
    for bit in 0..u64::BITS {
        // The first one the kernel does not know is refused, and so is every one for a user who cannot have any.
        let one = CapabilitySet::from_bits_retain(1 << bit);
        if remove_capability_from_bounding_set(one).is_err() {
            break;
        }
    }
    let none = CapabilitySet::empty();
    set_capabilities(
        None,
        CapabilitySets {
            effective: none,
            permitted: none,
            inheritable: none,
        },
    )
}
