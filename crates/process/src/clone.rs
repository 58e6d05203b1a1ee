//! Starts a program with `clone(CLONE_VM | CLONE_VFORK)`, without copying the memory of this process (unsafe code).
//!
//! A fork copies the page tables of this process, so it gets slower the more memory this process uses.
//! `posix_spawn` copies nothing, but cannot make the call that ties a child's life to its parent
//! (`PR_SET_PDEATHSIG`). So this does the same as `posix_spawn`, with that call: the child shares our
//! memory, and the thread that started it is suspended until the child calls exec or gives up.
#![expect(
    unsafe_code,
    reason = "between clone and exec there are only plain system calls, and a watched descriptor stays open"
)]

use std::{
    convert::Infallible,
    ffi::{CString, c_char, c_int, c_uint, c_void},
    io, mem,
    os::fd::{FromRawFd, OwnedFd},
    ptr,
    sync::atomic::{AtomicI32, Ordering},
};

use nix::{
    errno::Errno,
    fcntl::{FcntlArg, FdFlag, fcntl},
    libc,
    sys::{
        prctl::set_pdeathsig,
        resource::setrlimit,
        signal::{SigSet, SigmaskHow, Signal},
        wait::waitpid,
    },
    unistd::{Pid, chdir, dup2_stderr, dup2_stdin, dup2_stdout, getppid, setpgid},
};

use tokio::io::{Interest, unix::AsyncFd};

use crate::spawn_plan::SpawnPlan;

/// What the child runs on until it is its program: a few calls, none of them deep.
const STACK: usize = 32 * 1024;

/// Signals have the numbers from 1 to this.
const LAST_SIGNAL: c_int = 64;

/// What the child has to do, and where it leaves the reason if it cannot.
struct ExecRequest<'a> {
    plan: &'a SpawnPlan,
    arguments: Vec<*const c_char>,
    variables: Vec<*const c_char>,
    parent: Pid,
    failure: AtomicI32,
}

/// Starts a program: the leader of its own group, which dies with the calling thread. Says its
/// number, and gives what becomes readable when it ends.
pub(crate) fn start(plan: &SpawnPlan) -> io::Result<(Pid, OwnedFd)> {
    let errand = ExecRequest {
        plan,
        arguments: pointers(&plan.arguments),
        variables: pointers(&plan.variables),
        parent: Pid::this(),
        failure: AtomicI32::new(0),
    };
    // A handler of ours must not run in the child while it uses our memory.
    let mask = SigSet::all().thread_swap_mask(SigmaskHow::SIG_SETMASK)?;
    let started = clone(&errand);
    mask.thread_set_mask()?;
    let (pid, watch) = started?;
    match errand.failure.load(Ordering::Acquire) {
        0 => Ok((pid, watch)),
        reason => {
            // It is gone already; only its line in the process table is left.
            let _ = waitpid(pid, None);
            Err(io::Error::from_raw_os_error(reason))
        }
    }
}

/// Lets the async runtime tell when a child has ended. Only inside one.
pub(crate) fn watch_exit(end: OwnedFd) -> io::Result<AsyncFd<OwnedFd>> {
    // SAFETY: an owned descriptor is the same one, and open, for as long as it lives.
    Ok(unsafe { AsyncFd::register_with_interest(end, Interest::READABLE) }?)
}

/// A list as `execve` reads it: pointers, then nothing.
fn pointers(texts: &[CString]) -> Vec<*const c_char> {
    texts
        .iter()
        .map(|text| text.as_ptr())
        .chain([ptr::null()])
        .collect()
}

