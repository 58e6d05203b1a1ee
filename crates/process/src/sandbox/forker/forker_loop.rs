//! The forker itself: takes commands from its socket, forks each, and says how it ended when nothing of it is left.

use std::{
    convert::Infallible,
    ffi::{OsStr, OsString},
    io::{self, Write},
    os::{
        fd::{AsRawFd, OwnedFd, RawFd},
        unix::{net::UnixStream, process::CommandExt},
    },
    path::{Path, PathBuf},
    process::{Command, exit},
};

use nix::{
    errno::Errno,
    fcntl::{FcntlArg, FdFlag, fcntl},
    sys::{
        prctl::{set_dumpable, set_pdeathsig},
        signal::{SigSet, SigmaskHow, Signal, kill},
        wait::{WaitPidFlag, WaitStatus, waitpid},
    },
    unistd::{Pid, dup2_stderr, dup2_stdin, dup2_stdout, getppid, setsid},
};

use super::{
    command_message::{CommandMessage, FORKER_READY, ForkerReply, received},
    forker_traces::ForkerTraces,
};
use crate::{
    ExitReason,
    fork::fork_child,
    inherited_fds::inherited_fd,
    sandbox::{
        Sandbox, SandboxNetwork,
        guard::{OWNER_DIED, confine, end_all, held_signals, refuse, run_program, watch_owner},
        helper_args::{HelperArgs, HelperRole},
        landlock::{LandlockGrant, OpenedGrants},
        landlock_cache::landlock_profile,
        landlock_scope,
    },
};

/// The first argument of a program that is asked to be the forker of a sandbox.
const ENTRY: &str = "--rooftree-forker";

/// Where the forker stands.
#[derive(Clone, Debug)]
pub(crate) enum ForkerRole {
    /// The first process in namespaces of its own.
    Inside {
        /// The descriptor it was started from.
        program: RawFd,
        /// Whether it has to leave abstract sockets of the machine.
        is_scoped: bool,
        /// Places that exist only inside.
        places: Vec<PathBuf>,
    },
    /// Outside of what each command confines itself to.
    Outside {
        /// Process ID of the process that started it.
        owner: i32,
        network: SandboxNetwork,
        grants: Vec<LandlockGrant>,
    },
}

impl ForkerRole {
    /// For commands that confine themselves to what a sandbox allows now.
    pub(crate) fn outside(sandbox: &Sandbox) -> Self {
        Self::Outside {
            owner: Pid::this().as_raw(),
            network: sandbox.network,
            grants: landlock_profile(sandbox).allowed.clone(),
        }
    }
}

/// How a helper is asked to be a forker, with its end of the socket.
pub(crate) fn forker_words(role: ForkerRole, socket: &OwnedFd) -> Vec<OsString> {
    let socket = socket.as_raw_fd().to_string().into();
    match role {
        ForkerRole::Inside {
            program,
            is_scoped,
            places,
        } => {
            let scope = if is_scoped { "scoped" } else { "free" };
            let words = [ENTRY.into(), socket, "inside".into()];
            let more = [program.to_string().into(), scope.into()];
            let places = places.into_iter().map(PathBuf::into_os_string);
            words.into_iter().chain(more).chain(places).collect()
        }
        ForkerRole::Outside {
            owner,
            network,
            grants,
        } => {
            let order = HelperArgs {
                part: HelperRole::Outside,
                owner,
                network,
                file: OsString::new(),
                grants,
                // What is run is said later.
                command: vec!["-".into()],
            };
            let words = [ENTRY.into(), socket, "outside".into()];
            words.into_iter().chain(order.to_arguments()).collect()
        }
    }
}

/// Whether a program is asked for it.
pub(in crate::sandbox) fn is_asked(first: &OsStr) -> bool {
    first == ENTRY
}

/// Serves commands until the process that sends them is gone. The words are what stands after the entry.
pub(in crate::sandbox) fn serve_commands(
    mut words: impl Iterator<Item = OsString>,
) -> Result<Infallible, String> {
    let number = |word: Option<OsString>| word?.to_str()?.parse().ok();
    let socket = number(words.next()).and_then(inherited_fd);
    let socket = socket.ok_or("it has no socket")?;
    fcntl(&socket, FcntlArg::F_SETFD(FdFlag::FD_CLOEXEC)).map_err(said)?;
    let socket = UnixStream::from(socket);
    match words.next().as_ref().and_then(|word| word.to_str()) {
        Some("inside") => {
            let program = number(words.next()).and_then(inherited_fd);
            drop(program.ok_or("its arguments are no order")?);
            let is_scoped = words.next().is_some_and(|word| word == "scoped");
            serve_inside(
                socket,
                is_scoped,
                &words.map(PathBuf::from).collect::<Vec<_>>(),
            )
        }
        Some("outside") => {
            // The entry of the guard is among them.
            let order = HelperArgs::read(words.skip(1)).ok_or("its arguments are no order")?;
            serve_outside(socket, &order)
        }
        _ => Err("its arguments are no order".to_owned()),
    }
}

fn said(error: Errno) -> String {
    error.to_string()
}

