//! Tells whether a process descends from a program that an agent started: a command, hook, MCP server or other program.
//!
//! Every program that this crate starts has a mark in its environment and, unless a namespace holds it, a guard that adopts
//! its orphans (`PR_SET_CHILD_SUBREAPER`). So a descendant is known by a mark of its own or of any process above it, or
//! because a process above it is the one that asks. A daemon that cleared its environment is still below its guard; if
//! it killed the guard, it is below the process that [adopts orphans](adopt_orphans).
//!
//! Limits. A program that cleared its environment and killed its guard is not known any more once the process that started
//! it has ended. Neither is one that a service of the account starts for it (`systemd-run --user`, `at`, a terminal
//! multiplexer): without a sandbox a command has all rights of the account, which no check of ancestry can take back.

use std::{fs, io, os::unix::fs::MetadataExt};

use nix::{
    errno::Errno,
    sys::prctl,
    unistd::{Pid, getuid},
};

use crate::process_tree::{MARK, ProcessStat, read_stat};

/// Processes above another one at most. Beyond that it is refused.
const MOST_ABOVE: usize = 256;

/// Why a process is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AgentAncestry {
    /// It has ended, or is in another namespace.
    #[error("the process cannot be looked at")]
    Unknown,
    /// A program of this account hides its environment.
    #[error("process {0} hides its environment")]
    Hidden(i32),
    /// It, a process above it or the leader of its group or session bears the mark of a started program.
    #[error("process {0} was started by an agent")]
    Marked(i32),
    /// It was started by the process that asks, or by another one of the same program.
    #[error("it was started by this process or another one of the same program")]
    Started,
}

/// Refuses a process that descends from a program that an agent started, or from the process `below`. What cannot be
/// looked at is refused too.
pub fn refuse_agent_descendant(pid: i32, below: Option<i32>) -> Result<(), AgentAncestry> {
    let mut at = pid;
    for _ in 0..MOST_ABOVE {
        if below == Some(at) {
            return Err(AgentAncestry::Started);
        }
        // The first process of the system stands above everything, and shows its environment to few.
        if at == 1 && at != pid {
            return Ok(());
        }
        if below.is_some() && at != pid && is_this_program(at) {
            return Err(AgentAncestry::Started);
        }
        let stat = read_stat(at).ok_or(AgentAncestry::Unknown)?;
        refuse_marked(at, at == pid)?;
        for leader in leaders(&stat) {
            refuse_marked(leader, false)?;
        }
        if stat.parent <= 0 {
            return Ok(());
        }
        at = stat.parent;
    }
    Err(AgentAncestry::Unknown)
}

/// Whether a process runs the same program as this one: what is below it was started for an agent.
fn is_this_program(pid: i32) -> bool {
    let identity = |path: String| {
        let found = fs::metadata(path).ok()?;
        Some((found.dev(), found.ino()))
    };
    let own = identity("/proc/self/exe".into());
    own.is_some() && own == identity(format!("/proc/{pid}/exe"))
}

/// The leaders of its group and session, where they are other processes that live.
fn leaders(stat: &ProcessStat) -> impl Iterator<Item = i32> {
    let (pid, leaders) = (stat.pid, [stat.group, stat.session]);
    let others = leaders
        .into_iter()
        .filter(move |leader| *leader > 1 && *leader != pid);
    others.filter(|leader| read_stat(*leader).is_some())
}

fn refuse_marked(pid: i32, is_peer: bool) -> Result<(), AgentAncestry> {
    let environment = match fs::read(format!("/proc/{pid}/environ")) {
        Ok(environment) => environment,
        // Programs of other accounts stand above every login, and show nothing.
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied && !is_peer => {
            return match has_our_account(pid) {
                Some(false) => Ok(()),
                _ => Err(AgentAncestry::Hidden(pid)),
            };
        }
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            return Err(AgentAncestry::Hidden(pid));
        }
        Err(_) => return Err(AgentAncestry::Unknown),
    };
    let prefix = format!("{MARK}=").into_bytes();
    let mut entries = environment.split(|byte| *byte == 0);
    if entries.any(|entry| entry.starts_with(&prefix)) {
        return Err(AgentAncestry::Marked(pid));
    }
    Ok(())
}

/// Whether a process runs for our account, by its real user.
fn has_our_account(pid: i32) -> Option<bool> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("Uid:"))?;
    let user: u32 = line.split_whitespace().next()?.parse().ok()?;
    Some(user == getuid().as_raw())
}

/// Makes this process adopt the orphans among its descendants, so that none of them can leave its tree while it lives.
pub fn adopt_orphans() -> Result<(), Errno> {
    prctl::set_child_subreaper(true)
}

impl AgentAncestry {
    /// Refuses this process if it descends from a program that an agent started.
    pub fn refuse_this_process() -> Result<(), Self> {
        refuse_agent_descendant(Pid::this().as_raw(), None)
    }
}
