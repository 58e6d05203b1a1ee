//! One live connection to a server: said hello, asked for its tools, called.

use std::{
    sync::{
        Arc, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use rmcp::{
    RoleClient,
    model::{CallToolRequestParams, CallToolResult, PaginatedRequestParams, SubscriptionFilter, Tool},
    service::{ClientLifecycleMode, ClientServiceExt, RunningService, ServiceError},
    transport::{
        AuthError, IntoTransport, async_rw::AsyncRwTransport, streamable_http_client::AuthRequiredError,
    },
};
use rooftree_protocol::{McpServer, SessionId};
use tokio::time::timeout;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{
    Elicit, Error,
    bounded::FRAME,
    client::{Client, Shared},
    hello::{newest, refusal},
    http::{self, Way},
    identity::{Reach, reach},
    program::Program,
    secrets::Secrets,
    untrusted::{COMPLAINT, cleaned},
};

/// Tools of one server that are offered.
pub(super) const MOST_TOOLS: usize = 512;
/// Pages of tools that are asked for.
const MOST_PAGES: usize = 64;
/// How long a server may take to list its tools.
const LISTING: Duration = Duration::from_secs(30);

/// All that is needed to open a connection.
pub(super) struct Door<'a> {
    pub(super) name: &'a str,
    pub(super) server: &'a McpServer,
    pub(super) elicit: Option<Elicit>,
    pub(super) crew: &'a TaskTracker,
    /// How long it may take.
    pub(super) patience: Duration,
    /// Where tokens of servers are kept.
    pub(super) tokens: Option<&'a std::path::Path>,
}

/// A server that has said hello.
pub(super) struct Connection {
    service: RunningService<RoleClient, Client>,
    program: Option<Program>,
    shared: Arc<Shared>,
    secrets: Secrets,
    has_served: AtomicBool,
}

/// The tools a server says it has, as far as they were asked for.
pub(super) struct Listed {
    pub(super) tools: Vec<Tool>,
    /// Whether there are more than anybody wants.
    pub(super) has_more: bool,
}

/// What a server says about itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct About {
    /// Its name and version, in its own words.
    pub title: String,
    /// The revision of the protocol that is spoken.
    pub protocol: String,
}

impl Connection {
    /// Opens it, in the newest manner the server knows.
    pub(super) async fn open(door: &Door<'_>) -> Result<Self, Error> {
        let opened = timeout(door.patience, Self::greet(door)).await;
        opened.unwrap_or(Err(Error::NotReady(door.patience)))
    }

    async fn greet(door: &Door<'_>) -> Result<Self, Error> {
        match reach(door.server)? {
            Reach::Address(url) => match http::way(door.server, url, door.tokens).await? {
                Way::Plain(transport) => Self::serve(door, transport, newest(), None).await,
                Way::LoggedIn(transport) => Self::serve(door, transport, newest(), None).await,
            },
            Reach::Program => match Self::start(door, newest()).await {
                // Some servers know so little of later manners that they end when they hear of them.
                Err(Error::Gone(_)) => Self::start(door, ClientLifecycleMode::Initialize).await,
                opened => opened,
            },
        }
    }

    async fn start(door: &Door<'_>, manner: ClientLifecycleMode) -> Result<Self, Error> {
        let (program, (output, input)) = Program::start(door.server, door.crew).await?;
        let transport = AsyncRwTransport::new_client(output, input).with_max_line_length(2 * FRAME);
        Self::serve(door, transport, manner, Some(program)).await
    }

    async fn serve<T, E, A>(
        door: &Door<'_>,
        transport: T,
        manner: ClientLifecycleMode,
        program: Option<Program>,
    ) -> Result<Self, Error>
    where
        T: IntoTransport<RoleClient, E, A>,
        E: std::error::Error + Send + Sync + 'static,
    {
        let (shared, secrets) = (Arc::<Shared>::default(), Secrets::of(door.server));
        let client =
            Client { server: door.name.to_owned(), elicit: door.elicit.clone(), shared: shared.clone() };
        let service = match client.serve_with_lifecycle(transport, manner).await {
            Ok(service) => service,
            Err(error) => return Err(refusal(error, program.as_ref(), &secrets).await),
        };
        let connection = Self { service, program, shared, secrets, has_served: AtomicBool::new(false) };
        connection.listen(door.crew);
        Ok(connection)
    }

    /// Newer servers tell of new tools only those who ask to be told.
    fn listen(&self, crew: &TaskTracker) {
        let Some(info) = self.service.peer_info() else { return };
        let tells = info.capabilities.tools.as_ref().is_some_and(|tools| tools.list_changed == Some(true));
        if !tells || info.protocol_version.has_initialize() {
            return;
        }
        let (peer, shared) = (self.service.peer().clone(), self.shared.clone());
        crew.spawn(async move {
            let filter = SubscriptionFilter::builder().tools_list_changed().build();
            let Ok(mut news) = peer.listen(filter).await else { return };
            while let Ok(Some(_)) = news.next().await {
                shared.changes.fetch_add(1, Ordering::Relaxed);
            }
        });
    }

