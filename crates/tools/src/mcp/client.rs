//! Our side of a connection: what a server may want from us.

use std::sync::{
    Arc, Mutex, PoisonError,
    atomic::{AtomicU64, Ordering},
};

use rmcp::{
    ClientHandler, ErrorData, RoleClient,
    model::{
        ClientCapabilities, ClientConfig, ElicitRequestParams, ElicitResult, ElicitationAction,
        Implementation, ProtocolVersion,
    },
    service::{NotificationContext, RequestContext},
};
use rooftree_protocol::SessionId;
use serde_json::Value;

use super::{
    elicit::{Elicit, Elicitation, Elicited},
    untrusted::{COMPLAINT, cleaned},
};

/// What a connection and its client both know.
#[derive(Default)]
pub(super) struct Shared {
    /// How often the server has said that its tools are others now.
    pub(super) changes: AtomicU64,
    /// Whose calls it is working on.
    pub(super) working_for: Mutex<Vec<SessionId>>,
}

/// Answers a server's questions. What it is not asked for it does not have: no files, no models.
pub(super) struct Client {
    pub(super) server: String,
    pub(super) elicit: Option<Elicit>,
    pub(super) shared: Arc<Shared>,
}

impl ClientHandler for Client {
    async fn create_elicitation(
        &self,
        request: ElicitRequestParams,
        _context: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        let answered = match (&self.elicit, self.question(request)) {
            (Some(elicit), Some(question)) => elicit(question).await,
            _ => Elicited::Declined,
        };
        Ok(match answered {
            Elicited::Accepted(answer) => ElicitResult::new(ElicitationAction::Accept).with_content(answer),
            Elicited::Declined => ElicitResult::new(ElicitationAction::Decline),
            Elicited::Cancelled => ElicitResult::new(ElicitationAction::Cancel),
        })
    }

    async fn on_tool_list_changed(&self, _context: NotificationContext<RoleClient>) {
        self.shared.changes.fetch_add(1, Ordering::Relaxed);
    }

    fn get_info(&self) -> ClientConfig {
        let mut abilities = ClientCapabilities::default();
        abilities.elicitation = self.elicit.is_some().then(Default::default);
        let own = Implementation::new("rooftree", env!("CARGO_PKG_VERSION"));
        // What the handshake of earlier revisions begins with; later ones have none.
        ClientConfig::new(abilities, own).with_protocol_version(ProtocolVersion::V_2025_11_25)
    }
}

impl Client {
    fn question(&self, request: ElicitRequestParams) -> Option<Elicitation> {
        let (message, schema, url) = match request {
            ElicitRequestParams::FormElicitationParams { message, requested_schema, .. } => {
                (message, serde_json::to_value(requested_schema).ok()?, None)
            }
            ElicitRequestParams::UrlElicitationParams { message, url, .. } => {
                (message, Value::Null, Some(url))
            }
            _ => return None,
        };
        let sessions = self.shared.working_for.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let message = cleaned(&message, COMPLAINT);
        Some(Elicitation { server: self.server.clone(), sessions, message, schema, url })
    }
}
