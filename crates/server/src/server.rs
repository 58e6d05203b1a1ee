//! Listens, answers, and stops in order.

use std::{io::ErrorKind, net::SocketAddr, time::Duration};

use axum::Router;
use tokio::{net::TcpListener, time::timeout};
use tokio_util::sync::CancellationToken;

use crate::{
    Deliver, Error,
    auth::Gate,
    routes::{self, House},
};

/// How long answers that are under way may take once the server is to stop.
const DRAIN: Duration = Duration::from_secs(10);

/// What a server is made of.
pub struct Options {
    /// Where to listen; port 0 for any that is free.
    pub address: SocketAddr,
    /// What whoever wants more than to deliver a callback must show.
    pub token: Option<String>,
    /// What to do with callbacks.
    pub deliver: Deliver,
}

/// A server that listens; it answers while it runs.
pub struct Server {
    listener: TcpListener,
    address: SocketAddr,
    routes: Router,
}

impl Server {
    /// Begins to listen. Invariant: what other machines can reach has a token.
    pub async fn listen(options: Options) -> Result<Self, Error> {
        let Options { address, token, deliver } = options;
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
        let routes = routes::all(House { gate: Gate::new(token.as_deref().map(str::trim)), deliver });
        Ok(Self { listener, address, routes })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Answers until it is told to stop; then finishes what is under way, within bounds.
    pub async fn run(self, stop: CancellationToken) -> Result<(), Error> {
        let stopping = stop.clone();
        let serving = axum::serve(self.listener, self.routes).with_graceful_shutdown(stop.cancelled_owned());
        let mut serving = std::pin::pin!(serving.into_future());
        let served = tokio::select! {
            served = &mut serving => served,
            () = stopping.cancelled() => timeout(DRAIN, serving).await.unwrap_or(Ok(())),
        };
        served.map_err(Error::Stopped)
    }
}
