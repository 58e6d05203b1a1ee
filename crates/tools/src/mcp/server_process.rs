//! A server that is a local program: started with a minimal environment, its standard error read, its process tree
//! ended.

use std::{
    collections::BTreeMap,
    convert::Infallible,
    ffi::OsString,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use rooftree_process::{
    BoundedOutput, ChildEnvironment, ExitReason, InteractiveProcess, Process, ProcessBounds,
    ProcessInput, Sandbox, SpawnRequest, spawn_interactive,
};
use rooftree_protocol::{Network, SandboxMode};
use tokio::{net::unix::pipe, sync::watch, time::timeout};
use tokio_util::sync::CancellationToken;

use super::{
    Error, Notice,
    bounded_reader::{BoundedLineReader, ReadFault},
    connect_params::ConnectParams,
    sanitize::{COMPLAINT, sanitize_text},
    server_sandbox,
};
use crate::{
    proxy::{ProxyRefusals, SandboxProxy},
    web::guard::NetworkGuard,
};

/// What a server inherits besides what every program needs. It gets everything else from its configuration.
const INHERITED: [&str; 5] = [
    "TERM",
    "TMPDIR",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "NODE_EXTRA_CA_CERTS",
];

/// Programs that fetch others take what they have, and say at once if that is nothing.
const OFFLINE: [(&str, &str); 2] = [("npm_config_offline", "true"), ("UV_OFFLINE", "1")];

/// How long a server whose input has ended may take to end by itself.
const POLITE: Duration = Duration::from_millis(500);
/// How long the end of a server that closed its output is awaited, to be able to tell how it ended.
const LAST_WORDS: Duration = Duration::from_secs(3);
/// Bytes of complaints that are kept.
const COMPLAINTS: usize = 4 * 1024;

/// A server's program. It ends when its output is no longer read.
pub(super) struct McpServerProcess {
    said: Arc<Mutex<BoundedOutput>>,
    ending: watch::Receiver<Option<ExitReason>>,
    fault: ReadFault,
    /// Hosts that the proxy refused.
    refused: ProxyRefusals,
}

/// The pipes to a server: its output and its input.
pub(super) type McpPipes = (BoundedLineReader<pipe::Receiver>, pipe::Sender);

impl McpServerProcess {
    /// Starts it. A tracked background task waits for its end.
    pub(super) async fn start(door: &ConnectParams<'_>) -> Result<(Self, McpPipes), Error> {
        let refused = ProxyRefusals::default();
        let InteractiveProcess {
            process,
            input,
            output,
        } = conversation(door, &refused).await?;
        let task_tracker = door.task_tracker;
        let said = Arc::new(Mutex::new(BoundedOutput::new(COMPLAINTS)));
        let (ended, ending) = watch::channel(None);
        let (unread, fault, heard) = (CancellationToken::new(), ReadFault::default(), said.clone());
        let pipes = (
            BoundedLineReader::new(output, fault.clone(), unread.clone().drop_guard()),
            input,
        );
        task_tracker.spawn(async move {
            ended.send_replace(Some(attended(process, unread, &heard).await))
        });
        Ok((
            Self {
                said,
                ending,
                fault,
                refused,
            },
            pipes,
        ))
    }

    /// Hosts that the proxy refused since the last call, a line each.
    pub(super) fn refusals(&self) -> Vec<String> {
        self.refused.news()
    }

    /// Why it is gone, as far as that is known.
    pub(super) async fn exit_message(&self) -> String {
        if let Some(fault) = self.fault.get() {
            return fault.clone();
        }
        let mut ending = self.ending.clone();
        let ended = timeout(LAST_WORDS, ending.wait_for(Option::is_some)).await;
        let how = match ended.ok().and_then(Result::ok).and_then(|ending| *ending) {
            Some(ExitReason::Exited(code)) => format!("it ended with exit code {code}"),
            Some(ExitReason::Signalled(signal)) if signal > 0 => {
                format!("it was ended by signal {signal}")
            }
            _ => "it closed its output".to_owned(),
        };
        let said = self
            .said
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .text();
        let said = sanitize_text(&said, COMPLAINT);
        if said.is_empty() {
            how
        } else {
            format!("{how}, and had said: {said}")
        }
    }
}

/// Starts it confined; where nothing can do that, not at all or with a remark.
async fn conversation(
    door: &ConnectParams<'_>,
    refused: &ProxyRefusals,
) -> Result<InteractiveProcess, Error> {
    let (server, network) = (door.server, server_sandbox::network(door.server));
    let mut request = spawn(door);
    let Some(mut sandbox) = server_sandbox::sandbox(door.confining, server) else {
        if network != Network::On {
            door.remarks.add(Notice::unlimited(door.name));
        }
        return spawn_interactive(request).await.map_err(failed);
    };
    if let Some(home) = &door.home {
        sandbox.writable.push(home.clone());
    }
    if let Network::Hosts(hosts) = &network {
        let proxy = SandboxProxy::new(hosts, NetworkGuard::new(door.web), refused.clone())
            .of_server(door.name);
        let gate = proxy.gate();
        sandbox.gate =
            Some(gate.map_err(|error| Error::Unreachable(format!("open a way out: {error}")))?);
    }
    request.sandbox = Some(Arc::new(sandbox));
    match spawn_interactive(request.clone()).await {
        Err(rooftree_process::Error::Unconfined { reason, .. }) => {
            if server_sandbox::mode(door.confining, server) == SandboxMode::Required {
                return Err(Error::Unconfined(reason));
            }
            looser(door, request, &reason).await
        }
        started => started.map_err(failed),
    }
}

/// As confined as can be had: where hosts cannot be told apart, none is reached.
async fn looser(
    door: &ConnectParams<'_>,
    mut request: SpawnRequest,
    reason: &str,
) -> Result<InteractiveProcess, Error> {
    let gated = request
        .sandbox
        .take()
        .filter(|sandbox| sandbox.gate.is_some());
    if let Some(sandbox) = gated {
        let closed = Sandbox {
            gate: None,
            ..Sandbox::clone(&sandbox)
        };
        match spawn_interactive(SpawnRequest {
            sandbox: Some(closed.into()),
            ..request.clone()
        })
        .await
        {
            Err(rooftree_process::Error::Unconfined { .. }) => {}
            started => {
                door.remarks.add(Notice::reaches_nobody(door.name, reason));
                return started.map_err(failed);
            }
        }
    }
    door.remarks.add(Notice::unconfined(reason));
    spawn_interactive(request).await.map_err(failed)
}

fn failed(error: rooftree_process::Error) -> Error {
    Error::Unreachable(error.to_string())
}

/// Its own home is where it keeps what it fetches, so that it is fetched once.
fn spawn(door: &ConnectParams<'_>) -> SpawnRequest {
    let server = door.server;
    let mut set = BTreeMap::new();
    if let Some(home) = &door.home {
        set.insert("HOME".to_owned(), home.display().to_string());
    }
    if door.home.is_some() && server_sandbox::network(server) == Network::Off {
        set.extend(OFFLINE.map(|(name, value)| (name.to_owned(), value.to_owned())));
    }
    set.extend(server.env.clone());
    SpawnRequest {
        program: server.command.clone().unwrap_or_default().into(),
        args: server.args.iter().map(OsString::from).collect(),
        cwd: server.cwd.clone().unwrap_or_default(),
        environment: ChildEnvironment {
            set,
            ..ChildEnvironment::plain(&INHERITED)
        },
        input: ProcessInput::Nothing,
        sandbox: None,
    }
}

/// Reads its standard error until it ends. Once its output is no longer read, it is ended after a grace period.
async fn attended(
    process: Process,
    unread: CancellationToken,
    said: &Mutex<BoundedOutput>,
) -> ExitReason {
    let enough = CancellationToken::new();
    let hear = |bytes: &[u8]| {
        said.lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(bytes)
    };
    let patience = async {
        unread.cancelled().await;
        tokio::time::sleep(POLITE).await;
        enough.cancel();
        std::future::pending::<Infallible>().await
    };
    tokio::select! {
        finished = process.finish(ProcessBounds { time: None, output: 0 }, &enough, hear) => finished.ending,
        never = patience => match never {},
    }
}