fn clone(errand: &ExecRequest<'_>) -> io::Result<(Pid, OwnedFd)> {
    let mut stack: Vec<u128> = Vec::with_capacity(STACK / mem::size_of::<u128>());
    let top = stack.spare_capacity_mut().as_mut_ptr_range().end;
    let flags = libc::CLONE_VM | libc::CLONE_VFORK | libc::CLONE_PIDFD | libc::SIGCHLD;
    let mut watch: c_int = -1;
    // SAFETY: the stack and the request outlive the child's use of them, because this thread goes
    // on only after the child has become its program or ended. The stack grows downwards from an
    // aligned end. The kernel fills in `watch`, which nothing else refers to.
    unsafe {
        let errand = ptr::from_ref(errand).cast_mut().cast::<c_void>();
        let pid = libc::clone(run, top.cast(), flags, errand, ptr::from_mut(&mut watch));
        if pid < 0 {
            return Err(io::Error::last_os_error());
        }
        Ok((Pid::from_raw(pid), OwnedFd::from_raw_fd(watch)))
    }
}

extern "C" fn run(errand: *mut c_void) -> c_int {
    // SAFETY: `clone` passes an `ExecRequest`, and its thread is suspended as long as this runs.
    let errand = unsafe { &*errand.cast::<ExecRequest<'_>>() };
    let Err(reason) = become_program(errand);
    errand.failure.store(reason as i32, Ordering::Release);
    // SAFETY: ends the child alone, without anything this process has registered for its own end.
    unsafe { libc::_exit(127) }
}

/// Runs in the child. Allocates nothing and takes no lock: the thread that holds a lock may never continue.
fn become_program(errand: &ExecRequest<'_>) -> Result<Infallible, Errno> {
    let plan = errand.plan;
    let own = Pid::from_raw(0);
    setpgid(own, own)?;
    set_pdeathsig(Signal::SIGKILL)?;
    // The parent may have died before the line above.
    if getppid() != errand.parent {
        return Err(Errno::EPIPE);
    }
    // None of the three is a standard one: those were open when this process began.
    dup2_stdin(&plan.input)?;
    dup2_stdout(&plan.output)?;
    dup2_stderr(&plan.errors)?;
    close_others();
    for kept in &plan.inherited {
        fcntl(kept, FcntlArg::F_SETFD(FdFlag::empty()))?;
    }
    for bound in &plan.limits {
        setrlimit(bound.resource, bound.most, bound.most)?;
    }
    chdir(plan.directory.as_c_str())?;
    forget_handlers();
    SigSet::empty().thread_set_mask()?;
    Err(execute(errand))
}

/// Closes what this process itself was started with and left open, when the child becomes its program.
fn close_others() {
    let first = libc::STDERR_FILENO + 1;
    // SAFETY: marks descriptors of the child, which has a table of its own. Kernels before 5.11 refuse it.
    unsafe {
        libc::syscall(
            libc::SYS_close_range,
            first,
            c_uint::MAX,
            libc::CLOSE_RANGE_CLOEXEC,
        )
    };
}

/// Resets every signal handler to the default, except for signals that the parent of this process told it
/// to ignore. Rust ignores broken pipes (SIGPIPE); programs do not expect that.
fn forget_handlers() {
    for number in 1..=LAST_SIGNAL {
        // SAFETY: reads and writes only what is here; an empty action is the default one. The
        // child has a table of its own. Two numbers are the system library's and are refused.
        unsafe {
            let mut action: libc::sigaction = mem::zeroed();
            let is_known = libc::sigaction(number, ptr::null(), &mut action) == 0;
            let is_ignored = action.sa_sigaction == libc::SIG_IGN && number != libc::SIGPIPE;
            if is_known && action.sa_sigaction != libc::SIG_DFL && !is_ignored {
                let default: libc::sigaction = mem::zeroed();
                libc::sigaction(number, &default, ptr::null_mut());
            }
        }
    }
}

/// Tries one file after the other; returns only if none of them could be run.
fn execute(errand: &ExecRequest<'_>) -> Errno {
    let mut reason = Errno::ENOENT;
    for file in &errand.plan.files {
        // SAFETY: both lists end with nothing and point to texts that live in the plan.
        unsafe {
            libc::execve(
                file.as_ptr(),
                errand.arguments.as_ptr(),
                errand.variables.as_ptr(),
            );
        }
        match Errno::last() {
            Errno::ENOENT | Errno::ENOTDIR => {}
            // Another directory may have one that can be run.
            Errno::EACCES => reason = Errno::EACCES,
            other => return other,
        }
    }
    reason
}
