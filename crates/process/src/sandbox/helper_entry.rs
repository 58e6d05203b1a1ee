//! The sandbox helper: this program, started once more, confines itself and then becomes the requested program (exec).
//!
//! Landlock and seccomp filters confine the process that asks for them, and its children. So the helper forks a child
//! that asks for them and then becomes the program. The helper itself stays outside as a guard: it adopts all orphans
//! and kills them when the program has ended, and when the process that started the guard has died.

use std::{
    convert::Infallible,
    env,
    ffi::{CString, OsString},
    os::unix::{ffi::OsStrExt, process::CommandExt},
    path::PathBuf,
    process::{Command, exit},
    sync::{
        OnceLock,
        atomic::{AtomicBool, Ordering},
    },
};

use nix::{
    errno::Errno,
    spawn::{PosixSpawnAttr, PosixSpawnFileActions, PosixSpawnFlags, posix_spawn, posix_spawnp},
    sys::{
        prctl::set_pdeathsig,
        signal::{SigSet, SigmaskHow, Signal, raise},
        wait::{WaitPidFlag, WaitStatus, waitpid},
    },
    unistd::{Pid, getppid},
};

use super::{
    Sandbox, SandboxNetwork, forker, gate,
    guard::{
        OWNER_DIED, REFUSED, confine, end_all, held_signals, refuse, run_program, watch_owner,
    },
    helper_args::{ENTRY, HelperArgs, HelperRole},
    landlock::OpenedGrants,
    landlock_cache::landlock_profile,
    landlock_scope,
};
use crate::fork::fork_child;

/// This program, even if its file has been replaced since it was started.
const OWN: &str = "/proc/self/exe";

/// Whether this program begins with [`enter_if_asked`], so that it can be its own helper.
static ENTERS: AtomicBool = AtomicBool::new(false);

/// Another program that begins with [`enter_if_asked`].
static OTHER: OnceLock<PathBuf> = OnceLock::new();

/// To be called first thing in `main`: if this program was started as a helper, it becomes one and
/// this never returns. Without it, or [`use_helper`], only bubblewrap can confine programs.
pub fn enter_if_asked() {
    let mut words = env::args_os().skip(1);
    let first = words.next().unwrap_or_default();
    if gate::is_asked(&first) {
        let Err(reason) = gate::open_gate_and_exec(words);
        refuse(&reason);
    }
    if landlock_scope::is_asked(&first) {
        let Err(reason) = landlock_scope::restrict_and_exec(words);
        refuse(&reason);
    }
    if forker::is_asked(&first) {
        let Err(reason) = forker::serve_commands(words);
        refuse(&reason);
    }
    if first == ENTRY {
        let reason = match HelperArgs::read(words) {
            Some(order) => guard(&order),
            None => Err("its arguments are no order".to_owned()),
        };
        let Err(reason) = reason;
        refuse(&reason);
    }
    ENTERS.store(true, Ordering::Relaxed);
}

/// Names a program that begins with [`enter_if_asked`], for one that cannot do so itself. The first
/// one that is named stays.
pub fn use_helper(program: impl Into<PathBuf>) {
    let _ = OTHER.set(program.into());
}

/// The program that is the helper, if there is one.
pub(crate) fn program() -> Option<PathBuf> {
    let own = || ENTERS.load(Ordering::Relaxed).then(|| PathBuf::from(OWN));
    OTHER.get().cloned().or_else(own)
}

/// How the helper is started for a command.
pub(crate) fn command(
    sandbox: &Sandbox,
    file: OsString,
    command: Vec<OsString>,
) -> Option<(PathBuf, Vec<OsString>)> {
    let owner = Pid::this().as_raw();
    let (network, grants) = (sandbox.network, landlock_profile(sandbox).allowed.clone());
    let order = HelperArgs {
        part: HelperRole::Outside,
        owner,
        network,
        file,
        grants,
        command,
    };
    Some((program()?, order.to_arguments()))
}

/// How the helper is started for a command that is not confined, so that nothing of it is left either; none
/// if there is no helper.
pub(crate) fn unconfined_command(
    file: OsString,
    command: Vec<OsString>,
) -> Option<(PathBuf, Vec<OsString>)> {
    let owner = Pid::this().as_raw();
    let order = HelperArgs {
        part: HelperRole::Unconfined,
        owner,
        network: SandboxNetwork::On,
        file,
        grants: Vec::new(),
        command,
    };
    Some((program()?, order.to_arguments()))
}