/// As the first process of a namespace, confined like its commands.
fn serve_inside(
    socket: UnixStream,
    is_scoped: bool,
    places: &[PathBuf],
) -> Result<Infallible, String> {
    // Commands have the same user: this keeps them from its memory, its descriptors and its socket.
    set_dumpable(false).map_err(said)?;
    if is_scoped {
        landlock_scope::restrict_process()?;
    }
    let before = ForkerTraces::of(places).ok_or("the state of its sandbox cannot be read")?;
    // Signals from inside do not reach the first process, unless it holds them back.
    let heeded = SigSet::from_iter([Signal::SIGCHLD]);
    heeded
        .thread_swap_mask(SigmaskHow::SIG_SETMASK)
        .map_err(said)?;
    let duties = ForkerDuties {
        heeded,
        confine: &|| setsid().map(drop).map_err(said),
        sweep: &kill_all_others,
        is_untouched: &|| ForkerTraces::of(places).is_some_and(|now| now == before),
    };
    duties.serve(socket)
}

/// As a guard: it adopts what commands leave, and ends it.
fn serve_outside(socket: UnixStream, order: &HelperArgs) -> Result<Infallible, String> {
    held_signals()
        .thread_swap_mask(SigmaskHow::SIG_SETMASK)
        .map_err(said)?;
    watch_owner(order.owner)?;
    let guard = Pid::this();
    let grants = OpenedGrants::new(order.grants.clone());
    let before = ForkerTraces::of(&[]).ok_or("its own state cannot be read")?;
    let confine = || {
        set_pdeathsig(Signal::SIGKILL).map_err(said)?;
        if getppid() != guard {
            return Err("its guard is gone".to_owned());
        }
        confine(order.network, &grants)
    };
    let duties = ForkerDuties {
        heeded: SigSet::from_iter([Signal::SIGCHLD, OWNER_DIED]),
        confine: &confine,
        sweep: &end_all,
        is_untouched: &|| ForkerTraces::of(&[]).is_some_and(|now| now == before),
    };
    duties.serve(socket)
}

/// What differs between the two.
struct ForkerDuties<'a> {
    /// Signals that are waited for.
    heeded: SigSet,
    /// Confines a command, in its own process.
    confine: &'a dyn Fn() -> Result<(), String>,
    /// Ends everything that is left of a command.
    sweep: &'a dyn Fn(),
    is_untouched: &'a dyn Fn() -> bool,
}

impl ForkerDuties<'_> {
    /// One command after the other: fork, wait, sweep, compare, reply.
    fn serve(&self, mut socket: UnixStream) -> Result<Infallible, String> {
        let failed = |error: io::Error| error.to_string();
        socket.write_all(&[FORKER_READY]).map_err(failed)?;
        while let Some((command, streams)) = received(&mut socket).map_err(failed)? {
            let leader = fork_child(|| {
                let Err(reason) = self.become_command(&command, &streams);
                refuse(&reason)
            });
            drop(streams);
            let ending = self.ended(leader.map_err(said)?);
            (self.sweep)();
            let Some(ending) = ending.map_err(said)? else {
                exit(0);
            };
            let is_untouched = (self.is_untouched)();
            let reply = ForkerReply {
                ending,
                is_untouched,
            };
            if socket.write_all(&reply.to_bytes()).is_err() || !is_untouched {
                exit(0);
            }
        }
        exit(0)
    }

    /// Waits for the leader, and takes in all others that end; none if the owner has died.
    fn ended(&self, leader: Pid) -> Result<Option<ExitReason>, Errno> {
        loop {
            if self.heeded.wait()? == OWNER_DIED {
                return Ok(None);
            }
            let mut ending = None;
            while let Ok(status) = waitpid(None, Some(WaitPidFlag::WNOHANG)) {
                match status {
                    WaitStatus::StillAlive => break,
                    WaitStatus::Exited(pid, code) if pid == leader => {
                        ending = Some(ExitReason::Exited(code))
                    }
                    WaitStatus::Signaled(pid, signal, _) if pid == leader => {
                        ending = Some(ExitReason::Signalled(signal as i32))
                    }
                    _ => {}
                }
            }
            if ending.is_some() {
                return Ok(ending);
            }
        }
    }

    /// In the child: takes its streams, confines itself, and becomes the program.
    fn become_command(
        &self,
        command: &CommandMessage,
        [input, output, errors]: &[OwnedFd; 3],
    ) -> Result<Infallible, String> {
        dup2_stdin(input).map_err(said)?;
        dup2_stdout(output).map_err(said)?;
        dup2_stderr(errors).map_err(said)?;
        SigSet::empty().thread_set_mask().map_err(said)?;
        (self.confine)()?;
        let Some((program, arguments)) = command.words.split_first() else {
            return Err("it is nothing".to_owned());
        };
        run_program(&command.file, program, |file| {
            let mut start = Command::new(file);
            start
                .arg0(program)
                .args(arguments)
                .current_dir(Path::new(&command.directory))
                .env_clear()
                .envs(command.variables.iter().cloned());
            start
        })
    }
}

/// Kills every other process of the namespace. Orphans become children of its first process, so without children there
/// is no other one.
fn kill_all_others() {
    loop {
        // Again and again: what is being killed may be starting others.
        let _ = kill(Pid::from_raw(-1), Signal::SIGKILL);
        match waitpid(None, None) {
            Ok(_) | Err(Errno::EINTR) => {}
            Err(_) => return,
        }
    }
}
