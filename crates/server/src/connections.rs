//! Limits on connections: how many may be open without an authorised request, in all and per address, and for
//! how long; authorised ones count for the token.
//!
//! Invariant: connections without an authorised request never keep out one that is to make it. Where there are
//! too many, the oldest is closed, not the newest refused; the limits leave room below the limit of open files. One that
//! has just come is not closed: the next is accepted a moment later instead, so that a burst of clients is served.

mod limited;

use std::{
    collections::{BTreeMap, HashMap},
    net::{IpAddr, SocketAddr},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use axum::{
    extract::connect_info::Connected,
    serve::{IncomingStream, Listener},
};
use tokio::{
    net::TcpListener,
    sync::Notify,
    time::{Instant, sleep_until},
};
use tokio_util::sync::CancellationToken;

pub(crate) use self::limited::LimitedStream;
use crate::access::TrustedProxies;

/// How long a connection has for its first request before it can be closed to make room.
const GRACE: Duration = Duration::from_millis(100);

/// How many connections there may be, and how long they may take.
#[derive(Clone, Copy, Debug)]
pub struct ConnectionLimits {
    /// Connections without an authorised request.
    pub waiting: usize,
    /// Of these, from one address.
    pub per_address: usize,
    /// Connections with an authorised request, for one token.
    pub authorised: usize,
    /// The same for all tokens together, below the limit of open files.
    pub authorised_in_all: usize,
    /// Until the head of the first request is there.
    pub head: Duration,
    /// From the head of a request without authority until the connection is closed.
    pub answer: Duration,
    /// Until a client that reads nothing is given up.
    pub write: Duration,
}

impl Default for ConnectionLimits {
    fn default() -> Self {
        let files = open_files();
        Self {
            waiting: (files / 4).clamp(16, 256),
            per_address: (files / 8).clamp(8, 128),
            authorised: (files / 2).clamp(16, 512),
            authorised_in_all: (files / 8 * 5).max(16),
            head: Duration::from_secs(10),
            answer: Duration::from_secs(60),
            write: Duration::from_secs(30),
        }
    }
}

/// How many files this process may have open.
fn open_files() -> usize {
    let limits = std::fs::read_to_string("/proc/self/limits").unwrap_or_default();
    let line = limits
        .lines()
        .find_map(|line| line.strip_prefix("Max open files"));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok())
        .unwrap_or(1024)
}

/// All connections there are.
#[derive(Clone)]
pub(crate) struct ConnectionTracker {
    limits: ConnectionLimits,
    proxies: Arc<TrustedProxies>,
    table: Arc<Mutex<ConnectionTable>>,
    /// Fires when one without an authorised request is authorised or closed.
    room: Arc<Notify>,
}

#[derive(Default)]
struct ConnectionTable {
    next: u64,
    /// Those without an authorised request, the oldest first.
    waiting: BTreeMap<u64, UnauthorisedConnection>,
    /// How many each token has.
    authorised: HashMap<Arc<str>, usize>,
}

struct UnauthorisedConnection {
    address: Option<IpAddr>,
    since: Instant,
    close: CancellationToken,
}

impl ConnectionTracker {
    pub(crate) fn new(limits: ConnectionLimits) -> Self {
        Self {
            limits,
            proxies: Arc::default(),
            table: Arc::default(),
            room: Arc::default(),
        }
    }

    /// The same behind these proxies.
    pub(crate) fn behind(mut self, proxies: TrustedProxies) -> Self {
        self.proxies = Arc::new(proxies);
        self
    }

    fn table(&self) -> MutexGuard<'_, ConnectionTable> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts a new connection; where there are too many without authority, the oldest is closed.
    pub(crate) fn admit(&self, address: IpAddr) -> Arc<ClientConnection> {
        self.admit_from(Some(address))
    }

    /// A stream over the Unix socket.
    pub(crate) fn local_stream<S>(&self, stream: S) -> LimitedStream<S> {
        LimitedStream::new(stream, self.admit_from(None), self.limits.write)
    }

    /// The same; over the Unix socket there is no address. Behind a trusted proxy the address is that of many clients, and
    /// only all of them together have a limit.
    fn admit_from(&self, address: Option<IpAddr>) -> Arc<ClientConnection> {
        let source = self.limited_source(address);
        let mut table = self.table();
        while let Some((oldest, _)) = table.to_be_closed(&self.limits, source) {
            table.close(oldest);
        }
        let (id, close) = (table.next, CancellationToken::new());
        table.next += 1;
        table.waiting.insert(
            id,
            UnauthorisedConnection {
                address,
                since: Instant::now(),
                close: close.clone(),
            },
        );
        let deadline = Some(Instant::now() + self.limits.head);
        Arc::new(ClientConnection {
            id,
            all: self.clone(),
            address,
            close,
            state: Mutex::new(State {
                deadline,
                token: None,
            }),
        })
    }
}

impl ConnectionTracker {
    /// The address whose connections have a limit of their own.
    fn limited_source(&self, address: Option<IpAddr>) -> Option<IpAddr> {
        address.filter(|address| !self.proxies.contains(*address))
    }

