//! Saved permission rules: lists, adds and removes them.

use std::sync::Arc;

use axum::{
    Json,
    extract::{Path, State},
    http::StatusCode,
};
use rooftree_protocol::{
    AccessScope, Command, ErrorCode, RuleKind, RuleScope, Timestamp,
    api_paths::{RULE, RULES},
    command::CommandReply,
};
use rooftree_store::RuleRow;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    ApiProblem, ApiState, access::RequestPrincipal, extract::JsonBody, route_table::ApiRoute,
};

pub(super) fn routes() -> Vec<ApiRoute> {
    vec![
        ApiRoute::get(RULES, list)
            .needs(
                AccessScope::Read,
                "Lists saved permission rules, the oldest first",
            )
            .answers::<RuleList>(200),
        ApiRoute::post(RULES, add)
            .needs(
                AccessScope::Approve,
                "Saves a permission rule; one that is there already keeps its number",
            )
            .body::<NewRule>()
            .answers::<RuleItem>(201)
            .fails(&[404]),
        ApiRoute::get(RULE, show)
            .needs(AccessScope::Read, "Shows one saved permission rule")
            .answers::<RuleItem>(200),
        ApiRoute::delete(RULE, remove)
            .needs(AccessScope::Approve, "Removes a saved permission rule")
            .answers_nothing(204),
    ]
}

/// Saved rules.
#[derive(Debug, Serialize, JsonSchema)]
struct RuleList {
    /// The rules.
    rules: Vec<RuleItem>,
}

/// A saved rule.
#[derive(Debug, Serialize, JsonSchema)]
struct RuleItem {
    /// Its number.
    number: i64,
    /// What it does with a call it matches.
    kind: RuleKind,
    /// The rule as it is written.
    rule: String,
    /// Where it holds.
    #[serde(flatten)]
    scope: RuleScope,
    /// Who made it.
    by: String,
    /// When.
    at: Timestamp,
}

/// A rule to be saved.
#[derive(Debug, Deserialize, JsonSchema)]
struct NewRule {
    /// What it does with a call it matches.
    kind: RuleKind,
    /// The rule: `Bash(make *)`.
    rule: String,
    /// Where it holds.
    #[serde(flatten)]
    scope: RuleScope,
}

impl From<RuleRow> for RuleItem {
    fn from(row: RuleRow) -> Self {
        Self {
            number: row.number,
            kind: row.kind,
            rule: row.rule,
            scope: row.scope,
            by: row.by,
            at: row.at,
        }
    }
}

async fn list(
    State(state): State<Arc<ApiState>>,
    RequestPrincipal(who): RequestPrincipal,
) -> Result<Json<RuleList>, ApiProblem> {
    let rules = state.options.handle.queries(&who).rules().await?;
    let rules = rules.into_iter().map(RuleItem::from).collect();
    Ok(Json(RuleList { rules }))
}

async fn show(
    State(state): State<Arc<ApiState>>,
    RequestPrincipal(who): RequestPrincipal,
    Path(number): Path<String>,
) -> Result<Json<RuleItem>, ApiProblem> {
    let rules = state.options.handle.queries(&who).rules().await?;
    let rule = rules
        .into_iter()
        .find(|rule| rule.number.to_string() == number);
    rule.map(|rule| Json(rule.into()))
        .ok_or_else(|| missing(&number))
}

async fn add(
    State(state): State<Arc<ApiState>>,
    RequestPrincipal(who): RequestPrincipal,
    JsonBody(new): JsonBody<NewRule>,
) -> Result<(StatusCode, Json<RuleItem>), ApiProblem> {
    let command = Command::AddRule {
        kind: new.kind,
        rule: new.rule,
        scope: new.scope,
    };
    let reply = state.options.handle.send(&who, command).await?;
    let CommandReply::Rule { number } = reply else {
        return Err(missing("new"));
    };
    let rules = state.options.handle.queries(&who).rules().await?;
    let rule = rules.into_iter().find(|rule| rule.number == number);
    rule.map(|rule| (StatusCode::CREATED, Json(rule.into())))
        .ok_or_else(|| missing(&number.to_string()))
}

async fn remove(
    State(state): State<Arc<ApiState>>,
    RequestPrincipal(who): RequestPrincipal,
    Path(number): Path<String>,
) -> Result<StatusCode, ApiProblem> {
    let rules = state.options.handle.queries(&who).rules().await?;
    let rule = rules
        .into_iter()
        .find(|rule| rule.number.to_string() == number);
    let number = rule.ok_or_else(|| missing(&number))?.number;
    let command = Command::RemoveRule { number };
    match state.options.handle.send(&who, command).await? {
        CommandReply::Rule { .. } => Ok(StatusCode::NO_CONTENT),
        _ => Err(missing(&number.to_string())),
    }
}

fn missing(number: &str) -> ApiProblem {
    ApiProblem::not_found(
        ErrorCode::TaskNotFound,
        format!("there is no rule {number}"),
    )
}
