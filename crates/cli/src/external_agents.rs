//! Registers external agents as models, and routes their callbacks to the run that asked.

use std::{
    collections::BTreeMap,
    fs,
    io::{ErrorKind, Write},
    net::{IpAddr, Ipv4Addr, SocketAddr},
    path::Path,
    sync::{Arc, OnceLock},
};

use futures::FutureExt;
use rooftree_protocol::{ErrorCode, Problem};
use rooftree_providers::{
    catalog::ModelOpener,
    external_agent::{self, CallbackBaseUrlFn, CallbackRegistry},
};
use rooftree_runtime::{Clock, MessageMark, SystemClock};
use rooftree_server as server;
use rooftree_stdx::atomic_file::AtomicFile;
use tokio::sync::OnceCell;
use tokio_util::sync::CancellationToken;

use crate::{
    environment::Environment,
    providers::SharedHttpClient,
    settings::{ProviderTimeouts, Settings},
};

/// Where `rooftree serve` listens unless it is told otherwise.
pub const PORT: u16 = 7663;

/// Minimum length of a stored token secret.
const SECRET_CHARACTERS: usize = 32;

/// Provider name of external agents.
pub const PROVIDER: &str = "external";

/// How the catalog opens the external agents of the settings. Their callbacks arrive at a listener of this
/// process. No secret is made and no port is opened before an agent is used.
pub fn opener(
    environment: &Environment,
    settings: &Settings,
    connections: SharedHttpClient,
) -> ModelOpener {
    let (environment, agents) = (environment.clone(), settings.external.clone());
    let ready = OnceLock::new();
    Arc::new(move |choice| {
        if let Some(open) = ready.get() {
            let open: &ModelOpener = open;
            return open(choice);
        }
        let callbacks = own_callbacks(&secret(&environment)?)?;
        let open = opener_with(agents.clone(), &connections, callbacks)?;
        ready.get_or_init(|| open)(choice)
    })
}

/// The same, with callbacks that come in here.
pub fn opener_with(
    agents: BTreeMap<String, external_agent::ExternalAgentOptions>,
    connections: &SharedHttpClient,
    callbacks: CallbackRegistry,
) -> Result<ModelOpener, Problem> {
    Ok(external_agent::opener(
        connections.client(ProviderTimeouts::default())?,
        agents,
        callbacks,
    ))
}

fn own_callbacks(secret: &str) -> Result<CallbackRegistry, Problem> {
    let own = Arc::new(OwnCallbackListener::default());
    let door: CallbackBaseUrlFn = {
        let own = own.clone();
        Arc::new(move |base| {
            let own = own.clone();
            async move { own.open(base).await }.boxed()
        })
    };
    let callbacks = CallbackRegistry::new(secret, door);
    // Only a clone of the handle: the listener does not keep its callbacks alive.
    own.callbacks
        .set(callbacks.clone())
        .map_err(|_| unexpected())?;
    Ok(callbacks)
}

/// Delivers callbacks that reach a server to the run that waits for them.
pub fn deliver(callbacks: CallbackRegistry) -> server::CallbackHandler {
    Arc::new(move |callback| {
        let server::IncomingCallback {
            token,
            message,
            body,
        } = &callback;
        let callback = external_agent::AgentCallback {
            token,
            message: message.as_deref(),
            body,
        };
        match callbacks.deliver(callback) {
            external_agent::CallbackReceipt::Taken => server::CallbackOutcome::Taken,
            external_agent::CallbackReceipt::Repeated => server::CallbackOutcome::Repeated,
            external_agent::CallbackReceipt::Over => server::CallbackOutcome::Over,
            external_agent::CallbackReceipt::Unknown => server::CallbackOutcome::Unknown,
            external_agent::CallbackReceipt::TooLarge => server::CallbackOutcome::TooLarge,
            external_agent::CallbackReceipt::Unreadable => server::CallbackOutcome::Unreadable,
        }
    })
}

