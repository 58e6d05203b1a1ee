//! Providers: lists them with the source of each one's key, stores and removes keys, sets the default model, finds model
//! servers on this machine. A key is never told.

use std::sync::Arc;

use axum::{
    Json,
    extract::{Path, State},
    http::StatusCode,
};
use rooftree_protocol::{
    AccessScope, Principal, Problem,
    api_paths::{DEFAULT_MODEL, LOCAL_SERVERS, PROVIDER_KEY, PROVIDERS},
};
use rooftree_runtime::AuditedFileChange;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    ApiProblem, ApiState, access::RequestPrincipal, extract::JsonBody, route_table::ApiRoute,
};
use crate::catalog::{CatalogLocalServer, CatalogProvider};

pub(super) fn routes() -> Vec<ApiRoute> {
    let admin = AccessScope::Admin;
    vec![
        ApiRoute::get(PROVIDERS, list)
            .needs(admin, "Lists providers, where the key of each comes from, and the default model")
            .answers::<ProviderList>(200),
        ApiRoute::put(PROVIDER_KEY, store)
            .needs(admin, "Stores the key of a provider; if no default model is set, the provider's usual one is")
            .body::<NewKey>()
            .answers::<ProviderList>(200)
            .fails(&[403, 422]),
        ApiRoute::delete(PROVIDER_KEY, remove)
            .needs(admin, "Removes the stored key of a provider")
            .answers::<ProviderList>(200)
            .fails(&[403, 422]),
        ApiRoute::put(DEFAULT_MODEL, set_default)
            .needs(admin, "Sets the default model where none is set; it counts at once")
            .body::<NewDefaultModel>()
            .answers::<ProviderList>(200)
            .fails(&[403, 422]),
        ApiRoute::get(LOCAL_SERVERS, local)
            .needs(admin, "Lists the model servers that answer on this machine")
            .answers::<LocalServerList>(200),
    ]
}

/// Providers, and the default model.
#[derive(Debug, Serialize, JsonSchema)]
struct ProviderList {
    /// The providers.
    providers: Vec<CatalogProvider>,
    /// The model of agents that name none; absent if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    default_model: Option<String>,
}

/// Model servers on this machine.
#[derive(Debug, Serialize, JsonSchema)]
struct LocalServerList {
    /// The servers.
    servers: Vec<CatalogLocalServer>,
}

/// A key to be stored.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct NewKey {
    /// The key.
    key: String,
}

/// A default model to be set.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct NewDefaultModel {
    /// Its name: `provider/model`.
    model: String,
}

async fn list(State(state): State<Arc<ApiState>>) -> Json<ProviderList> {
    Json(listed(&state))
}

fn listed(state: &ApiState) -> ProviderList {
    let catalog = &state.options.catalog;
    ProviderList {
        providers: catalog.providers(),
        default_model: catalog.default_model(),
    }
}

async fn store(
    State(state): State<Arc<ApiState>>,
    RequestPrincipal(who): RequestPrincipal,
    Path(provider): Path<String>,
    JsonBody(NewKey { key }): JsonBody<NewKey>,
) -> Result<Json<ProviderList>, ApiProblem> {
    let work = async { state.options.catalog.store_key(&provider, &key) };
    changed(&state, &who, ("key.store", &provider), work).await
}

async fn remove(
    State(state): State<Arc<ApiState>>,
    RequestPrincipal(who): RequestPrincipal,
    Path(provider): Path<String>,
) -> Result<Json<ProviderList>, ApiProblem> {
    let work = async { state.options.catalog.remove_key(&provider).map(|_| ()) };
    changed(&state, &who, ("key.remove", &provider), work).await
}

async fn set_default(
    State(state): State<Arc<ApiState>>,
    RequestPrincipal(who): RequestPrincipal,
    JsonBody(NewDefaultModel { model }): JsonBody<NewDefaultModel>,
) -> Result<Json<ProviderList>, ApiProblem> {
    let work = async { state.options.catalog.set_default_model(&model) };
    changed(&state, &who, ("settings.write", "model"), work).await
}

/// Makes a change that the audit log tells, and lists what there is then.
async fn changed(
    state: &ApiState,
    who: &Principal,
    (action, subject): (&str, &str),
    work: impl Future<Output = Result<(), Problem>>,
) -> Result<Json<ProviderList>, ApiProblem> {
    if !who.is_unbound_owner() {
        let problem = ApiProblem::invalid("only the owner changes keys and settings");
        return Err(problem.with_status(StatusCode::FORBIDDEN));
    }
    let change = AuditedFileChange {
        action,
        subject: subject.to_owned(),
    };
    state.options.handle.change_files(who, change, work).await?;
    Ok(Json(listed(state)))
}

async fn local(State(state): State<Arc<ApiState>>) -> Json<LocalServerList> {
    let servers = state.options.catalog.local_servers().await;
    Json(LocalServerList { servers })
}
