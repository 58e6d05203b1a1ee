//! Runs: lists, shows, cancels and traces them, and moves delegated ones to background.

use std::sync::Arc;

use axum::{
    Json,
    extract::{Path, State},
    http::{
        HeaderValue, StatusCode,
        header::{CONTENT_SECURITY_POLICY, CONTENT_TYPE, X_CONTENT_TYPE_OPTIONS},
    },
    response::{IntoResponse, Response},
};
use rooftree_protocol::{
    AccessScope, Command, ErrorCode, EventBody, Principal, RunId,
    api_paths::{RUN, RUN_BACKGROUND, RUN_CANCEL, RUN_TRACE, RUNS},
    event::RunMode,
};
use rooftree_runtime::gather_spans;
use rooftree_store::{RunFilter, RunRow};
use rooftree_view::{RunDetail, trace};

use super::{
    ApiProblem, ApiState,
    access::RequestPrincipal,
    extract::QueryParameters,
    page,
    route_table::ApiRoute,
    run_types::{RunListPage, RunListQuery, RunTrace, TraceFormat, TraceQuery},
    sessions,
};

pub(super) fn routes() -> Vec<ApiRoute> {
    vec![
        ApiRoute::get(RUNS, list)
            .needs(AccessScope::Read, "Lists runs, the latest first")
            .query::<RunListQuery>()
            .answers::<RunListPage>(200),
        ApiRoute::get(RUN, show)
            .needs(AccessScope::Read, "Shows one run")
            .answers::<RunDetail>(200),
        ApiRoute::post(RUN_CANCEL, cancel)
            .needs(AccessScope::Chat, "Stops a run and those below it")
            .answers_nothing(202)
            .fails(&[409]),
        ApiRoute::post(RUN_BACKGROUND, background)
            .needs(AccessScope::Chat, "Moves a delegated run to background: the call that waits for it returns, and it goes on")
            .answers_nothing(202)
            .fails(&[409]),
        ApiRoute::get(RUN_TRACE, trace_run)
            .needs(AccessScope::Read, "Shows when a run and those below it worked and waited: as spans, as a picture, or as OTLP JSON")
            .query::<TraceQuery>()
            .answers::<RunTrace>(200)
            .answers_raw(200, "image/svg+xml"),
    ]
}

async fn list(
    State(state): State<Arc<ApiState>>,
    RequestPrincipal(who): RequestPrincipal,
    QueryParameters(query): QueryParameters<RunListQuery>,
) -> Result<Json<RunListPage>, ApiProblem> {
    let session = match &query.session {
        Some(session) => Some(sessions::find(&state, &who, session).await?.id),
        None => None,
    };
    let parent = match &query.parent {
        Some(run) => find(&state, &who, run).await?.started.run,
        None => None,
    };
    let limit = page::limit(query.limit);
    let before: Option<RunId> = page::decode(query.cursor.as_deref())?;
    let queries = state.options.handle.queries(&who);
    let (mut runs, mut next) = (Vec::new(), None);
    let filter = RunFilter {
        session,
        parent,
        roots: query.roots,
        ending: query.ending,
        before,
        limit: limit + 1,
        ..RunFilter::default()
    };
    let rows = queries.runs(filter).await?;
    for row in rows.iter().take(limit) {
        runs.extend(queries.run_item(row).await?);
    }
    if rows.len() > limit {
        let last = rows.get(limit - 1).and_then(|row| row.started.run.as_ref());
        next = last.map(page::encode);
    }
    Ok(Json(RunListPage { runs, next }))
}

async fn show(
    State(state): State<Arc<ApiState>>,
    RequestPrincipal(who): RequestPrincipal,
    Path(id): Path<String>,
) -> Result<Json<RunDetail>, ApiProblem> {
    let row = find(&state, &who, &id).await?;
    let detail = state.options.handle.queries(&who).run_detail(row).await?;
    detail.map(Json).ok_or_else(|| missing(&id))
}

async fn cancel(
    State(state): State<Arc<ApiState>>,
    RequestPrincipal(who): RequestPrincipal,
    Path(id): Path<String>,
) -> Result<StatusCode, ApiProblem> {
    let row = find(&state, &who, &id).await?;
    refuse_ended(&row, &id)?;
    let command = Command::Cancel {
        session: row.started.session,
        run: row.started.run,
    };
    state.options.handle.send(&who, command).await?;
    Ok(StatusCode::ACCEPTED)
}

async fn background(
    State(state): State<Arc<ApiState>>,
    RequestPrincipal(who): RequestPrincipal,
    Path(id): Path<String>,
) -> Result<StatusCode, ApiProblem> {
    let row = find(&state, &who, &id).await?;
    refuse_ended(&row, &id)?;
    let EventBody::RunStarted {
        mode: RunMode::Foreground | RunMode::Fork,
        parent: Some(parent),
        ..
    } = row.started.body
    else {
        let message = format!("no call waits for {id}");
        return Err(ApiProblem::conflict(message));
    };
    let Some(run) = row.started.run else {
        return Err(missing(&id));
    };
    let command = Command::MoveToBackground {
        session: parent.session,
        run,
    };
    state.options.handle.send(&who, command).await?;
    Ok(StatusCode::ACCEPTED)
}

async fn trace_run(
    State(state): State<Arc<ApiState>>,
    RequestPrincipal(who): RequestPrincipal,
    Path(id): Path<String>,
    QueryParameters(query): QueryParameters<TraceQuery>,
) -> Result<Response, ApiProblem> {
    let row = find(&state, &who, &id).await?;
    let queries = state.options.handle.queries(&who);
    let spans = gather_spans(&queries, row, state.options.clock.now()).await?;
    Ok(match query.format {
        TraceFormat::Json => Json(RunTrace::Spans { spans }).into_response(),
        TraceFormat::Otlp => {
            let written = trace::otlp_json(&spans);
            let written = written.as_object().cloned().unwrap_or_default();
            Json(RunTrace::Otlp(written)).into_response()
        }
        TraceFormat::Svg => {
            let headers = [
                (CONTENT_TYPE, HeaderValue::from_static("image/svg+xml")),
                (X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
                (
                    CONTENT_SECURITY_POLICY,
                    HeaderValue::from_static(
                        "default-src 'none'; style-src 'unsafe-inline'; sandbox",
                    ),
                ),
            ];
            (headers, trace::draw_svg(&trace::lay_out(&spans))).into_response()
        }
    })
}

/// The run with exactly this id, if the caller may see its session.
async fn find(state: &ApiState, who: &Principal, id: &str) -> Result<RunRow, ApiProblem> {
    let run = RunId::parse(id).map_err(|_| missing(id))?;
    let filter = RunFilter {
        run: Some(run),
        limit: 1,
        ..RunFilter::default()
    };
    let queries = state.options.handle.queries(who);
    let row = queries
        .runs(filter)
        .await?
        .pop()
        .ok_or_else(|| missing(id))?;
    match queries.session(&row.started.session).await? {
        Some(_) => Ok(row),
        None => Err(missing(id)),
    }
}

fn missing(id: &str) -> ApiProblem {
    ApiProblem::not_found(ErrorCode::TaskNotFound, format!("there is no run {id}"))
}

fn refuse_ended(row: &RunRow, id: &str) -> Result<(), ApiProblem> {
    match row.ended {
        Some(_) => Err(ApiProblem::conflict(format!("the run {id} has ended"))),
        None => Ok(()),
    }
}
