//! A live connection to an MCP server: handshake, tool list, calls.

mod resources_and_prompts;

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use rmcp::{
    RoleClient,
    model::{
        CallToolRequest, CallToolRequestParams, CallToolResult, CancelledNotificationParam,
        ClientRequest, RequestId, ServerCapabilities, ServerNotification, ServerResult,
        SubscriptionFilter, Tool,
    },
    service::{
        ClientLifecycleMode, ClientServiceExt, Peer, PeerRequestOptions, RunningService,
        ServiceError,
    },
    transport::{AuthError, IntoTransport, streamable_http_client::AuthRequiredError},
};
use tokio::time::timeout;
use tokio_util::task::TaskTracker;

use super::{
    Error,
    client::{McpClient, McpConnectionState},
    connect_params::ConnectParams,
    handshake::{newest, refusal, transport_words},
    http::{self, McpHttpTransport},
    identity::{McpTransport, reach},
    in_flight::InFlightCall,
    package_fetch::explained,
    sanitize::{COMPLAINT, sanitize_text},
    secrets::ServerSecrets,
    server_process::McpServerProcess,
    stdio_transport::lines,
    unknown_parts,
};
use crate::ToolContext;

pub(super) use resources_and_prompts::McpResourceList;

/// Tools of one server that are offered.
pub(super) const MOST_TOOLS: usize = 512;
/// Pages of tools that are asked for.
const MOST_PAGES: usize = 64;
/// How long a server may take to list its tools.
const LISTING: Duration = Duration::from_secs(30);

/// A connection after a successful handshake.
pub(super) struct McpConnection {
    service: RunningService<RoleClient, McpClient>,
    program: Option<McpServerProcess>,
    shared: Arc<McpConnectionState>,
    secrets: ServerSecrets,
    has_served: AtomicBool,
}

/// The tools a server says it has, as far as they were asked for.
pub(super) struct ListedTools {
    pub(super) tools: Vec<Tool>,
    /// Whether the server has more tools than are fetched.
    pub(super) has_more: bool,
    /// Whether it has resources too.
    pub(super) has_resources: bool,
}

/// What a server says about itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct McpServerInfo {
    /// Its name and version, in its own words.
    pub title: String,
    /// The revision of the protocol that is spoken.
    pub protocol: String,
}

impl McpConnection {
    /// Opens it, in the newest manner the server knows.
    pub(super) async fn open(door: &ConnectParams<'_>) -> Result<Self, Error> {
        let opened = timeout(door.timeout, Self::greet(door)).await;
        let opened = opened.unwrap_or(Err(Error::NotReady(door.timeout)));
        opened.map_err(|error| explained(error, door.confining, door.server))
    }

    async fn greet(door: &ConnectParams<'_>) -> Result<Self, Error> {
        match reach(door.server)? {
            McpTransport::Address(url) => {
                match http::http_transport(door.server, url, door.tokens).await? {
                    McpHttpTransport::Plain(transport) => {
                        Self::serve(door, transport, newest(), None).await
                    }
                    McpHttpTransport::LoggedIn(transport) => {
                        Self::serve(door, transport, newest(), None).await
                    }
                }
            }
            McpTransport::Program => match Self::start(door, newest()).await {
                // Some servers know so little of later manners that they end when they hear of them.
                Err(Error::Gone(_)) => Self::start(door, ClientLifecycleMode::Initialize).await,
                opened => opened,
            },
        }
    }

    async fn start(door: &ConnectParams<'_>, manner: ClientLifecycleMode) -> Result<Self, Error> {
        let (program, (output, input)) = McpServerProcess::start(door).await?;
        Self::serve(door, lines(output, input), manner, Some(program)).await
    }

