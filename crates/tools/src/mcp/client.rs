//! Our side of a connection: handles the requests and notifications that a server sends to us.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use rmcp::{
    ClientHandler, ErrorData, RoleClient,
    model::{
        ClientCapabilities, ClientConfig, ElicitRequestParams, ElicitResult, ElicitationAction,
        ElicitationCapability, FormElicitationCapability, Implementation, ProtocolVersion,
        UrlElicitationCapability,
    },
    service::{InboundStreamOrigin, NotificationContext, RequestContext},
};

use super::{
    Notice, elicitation::ElicitationForm, in_flight::InFlightCalls, pending_notices::PendingNotices,
};

/// What a connection and its client both know.
#[derive(Default)]
pub(super) struct McpConnectionState {
    /// How often the server has said that its tools are others now.
    pub(super) changes: AtomicU64,
    /// The calls it is working on.
    pub(super) underway: InFlightCalls,
}

/// Answers a server's questions. What it is not asked for it does not have: no files, no models.
pub(super) struct McpClient {
    pub(super) server: String,
    pub(super) shared: Arc<McpConnectionState>,
    pub(super) remarks: Arc<PendingNotices>,
}

impl ClientHandler for McpClient {
    async fn create_elicitation(
        &self,
        request: ElicitRequestParams,
        context: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        let Some(call) = self
            .shared
            .underway
            .find_for_question(context.extensions.get::<InboundStreamOrigin>())
        else {
            let notice = Notice::unasked(&self.server);
            self.shared.underway.tell(&notice.message);
            self.remarks.add(notice);
            return Ok(ElicitResult::new(ElicitationAction::Decline));
        };
        let Some(form) = ElicitationForm::of(&self.server, request) else {
            return Ok(ElicitResult::new(ElicitationAction::Decline));
        };
        Ok(tokio::select! {
            answered = form.put(&call) => answered,
            // The server does not want to know any more.
            () = context.ct.cancelled() => ElicitResult::new(ElicitationAction::Cancel),
        })
    }

    async fn on_tool_list_changed(&self, _context: NotificationContext<RoleClient>) {
        self.shared.changes.fetch_add(1, Ordering::Relaxed);
    }

    fn get_info(&self) -> ClientConfig {
        let mut abilities = ClientCapabilities::default();
        abilities.elicitation = Some(
            ElicitationCapability::new()
                .with_form(FormElicitationCapability::new())
                .with_url(UrlElicitationCapability::new()),
        );
        let own = Implementation::new("rooftree", env!("CARGO_PKG_VERSION"));
        // What the handshake of earlier revisions begins with; later ones have none.
        ClientConfig::new(abilities, own).with_protocol_version(ProtocolVersion::V_2025_11_25)
    }
}
