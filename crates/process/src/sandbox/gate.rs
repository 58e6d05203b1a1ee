//! The only network access of a sandbox without a network: a listening socket inside, served by a proxy outside.
//!
//! A socket belongs to the network namespace it was made in, even if a process outside holds it. So the helper makes
//! one inside, passes it out over a socket pair it was started with, sets the proxy variables that every client
//! reads, and becomes the program. Nothing of it stays inside, it has no name in any file system, and no other
//! sandbox can reach it. The process that serves the socket decides which hosts are reached.

use std::{
    convert::Infallible,
    ffi::{OsStr, OsString},
    fs::File,
    io::{self, IoSlice, IoSliceMut},
    net::{Ipv4Addr, TcpListener},
    os::{
        fd::{AsFd, AsRawFd, OwnedFd},
        unix::{net::UnixStream as Pair, process::CommandExt},
    },
    path::Path,
    process::Command,
    sync::Arc,
};

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};
use tokio::{
    io::{AsyncReadExt, Interest},
    net::UnixStream,
};

use crate::inherited_fds::inherited_fd;

/// The first argument of a program that is asked to open a gate and become another one.
pub(super) const ENTRY: &str = "--rooftree-gate";

/// Where clients look for a proxy; some know only the one, some only the other spelling.
const PROXY: [&str; 6] = [
    "http_proxy",
    "https_proxy",
    "all_proxy",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "ALL_PROXY",
];

/// Variables for hosts that are reached without the proxy: a program's own servers are inside.
const INSIDE: [&str; 2] = ["no_proxy", "NO_PROXY"];
const OWN_HOSTS: &str = "localhost,127.0.0.1,::1";

/// Node reads the proxy variables only if this is set.
const NODE: &str = "NODE_USE_ENV_PROXY";

/// The inner end, for one program. When all clones are dropped, the [`GateReceiver`] is closed.
#[derive(Clone, Debug)]
pub struct SandboxGate(Arc<Pair>);

impl PartialEq for SandboxGate {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for SandboxGate {}

/// The outer end: receives the socket that programs inside connect to.
#[derive(Debug)]
pub struct GateReceiver(UnixStream);

/// Both ends. Only inside an async runtime.
pub fn gate() -> io::Result<(SandboxGate, GateReceiver)> {
    let (inner, outer) = Pair::pair()?;
    outer.set_nonblocking(true)?;
    Ok((
        SandboxGate(Arc::new(inner)),
        GateReceiver(UnixStream::from_std(outer)?),
    ))
}

impl GateReceiver {
    /// The socket, once it is there. An error if the program has ended before, or was never started.
    pub async fn listener(&self) -> io::Result<tokio::net::TcpListener> {
        let listener = self
            .0
            .async_io(Interest::READABLE, || received(&self.0))
            .await?;
        listener.set_nonblocking(true)?;
        tokio::net::TcpListener::from_std(listener)
    }

    /// Waits until no process is left inside the sandbox.
    pub async fn closed(&mut self) {
        // Nothing more is ever sent; what there is to read is the end.
        let _ = self.0.read(&mut [0]).await;
    }
}

/// What stands before a command so that a helper opens a gate for it, and what that needs to inherit.
pub(crate) fn gate_helper_prefix(
    gate: &SandboxGate,
    helper: &Path,
) -> io::Result<(Vec<OsString>, Vec<OwnedFd>)> {
    // By number: where the helper lies may be hidden inside, and it may have been replaced.
    let program: OwnedFd = File::open(helper)?.into();
    let end: OwnedFd = gate.0.try_clone()?.into();
    let (file, socket) = (program.as_raw_fd(), end.as_raw_fd());
    let words = [
        format!("/proc/self/fd/{file}"),
        ENTRY.to_owned(),
        socket.to_string(),
        file.to_string(),
    ];
    Ok((words.map(OsString::from).into(), vec![program, end]))
}

/// Opens the gate and becomes the program. The words are what stands after the entry.
pub(super) fn open_gate_and_exec(
    mut words: impl Iterator<Item = OsString>,
) -> Result<Infallible, String> {
    let mut number = || words.next()?.to_str()?.parse().ok();
    let (Some(socket), Some(file)) = (number(), number()) else {
        return Err("its arguments are no order".to_owned());
    };
    let opened =
        |number| inherited_fd(number).ok_or_else(|| format!("descriptor {number} is not open"));
    // Neither is for the program.
    let (end, _) = (opened(socket)?, opened(file)?);
    let said = |error: io::Error| format!("open its gate: {error}");
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(said)?;
    let proxy = format!("http://{}", listener.local_addr().map_err(said)?);
    send(&end, &listener).map_err(said)?;
    drop((end, listener));
    let Some(program) = words.next() else {
        return Err("it is nothing".to_owned());
    };
    let mut command = Command::new(&program);
    command.args(words).env(NODE, "1");
    command
        .envs(PROXY.map(|name| (name, proxy.as_str())))
        .envs(INSIDE.map(|name| (name, OWN_HOSTS)));
    Err(format!(
        "start `{}`: {}",
        program.to_string_lossy(),
        command.exec()
    ))
}

/// Whether a program is asked to open a gate.
pub(super) fn is_asked(first: &OsStr) -> bool {
    first == ENTRY
}

fn send(end: &OwnedFd, listener: &TcpListener) -> io::Result<()> {
    let handed = [listener.as_fd()];
    let mut space = [std::mem::MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    if !control.push(SendAncillaryMessage::ScmRights(&handed)) {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    sendmsg(
        end,
        &[IoSlice::new(&[1])],
        &mut control,
        SendFlags::NOSIGNAL,
    )?;
    Ok(())
}

fn received(end: impl AsFd) -> io::Result<TcpListener> {
    let mut space = [std::mem::MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    recvmsg(
        end,
        &mut [IoSliceMut::new(&mut [0])],
        &mut control,
        RecvFlags::CMSG_CLOEXEC,
    )?;
    let handed = control.drain().find_map(|message| match message {
        RecvAncillaryMessage::ScmRights(mut all) => all.next(),
        _ => None,
    });
    handed
        .map(TcpListener::from)
        .ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
}
