//! Read-only lists: models, tools, skills, MCP servers, hooks, usage, and the schema of events.

use std::sync::Arc;

use axum::{Json, extract::State};
use rooftree_protocol::{
    AccessScope, Event, Usage,
    api_paths::{EVENT_SCHEMA, HOOKS, MCP_SERVERS, MODELS, SKILLS, TOOLS, USAGE},
};
use rooftree_store::{UsageGroup, UsageRow};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{
    ApiProblem, ApiState, access::RequestPrincipal, extract::QueryParameters, route_table::ApiRoute,
};
use crate::catalog::{CatalogHook, CatalogMcpServer, CatalogModel, CatalogSkill, CatalogTool};

pub(super) fn routes() -> Vec<ApiRoute> {
    let read = AccessScope::Read;
    vec![
        ApiRoute::get(MODELS, models)
            .needs(read, "Lists models")
            .answers::<CatalogModelList>(200),
        ApiRoute::get(TOOLS, tools)
            .needs(read, "Lists tools, before any agent's scope")
            .answers::<CatalogToolList>(200),
        ApiRoute::get(SKILLS, skills)
            .needs(read, "Lists skills")
            .answers::<CatalogSkillList>(200),
        ApiRoute::get(MCP_SERVERS, mcp_servers)
            .needs(read, "Lists MCP servers")
            .answers::<McpServerList>(200),
        ApiRoute::get(HOOKS, hooks)
            .needs(read, "Lists hooks")
            .answers::<CatalogHookList>(200),
        ApiRoute::get(USAGE, usage)
            .needs(
                read,
                "Sums up tokens and cost by agent, model, day or session; only the owner sees it",
            )
            .query::<UsageQuery>()
            .answers::<UsageReport>(200),
        ApiRoute::get(EVENT_SCHEMA, event_schema)
            .needs(read, "The JSON Schema of events")
            .answers::<Map<String, Value>>(200),
    ]
}

/// Models.
#[derive(Debug, Serialize, JsonSchema)]
struct CatalogModelList {
    /// The models.
    models: Vec<CatalogModel>,
}

/// Tools.
#[derive(Debug, Serialize, JsonSchema)]
struct CatalogToolList {
    /// The tools.
    tools: Vec<CatalogTool>,
}

/// Skills.
#[derive(Debug, Serialize, JsonSchema)]
struct CatalogSkillList {
    /// The skills.
    skills: Vec<CatalogSkill>,
}

/// MCP servers.
#[derive(Debug, Serialize, JsonSchema)]
struct McpServerList {
    /// The servers.
    servers: Vec<CatalogMcpServer>,
}

/// Hooks.
#[derive(Debug, Serialize, JsonSchema)]
struct CatalogHookList {
    /// The hooks.
    hooks: Vec<CatalogHook>,
}

/// How to sum usage up.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
struct UsageQuery {
    /// By what.
    by: UsageBy,
}

/// What usage is summed up by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum UsageBy {
    /// The agent.
    Agent,
    /// The model, or the tool that asked one.
    #[default]
    Model,
    /// The day, in UTC.
    Day,
    /// The session.
    Session,
}

/// Sums of usage.
#[derive(Debug, Serialize, JsonSchema)]
struct UsageReport {
    /// One for each agent, model, day or session.
    rows: Vec<UsageSum>,
}

/// What one agent, model, day or session used.
#[derive(Debug, Serialize, JsonSchema)]
struct UsageSum {
    /// Its name.
    name: String,
    /// Replies of models.
    replies: u64,
    /// Tokens and cost.
    usage: Usage,
}

impl From<UsageRow> for UsageSum {
    fn from(row: UsageRow) -> Self {
        Self {
            name: row.name,
            replies: row.replies,
            usage: row.usage,
        }
    }
}

async fn models(State(state): State<Arc<ApiState>>) -> Json<CatalogModelList> {
    let models = state.options.catalog.models();
    Json(CatalogModelList { models })
}

async fn tools(State(state): State<Arc<ApiState>>) -> Json<CatalogToolList> {
    let tools = state.options.catalog.tools();
    Json(CatalogToolList { tools })
}

async fn skills(State(state): State<Arc<ApiState>>) -> Json<CatalogSkillList> {
    let skills = state.options.catalog.skills();
    Json(CatalogSkillList { skills })
}

async fn mcp_servers(State(state): State<Arc<ApiState>>) -> Json<McpServerList> {
    let servers = state.options.catalog.mcp_servers();
    Json(McpServerList { servers })
}

async fn hooks(State(state): State<Arc<ApiState>>) -> Json<CatalogHookList> {
    let hooks = state.options.catalog.hooks();
    Json(CatalogHookList { hooks })
}

/// Sums are over sessions of all persons and agents, so that they are the owner's to see.
async fn usage(
    State(state): State<Arc<ApiState>>,
    RequestPrincipal(who): RequestPrincipal,
    QueryParameters(UsageQuery { by }): QueryParameters<UsageQuery>,
) -> Result<Json<UsageReport>, ApiProblem> {
    if !who.is_unbound_owner() {
        return Err(ApiProblem::missing_scope(AccessScope::Admin));
    }
    let by = match by {
        UsageBy::Agent => UsageGroup::Agent,
        UsageBy::Model => UsageGroup::Model,
        UsageBy::Day => UsageGroup::Day,
        UsageBy::Session => UsageGroup::Session,
    };
    let rows = state.options.handle.queries(&who).usage(by).await?;
    let rows = rows.into_iter().map(UsageSum::from).collect();
    Ok(Json(UsageReport { rows }))
}

async fn event_schema() -> Json<schemars::Schema> {
    Json(schemars::schema_for!(Event))
}
