//! Unix socket through which a command calls tools of the agent that runs it, with a token per running call.
//!
//! A request with a token is handled by the agent whose call it belongs to, for as long as that call runs; the agent
//! decides as if its model had called. This module only validates the token.

mod serve;
mod wire;

use std::{
    collections::HashMap,
    fs, io,
    os::unix::{
        fs::{DirBuilderExt, PermissionsExt},
        net::{UnixListener, UnixStream},
    },
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use rooftree_protocol::CallId;
use rooftree_tools::CallSocketEnv;
use tokio::{
    sync::{mpsc, oneshot},
    task::AbortHandle,
};
use tokio_util::sync::CancellationToken;

use crate::exposure::CallSocketConfig;

pub use wire::{CallSocketReply, CallSocketRequest, FRAME};

/// Prefix of the socket directories.
const DOOR: &str = "door-";

/// A request to call a tool.
pub(crate) struct CallRequest {
    /// The running call it comes from.
    pub(crate) inside: CallId,
    pub(crate) request: CallSocketRequest,
    pub(crate) answer: oneshot::Sender<CallSocketReply>,
    /// Fires when the client has disconnected, or the running call has ended.
    pub(crate) gone: CancellationToken,
}

/// Running calls that accept requests, by token.
type CallSessions = Arc<Mutex<HashMap<String, CallSession>>>;

#[derive(Clone)]
struct CallSession {
    call: CallId,
    requests: mpsc::Sender<CallRequest>,
    ended: CancellationToken,
}

/// The call socket of a runtime. The socket is created when the first call needs it.
pub(crate) struct CallSocket {
    place: Option<CallSocketConfig>,
    sessions: CallSessions,
    listener: Mutex<Option<CallListener>>,
}

struct CallListener {
    directory: PathBuf,
    socket: PathBuf,
    server: AbortHandle,
}

impl Drop for CallListener {
    fn drop(&mut self) {
        self.server.abort();
        let _ = fs::remove_dir_all(&self.directory);
    }
}

/// Lets the commands of one call in until it is dropped.
pub(crate) struct CallToken {
    sessions: CallSessions,
    ended: CancellationToken,
    pub(crate) way_back: CallSocketEnv,
}

impl Drop for CallToken {
    fn drop(&mut self) {
        hold(&self.sessions).remove(&self.way_back.token);
        self.ended.cancel();
    }
}

impl CallSocket {
    pub(crate) fn new(place: Option<CallSocketConfig>) -> Self {
        Self {
            place,
            sessions: CallSessions::default(),
            listener: Mutex::default(),
        }
    }

    /// Its configuration, if it can be used.
    pub(crate) fn place(&self) -> Option<&CallSocketConfig> {
        self.place.as_ref()
    }

    /// Lets the commands of a call in. `chance` is as long as a token must be.
    pub(crate) fn admit(
        &self,
        call: &CallId,
        requests: mpsc::Sender<CallRequest>,
        chance: [u128; 2],
    ) -> io::Result<CallToken> {
        let place = self.place.as_ref().ok_or(io::ErrorKind::Unsupported)?;
        let (directory, socket) = self.opened(place, chance)?;
        let token = format!("rtcall_{:032x}", chance[0]);
        let ended = CancellationToken::new();
        let session = CallSession {
            call: call.clone(),
            requests,
            ended: ended.clone(),
        };
        hold(&self.sessions).insert(token.clone(), session);
        let programs = directory.join("bin");
        let mut visible = vec![directory];
        visible.extend(place.program.clone());
        let way_back = CallSocketEnv {
            socket,
            token,
            visible,
            programs,
        };
        Ok(CallToken {
            sessions: self.sessions.clone(),
            ended,
            way_back,
        })
    }

    /// Closes the socket.
    pub(crate) fn close(&self) {
        drop(hold(&self.listener).take());
    }

    fn opened(
        &self,
        place: &CallSocketConfig,
        chance: [u128; 2],
    ) -> io::Result<(PathBuf, PathBuf)> {
        let mut listener = hold(&self.listener);
        if listener.is_none() {
            *listener = Some(self.open(place, chance)?);
        }
        let listener = listener.as_ref().ok_or(io::ErrorKind::NotFound)?;
        Ok((listener.directory.clone(), listener.socket.clone()))
    }

    fn open(&self, place: &CallSocketConfig, chance: [u128; 2]) -> io::Result<CallListener> {
        private(&place.directory)?;
        sweep(&place.directory);
        let directory = place
            .directory
            .join(format!("{DOOR}{:016x}", chance[1] as u64));
        private(&directory)?;
        private(&directory.join("bin"))?;
        if let Some(program) = &place.program {
            std::os::unix::fs::symlink(program, directory.join("bin/rooftree"))?;
        }
        let socket = directory.join("call.sock");
        let listener = near(&socket, |path| UnixListener::bind(path))?;
        fs::set_permissions(&socket, fs::Permissions::from_mode(0o600))?;
        listener.set_nonblocking(true)?;
        let listener = tokio::net::UnixListener::from_std(listener)?;
        let server = tokio::spawn(serve::serve(listener, self.sessions.clone())).abort_handle();
        Ok(CallListener {
            directory,
            socket,
            server,
        })
    }
}

/// Connects to a socket, however long its path is.
pub fn connect(socket: &Path) -> io::Result<UnixStream> {
    near(socket, |path| UnixStream::connect(path))
}

/// The kernel takes only short paths of sockets, so it is named by its directory.
fn near<T>(socket: &Path, act: impl FnOnce(&Path) -> io::Result<T>) -> io::Result<T> {
    use std::os::fd::AsRawFd;
    let (Some(directory), Some(name)) = (socket.parent(), socket.file_name()) else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    let directory = fs::File::open(directory)?;
    act(&Path::new("/proc/self/fd")
        .join(directory.as_raw_fd().to_string())
        .join(name))
}

fn private(directory: &Path) -> io::Result<()> {
    fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(directory)
}

/// Removes the socket directories of processes that were killed.
fn sweep(place: &Path) {
    let entries = fs::read_dir(place)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path());
    let is_door = |path: &PathBuf| {
        path.file_name()
            .is_some_and(|name| name.to_string_lossy().starts_with(DOOR))
    };
    let is_dead = |path: &PathBuf| {
        connect(&path.join("call.sock"))
            .is_err_and(|error| error.kind() == io::ErrorKind::ConnectionRefused)
    };
    entries
        .filter(is_door)
        .filter(is_dead)
        .for_each(|path| drop(fs::remove_dir_all(path)));
}

/// Nothing that is held here can be left half-done, so a panic elsewhere is no reason to stop.
fn hold<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
