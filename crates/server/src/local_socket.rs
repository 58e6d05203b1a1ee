//! The Unix socket of the local owner: the same API without a token, for programs of this account that no agent started.
//!
//! The file has mode 0600 in a directory of mode 0700. Who connects is known from the kernel (`SO_PEERCRED`): another account
//! is refused, and so is a process that the given check refuses, which looks at its ancestry.

use std::{
    fs, io,
    os::unix::fs::{DirBuilderExt, FileTypeExt, MetadataExt, PermissionsExt},
    path::{Path, PathBuf},
    sync::Arc,
};

use axum::{
    extract::connect_info::Connected,
    serve::{IncomingStream, Listener},
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{UnixListener, UnixStream},
};

use crate::connections::{ConnectionTracker, LimitedStream, RequestConnection};

/// How long a refused peer may go on sending.
const DRAIN: std::time::Duration = std::time::Duration::from_secs(1);

/// Says why a process may not use the socket.
pub type PeerCheck = Arc<dyn Fn(i32) -> Result<(), String> + Send + Sync>;

/// Where the socket is, and who may use it.
#[derive(Clone)]
pub struct LocalSocketOptions {
    /// Its path. The directory is made if it is not there.
    pub path: PathBuf,
    /// Which processes of this account may use it.
    pub check: PeerCheck,
}

/// A socket that is there; the file is removed when it is dropped.
pub(crate) struct LocalSocket {
    listener: UnixListener,
    check: PeerCheck,
    file: SocketFile,
}

/// Removes the file, if it is still ours.
struct SocketFile {
    path: PathBuf,
    inode: u64,
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        let is_ours = fs::symlink_metadata(&self.path).is_ok_and(|found| found.ino() == self.inode);
        if is_ours {
            let _ = fs::remove_file(&self.path);
        }
    }
}

impl LocalSocket {
    /// Makes the socket. One that a process left behind is replaced; one that is answered is an error.
    pub(crate) fn bind(options: LocalSocketOptions) -> io::Result<Self> {
        let LocalSocketOptions { path, check } = options;
        let directory = path.parent().unwrap_or_else(|| Path::new("/"));
        let mut builder = fs::DirBuilder::new();
        builder.recursive(true).mode(0o700).create(directory)?;
        require_private(directory)?;
        remove_dead(&path)?;
        // The directory keeps others out until the file has its mode.
        let listener = UnixListener::bind(&path)?;
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600))?;
        let inode = fs::symlink_metadata(&path)?.ino();
        Ok(Self {
            listener,
            check,
            file: SocketFile { path, inode },
        })
    }

    pub(crate) fn listener(self, connections: ConnectionTracker) -> LocalSocketListener {
        LocalSocketListener {
            socket: self,
            connections,
        }
    }
}

/// A directory that others can write to would let them put a socket of their own there.
fn require_private(directory: &Path) -> io::Result<()> {
    let found = fs::metadata(directory)?;
    let us = rustix::process::geteuid().as_raw();
    if found.uid() != us {
        return Err(refused(directory, "belongs to another account"));
    }
    if found.mode() & 0o077 != 0 {
        fs::set_permissions(directory, fs::Permissions::from_mode(0o700))?;
    }
    Ok(())
}

fn refused(path: &Path, why: &str) -> io::Error {
    let message = format!("{} {why}", path.display());
    io::Error::new(io::ErrorKind::PermissionDenied, message)
}

/// Removes a socket that no process listens on any more. Anything else that is there stays.
fn remove_dead(path: &Path) -> io::Result<()> {
    let Ok(found) = fs::symlink_metadata(path) else {
        return Ok(());
    };
    if !found.file_type().is_socket() {
        return Err(refused(path, "is there and is no socket"));
    }
    if std::os::unix::net::UnixStream::connect(path).is_ok() {
        return Err(io::Error::new(
            io::ErrorKind::AddrInUse,
            format!("another server listens on {}", path.display()),
        ));
    }
    fs::remove_file(path)
}

/// Accepts the connections of those who may use the socket.
pub(crate) struct LocalSocketListener {
    socket: LocalSocket,
    connections: ConnectionTracker,
}

impl Listener for LocalSocketListener {
    type Io = LimitedStream<UnixStream>;
    type Addr = PathBuf;

    async fn accept(&mut self) -> (Self::Io, Self::Addr) {
        loop {
            let (stream, _) = Listener::accept(&mut self.socket.listener).await;
            match self.admit(&stream) {
                Ok(()) => {
                    let stream = self.connections.local_stream(stream);
                    return (stream, self.socket.file.path.clone());
                }
                Err(why) => drop(tokio::spawn(refuse(stream, why))),
            }
        }
    }

    fn local_addr(&self) -> io::Result<Self::Addr> {
        Ok(self.socket.file.path.clone())
    }
}

impl LocalSocketListener {
    fn admit(&self, stream: &UnixStream) -> Result<(), String> {
        let peer = stream.peer_cred().map_err(|error| error.to_string())?;
        if peer.uid() != rustix::process::geteuid().as_raw() {
            return Err("it belongs to another account".into());
        }
        let pid = peer.pid().filter(|pid| *pid > 0);
        (self.socket.check)(pid.ok_or("its process is not known")?)
    }
}

/// Says no and closes the connection.
async fn refuse(mut stream: UnixStream, why: String) {
    let body = serde_json::json!({
        "type": "urn:rooftree:error:E0601", "title": "this process may not use the local socket", "status": 403,
        "code": "E0601", "detail": why, "hint": "programs that an agent started need a token of their own",
    });
    let body = body.to_string();
    let answer = format!(
        "HTTP/1.1 403 Forbidden\r\ncontent-type: application/problem+json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
        body.len()
    );
    let _ = stream.write_all(answer.as_bytes()).await;
    let _ = stream.shutdown().await;
    // Closing with unread bytes would reset the connection before the answer is read.
    let mut unread = [0; 4096];
    let drain = async { while stream.read(&mut unread).await.is_ok_and(|count| count > 0) {} };
    let _ = tokio::time::timeout(DRAIN, drain).await;
}

impl Connected<IncomingStream<'_, LocalSocketListener>> for RequestConnection {
    fn connect_info(stream: IncomingStream<'_, LocalSocketListener>) -> Self {
        Self(stream.io().connection().clone())
    }
}
