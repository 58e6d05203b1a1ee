//! Connectors over the API: lists and changes them, pairs people, sends test messages. Secrets never pass here.

use std::sync::Arc;

use axum::{
    Json,
    extract::{Path, State},
    http::StatusCode,
};
use rooftree_protocol::{
    AccessScope, Principal, Timestamp,
    api_paths::{
        CONNECTOR, CONNECTOR_CONFIRM, CONNECTOR_PAIR, CONNECTOR_SENDER, CONNECTOR_TEST, CONNECTORS,
    },
};
use rooftree_runtime::{ConnectorChange, NewPairing};
use rooftree_store::{
    ChatIdentity, ConnectorFields, ConnectorRow, ConnectorWriteOutcome, OutboxCounts, PairingRow,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{
    ApiProblem, ApiState, access::RequestPrincipal, extract::JsonBody, idempotency::KeyUse,
    route_table::ApiRoute,
};

pub(super) fn routes() -> Vec<ApiRoute> {
    let needs = |route: ApiRoute, summary| route.needs(AccessScope::Admin, summary);
    vec![
        needs(ApiRoute::get(CONNECTORS, list), "Lists connectors with their health, people and pairing codes that wait")
            .answers::<ConnectorList>(200),
        needs(ApiRoute::get(CONNECTOR, show), "Shows a connector").answers::<ListedConnector>(200),
        needs(ApiRoute::patch(CONNECTOR, change), "Changes the agent, the settings or whether a connector is started; it must have the revision")
            .body::<ConnectorRequest>()
            .answers::<ListedConnector>(200),
        needs(ApiRoute::delete(CONNECTOR, remove), "Removes a connector with its people and bindings; its secret stays in the credential store")
            .answers_nothing(204),
        needs(ApiRoute::post(CONNECTOR_PAIR, pair), "Makes a pairing code that a person sends to the bot; it can be read only now")
            .body::<PairingRequest>()
            .keys(KeyUse::Secret)
            .answers::<PairingCode>(201),
        needs(ApiRoute::post(CONNECTOR_CONFIRM, confirm), "Pairs the sender who was told a code")
            .body::<ConfirmRequest>()
            .answers::<PairedSender>(200),
        needs(ApiRoute::patch(CONNECTOR_SENDER, change_sender), "Changes which person a sender is and what he may do")
            .body::<SenderRequest>()
            .answers::<PairedSender>(200),
        needs(ApiRoute::delete(CONNECTOR_SENDER, unpair), "Unpairs a sender").answers_nothing(204),
        needs(ApiRoute::post(CONNECTOR_TEST, test), "Sends a test message to the chat of the caller")
            .answers::<TestMessage>(202),
    ]
}

/// A connector.
#[derive(Debug, Serialize, JsonSchema)]
struct ListedConnector {
    /// Its name.
    id: String,
    /// `telegram`, `discord`, `webhook` or `external`.
    platform: String,
    /// The agent whose sessions its chats are.
    agent: String,
    /// Whether it is started.
    enabled: bool,
    /// What else is set; never a secret.
    settings: Map<String, Value>,
    /// How it is.
    health: ListedHealth,
    /// The last failure, which stays when it works again.
    #[serde(skip_serializing_if = "Option::is_none")]
    last_error: Option<String>,
    /// Who is paired.
    people: Vec<PairedSender>,
    /// Codes that wait: for the sender who was told it, or for any sender.
    pending_pairing: Vec<PendingPairing>,
    /// Messages that are not delivered.
    outbox: UndeliveredCounts,
    /// How often it was changed.
    rev: u64,
}

/// How a connector is.
#[derive(Debug, Serialize, JsonSchema)]
struct ListedHealth {
    /// `off`, `connecting`, `up`, `degraded` or `stopped`.
    state: String,
    /// Why it does not work.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    /// Since when.
    #[serde(skip_serializing_if = "Option::is_none")]
    at: Option<Timestamp>,
}

/// A sender who is paired.
#[derive(Debug, Serialize, JsonSchema)]
struct PairedSender {
    /// The platform's own id.
    sender: String,
    /// What the platform showed when he was paired.
    name: String,
    /// The person he is.
    person: String,
    /// Whether he may talk to agents.
    may_send: bool,
    /// Whether he may answer permission requests.
    may_approve: bool,
    /// Since when.
    paired_at: Timestamp,
}

/// A code that waits.
#[derive(Debug, Serialize, JsonSchema)]
struct PendingPairing {
    /// Who was told it; none if it is for any sender.
    #[serde(skip_serializing_if = "Option::is_none")]
    sender: Option<String>,
    /// What the platform shows of him.
    name: String,
    /// When it ends by itself.
    expires: Timestamp,
}

/// Messages that are not delivered.
#[derive(Debug, Default, Serialize, JsonSchema)]
struct UndeliveredCounts {
    /// Those that wait for their turn.
    queued: u64,
    /// Those of which an attempt failed and another one follows.
    failed: u64,
    /// Those that were given up, or may or may not have arrived.
    dead: u64,
}

/// All connectors.
#[derive(Debug, Serialize, JsonSchema)]
struct ConnectorList {
    /// By name.
    connectors: Vec<ListedConnector>,
}

/// A change of a connector. What is absent stays.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ConnectorRequest {
    /// The revision it must have.
    rev: u64,
    /// The agent whose sessions its chats are.
    #[serde(default)]
    agent: Option<String>,
    /// Whether it is started.
    #[serde(default)]
    enabled: Option<bool>,
    /// Settings by name; null removes one. Others stay.
    #[serde(default)]
    settings: Map<String, Value>,
}

