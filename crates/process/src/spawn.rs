//! Starts one program: own group, clean environment, its output as one stream or as two.

use std::{
    env,
    ffi::OsString,
    io,
    path::PathBuf,
    process::Stdio,
    sync::{
        LazyLock,
        atomic::{AtomicU64, Ordering},
    },
};

use nix::{
    sys::{prctl::set_pdeathsig, signal::Signal},
    unistd::{Pid, getppid},
};
use tokio::{
    io::AsyncWriteExt,
    net::unix::pipe,
    process::{Child, Command},
    runtime::Handle,
    sync::oneshot,
};

use crate::{Environment, Error, Identity, Process, Streamed, spawner, tree::MARK};

/// What to start.
#[derive(Clone, Debug)]
pub struct Spawn {
    /// A path, or a name looked up in PATH.
    pub program: OsString,
    /// Its arguments.
    pub args: Vec<OsString>,
    /// Where it runs.
    pub cwd: PathBuf,
    /// What it finds in its environment.
    pub environment: Environment,
    /// What it can read.
    pub input: Input,
}

/// What a program reads from its standard input.
#[derive(Clone, Debug, Default)]
pub enum Input {
    /// Nothing: it ends at once.
    #[default]
    Nothing,
    /// These bytes, then the end.
    Bytes(Vec<u8>),
}

/// Starts a program. Its standard output and error are one stream, in the order written.
///
/// The program is the leader of its own group, and is killed when this process dies.
pub async fn spawn(spawn: Spawn) -> Result<Process, Error> {
    let (output, writer) = outlet(&spawn)?;
    let errors = writer.try_clone().map_err(|source| failed(&spawn, source))?;
    launch(&spawn, output, writer, errors).await
}

/// Starts a program the same way, with its standard output and error apart, to be listened to.
pub async fn spawn_streamed(spawn: Spawn) -> Result<Streamed, Error> {
    let (output, writer) = outlet(&spawn)?;
    let (errors, error_writer) = outlet(&spawn)?;
    let process = launch(&spawn, output, writer, error_writer).await?;
    Ok(Streamed::new(process, errors))
}

/// A pipe out of the program: our end and its end.
fn outlet(spawn: &Spawn) -> Result<(pipe::Receiver, io::PipeWriter), Error> {
    let open = || {
        let (reader, writer) = io::pipe()?;
        Ok((pipe::Receiver::from_owned_fd(reader.into())?, writer))
    };
    open().map_err(|source| failed(spawn, source))
}

async fn launch(
    spawn: &Spawn,
    output: pipe::Receiver,
    writer: io::PipeWriter,
    errors: io::PipeWriter,
) -> Result<Process, Error> {
    let mark = next_mark();
    let mut command = command(spawn, &mark);
    command.stdout(writer).stderr(errors);
    let mut child = start(command).await?.map_err(|source| failed(spawn, source))?;
    feed(&mut child, &spawn.input);
    let pid = child.id().and_then(|pid| i32::try_from(pid).ok()).ok_or(Error::Gone)?;
    // Nobody has reaped it yet, so it can be looked at even if it has ended already.
    let identity = Identity::of(pid).unwrap_or(Identity { group: pid, start: 0 });
    Ok(Process::new(child, output, identity, mark))
}

fn failed(spawn: &Spawn, source: io::Error) -> Error {
    Error::Start {
        program: spawn.program.to_string_lossy().into_owned(),
        directory: spawn.cwd.display().to_string(),
        source,
    }
}

fn next_mark() -> String {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    static OWN: LazyLock<Identity> = LazyLock::new(|| {
        let own = Pid::this().as_raw();
        Identity::of(own).unwrap_or(Identity { group: own, start: 0 })
    });
    format!("{}.{}.{}", OWN.group, OWN.start, NEXT.fetch_add(1, Ordering::Relaxed))
}

fn command(spawn: &Spawn, mark: &str) -> Command {
    let mut command = Command::new(&spawn.program);
    command.args(&spawn.args).current_dir(&spawn.cwd);
    command.env_clear().envs(spawn.environment.resolve(env::vars_os())).env(MARK, mark);
    command.stdin(match spawn.input {
        Input::Nothing => Stdio::null(),
        Input::Bytes(_) => Stdio::piped(),
    });
    command.process_group(0).kill_on_drop(true);
    let parent = Pid::this();
    let die_with_parent = move || {
        set_pdeathsig(Signal::SIGKILL)?;
        // The parent may have died before the line above.
        if getppid() == parent { Ok(()) } else { Err(io::ErrorKind::BrokenPipe.into()) }
    };
    #[expect(
        unsafe_code,
        reason = "only async-signal-safe calls are made between fork and exec: prctl and getppid"
    )]
    // SAFETY: the closure allocates nothing, takes no lock and makes two system calls.
    unsafe {
        command.pre_exec(die_with_parent);
    }
    command
}

/// The outer error: there is no thread to start it; the inner one: it did not start.
async fn start(mut command: Command) -> Result<io::Result<Child>, Error> {
    let runtime = Handle::current();
    let (tx, rx) = oneshot::channel();
    let job = move || {
        let _guard = runtime.enter();
        // If nobody waits any more, dropping the child kills it.
        let _ = tx.send(command.spawn());
    };
    if !spawner::run(job) {
        return Err(Error::Gone);
    }
    rx.await.map_err(|_| Error::Gone)
}

fn feed(child: &mut Child, input: &Input) {
    if let (Some(mut stdin), Input::Bytes(bytes)) = (child.stdin.take(), input) {
        let bytes = bytes.clone();
        // A program that does not read its input is free not to.
        tokio::spawn(async move { stdin.write_all(&bytes).await });
    }
}
