//! Connectors over the API: lists and changes them, pairs people, sends test messages. Secrets never pass here.

use std::sync::Arc;

use axum::{
    Json,
    extract::{Path, State},
    http::StatusCode,
};
use rooftree_protocol::{
    AccessScope, ConnectorInfo, PairedSender, Principal, Timestamp,
    api_paths::{
        CONNECTOR, CONNECTOR_CONFIRM, CONNECTOR_PAIR, CONNECTOR_SENDER, CONNECTOR_TEST, CONNECTORS,
    },
};
use rooftree_runtime::{ConnectorChange, NewPairing, paired_sender};
use rooftree_store::{ChatIdentity, ConnectorFields, ConnectorRow, ConnectorWriteOutcome};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{
    ApiProblem, ApiState, access::RequestPrincipal, extract::JsonBody, idempotency::KeyUse,
    route_table::ApiRoute,
};
use crate::connectors::check_settings;

pub(super) fn routes() -> Vec<ApiRoute> {
    let needs = |route: ApiRoute, summary| route.needs(AccessScope::Admin, summary);
    vec![
        needs(ApiRoute::get(CONNECTORS, list), "Lists connectors with their health, people and pairing codes that wait")
            .answers::<ConnectorList>(200),
        needs(ApiRoute::get(CONNECTOR, show), "Shows a connector").answers::<ConnectorInfo>(200),
        needs(ApiRoute::patch(CONNECTOR, change), "Changes the agent, the settings or whether a connector is started; it must have the revision")
            .body::<ConnectorRequest>()
            .answers::<ConnectorInfo>(200),
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

/// All connectors.
#[derive(Debug, Serialize, JsonSchema)]
struct ConnectorList {
    /// By name.
    connectors: Vec<ConnectorInfo>,
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

async fn list(
    State(state): State<Arc<ApiState>>,
    RequestPrincipal(who): RequestPrincipal,
) -> Result<Json<ConnectorList>, ApiProblem> {
    let connectors = state.options.handle.connector_infos(&who).await?;
    Ok(Json(ConnectorList { connectors }))
}

async fn show(
    State(state): State<Arc<ApiState>>,
    RequestPrincipal(who): RequestPrincipal,
    Path(name): Path<String>,
) -> Result<Json<ConnectorInfo>, ApiProblem> {
    let handle = &state.options.handle;
    let row = handle.connector(&who, &name).await?;
    Ok(Json(handle.connector_info(&who, row).await?))
}

async fn change(
    State(state): State<Arc<ApiState>>,
    RequestPrincipal(who): RequestPrincipal,
    Path(name): Path<String>,
    JsonBody(request): JsonBody<ConnectorRequest>,
) -> Result<Json<ConnectorInfo>, ApiProblem> {
    let row = state.options.handle.connector(&who, &name).await?;
    let mut settings = row.fields.settings;
    for (name, value) in request.settings {
        match value {
            Value::Null => drop(settings.shift_remove(&name)),
            value => drop(settings.insert(name, value)),
        }
    }
    check_settings(&row.fields.platform, &settings)
        .map_err(|problem| ApiProblem::from(problem).at("/settings"))?;
    let fields = ConnectorFields {
        platform: row.fields.platform,
        agent: request.agent.unwrap_or(row.fields.agent),
        enabled: request.enabled.unwrap_or(row.fields.enabled),
        settings,
    };
    let written = write(&state, &who, (row.name, Some(fields), request.rev)).await?;
    let row = written.ok_or_else(|| ApiProblem::conflict("the connector is gone"))?;
    Ok(Json(state.options.handle.connector_info(&who, row).await?))
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
    Ok(Json(paired_sender(identity)))
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
    Ok(Json(paired_sender(changed)))
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
