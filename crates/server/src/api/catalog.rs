//! Read-only lists: models, tools, skills, MCP servers, hooks, usage, and the schema of events.

use std::sync::Arc;

use axum::{Json, extract::State};
use rooftree_protocol::{
    AccessScope, Event, Timestamp, Usage,
    api_paths::{EVENT_SCHEMA, HOOKS, MCP_SERVERS, MODELS, SKILLS, TOOLS, USAGE},
};
use rooftree_store::{UsageFilter, UsageGroup, UsageRow};
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
                "Sums up tokens and cost by agent, model, day or session, of the last days or of all; only the owner sees it",
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
    /// Divides each sum further: `agent`, `model`, `day` or `session`, separated by commas.
    also: Option<String>,
    /// Only the last days, up to 366; today is the first of them. Absent: all there are.
    days: Option<u32>,
}

/// The most days that one request asks for.
const MOST_DAYS: u32 = 366;
/// The most that a sum is divided by.
const MOST_GROUPS: usize = 3;
/// Milliseconds of a day.
const DAY: i64 = 24 * 60 * 60 * 1000;

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

impl From<UsageBy> for UsageGroup {
    fn from(by: UsageBy) -> Self {
        match by {
            UsageBy::Agent => Self::Agent,
            UsageBy::Model => Self::Model,
            UsageBy::Day => Self::Day,
            UsageBy::Session => Self::Session,
        }
    }
}

/// Sums of usage.
#[derive(Debug, Serialize, JsonSchema)]
struct UsageReport {
    /// One for each agent, model, day or session, and what it is divided by.
    rows: Vec<UsageSum>,
    /// The first day of the sums, in UTC; absent if all days were asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    since: Option<String>,
}

/// What one agent, model, day or session used.
#[derive(Debug, Serialize, JsonSchema)]
struct UsageSum {
    /// Its name.
    name: String,
    /// Names of what the sum is divided by, in the order of `also`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    also: Vec<String>,
    /// Replies of models.
    replies: u64,
    /// Tokens and cost.
    usage: Usage,
}

impl From<UsageRow> for UsageSum {
    fn from(row: UsageRow) -> Self {
        Self {
            name: row.name,
            also: row.also,
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
    QueryParameters(UsageQuery { by, also, days }): QueryParameters<UsageQuery>,
) -> Result<Json<UsageReport>, ApiProblem> {
    if !who.is_unbound_owner() {
        return Err(ApiProblem::missing_scope(AccessScope::Admin));
    }
    let first = days
        .map(|days| first_day(days, state.options.clock.now()))
        .transpose()?;
    let filter = UsageFilter {
        also: groups(also.as_deref())?,
        since: first,
        ..UsageFilter::by(by.into())
    };
    let rows = state.options.handle.queries(&who).usage(filter).await?;
    let rows = rows.into_iter().map(UsageSum::from).collect();
    let since = first.map(|first| Timestamp(first * DAY).to_string());
    let since = since.map(|since| since.chars().take_while(|one| *one != 'T').collect());
    Ok(Json(UsageReport { rows, since }))
}

/// The first of the last days, counted from 1 January 1970.
fn first_day(days: u32, now: Timestamp) -> Result<i64, ApiProblem> {
    if !(1..=MOST_DAYS).contains(&days) {
        let message = format!("`days` must be from 1 to {MOST_DAYS}");
        return Err(ApiProblem::invalid(message));
    }
    Ok(now.0.div_euclid(DAY) + 1 - i64::from(days))
}

fn groups(names: Option<&str>) -> Result<Vec<UsageGroup>, ApiProblem> {
    let names = names.unwrap_or_default().split(',').map(str::trim);
    let groups = names.filter(|name| !name.is_empty()).map(|name| {
        let by: Result<UsageBy, _> = serde_json::from_value(name.into());
        by.map(UsageGroup::from).map_err(|_| {
            let message = format!("`also` is made of agent, model, day and session, not `{name}`");
            ApiProblem::invalid(message)
        })
    });
    let groups = groups.collect::<Result<Vec<_>, _>>()?;
    if groups.len() > MOST_GROUPS {
        return Err(ApiProblem::invalid("`also` names at most 3"));
    }
    Ok(groups)
}

async fn event_schema() -> Json<schemars::Schema> {
    Json(schemars::schema_for!(Event))
}
