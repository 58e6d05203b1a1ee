//! Schedules: lists, previews, adds, changes, runs and removes them, and shows what became of their due times.

use std::sync::Arc;

use axum::{
    Json,
    extract::{Path, State},
    http::StatusCode,
};
use rooftree_protocol::{
    AccessScope, ErrorCode, IncidentInfo, OccurrenceInfo, Principal, ScheduleDraft, ScheduleInfo,
    SchedulePreview, Timestamp,
    api_paths::{
        SCHEDULE, SCHEDULE_ACKNOWLEDGE, SCHEDULE_HISTORY, SCHEDULE_INCIDENTS, SCHEDULE_PAUSE,
        SCHEDULE_PREVIEW, SCHEDULE_RESUME, SCHEDULE_RUN, SCHEDULES,
    },
};
use rooftree_runtime::{Error, ScheduleChange, ScheduleDefaults};
use rooftree_store::IncidentRow;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    ApiProblem, ApiState,
    access::RequestPrincipal,
    extract::{JsonBody, QueryParameters},
    route_table::ApiRoute,
};

/// The agent of a schedule that names none.
const AGENT: &str = "lead";
/// Due times of one page of a history.
const PAGE: usize = 50;

pub(super) fn routes() -> Vec<ApiRoute> {
    let (read, chat) = (AccessScope::Read, AccessScope::Chat);
    vec![
        ApiRoute::get(SCHEDULES, list)
            .needs(read, "Lists schedules, by name")
            .answers::<ScheduleList>(200),
        ApiRoute::post(SCHEDULES, add)
            .needs(
                chat,
                "Adds a schedule; commands, gates and chats are the owner's to add",
            )
            .body::<ScheduleDraft>()
            .answers::<ScheduleInfo>(201)
            .fails(&[403, 404, 409]),
        ApiRoute::post(SCHEDULE_PREVIEW, preview)
            .needs(
                read,
                "Says what a written form means, and its next five due times",
            )
            .body::<ScheduleForm>()
            .answers::<SchedulePreview>(200),
        ApiRoute::get(SCHEDULE, show)
            .needs(read, "Shows one schedule")
            .answers::<ScheduleInfo>(200),
        ApiRoute::patch(SCHEDULE, change)
            .needs(chat, "Changes what the body names of a schedule")
            .body::<ScheduleDraft>()
            .answers::<ScheduleInfo>(200)
            .fails(&[403, 409]),
        ApiRoute::delete(SCHEDULE, remove)
            .needs(chat, "Removes a schedule with its history")
            .query::<ScheduleRevision>()
            .answers_nothing(204)
            .fails(&[409]),
        ApiRoute::post(SCHEDULE_RUN, run)
            .needs(chat, "Has a schedule run now")
            .answers::<ScheduleInfo>(202)
            .fails(&[409]),
        ApiRoute::post(SCHEDULE_PAUSE, pause)
            .needs(chat, "Switches a schedule off")
            .answers::<ScheduleInfo>(200)
            .fails(&[409]),
        ApiRoute::post(SCHEDULE_RESUME, resume)
            .needs(chat, "Switches a schedule on; its failures are forgotten")
            .answers::<ScheduleInfo>(200)
            .fails(&[409]),
        ApiRoute::get(SCHEDULE_HISTORY, history)
            .needs(
                read,
                "Shows what became of the due times of a schedule, the latest first",
            )
            .query::<HistoryPage>()
            .answers::<OccurrenceList>(200),
        ApiRoute::get(SCHEDULE_INCIDENTS, incidents)
            .needs(
                read,
                "Lists failures of a schedule by their cause, the latest first",
            )
            .answers::<IncidentList>(200),
        ApiRoute::post(SCHEDULE_ACKNOWLEDGE, acknowledge)
            .needs(chat, "Tells nobody of an incident of a schedule any more")
            .body::<IncidentSignature>()
            .answers_nothing(204),
    ]
}

/// Schedules.
#[derive(Debug, Serialize, JsonSchema)]
struct ScheduleList {
    /// The schedules.
    items: Vec<ScheduleInfo>,
}

/// Due times.
#[derive(Debug, Serialize, JsonSchema)]
struct OccurrenceList {
    /// The due times, the latest first.
    items: Vec<OccurrenceInfo>,
    /// The `before` of the next page; absent on the last one.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<Timestamp>,
}

/// Incidents.
#[derive(Debug, Serialize, JsonSchema)]
struct IncidentList {
    /// The incidents, the latest first.
    items: Vec<IncidentInfo>,
}

/// Which incident.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct IncidentSignature {
    /// Its signature.
    signature: String,
}

/// A written form.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ScheduleForm {
    /// `20m`, `every 2h`, `tomorrow 8:00`, `weekdays at 9`, a cron expression.
    when: String,
    /// The time zone that is meant; UTC if absent.
    #[serde(default)]
    zone: Option<String>,
}

/// Which revision is changed.
#[derive(Debug, Deserialize, JsonSchema)]
struct ScheduleRevision {
    /// The revision it must have; absent: whichever it has.
    #[serde(default)]
    rev: Option<u64>,
}

/// Which due times.
#[derive(Debug, Deserialize, JsonSchema)]
struct HistoryPage {
    /// Only those before this moment, in milliseconds since 1970.
    #[serde(default)]
    before: Option<i64>,
}

async fn list(
    State(state): State<Arc<ApiState>>,
    RequestPrincipal(who): RequestPrincipal,
) -> Result<Json<ScheduleList>, ApiProblem> {
    let items = state.options.handle.schedules(&who).await?;
    Ok(Json(ScheduleList { items }))
}