    /// Whether the server is gone.
    pub(super) fn is_closed(&self) -> bool {
        self.service.is_closed() || self.service.peer().is_transport_closed()
    }

    /// Whether it has ever answered a call.
    pub(super) fn has_served(&self) -> bool {
        self.has_served.load(Ordering::Relaxed)
    }

    /// How often it has said that its tools are others now.
    pub(super) fn changes(&self) -> u64 {
        self.shared.changes.load(Ordering::Relaxed)
    }

    pub(super) fn about(&self) -> About {
        let info = self.service.peer_info();
        let own = info.as_ref().and_then(|info| info.server_info.as_ref());
        let title = own.map(|own| format!("{} {}", own.name, own.version)).unwrap_or_default();
        let protocol = info.as_ref().map(|info| info.protocol_version.to_string()).unwrap_or_default();
        About { title: cleaned(&title, 200), protocol }
    }

    /// Asks for its tools, page by page, and not for more than are wanted.
    pub(super) async fn tools(&self) -> Result<Listed, Error> {
        let (mut tools, mut cursor) = (Vec::new(), None);
        for _ in 0..MOST_PAGES {
            let asked = PaginatedRequestParams::default().with_cursor(cursor);
            let page = match timeout(LISTING, self.service.list_tools(Some(asked))).await {
                Ok(page) => page,
                Err(_) => return Err(Error::NoAnswer(LISTING)),
            };
            let page = match page {
                Ok(page) => page,
                Err(error) => return Err(self.failure(error).await),
            };
            tools.extend(page.tools);
            cursor = page.next_cursor;
            let has_more = tools.len() > MOST_TOOLS || (tools.len() == MOST_TOOLS && cursor.is_some());
            if cursor.is_none() || has_more {
                tools.truncate(MOST_TOOLS);
                return Ok(Listed { tools, has_more });
            }
        }
        Ok(Listed { tools, has_more: true })
    }

    /// Makes one call. Whoever gives up on it, by time or by wish, has the server told.
    pub(super) async fn call(
        &self,
        call: CallToolRequestParams,
        limit: Duration,
        session: &SessionId,
        cancel: &CancellationToken,
    ) -> Result<CallToolResult, Error> {
        let _working = Working::new(&self.shared, session);
        let called = tokio::select! {
            () = cancel.cancelled() => return Err(Error::Cancelled),
            called = timeout(limit, self.service.call_tool(call)) => called,
        };
        match called {
            Ok(Ok(result)) => {
                self.has_served.store(true, Ordering::Relaxed);
                Ok(result)
            }
            Ok(Err(error)) => Err(self.failure(error).await),
            Err(_) => Err(Error::NoAnswer(limit)),
        }
    }

    async fn failure(&self, error: ServiceError) -> Error {
        match error {
            ServiceError::TransportSend(error) if wants_login(error.error.as_ref()) => Error::Unauthorized,
            ServiceError::TransportSend(error) if !self.is_closed() => {
                Error::Unreachable(self.hidden(&error.to_string()))
            }
            ServiceError::McpError(error) if !self.is_closed() => Error::Refused(self.hidden(&error.message)),
            ServiceError::TransportClosed | ServiceError::TransportSend(_) | ServiceError::McpError(_) => {
                Error::Gone(self.last_words().await)
            }
            other => Error::Refused(self.hidden(&other.to_string())),
        }
    }

    /// Why it is gone.
    pub(super) async fn last_words(&self) -> String {
        match &self.program {
            Some(program) => self.secrets.hidden_in(program.last_words().await),
            None => "the connection was closed".to_owned(),
        }
    }

    /// What it said, without its secrets and without what people do not see.
    pub(super) fn hidden(&self, text: &str) -> String {
        self.secrets.hidden_in(cleaned(text, COMPLAINT))
    }

    /// What it was given in confidence.
    pub(super) fn secrets(&self) -> &Secrets {
        &self.secrets
    }

    /// Ends it. The program's end is seen to by its own task.
    pub(super) fn close(&self) {
        self.service.cancellation_token().cancel();
    }
}

/// A call that is being worked on.
struct Working<'a> {
    shared: &'a Shared,
    session: &'a SessionId,
}

impl<'a> Working<'a> {
    fn new(shared: &'a Shared, session: &'a SessionId) -> Self {
        shared.working_for.lock().unwrap_or_else(PoisonError::into_inner).push(session.clone());
        Self { shared, session }
    }
}

impl Drop for Working<'_> {
    fn drop(&mut self) {
        let mut working = self.shared.working_for.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(at) = working.iter().position(|session| session == self.session) {
            working.swap_remove(at);
        }
    }
}

/// Whether what went wrong is that the server does not know who asks.
fn wants_login(error: &(dyn std::error::Error + 'static)) -> bool {
    std::iter::successors(Some(error), |error| error.source())
        .any(|error| error.is::<AuthRequiredError>() || error.is::<AuthError>())
}