    /// Waits while the connection that would be closed for a new one has just come.
    async fn wait_for_room(&self, address: IpAddr) {
        let source = self.limited_source(Some(address));
        loop {
            let oldest = self.table().to_be_closed(&self.limits, source);
            let Some((_, since)) = oldest.filter(|(_, since)| since.elapsed() < GRACE) else {
                return;
            };
            tokio::select! {
                () = self.room.notified() => {}
                () = sleep_until(since + GRACE) => {}
            }
        }
    }
}

impl ConnectionTable {
    /// The connection that makes room for another from this source, if there are too many, and since when it is there.
    fn to_be_closed(
        &self,
        limits: &ConnectionLimits,
        source: Option<IpAddr>,
    ) -> Option<(u64, Instant)> {
        let same = |entry: &UnauthorisedConnection| source.is_some() && entry.address == source;
        let from_there = self.waiting.values().filter(|entry| same(entry)).count();
        let is_full = self.waiting.len() >= limits.waiting.max(1);
        let oldest = if from_there >= limits.per_address.max(1) {
            self.waiting.iter().find(|(_, entry)| same(entry))
        } else {
            self.waiting.iter().next().filter(|_| is_full)
        };
        oldest.map(|(id, entry)| (*id, entry.since))
    }

    /// One connection less for a token.
    fn leave(&mut self, token: Option<&Arc<str>>) {
        let Some(token) = token else { return };
        if let Some(count) = self.authorised.get_mut(token) {
            *count = count.saturating_sub(1);
            if *count == 0 {
                self.authorised.remove(token);
            }
        }
    }

    fn close(&mut self, id: u64) {
        if let Some(entry) = self.waiting.remove(&id) {
            entry.close.cancel();
        }
    }
}

/// One connection, while it is open.
pub(crate) struct ClientConnection {
    id: u64,
    all: ConnectionTracker,
    /// Where it comes from; none over the Unix socket.
    address: Option<IpAddr>,
    /// Fires when it must make room.
    close: CancellationToken,
    state: Mutex<State>,
}

struct State {
    /// When it is closed; none once it is authorised.
    deadline: Option<Instant>,
    /// The token it counts for.
    token: Option<Arc<str>>,
}

impl ClientConnection {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The head of a request without authority is there.
    pub(crate) fn request_received(&self) {
        if let Some(deadline) = self.state().deadline.as_mut() {
            *deadline = Instant::now() + self.all.limits.answer;
        }
    }

    /// Where it comes from; none over the Unix socket.
    pub(crate) fn address(&self) -> Option<IpAddr> {
        self.address
    }

    /// An authorised request is there: from now on the connection counts for its token. Says whether there is room for
    /// it. One that presents another token later counts for that.
    pub(crate) fn authorise(&self, token: &Arc<str>) -> bool {
        let mut state = self.state();
        if state.token.as_ref() == Some(token) {
            return true;
        }
        let limits = &self.all.limits;
        let mut table = self.all.table();
        let own = table.authorised.get(token).copied().unwrap_or(0);
        let all: usize = table.authorised.values().sum();
        let is_new = state.token.is_none();
        if own >= limits.authorised || (is_new && all >= limits.authorised_in_all) {
            return false;
        }
        table.leave(state.token.as_ref());
        *table.authorised.entry(token.clone()).or_default() += 1;
        table.waiting.remove(&self.id);
        self.all.room.notify_one();
        *state = State {
            deadline: None,
            token: Some(token.clone()),
        };
        true
    }

    /// How many connections one token may have.
    pub(crate) fn max_per_token(&self) -> usize {
        self.all.limits.authorised
    }
}

impl Drop for ClientConnection {
    fn drop(&mut self) {
        let token = self.state().token.take();
        let mut table = self.all.table();
        table.waiting.remove(&self.id);
        table.leave(token.as_ref());
        self.all.room.notify_one();
    }
}

/// A listener whose connections are counted.
pub(crate) struct LimitedListener {
    pub(crate) inner: TcpListener,
    pub(crate) connections: ConnectionTracker,
}

impl Listener for LimitedListener {
    type Io = LimitedStream<tokio::net::TcpStream>;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Self::Io, Self::Addr) {
        let (stream, address) = Listener::accept(&mut self.inner).await;
        let source = address.ip().to_canonical();
        self.connections.wait_for_room(source).await;
        let connection = self.connections.admit(source);
        (
            LimitedStream::new(stream, connection, self.connections.limits.write),
            address,
        )
    }

    fn local_addr(&self) -> std::io::Result<Self::Addr> {
        self.inner.local_addr()
    }
}

/// The connection that a request came over.
#[derive(Clone)]
pub(crate) struct RequestConnection(pub(crate) Arc<ClientConnection>);

impl Connected<IncomingStream<'_, LimitedListener>> for RequestConnection {
    fn connect_info(stream: IncomingStream<'_, LimitedListener>) -> Self {
        Self(stream.io().connection().clone())
    }
}
