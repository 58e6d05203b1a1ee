//! Translates a spawn request with a sandbox into the command that is really started, and the descriptors and limits
//! it needs.

use std::{
    ffi::{OsStr, OsString},
    fs::File,
    io::{self, Write},
    os::fd::{AsRawFd, OwnedFd},
    path::{Path, PathBuf},
};

use nix::{
    sys::resource::{Resource, getrlimit, rlim_t},
    unistd::{AccessFlags, access},
};

use crate::{
    SpawnRequest,
    sandbox::{
        self, ForkerRole, Sandbox, SandboxBackend, SandboxLimits, SandboxNetwork, SeccompProfile,
    },
};

const NO_HELPER: &str = "there is no helper (sandbox::enter_if_asked)";

/// The command that is really started.
pub(crate) struct SandboxedCommand {
    pub(crate) program: PathBuf,
    pub(crate) arguments: Vec<OsString>,
    /// Stay open in it.
    pub(crate) inherited: Vec<OwnedFd>,
    pub(crate) limits: Vec<ResourceLimit>,
    /// What `/tmp` is called inside, where it is called otherwise.
    pub(crate) temporary: Option<PathBuf>,
}

/// One limit the kernel keeps.
pub(crate) struct ResourceLimit {
    pub(crate) resource: Resource,
    pub(crate) most: rlim_t,
}

/// Where queues of the IPC namespace are seen as files.
const QUEUES: &str = "/dev/mqueue";

/// The command that starts a forker, with its end of the socket.
pub(crate) fn forker_command(
    sandbox: &Sandbox,
    backend: SandboxBackend,
    socket: OwnedFd,
) -> io::Result<SandboxedCommand> {
    let helper = sandbox::helper().ok_or_else(|| missing(NO_HELPER))?;
    let (program, arguments, inherited) = match backend {
        SandboxBackend::Landlock => {
            let role = ForkerRole::outside(sandbox);
            (helper, sandbox::forker_words(role, &socket), vec![socket])
        }
        SandboxBackend::Bubblewrap => {
            let is_scoped = sandbox.network == SandboxNetwork::On && sandbox::is_scope_possible();
            let filter = bubblewrap_filter(sandbox, is_scoped)?;
            // By number: where the helper lies may be hidden inside, and it may have been replaced.
            let file: OwnedFd = File::open(helper)?.into();
            let mut inherited = vec![filter];
            let mut arguments = sandbox::bubblewrap_arguments(sandbox, Path::new("/"), &inherited);
            let end = arguments.pop();
            arguments.extend(["--as-pid-1", "--mqueue", QUEUES].map(OsString::from));
            arguments.extend(end);
            let role = ForkerRole::Inside {
                program: file.as_raw_fd(),
                is_scoped,
                places: places_inside(&arguments),
            };
            arguments.push(format!("/proc/self/fd/{}", file.as_raw_fd()).into());
            arguments.extend(sandbox::forker_words(role, &socket));
            inherited.extend([file, socket]);
            (found_bubblewrap()?, arguments, inherited)
        }
    };
    Ok(SandboxedCommand {
        program,
        arguments,
        inherited,
        limits: bounds(sandbox.limits),
        temporary: None,
    })
}

/// Places that exist only inside, by what bubblewrap is told to make.
fn places_inside(arguments: &[OsString]) -> Vec<PathBuf> {
    let made = arguments.windows(2).filter_map(|pair| match pair {
        [word, place] if word == "--tmpfs" => Some(PathBuf::from(place)),
        _ => None,
    });
    let own = ["/dev", QUEUES].map(PathBuf::from);
    own.into_iter().chain(made).collect()
}

fn missing(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::NotFound, what.to_owned())
}

fn found_bubblewrap() -> io::Result<PathBuf> {
    sandbox::bubblewrap().ok_or_else(|| missing("bubblewrap is not installed (bwrap)"))
}

/// The system call filter of a program in namespaces, to be read by bubblewrap. A program that is in the machine's
/// network, and not kept from its abstract sockets, can make no Unix sockets.
fn bubblewrap_filter(sandbox: &Sandbox, is_scoped: bool) -> io::Result<OwnedFd> {
    let program = sandbox::seccomp_program(SeccompProfile {
        backend: SandboxBackend::Bubblewrap,
        network: sandbox.network,
        has_unix: sandbox.network == SandboxNetwork::Off || is_scoped,
    });
    readable(program.ok_or_else(|| missing("there is no system call filter for this machine"))?)
}

