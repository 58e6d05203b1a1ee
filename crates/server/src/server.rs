//! Listens, serves requests, and shuts down gracefully.

use std::{io::ErrorKind, net::SocketAddr, time::Duration};

use tokio::{net::TcpListener, time::timeout};
use tokio_util::sync::CancellationToken;

use crate::{
    ApiOptions, CallbackHandler, Error, ExposedAgents,
    auth::TokenAuth,
    connections::{ConnectionLimits, ConnectionTracker, LimitedListener, RequestConnection},
    host_check::HostCheck,
    routes::{self, AppState, ServedParts},
};

/// Timeout for requests in flight when the server shuts down.
const DRAIN: Duration = Duration::from_secs(10);

/// Options of a server.
pub struct HttpServerOptions {
    /// Where to listen; port 0 for any that is free.
    pub address: SocketAddr,
    /// The bearer token every request needs, except callbacks and the health check.
    pub token: Option<String>,
    /// Host names the server accepts, besides addresses and `localhost`.
    pub hosts: Vec<String>,
    /// The handler of callbacks.
    pub deliver: CallbackHandler,
}

/// A server that listens; it answers while it runs.
pub struct HttpServer {
    listener: TcpListener,
    address: SocketAddr,
    state: AppState,
    parts: ServedParts,
    limits: ConnectionLimits,
}

impl HttpServer {
    /// Binds the address. Invariant: an address that other machines can reach needs a token.
    pub async fn listen(options: HttpServerOptions) -> Result<Self, Error> {
        let HttpServerOptions {
            address,
            token,
            hosts,
            deliver,
        } = options;
        let token = token.filter(|token| !token.trim().is_empty());
        if !address.ip().to_canonical().is_loopback() && token.is_none() {
            return Err(Error::Exposed(address));
        }
        let failed = |source: std::io::Error| match source.kind() {
            ErrorKind::AddrInUse => Error::Taken(address),
            _ => Error::Listen { address, source },
        };
        let listener = TcpListener::bind(address).await.map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let gate = TokenAuth::new(token.as_deref().map(str::trim));
        let state = AppState {
            gate,
            visitors: HostCheck::new(&hosts),
            deliver,
        };
        Ok(Self {
            listener,
            address,
            state,
            parts: ServedParts::default(),
            limits: ConnectionLimits::default(),
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
        let stopping = stop.clone();
        let routes = routes::router(self.state, self.parts, stop.clone());
        let connections = ConnectionTracker::new(self.limits);
        let listener = LimitedListener {
            inner: self.listener,
            connections,
        };
        let routes = routes.into_make_service_with_connect_info::<RequestConnection>();
        let serving = axum::serve(listener, routes).with_graceful_shutdown(stop.cancelled_owned());
        let mut serving = std::pin::pin!(serving.into_future());
        let served = tokio::select! {
            served = &mut serving => served,
            () = stopping.cancelled() => timeout(DRAIN, serving).await.unwrap_or(Ok(())),
        };
        served.map_err(Error::Stopped)
    }
}
