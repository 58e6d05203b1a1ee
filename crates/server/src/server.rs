//! Listens, serves requests, and shuts down gracefully.

use std::{io::ErrorKind, net::SocketAddr, sync::Arc, time::Duration};

use tokio::{net::TcpListener, time::timeout};
use tokio_util::sync::CancellationToken;

use crate::{
    AccessOptions, ApiOptions, CallbackHandler, Error, ExposedAgents, LocalSocketOptions,
    TrustedProxies, UiSource,
    access::AccessCheck,
    auth::TokenAuth,
    connections::{ConnectionLimits, ConnectionTracker, LimitedListener, RequestConnection},
    connectors::ConnectorRoutes,
    local_socket::LocalSocket,
    routes::{self, AppState, ServedParts},
};

/// Timeout for requests in flight when the server shuts down.
const DRAIN: Duration = Duration::from_secs(10);

/// Options of a server.
pub struct HttpServerOptions {
    /// Where to listen; port 0 for any that is free.
    pub address: SocketAddr,
    /// A bearer token that is good for asking agents under `/v1`, besides those in the store.
    pub token: Option<String>,
    /// Host names the server accepts, besides addresses and `localhost`.
    pub hosts: Vec<String>,
    /// The URL under which people reach the server. An address that other machines can reach needs one.
    pub public_url: Option<String>,
    /// The handler of callbacks.
    pub deliver: CallbackHandler,
}

/// A server that listens; it answers while it runs.
pub struct HttpServer {
    listener: TcpListener,
    address: SocketAddr,
    chat_token: TokenAuth,
    hosts: Vec<String>,
    deliver: CallbackHandler,
    access: AccessOptions,
    parts: ServedParts,
    limits: ConnectionLimits,
    socket: Option<LocalSocket>,
}

impl HttpServer {
    /// Binds the address. Invariant: an address that other machines can reach needs a public URL, and without a token no
    /// request is answered.
    pub async fn listen(options: HttpServerOptions) -> Result<Self, Error> {
        let HttpServerOptions {
            address,
            token,
            hosts,
            public_url,
            deliver,
        } = options;
        let public_url = public_url.filter(|url| !url.trim().is_empty());
        if !address.ip().to_canonical().is_loopback() && public_url.is_none() {
            return Err(Error::Exposed(address));
        }
        let failed = |source: std::io::Error| match source.kind() {
            ErrorKind::AddrInUse => Error::Taken(address),
            _ => Error::Listen { address, source },
        };
        let listener = TcpListener::bind(address).await.map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        Ok(Self {
            listener,
            address,
            chat_token: TokenAuth::new(token.as_deref().map(str::trim)),
            hosts,
            deliver,
            access: AccessOptions {
                public_url,
                ..AccessOptions::default()
            },
            parts: ServedParts::default(),
            limits: ConnectionLimits::default(),
            socket: None,
        })
    }

    /// Exposes these agents as models.
    pub fn with_agents(mut self, agents: ExposedAgents) -> Self {
        self.parts.agents = Some(agents);
        self
    }

    /// Serves the API.
    pub fn with_api(mut self, api: ApiOptions) -> Self {
        self.parts.api = Some(api);
        self
    }

    /// Takes requests of platforms for these connectors, and lets the API change them.
    pub fn with_connectors(mut self, connectors: ConnectorRoutes) -> Self {
        self.parts.connectors = connectors;
        self
    }

    /// Serves the page.
    pub fn with_ui(mut self, source: UiSource) -> Self {
        self.parts.ui = Some(source);
        self
    }

    /// Trusts these proxies.
    pub fn with_trusted_proxies(mut self, proxies: TrustedProxies) -> Self {
        self.access.trusted_proxies = proxies;
        self
    }

    /// Lets pages of these origins use tokens (CORS).
    pub fn with_allowed_origins(mut self, origins: Vec<String>) -> Self {
        self.access.allowed_origins = origins;
        self
    }

    /// Serves the same over a Unix socket, for the local owner without a token.
    pub fn bind_local_socket(&mut self, options: LocalSocketOptions) -> Result<(), Error> {
        let path = options.path.clone();
        let socket = LocalSocket::bind(options);
        self.socket = Some(socket.map_err(|source| Error::Socket { path, source })?);
        Ok(())
    }

    /// Overrides the default limits on connections.
    pub fn with_limits(self, limits: ConnectionLimits) -> Self {
        Self { limits, ..self }
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves requests until it is cancelled; then finishes those in flight, within a timeout.
    pub async fn run(self, stop: CancellationToken) -> Result<(), Error> {
        let api = self.parts.api.as_ref().map(|api| api.handle.clone());
        let agents = self.parts.agents.as_ref();
        let handle = api.or_else(|| agents.map(|agents| agents.handle.clone()));
        let proxies = self.access.trusted_proxies.clone();
        let port = self.address.port();
        let access = AccessCheck::new(handle, self.chat_token, &self.hosts, self.access, port);
        let state = AppState {
            access: Arc::new(access),
            deliver: self.deliver,
            connectors: self.parts.connectors.clone(),
        };
        let routes = routes::router(state, self.parts, stop.clone());
        let connections = ConnectionTracker::new(self.limits).behind(proxies);
        let local = self
            .socket
            .map(|socket| socket.listener(connections.clone()));
        let listener = LimitedListener {
            inner: self.listener,
            connections,
        };
        let service = routes.into_make_service_with_connect_info::<RequestConnection>();
        let serving = axum::serve(listener, service.clone())
            .with_graceful_shutdown(stop.clone().cancelled_owned())
            .into_future();
        let Some(local) = local else {
            return drained(serving, &stop).await;
        };
        let beside = axum::serve(local, service)
            .with_graceful_shutdown(stop.clone().cancelled_owned())
            .into_future();
        let both = async { tokio::try_join!(serving, beside).map(drop) };
        drained(both, &stop).await
    }
}

/// Serves until it is told to stop, and then for a while to finish requests.
async fn drained(
    serving: impl Future<Output = std::io::Result<()>>,
    stop: &CancellationToken,
) -> Result<(), Error> {
    let mut serving = std::pin::pin!(serving);
    let served = tokio::select! {
        served = &mut serving => served,
        () = stop.cancelled() => timeout(DRAIN, serving).await.unwrap_or(Ok(())),
    };
    served.map_err(Error::Stopped)
}