/// The secret that callback tokens are derived from. It lies beside the database, so that requests of a
/// database have the same tokens after a restart.
pub fn secret(environment: &Environment) -> Result<String, Problem> {
    let path = environment.database.with_file_name("callback.key");
    kept(&path).map_err(|error| {
        Problem::new(
            ErrorCode::InvalidConfig,
            format!("cannot keep a secret in {}", path.display()),
        )
        .cause(error.to_string())
        .fix("make it a file that you can read, or remove it")
    })?
}

/// What messages of the runtime are marked with: it follows from the same secret. Where that cannot be kept,
/// a process has a mark of its own.
pub fn mark(environment: &Environment) -> MessageMark {
    secret(environment).map_or_else(
        |_| MessageMark::random(SystemClock.entropy()),
        |secret| MessageMark::derived(secret.as_bytes()),
    )
}

fn kept(path: &Path) -> std::io::Result<Result<String, Problem>> {
    match fs::read_to_string(path) {
        Ok(text) if text.trim().len() >= SECRET_CHARACTERS => {
            return Ok(Ok(text.trim().to_owned()));
        }
        Ok(_) => {
            return Err(std::io::Error::new(
                ErrorKind::InvalidData,
                "it holds no secret",
            ));
        }
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
        Err(_) => {}
    }
    let secret = match external_agent::new_secret() {
        Ok(secret) => secret,
        Err(problem) => return Ok(Err(problem)),
    };
    // Written whole before it gets its name: another process may look for it at the same moment.
    if let Some(directory) = path.parent() {
        fs::create_dir_all(directory)?;
    }
    let mut file = AtomicFile::private(path)?;
    file.write_all(secret.as_bytes())?;
    if file.commit_new()? {
        Ok(Ok(secret))
    } else {
        kept(path)
    }
}

/// The callback listener of a process that is no server.
#[derive(Default)]
struct OwnCallbackListener {
    callbacks: OnceLock<CallbackRegistry>,
    nearby: OnceCell<SocketAddr>,
    public: OnceCell<SocketAddr>,
}

impl OwnCallbackListener {
    /// Agents on this machine reach any port. Those elsewhere come through whatever leads from their
    /// base URL to where a server would listen.
    async fn open(&self, base: Option<String>) -> Result<String, Problem> {
        match base {
            None => {
                let address = self.nearby.get_or_try_init(|| self.listen(0)).await?;
                Ok(format!("http://{address}"))
            }
            Some(base) => {
                self.public.get_or_try_init(|| self.listen(PORT)).await?;
                Ok(base)
            }
        }
    }

    async fn listen(&self, port: u16) -> Result<SocketAddr, Problem> {
        let callbacks = self.callbacks.get().ok_or_else(unexpected)?.clone();
        let address = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port);
        let options = server::HttpServerOptions {
            address,
            token: None,
            hosts: Vec::new(),
            public_url: None,
            deliver: deliver(callbacks),
        };
        let server = server::HttpServer::listen(options)
            .await
            .map_err(|error| error.problem())?;
        let address = server.address();
        // Ends with the program.
        tokio::spawn(server.run(CancellationToken::new()));
        Ok(address)
    }
}

fn unexpected() -> Problem {
    Problem::new(
        ErrorCode::Internal,
        "the door for callbacks was set up twice or not at all",
    )
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_secret_is_made_once_for_oneself_and_a_broken_one_is_not_replaced() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("data/callback.key");
        let first = kept(&path).unwrap().unwrap();
        assert_eq!(kept(&path).unwrap().unwrap(), first);
        assert_eq!(
            fs::metadata(&path).unwrap().permissions().mode() & 0o777,
            0o600
        );
        assert_eq!(
            fs::read_dir(path.parent().unwrap()).unwrap().count(),
            1,
            "no draft is left"
        );
        fs::write(&path, "short").unwrap();
        assert!(kept(&path).is_err());
    }
}