/// A pairing code to be made.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
struct PairingRequest {
    /// The person that the sender becomes; the owner if absent.
    person: Option<String>,
    /// Whether he may answer permission requests.
    may_approve: bool,
}

/// A code that an unknown sender was told.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ConfirmRequest {
    /// The code.
    code: String,
    /// The person that the sender becomes; the owner if absent.
    #[serde(default)]
    person: Option<String>,
    /// Whether he may answer permission requests.
    #[serde(default)]
    may_approve: bool,
}

/// A change of what a sender may do. What is absent stays.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
struct SenderRequest {
    /// The person he is.
    person: Option<String>,
    /// Whether he may talk to agents.
    may_send: Option<bool>,
    /// Whether he may answer permission requests.
    may_approve: Option<bool>,
}

/// A pairing code.
#[derive(Serialize, JsonSchema)]
struct PairingCode {
    /// The code, which is shown only now.
    code: String,
    /// When it ends by itself.
    expires: Timestamp,
}

/// A test message that waits to be delivered.
#[derive(Debug, Serialize, JsonSchema)]
struct TestMessage {
    /// Where it goes.
    target: String,
}

impl From<ChatIdentity> for PairedSender {
    fn from(identity: ChatIdentity) -> Self {
        Self {
            sender: identity.sender,
            name: identity.name,
            person: identity.person,
            may_send: identity.may_send,
            may_approve: identity.may_approve,
            paired_at: identity.paired_at,
        }
    }
}

impl From<PairingRow> for PendingPairing {
    fn from(row: PairingRow) -> Self {
        Self {
            sender: row.sender,
            name: row.name,
            expires: row.expires_at,
        }
    }
}

async fn listed(
    state: &ApiState,
    who: &Principal,
    row: ConnectorRow,
) -> Result<ListedConnector, ApiProblem> {
    let handle = &state.options.handle;
    let people = handle.chat_identities(who, &row.name).await?;
    let pending = handle.pairings(who, &row.name).await?;
    let counts = handle.outbox_counts(who).await?.into_iter();
    let counts = counts.filter(|counts| counts.connector == row.name);
    let outbox = counts.map(undelivered).next().unwrap_or_default();
    let health = row
        .health
        .unwrap_or_else(|| rooftree_store::ConnectorHealth {
            state: "off".into(),
            reason: None,
            last_error: None,
            at: row.created_at,
        });
    Ok(ListedConnector {
        id: row.name,
        platform: row.fields.platform,
        agent: row.fields.agent,
        enabled: row.fields.enabled,
        settings: row.fields.settings,
        last_error: health.last_error,
        health: ListedHealth {
            state: health.state,
            reason: health.reason,
            at: Some(health.at),
        },
        people: people.into_iter().map(PairedSender::from).collect(),
        pending_pairing: pending.into_iter().map(PendingPairing::from).collect(),
        outbox,
        rev: row.revision,
    })
}

fn undelivered(counts: OutboxCounts) -> UndeliveredCounts {
    UndeliveredCounts {
        queued: counts.queued,
        failed: counts.failed,
        dead: counts.dead,
    }
}

async fn list(
    State(state): State<Arc<ApiState>>,
    RequestPrincipal(who): RequestPrincipal,
) -> Result<Json<ConnectorList>, ApiProblem> {
    let mut connectors = Vec::new();
    for row in state.options.handle.connectors(&who).await? {
        connectors.push(listed(&state, &who, row).await?);
    }
    Ok(Json(ConnectorList { connectors }))
}

async fn show(
    State(state): State<Arc<ApiState>>,
    RequestPrincipal(who): RequestPrincipal,
    Path(name): Path<String>,
) -> Result<Json<ListedConnector>, ApiProblem> {
    let row = state.options.handle.connector(&who, &name).await?;
    Ok(Json(listed(&state, &who, row).await?))
}