/// Stays outside, and leaves nothing behind.
fn guard(order: &HelperArgs) -> Result<Infallible, String> {
    let heeded = SigSet::from_iter([Signal::SIGCHLD, OWNER_DIED]);
    let said = |error: Errno| error.to_string();
    held_signals()
        .thread_swap_mask(SigmaskHow::SIG_SETMASK)
        .map_err(said)?;
    watch_owner(order.owner)?;
    let leader = match order.part {
        HelperRole::Unconfined => started(order)?,
        HelperRole::Outside => {
            let guard = Pid::this();
            fork_child(|| {
                let Err(reason) = become_confined(order, guard);
                refuse(&reason)
            })
            .map_err(said)?
        }
    };
    loop {
        let ended = match heeded.wait().map_err(said)? {
            OWNER_DIED => Some(WaitStatus::Signaled(leader, Signal::SIGKILL, false)),
            _ => reaped(leader),
        };
        if let Some(status) = ended {
            end_all();
            leave(status);
        }
    }
}

/// Starts a program as it is. The guard holds signals back and ignores broken pipes; the program does not.
fn started(order: &HelperArgs) -> Result<Pid, String> {
    let spelled =
        |word: &OsString| CString::new(word.as_bytes()).map_err(|error| error.to_string());
    let arguments = order
        .command
        .iter()
        .map(spelled)
        .collect::<Result<Vec<_>, _>>()?;
    let program = arguments.first().ok_or("it is nothing")?;
    let variables = env::vars_os().map(|(mut name, value)| {
        name.push("=");
        name.push(value);
        spelled(&name)
    });
    let variables = variables.collect::<Result<Vec<_>, _>>()?;
    let said = |error: Errno| format!("start `{}`: {error}", program.to_string_lossy());
    let mut attributes = PosixSpawnAttr::init().map_err(said)?;
    attributes.set_sigmask(&SigSet::empty()).map_err(said)?;
    attributes
        .set_sigdefault(&SigSet::from_iter([Signal::SIGPIPE]))
        .map_err(said)?;
    let flags = PosixSpawnFlags::POSIX_SPAWN_SETSIGMASK | PosixSpawnFlags::POSIX_SPAWN_SETSIGDEF;
    attributes.set_flags(flags).map_err(said)?;
    let actions = PosixSpawnFileActions::init().map_err(said)?;
    let file = spelled(&order.file)?;
    if !file.is_empty()
        && let Ok(leader) = posix_spawn(
            file.as_c_str(),
            &actions,
            &attributes,
            &arguments,
            &variables,
        )
    {
        return Ok(leader);
    }
    posix_spawnp(program, &actions, &attributes, &arguments, &variables).map_err(said)
}

/// Takes in all that have ended; says how the leader did, if it did.
fn reaped(leader: Pid) -> Option<WaitStatus> {
    let mut ended = None;
    while let Ok(status) = waitpid(None, Some(WaitPidFlag::WNOHANG)) {
        match status {
            WaitStatus::StillAlive => break,
            WaitStatus::Exited(pid, _) | WaitStatus::Signaled(pid, ..) if pid == leader => {
                ended = Some(status)
            }
            _ => {}
        }
    }
    ended
}

/// Ends the way the program did.
fn leave(status: WaitStatus) -> ! {
    if let WaitStatus::Exited(_, code) = status {
        exit(code);
    }
    if let WaitStatus::Signaled(_, signal, _) = status {
        let _ = SigSet::empty().thread_set_mask();
        let _ = raise(signal);
    }
    exit(REFUSED)
}

/// Goes inside, for good, and becomes the program.
fn become_confined(order: &HelperArgs, guard: Pid) -> Result<Infallible, String> {
    set_pdeathsig(Signal::SIGKILL).map_err(|error| error.to_string())?;
    if getppid() != guard {
        return Err("its guard is gone".to_owned());
    }
    // The guard holds signals back; the program does not.
    SigSet::empty()
        .thread_set_mask()
        .map_err(|error| error.to_string())?;
    confine(order.network, &OpenedGrants::new(order.grants.clone()))?;
    let Some((program, arguments)) = order.command.split_first() else {
        return Err("it is nothing".to_owned());
    };
    run_program(&order.file, program, |file| {
        let mut start = Command::new(file);
        start.arg0(program).args(arguments);
        start
    })
}
