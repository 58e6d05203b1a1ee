//! The way from a command back to the agent that runs it: a socket, and a token per running call.
//!
//! Whoever knocks with a token is heard by the agent whose call it is, for as long as that call runs; the agent
//! decides as if its model had called. Here nothing is decided but whether a token is one.

mod serving;
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
use rooftree_tools::WayBack;
use tokio::{
    sync::{mpsc, oneshot},
    task::AbortHandle,
};
use tokio_util::sync::CancellationToken;

use crate::exposure::Place;

pub use wire::{FRAME, Reply, Request};

/// What the directories of sockets begin with.
const DOOR: &str = "door-";

/// Somebody wants a tool called.
pub(crate) struct Knock {
    /// The running call it comes from.
    pub(crate) inside: CallId,
    pub(crate) request: Request,
    pub(crate) answer: oneshot::Sender<Reply>,
    /// Fires when nobody waits for the answer any more, or the running call has ended.
    pub(crate) gone: CancellationToken,
}

/// Who is let in, by token.
type Guests = Arc<Mutex<HashMap<String, Guest>>>;

#[derive(Clone)]
struct Guest {
    call: CallId,
    knocks: mpsc::Sender<Knock>,
    ended: CancellationToken,
}

/// The doorway of a runtime. The socket is made when the first call needs it.
pub(crate) struct Doorway {
    place: Option<Place>,
    guests: Guests,
    door: Mutex<Option<Door>>,
}

struct Door {
    directory: PathBuf,
    socket: PathBuf,
    server: AbortHandle,
}

impl Drop for Door {
    fn drop(&mut self) {
        self.server.abort();
        let _ = fs::remove_dir_all(&self.directory);
    }
}

/// Lets the commands of one call in until it is dropped.
pub(crate) struct Pass {
    guests: Guests,
    ended: CancellationToken,
    pub(crate) way_back: WayBack,
}

impl Drop for Pass {
    fn drop(&mut self) {
        hold(&self.guests).remove(&self.way_back.token);
        self.ended.cancel();
    }
}

impl Doorway {
    pub(crate) fn new(place: Option<Place>) -> Self {
        Self { place, guests: Guests::default(), door: Mutex::default() }
    }

    /// Where it is, if there can be one.
    pub(crate) fn place(&self) -> Option<&Place> {
        self.place.as_ref()
    }

    /// Lets the commands of a call in. `chance` is as long as a token must be.
    pub(crate) fn admit(
        &self,
        call: &CallId,
        knocks: mpsc::Sender<Knock>,
        chance: [u128; 2],
    ) -> io::Result<Pass> {
        let place = self.place.as_ref().ok_or(io::ErrorKind::Unsupported)?;
        let (directory, socket) = self.opened(place, chance)?;
        let token = format!("rtcall_{:032x}", chance[0]);
        let ended = CancellationToken::new();
        let guest = Guest { call: call.clone(), knocks, ended: ended.clone() };
        hold(&self.guests).insert(token.clone(), guest);
        let programs = directory.join("bin");
        let mut visible = vec![directory];
        visible.extend(place.program.clone());
        let way_back = WayBack { socket, token, visible, programs };
        Ok(Pass { guests: self.guests.clone(), ended, way_back })
    }

    /// Closes the door.
    pub(crate) fn close(&self) {
        drop(hold(&self.door).take());
    }

    fn opened(&self, place: &Place, chance: [u128; 2]) -> io::Result<(PathBuf, PathBuf)> {
        let mut door = hold(&self.door);
        if door.is_none() {
            *door = Some(self.open(place, chance)?);
        }
        let door = door.as_ref().ok_or(io::ErrorKind::NotFound)?;
        Ok((door.directory.clone(), door.socket.clone()))
    }

    fn open(&self, place: &Place, chance: [u128; 2]) -> io::Result<Door> {
        private(&place.directory)?;
        sweep(&place.directory);
        let directory = place.directory.join(format!("{DOOR}{:016x}", chance[1] as u64));
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
        let server = tokio::spawn(serving::serve(listener, self.guests.clone())).abort_handle();
        Ok(Door { directory, socket, server })
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
    act(&Path::new("/proc/self/fd").join(directory.as_raw_fd().to_string()).join(name))
}

fn private(directory: &Path) -> io::Result<()> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(directory)
}

/// Removes the doors of programs that were killed.
fn sweep(place: &Path) {
    let entries = fs::read_dir(place).into_iter().flatten().flatten().map(|entry| entry.path());
    let is_door =
        |path: &PathBuf| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(DOOR));
    let is_dead = |path: &PathBuf| {
        connect(&path.join("call.sock")).is_err_and(|error| error.kind() == io::ErrorKind::ConnectionRefused)
    };
    entries.filter(is_door).filter(is_dead).for_each(|path| drop(fs::remove_dir_all(path)));
}

/// Nothing that is held here can be left half-done, so a panic elsewhere is no reason to stop.
fn hold<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
