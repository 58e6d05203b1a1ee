//! A server that is a program of this machine: started with little, heard, and ended with all it started.

use std::{
    convert::Infallible,
    ffi::OsString,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use rooftree_process::{Bounds, Conversation, Ending, Environment, Input, Kept, Process, Spawn, converse};
use rooftree_protocol::{McpServer, SandboxMode};
use tokio::{net::unix::pipe, sync::watch, time::timeout};
use tokio_util::sync::CancellationToken;

use super::{
    Error, Notice,
    bounded::{Bounded, Fault},
    confined,
    door::Door,
    untrusted::{COMPLAINT, cleaned},
};

/// What a server inherits. It gets everything else from its configuration.
const INHERITED: [&str; 14] = [
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "LANG",
    "LANGUAGE",
    "LC_*",
    "TZ",
    "TERM",
    "TMPDIR",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "NODE_EXTRA_CA_CERTS",
];

/// How long a server whose input has ended may take to end by itself.
const POLITE: Duration = Duration::from_millis(500);
/// How long the end of a server that closed its output is awaited, to be able to tell how it ended.
const LAST_WORDS: Duration = Duration::from_secs(3);
/// Bytes of complaints that are kept.
const COMPLAINTS: usize = 4 * 1024;

/// A server's program. It ends when its output is no longer read.
pub(super) struct Program {
    said: Arc<Mutex<Kept>>,
    ending: watch::Receiver<Option<Ending>>,
    fault: Fault,
}

/// What is read from a server and what is written to it.
pub(super) type Pipes = (Bounded<pipe::Receiver>, pipe::Sender);

impl Program {
    /// Starts it. Some task of the crew sees to its end.
    pub(super) async fn start(door: &Door<'_>) -> Result<(Self, Pipes), Error> {
        let Conversation { process, input, output } = conversation(door).await?;
        let crew = door.crew;
        let said = Arc::new(Mutex::new(Kept::new(COMPLAINTS)));
        let (ended, ending) = watch::channel(None);
        let (unread, fault, heard) = (CancellationToken::new(), Fault::default(), said.clone());
        let pipes = (Bounded::new(output, fault.clone(), unread.clone().drop_guard()), input);
        crew.spawn(async move { ended.send_replace(Some(attended(process, unread, &heard).await)) });
        Ok((Self { said, ending, fault }, pipes))
    }

    /// Why it is gone, as far as that is known.
    pub(super) async fn last_words(&self) -> String {
        if let Some(fault) = self.fault.get() {
            return fault.clone();
        }
        let mut ending = self.ending.clone();
        let ended = timeout(LAST_WORDS, ending.wait_for(Option::is_some)).await;
        let how = match ended.ok().and_then(Result::ok).and_then(|ending| *ending) {
            Some(Ending::Exited(code)) => format!("it ended with exit code {code}"),
            Some(Ending::Signalled(signal)) if signal > 0 => format!("it was ended by signal {signal}"),
            _ => "it closed its output".to_owned(),
        };
        let said = self.said.lock().unwrap_or_else(PoisonError::into_inner).text();
        let said = cleaned(&said, COMPLAINT);
        if said.is_empty() { how } else { format!("{how}, and had said: {said}") }
    }
}

/// Starts it confined; where nothing can do that, not at all or with a remark.
async fn conversation(door: &Door<'_>) -> Result<Conversation, Error> {
    let request = spawn(door.server);
    let sandbox = confined::sandbox(door.confining, door.server).map(Arc::new);
    let failed = |error: rooftree_process::Error| Error::Unreachable(error.to_string());
    match converse(Spawn { sandbox, ..request.clone() }).await {
        Err(rooftree_process::Error::Unconfined { reason, .. }) => {
            if confined::mode(door.confining, door.server) == SandboxMode::Required {
                return Err(Error::Unconfined(reason));
            }
            door.remarks.add(Notice::unconfined(&reason));
            converse(request).await.map_err(failed)
        }
        started => started.map_err(failed),
    }
}

fn spawn(server: &McpServer) -> Spawn {
    let environment = Environment {
        only: Some(INHERITED.map(str::to_owned).to_vec()),
        set: server.env.clone(),
        ..Environment::default()
    };
    Spawn {
        program: server.command.clone().unwrap_or_default().into(),
        args: server.args.iter().map(OsString::from).collect(),
        cwd: server.cwd.clone().unwrap_or_default(),
        environment,
        input: Input::Nothing,
        sandbox: None,
    }
}

/// Hears its complaints until it ends. Once nobody reads its output it is given a moment, then ended.
async fn attended(process: Process, unread: CancellationToken, said: &Mutex<Kept>) -> Ending {
    let enough = CancellationToken::new();
    let hear = |bytes: &[u8]| said.lock().unwrap_or_else(PoisonError::into_inner).push(bytes);
    let patience = async {
        unread.cancelled().await;
        tokio::time::sleep(POLITE).await;
        enough.cancel();
        std::future::pending::<Infallible>().await
    };
    tokio::select! {
        finished = process.finish(Bounds { time: None, output: 0 }, &enough, hear) => finished.ending,
        never = patience => match never {},
    }
}