/// Puts a start in other words.
pub(crate) fn sandboxed_command(
    spawn: &SpawnRequest,
    sandbox: &Sandbox,
    backend: SandboxBackend,
    file: OsString,
) -> io::Result<SandboxedCommand> {
    let command: Vec<OsString> = [&spawn.program]
        .into_iter()
        .chain(&spawn.args)
        .cloned()
        .collect();
    let mut inherited = Vec::new();
    let (program, arguments) = match backend {
        SandboxBackend::Bubblewrap => {
            let scope = scope(sandbox)?;
            inherited.push(bubblewrap_filter(sandbox, scope.is_some())?);
            let mut arguments = sandbox::bubblewrap_arguments(sandbox, &spawn.cwd, &inherited);
            if let Some((words, needed)) = scope {
                arguments.extend(words);
                inherited.push(needed);
            }
            // A program with network access needs no proxy.
            if let Some(gate) = sandbox
                .gate
                .as_ref()
                .filter(|_| sandbox.network == SandboxNetwork::Off)
            {
                let helper = sandbox::helper().ok_or_else(|| missing(NO_HELPER))?;
                let (words, needed) = sandbox::gate_helper_prefix(gate, &helper)?;
                arguments.extend(words);
                inherited.extend(needed);
            }
            arguments.extend(command);
            (found_bubblewrap()?, arguments)
        }
        SandboxBackend::Landlock => {
            sandbox::helper_command(sandbox, file, command).ok_or_else(|| missing(NO_HELPER))?
        }
    };
    let temporary = sandbox
        .temporary
        .clone()
        .filter(|_| backend == SandboxBackend::Landlock);
    Ok(SandboxedCommand {
        program,
        arguments,
        inherited,
        limits: bounds(sandbox.limits),
        temporary,
    })
}

/// What keeps a program in the machine's network from its abstract sockets; none where that cannot be done,
/// and then it can make no Unix sockets at all.
fn scope(sandbox: &Sandbox) -> io::Result<Option<(Vec<OsString>, OwnedFd)>> {
    let helper = sandbox::helper()
        .filter(|_| sandbox.network == SandboxNetwork::On && sandbox::is_scope_possible());
    helper
        .map(|helper| sandbox::scope_entry(&helper))
        .transpose()
}

/// The first of these files that can be run. Refuses a program that is not there: bubblewrap would only say so in the
/// program's own output.
pub(crate) fn find_program(cwd: &Path, files: &[&OsStr]) -> io::Result<OsString> {
    let is_runnable = |file: &PathBuf| access(file, AccessFlags::X_OK).is_ok() && file.is_file();
    let mut files = files.iter().map(|file| cwd.join(file));
    files
        .find(is_runnable)
        .filter(|_| cwd.is_dir())
        .map(PathBuf::into_os_string)
        .ok_or_else(|| io::ErrorKind::NotFound.into())
}

/// A filter as a readable descriptor. It fits into a pipe buffer, so the write does not block.
fn readable(program: &seccompiler::BpfProgram) -> io::Result<OwnedFd> {
    let (reader, mut writer) = io::pipe()?;
    writer.write_all(&sandbox::bpf_bytes(program))?;
    Ok(reader.into())
}

/// What the kernel keeps, never above what it keeps already.
fn bounds(limits: SandboxLimits) -> Vec<ResourceLimit> {
    let wanted = [
        // Memory a program could write to. Counting what it only reserves would stop many a runtime.
        (Resource::RLIMIT_DATA, limits.memory),
        (Resource::RLIMIT_FSIZE, limits.file_size),
        (Resource::RLIMIT_CPU, limits.cpu_secs),
        // No core dumps: they contain memory, secrets included.
        (Resource::RLIMIT_CORE, Some(0)),
    ];
    let bound = |(resource, most): (Resource, Option<u64>)| {
        let already = getrlimit(resource).map_or(rlim_t::MAX, |(_, hard)| hard);
        most.map(|most| ResourceLimit {
            resource,
            most: already.min(most),
        })
    };
    wanted.into_iter().filter_map(bound).collect()
}