async fn show(
    State(state): State<Arc<ApiState>>,
    RequestPrincipal(who): RequestPrincipal,
    Path(id): Path<String>,
) -> Result<Json<ScheduleInfo>, ApiProblem> {
    Ok(Json(state.options.handle.schedule(&who, &id).await?))
}

async fn preview(
    State(state): State<Arc<ApiState>>,
    JsonBody(form): JsonBody<ScheduleForm>,
) -> Result<Json<SchedulePreview>, ApiProblem> {
    let zone = form.zone.filter(|zone| !zone.is_empty());
    let zone = zone.as_deref().unwrap_or("UTC");
    let preview = state.options.handle.preview_schedule(&form.when, zone);
    Ok(Json(preview?))
}

async fn add(
    State(state): State<Arc<ApiState>>,
    RequestPrincipal(who): RequestPrincipal,
    JsonBody(draft): JsonBody<ScheduleDraft>,
) -> Result<(StatusCode, Json<ScheduleInfo>), ApiProblem> {
    let defaults = ScheduleDefaults {
        agent: AGENT.to_owned(),
        cwd: state.options.cwd.clone(),
        zone: "UTC".to_owned(),
    };
    let handle = &state.options.handle;
    let added = handle.add_schedule(&who, &draft, defaults).await;
    let added = added.map_err(taken_name)?;
    Ok((StatusCode::CREATED, Json(added)))
}

/// A schedule that is added conflicts with another one only in its name.
fn taken_name(error: Error) -> ApiProblem {
    match error.problem() {
        problem if problem.code == ErrorCode::Conflict => ApiProblem::from(problem).at("/name"),
        problem => problem.into(),
    }
}

async fn change(
    State(state): State<Arc<ApiState>>,
    RequestPrincipal(who): RequestPrincipal,
    Path(id): Path<String>,
    JsonBody(draft): JsonBody<ScheduleDraft>,
) -> Result<Json<ScheduleInfo>, ApiProblem> {
    changed(&state, &who, &id, &draft).await
}

async fn changed(
    state: &ApiState,
    who: &Principal,
    id: &str,
    draft: &ScheduleDraft,
) -> Result<Json<ScheduleInfo>, ApiProblem> {
    let handle = &state.options.handle;
    match handle.change_schedule(who, id, draft).await? {
        ScheduleChange::Changed(Some(info)) => Ok(Json(*info)),
        ScheduleChange::Changed(None) | ScheduleChange::Differs(_) => Err(differs(id)),
    }
}

fn differs(id: &str) -> ApiProblem {
    ApiProblem::conflict(format!("the schedule {id} was changed meanwhile"))
}

async fn remove(
    State(state): State<Arc<ApiState>>,
    RequestPrincipal(who): RequestPrincipal,
    Path(id): Path<String>,
    QueryParameters(ScheduleRevision { rev }): QueryParameters<ScheduleRevision>,
) -> Result<StatusCode, ApiProblem> {
    match state.options.handle.remove_schedule(&who, &id, rev).await? {
        ScheduleChange::Changed(_) => Ok(StatusCode::NO_CONTENT),
        ScheduleChange::Differs(_) => Err(differs(&id)),
    }
}

async fn run(
    State(state): State<Arc<ApiState>>,
    RequestPrincipal(who): RequestPrincipal,
    Path(id): Path<String>,
) -> Result<(StatusCode, Json<ScheduleInfo>), ApiProblem> {
    let due = state.options.handle.run_schedule(&who, &id).await?;
    Ok((StatusCode::ACCEPTED, Json(due)))
}

async fn pause(
    State(state): State<Arc<ApiState>>,
    RequestPrincipal(who): RequestPrincipal,
    Path(id): Path<String>,
) -> Result<Json<ScheduleInfo>, ApiProblem> {
    changed(&state, &who, &id, &switched(false)).await
}

async fn resume(
    State(state): State<Arc<ApiState>>,
    RequestPrincipal(who): RequestPrincipal,
    Path(id): Path<String>,
) -> Result<Json<ScheduleInfo>, ApiProblem> {
    changed(&state, &who, &id, &switched(true)).await
}

fn switched(enabled: bool) -> ScheduleDraft {
    ScheduleDraft {
        enabled: Some(enabled),
        ..ScheduleDraft::default()
    }
}

async fn history(
    State(state): State<Arc<ApiState>>,
    RequestPrincipal(who): RequestPrincipal,
    Path(id): Path<String>,
    QueryParameters(HistoryPage { before }): QueryParameters<HistoryPage>,
) -> Result<Json<OccurrenceList>, ApiProblem> {
    let handle = &state.options.handle;
    let before = before.map(Timestamp);
    let items = handle.schedule_history(&who, &id, before, PAGE).await?;
    let is_last = items.len() < PAGE;
    let next = items.last().map(|one| one.due).filter(|_| !is_last);
    Ok(Json(OccurrenceList { items, next }))
}

async fn incidents(
    State(state): State<Arc<ApiState>>,
    RequestPrincipal(who): RequestPrincipal,
    Path(id): Path<String>,
) -> Result<Json<IncidentList>, ApiProblem> {
    let found = state.options.handle.schedule_incidents(&who, &id).await?;
    let items = found.into_iter().map(IncidentRow::info).collect();
    Ok(Json(IncidentList { items }))
}

async fn acknowledge(
    State(state): State<Arc<ApiState>>,
    RequestPrincipal(who): RequestPrincipal,
    Path(id): Path<String>,
    JsonBody(which): JsonBody<IncidentSignature>,
) -> Result<StatusCode, ApiProblem> {
    let handle = &state.options.handle;
    handle
        .acknowledge_incident(&who, &id, &which.signature)
        .await?;
    Ok(StatusCode::NO_CONTENT)
}