async fn change(
    State(state): State<Arc<ApiState>>,
    RequestPrincipal(who): RequestPrincipal,
    Path(name): Path<String>,
    JsonBody(request): JsonBody<ConnectorRequest>,
) -> Result<Json<ListedConnector>, ApiProblem> {
    let row = state.options.handle.connector(&who, &name).await?;
    let mut settings = row.fields.settings;
    for (name, value) in request.settings {
        match value {
            Value::Null => drop(settings.shift_remove(&name)),
            value => drop(settings.insert(name, value)),
        }
    }
    let fields = ConnectorFields {
        platform: row.fields.platform,
        agent: request.agent.unwrap_or(row.fields.agent),
        enabled: request.enabled.unwrap_or(row.fields.enabled),
        settings,
    };
    let written = write(&state, &who, (row.name, Some(fields), request.rev)).await?;
    let row = written.ok_or_else(|| ApiProblem::conflict("the connector is gone"))?;
    Ok(Json(listed(&state, &who, row).await?))
}

async fn remove(
    State(state): State<Arc<ApiState>>,
    RequestPrincipal(who): RequestPrincipal,
    Path(name): Path<String>,
) -> Result<StatusCode, ApiProblem> {
    let row = state.options.handle.connector(&who, &name).await?;
    write(&state, &who, (row.name, None, row.revision)).await?;
    Ok(StatusCode::NO_CONTENT)
}

async fn write(
    state: &ApiState,
    who: &Principal,
    (name, fields, rev): (String, Option<ConnectorFields>, u64),
) -> Result<Option<ConnectorRow>, ApiProblem> {
    let change = ConnectorChange {
        name,
        fields,
        expected: Some(rev),
    };
    let changed = state.options.handle.change_connector(who, change).await?;
    state.connectors.control.note_change();
    match changed {
        ConnectorWriteOutcome::Written(row) => Ok(row.map(|row| *row)),
        ConnectorWriteOutcome::Differs(row) => {
            let rev = row.map_or(0, |row| row.revision);
            let message = format!("the connector was changed meanwhile; its revision is {rev}");
            Err(ApiProblem::conflict(message).at("/rev"))
        }
    }
}

async fn pair(
    State(state): State<Arc<ApiState>>,
    RequestPrincipal(who): RequestPrincipal,
    Path(name): Path<String>,
    JsonBody(request): JsonBody<PairingRequest>,
) -> Result<(StatusCode, Json<PairingCode>), ApiProblem> {
    let new = NewPairing {
        connector: name,
        person: request.person,
        may_approve: request.may_approve,
    };
    let issued = state.options.handle.create_pairing(&who, new).await?;
    let code = PairingCode {
        code: issued.code,
        expires: issued.expires_at,
    };
    Ok((StatusCode::CREATED, Json(code)))
}

async fn confirm(
    State(state): State<Arc<ApiState>>,
    RequestPrincipal(who): RequestPrincipal,
    Path(name): Path<String>,
    JsonBody(request): JsonBody<ConfirmRequest>,
) -> Result<Json<PairedSender>, ApiProblem> {
    let new = NewPairing {
        connector: name,
        person: request.person,
        may_approve: request.may_approve,
    };
    let handle = &state.options.handle;
    let identity = handle.confirm_pairing(&who, new, &request.code).await?;
    Ok(Json(identity.into()))
}

async fn change_sender(
    State(state): State<Arc<ApiState>>,
    RequestPrincipal(who): RequestPrincipal,
    Path((name, sender)): Path<(String, String)>,
    JsonBody(request): JsonBody<SenderRequest>,
) -> Result<Json<PairedSender>, ApiProblem> {
    let handle = &state.options.handle;
    let row = handle.connector(&who, &name).await?;
    let known = handle.paired_sender(&who, &row.name, &sender).await?;
    let identity = ChatIdentity {
        person: request.person.unwrap_or(known.person),
        may_send: request.may_send.unwrap_or(known.may_send),
        may_approve: request.may_approve.unwrap_or(known.may_approve),
        ..known
    };
    let changed = handle.change_chat_identity(&who, identity).await?;
    Ok(Json(changed.into()))
}

async fn unpair(
    State(state): State<Arc<ApiState>>,
    RequestPrincipal(who): RequestPrincipal,
    Path((name, sender)): Path<(String, String)>,
) -> Result<StatusCode, ApiProblem> {
    let handle = &state.options.handle;
    let row = handle.connector(&who, &name).await?;
    handle.unpair(&who, &row.name, &sender).await?;
    Ok(StatusCode::NO_CONTENT)
}

async fn test(
    State(state): State<Arc<ApiState>>,
    RequestPrincipal(who): RequestPrincipal,
    Path(name): Path<String>,
) -> Result<(StatusCode, Json<TestMessage>), ApiProblem> {
    let target = state.options.handle.test_connector(&who, &name).await?;
    let target = target.to_string();
    Ok((StatusCode::ACCEPTED, Json(TestMessage { target })))
}
