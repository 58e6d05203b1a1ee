//! HTTP proxy for confined programs: their only network access, limited to an allow list of hosts.
//!
//! It runs in this process and serves the gate of one program, so it ends with that program, and with this process.
//! Names are resolved here, only for hosts of the list; every connection goes to an address that the network guard
//! has admitted. The content of a tunnel is not inspected.

mod refusals;
mod request;

use std::{io, sync::Arc, time::Duration};

use rooftree_process::sandbox::{GateReceiver, SandboxGate, gate};
use rooftree_protocol::{ErrorCode, HostPattern};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt, copy, copy_bidirectional, sink},
    net::{TcpListener, TcpStream},
    sync::Semaphore,
    task::JoinSet,
    time::{sleep, timeout},
};

use crate::web::{
    guard::{NetworkGuard, WebError},
    target::UrlTarget,
};
pub use refusals::ProxyRefusals;
use request::ProxyRequest;

/// Connections of one program at the same time; more wait.
const CONNECTIONS: usize = 64;

/// How long a client may take to say whom it wants.
const HEAD_TIME: Duration = Duration::from_secs(30);

/// How long finding and reaching a host may take.
const REACH_TIME: Duration = Duration::from_secs(20);

/// How long one connection may last.
const CONNECTION_TIME: Duration = Duration::from_secs(60 * 60);

/// How much unread input is drained after a refusal, and for how long.
const UNREAD_BYTES: u64 = 1024 * 1024;
const UNREAD_TIME: Duration = Duration::from_secs(2);

/// How long to wait when no connection can be taken: this process has too many files open.
const PAUSE: Duration = Duration::from_millis(200);

/// Ports of web servers. A list names hosts, and allows no other services on them.
const PORTS: [u16; 2] = [80, 443];

/// Reaches the hosts of a list for one program.
#[derive(Clone)]
pub struct SandboxProxy {
    hosts: Arc<[HostPattern]>,
    guard: NetworkGuard,
    refused: ProxyRefusals,
    /// The MCP server whose program it is; none: a command's.
    server: Option<Arc<str>>,
}

impl SandboxProxy {
    /// For these hosts, as far as the guard lets them be reached at all. What is refused is noted.
    pub fn new(hosts: &[HostPattern], guard: NetworkGuard, refused: ProxyRefusals) -> Self {
        Self {
            hosts: hosts.into(),
            guard,
            refused,
            server: None,
        }
    }

    /// For the program of this MCP server.
    pub(crate) fn of_server(self, name: &str) -> Self {
        Self {
            server: Some(name.into()),
            ..self
        }
    }

    /// A gate for one program, served until no process is left inside the sandbox.
    pub fn gate(self) -> io::Result<SandboxGate> {
        let (gate, keeper) = gate()?;
        tokio::spawn(self.serve_gate(keeper));
        Ok(gate)
    }

    /// Serves a gate until no process is left inside the sandbox.
    pub async fn serve_gate(self, mut gate: GateReceiver) {
        let Ok(listener) = gate.listener().await else {
            return;
        };
        tokio::select! {
            () = gate.closed() => {}
            () = self.answer(listener) => {}
        }
    }

    /// Serves every client that connects, for as long as this is awaited.
    pub async fn answer(&self, listener: TcpListener) {
        let room = Arc::new(Semaphore::new(CONNECTIONS));
        let mut connections = JoinSet::new();
        loop {
            while connections.try_join_next().is_some() {}
            let Ok(place) = room.clone().acquire_owned().await else {
                return;
            };
            let Ok((client, _)) = listener.accept().await else {
                sleep(PAUSE).await;
                continue;
            };
            let proxy = self.clone();
            connections.spawn(async move {
                // A client that disconnects early needs no response.
                let _ = timeout(CONNECTION_TIME, proxy.attend(client)).await;
                drop(place);
            });
        }
    }

    async fn attend(&self, mut client: TcpStream) -> io::Result<()> {
        let head = match timeout(HEAD_TIME, ProxyRequest::read(&mut client)).await {
            Ok(read) => read?,
            Err(_) => return Ok(()),
        };
        let reached = match head {
            Ok(head) => self.reach(&head.target).await.map(|server| (head, server)),
            Err(refusal) => Err(refusal),
        };
        match reached {
            Ok((head, mut server)) => {
                client.write_all(head.said_to_client()).await?;
                server.write_all(&head.said_to_server()).await?;
                copy_bidirectional(&mut client, &mut server)
                    .await
                    .map(|_| ())
            }
            Err(refusal) => decline(client, &refusal).await,
        }
    }

    /// A connection to a host, if it may be reached.
    async fn reach(&self, target: &UrlTarget) -> Result<TcpStream, WebError> {
        let host = target.host();
        let late = |_| WebError::failed(format!("{host} could not be reached in {REACH_TIME:?}."));
        let reached = timeout(REACH_TIME, self.connect(target))
            .await
            .map_err(late)
            .flatten();
        if let Err(refusal) = &reached
            && refusal.code == ErrorCode::ToolDenied
        {
            self.refused.note(refusal.to_string());
        }
        reached
    }

    async fn connect(&self, target: &UrlTarget) -> Result<TcpStream, WebError> {
        // Check before the name is resolved: a DNS query can itself leak data to the name server.
        self.check(target)?;
        let admitted = self.guard.admit_target(target.clone()).await?;
        TcpStream::connect(admitted.addresses.as_slice())
            .await
            .map_err(|error| {
                WebError::failed(format!("{} cannot be reached: {error}.", target.host()))
            })
    }

    fn check(&self, target: &UrlTarget) -> Result<(), WebError> {
        let (host, port) = (target.host(), target.port());
        if !self.hosts.iter().any(|pattern| pattern.covers(host)) {
            let words = match &self.server {
                None => format!(
                    "that commands may reach. The user can add it in config.toml: [sandbox] network = \
                     [\"{host}\", …], in the agent's definition, or with --network."
                ),
                Some(server) => format!(
                    "that the MCP server `{server}` may reach. The user can add it to its `network` in \
                     mcp.json, and to `network` of the agent's definition if that has one."
                ),
            };
            return Err(WebError::forbidden(format!(
                "{host} is not on the list of hosts {words}"
            )));
        }
        if !PORTS.contains(&port) && !self.guard.allows(target) {
            return Err(WebError::forbidden(format!(
                "Port {port} of {host} is not reached: with a list of hosts there are ports {PORTS:?} only."
            )));
        }
        Ok(())
    }
}

/// Answers with a refusal. What is still on its way is taken in: an end with something unread would take
/// the answer away from the client.
async fn decline(mut client: TcpStream, refusal: &WebError) -> io::Result<()> {
    client.write_all(answer(refusal).as_bytes()).await?;
    client.shutdown().await?;
    let unread = async { copy(&mut client.take(UNREAD_BYTES), &mut sink()).await };
    timeout(UNREAD_TIME, unread)
        .await
        .map_or(Ok(()), |taken| taken.map(|_| ()))
}

/// A refusal as HTTP.
fn answer(refusal: &WebError) -> String {
    let status = match refusal.code {
        ErrorCode::ToolDenied => "403 Forbidden",
        ErrorCode::InvalidArguments => "400 Bad Request",
        _ => "502 Bad Gateway",
    };
    let words = format!("rooftree: {refusal}\n");
    format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: {}\r\n\
         Connection: close\r\n\r\n{words}",
        words.len()
    )
}