    async fn serve<T, E, A>(
        door: &ConnectParams<'_>,
        transport: T,
        manner: ClientLifecycleMode,
        program: Option<McpServerProcess>,
    ) -> Result<Self, Error>
    where
        T: IntoTransport<RoleClient, E, A>,
        E: std::error::Error + Send + Sync + 'static,
    {
        let (shared, secrets) = (
            Arc::<McpConnectionState>::default(),
            ServerSecrets::of(door.server, door.tokens),
        );
        let client = McpClient {
            server: door.name.to_owned(),
            shared: shared.clone(),
            remarks: door.remarks.clone(),
        };
        let service = match client.serve_with_lifecycle(transport, manner).await {
            Ok(service) => service,
            Err(error) => return Err(refusal(error, program.as_ref(), &secrets).await),
        };
        let connection = Self {
            service,
            program,
            shared,
            secrets,
            has_served: AtomicBool::new(false),
        };
        connection.listen(door.task_tracker);
        Ok(connection)
    }

    /// Newer servers tell of new tools, resources and prompts only those who ask to be told.
    fn listen(&self, task_tracker: &TaskTracker) {
        let Some(info) = self.service.peer_info() else {
            return;
        };
        let Some(filter) =
            news_of(&info.capabilities).filter(|_| !info.protocol_version.has_initialize())
        else {
            return;
        };
        let (peer, shared) = (self.service.peer().clone(), self.shared.clone());
        task_tracker.spawn(async move {
            let Ok(mut news) = peer.listen(filter).await else {
                return;
            };
            // Of resources and prompts nothing is kept that could be old.
            while let Ok(Some(told)) = news.next().await {
                if let ServerNotification::ToolListChangedNotification(_) = told {
                    shared.changes.fetch_add(1, Ordering::Relaxed);
                }
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

    fn note_service(&self) {
        self.has_served.store(true, Ordering::Relaxed);
    }

    /// How often it has said that its tools are others now.
    pub(super) fn changes(&self) -> u64 {
        self.shared.changes.load(Ordering::Relaxed)
    }

    pub(super) fn about(&self) -> McpServerInfo {
        let info = self.service.peer_info();
        let own = info.as_ref().and_then(|info| info.server_info.as_ref());
        let title = own
            .map(|own| format!("{} {}", own.name, own.version))
            .unwrap_or_default();
        let protocol = info
            .as_ref()
            .map(|info| info.protocol_version.to_string())
            .unwrap_or_default();
        McpServerInfo {
            title: sanitize_text(&title, 200),
            protocol,
        }
    }

    /// Asks for its tools.
    pub(super) async fn tools(&self) -> Result<ListedTools, Error> {
        let service = &self.service;
        let tools = |asked| async move {
            let page = service.list_tools(Some(asked)).await?;
            Ok((page.tools, page.next_cursor))
        };
        let (tools, has_more) = self.pages(MOST_TOOLS, tools).await?;
        Ok(ListedTools {
            tools,
            has_more,
            has_resources: self.has_resources(),
        })
    }

    /// Makes one call. On timeout or cancellation the server is sent a cancel notification.
    pub(super) async fn call(
        &self,
        call: CallToolRequestParams,
        limit: Duration,
        context: &ToolContext,
    ) -> Result<CallToolResult, Error> {
        let working = self.shared.underway.begin(context);
        let called = tokio::select! {
            () = context.cancel.cancelled() => return Err(Error::Cancelled),
            () = working.call.patience(limit) => return Err(Error::NoAnswer(limit)),
            called = self.send(call, &working.call) => called,
        };
        match called {
            Ok(result) => {
                self.note_service();
                Ok(result)
            }
            Err(error) => Err(self.failure(error).await),
        }
    }

    /// Later servers ask people as part of an answer, and then the call itself puts the question.
    /// Earlier ones ask on their own, so that it must be known what the call is called there.
    async fn send(
        &self,
        call: CallToolRequestParams,
        own: &Arc<InFlightCall>,
    ) -> Result<CallToolResult, ServiceError> {
        let peer = self.service.peer();
        if !self
            .service
            .peer_info()
            .is_some_and(|info| info.protocol_version.has_initialize())
        {
            return own.clone().scope(self.service.call_tool(call)).await;
        }
        let request = ClientRequest::CallToolRequest(CallToolRequest::new(call));
        let handle = peer
            .send_cancellable_request(request, PeerRequestOptions::no_options())
            .await?;
        own.set_request_id(handle.id.clone());
        let mut awaited = CancelOnDrop {
            peer,
            id: Some(handle.id.clone()),
        };
        let answer = handle.await_response().await;
        awaited.id = None;
        match answer? {
            ServerResult::CallToolResult(result) => Ok(result),
            ServerResult::CustomResult(unread) => {
                unknown_parts::recovered(unread.0).ok_or(ServiceError::UnexpectedResponse)
            }
            _ => Err(ServiceError::UnexpectedResponse),
        }
    }

    async fn failure(&self, error: ServiceError) -> Error {
        match error {
            ServiceError::TransportSend(error) if wants_login(error.error.as_ref()) => {
                Error::Unauthorized
            }
            ServiceError::TransportSend(error) if !self.is_closed() => {
                Error::Unreachable(self.hidden(&transport_words(&error)))
            }
            ServiceError::McpError(error) if !self.is_closed() => {
                Error::Refused(self.hidden(&error.message))
            }
            ServiceError::TransportClosed
            | ServiceError::TransportSend(_)
            | ServiceError::McpError(_) => Error::Gone(self.exit_message().await),
            other => Error::Refused(self.hidden(&other.to_string())),
        }
    }

    /// Why it is gone.
    pub(super) async fn exit_message(&self) -> String {
        match &self.program {
            Some(program) => self.secrets.redact(program.exit_message().await),
            None => "the connection was closed".to_owned(),
        }
    }

    /// Hosts that the proxy refused to its program since the last call, a line each.
    pub(super) fn refusals(&self) -> Vec<String> {
        self.program
            .as_ref()
            .map(McpServerProcess::refusals)
            .unwrap_or_default()
    }

    /// Text of the server, sanitized and with its secrets redacted.
    pub(super) fn hidden(&self, text: &str) -> String {
        self.secrets.redact(sanitize_text(text, COMPLAINT))
    }

    /// Its secrets, for redaction.
    pub(super) fn secrets(&self) -> &ServerSecrets {
        &self.secrets
    }

    /// Closes it. A separate task waits for the program to end.
    pub(super) fn close(&self) {
        self.service.cancellation_token().cancel();
    }
}

/// What a server tells news of, as far as it is wanted; none if it tells of nothing.
fn news_of(can: &ServerCapabilities) -> Option<SubscriptionFilter> {
    let tools = can
        .tools
        .as_ref()
        .is_some_and(|tools| tools.list_changed == Some(true));
    let resources = can
        .resources
        .as_ref()
        .is_some_and(|resources| resources.list_changed == Some(true));
    let prompts = can
        .prompts
        .as_ref()
        .is_some_and(|prompts| prompts.list_changed == Some(true));
    let mut filter = SubscriptionFilter::builder();
    if tools {
        filter = filter.tools_list_changed();
    }
    if resources {
        filter = filter.resources_list_changed();
    }
    if prompts {
        filter = filter.prompts_list_changed();
    }
    (tools || resources || prompts).then(|| filter.build())
}

/// A call in flight. Dropping it sends the server a cancel notification.
struct CancelOnDrop<'a> {
    peer: &'a Peer<RoleClient>,
    id: Option<RequestId>,
}

impl Drop for CancelOnDrop<'_> {
    fn drop(&mut self) {
        let Some(id) = self.id.take() else { return };
        let Ok(runtime) = tokio::runtime::Handle::try_current() else {
            return;
        };
        let peer = self.peer.clone();
        let given_up =
            CancelledNotificationParam::new(Some(id), Some("the request was abandoned".to_owned()));
        runtime.spawn(async move { drop(peer.notify_cancelled(given_up).await) });
    }
}

/// Whether what went wrong is that the server does not know who asks.
fn wants_login(error: &(dyn std::error::Error + 'static)) -> bool {
    std::iter::successors(Some(error), |error| error.source())
        .any(|error| error.is::<AuthRequiredError>() || error.is::<AuthError>())
}
