//! Listens, answers, and stops in order.

use std::{io::ErrorKind, net::SocketAddr, time::Duration};

use tokio::{net::TcpListener, time::timeout};
use tokio_util::sync::CancellationToken;

use crate::{
    Agents, Deliver, Error,
    auth::Gate,
    connections::{ConnectionLimits, Connections, LimitedListener, Over},
    routes::{self, House},
    visitors::Visitors,
};

/// How long answers that are under way may take once the server is to stop.
const DRAIN: Duration = Duration::from_secs(10);

/// What a server is made of.
pub struct Options {
    /// Where to listen; port 0 for any that is free.
    pub address: SocketAddr,
    /// What whoever wants more than to deliver a callback must show.
    pub token: Option<String>,
    /// Names by which agents may be asked here, besides addresses and `localhost`.
    pub hosts: Vec<String>,
    /// What to do with callbacks.
    pub deliver: Deliver,
}

/// A server that listens; it answers while it runs.
pub struct Server {
    listener: TcpListener,
    address: SocketAddr,
    house: House,
    agents: Option<Agents>,
    limits: ConnectionLimits,
}

impl Server {
    /// Begins to listen. Invariant: what other machines can reach has a token.
    pub async fn listen(options: Options) -> Result<Self, Error> {
        let Options { address, token, hosts, deliver } = options;
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
        let gate = Gate::new(token.as_deref().map(str::trim));
        let house = House { gate, visitors: Visitors::new(&hosts), deliver };
        Ok(Self { listener, address, house, agents: None, limits: ConnectionLimits::default() })
    }

    /// Lets these agents be asked as if they were models.
    pub fn with_agents(self, agents: Agents) -> Self {
        Self { agents: Some(agents), ..self }
    }

    /// Has other limits on connections than the usual ones.
    pub fn with_limits(self, limits: ConnectionLimits) -> Self {
        Self { limits, ..self }
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Answers until it is told to stop; then finishes what is under way, within bounds.
    pub async fn run(self, stop: CancellationToken) -> Result<(), Error> {
        let stopping = stop.clone();
        let routes = routes::all(self.house, self.agents, stop.clone());
        let connections = Connections::new(self.limits);
        let listener = LimitedListener { inner: self.listener, connections };
        let routes = routes.into_make_service_with_connect_info::<Over>();
        let serving = axum::serve(listener, routes).with_graceful_shutdown(stop.cancelled_owned());
        let mut serving = std::pin::pin!(serving.into_future());
        let served = tokio::select! {
            served = &mut serving => served,
            () = stopping.cancelled() => timeout(DRAIN, serving).await.unwrap_or(Ok(())),
        };
        served.map_err(Error::Stopped)
    }
}
