//! Finds the session that was typed: a full id, its last characters, a name, or a run in it.

use rooftree_client::{RuntimeClient, SessionQuery};
use rooftree_protocol::{ErrorCode, Problem, RunId, Session, SessionId};
use rooftree_runtime::Queries;
use rooftree_store::{RunFilter, SessionFilter};

use crate::id_lookup::{self, IdCandidate, IdKind, SHORTEST_SUFFIX};

/// Sessions of a server among which an end of an id or a name is looked for: the latest.
const LISTED: usize = 200;

const SESSION: IdKind = IdKind {
    singular: "session",
    plural: "sessions",
    missing: ErrorCode::SessionNotFound,
    list: "rooftree sessions list --all shows what there is",
};

/// Which sessions can be meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LookupScope {
    Live,
    Deleted,
}

/// The one session that is meant.
pub async fn session(store: &Queries, typed: &str, among: LookupScope) -> Result<Session, Problem> {
    let mut found = called(store, typed, among).await?;
    match (found.pop(), found.is_empty()) {
        (Some(only), true) => Ok(only),
        (Some(last), false) => {
            found.push(last);
            Err(ambiguous(typed, &found))
        }
        (None, _) => match of_run(store, typed, among).await? {
            Some(session) => Ok(session),
            None => Err(missing(store, typed, among).await?),
        },
    }
}

/// The one session of a server that is meant: by its id, the end of its id, or its name.
pub async fn on_server(client: &dyn RuntimeClient, typed: &str) -> Result<Session, Problem> {
    if let Ok(id) = SessionId::parse(typed)
        && let Some(session) = client.session(&id).await?
    {
        return Ok(session);
    }
    let query = SessionQuery {
        agent: None,
        limit: Some(LISTED),
    };
    let found = client.sessions(query).await?;
    if let Some(named) = found.iter().find(|session| is_whole(session, typed)) {
        return Ok(named.clone());
    }
    let candidates = found.into_iter().map(|session| IdCandidate {
        id: session.id.to_string(),
        description: described(&session),
        value: session,
    });
    id_lookup::one(SESSION, typed, candidates.collect())
}

/// The session of a run, by the run's whole id: tasks and results name runs.
async fn of_run(
    store: &Queries,
    typed: &str,
    among: LookupScope,
) -> Result<Option<Session>, Problem> {
    let Some(run) = RunId::parse(typed)
        .ok()
        .filter(|_| among == LookupScope::Live)
    else {
        return Ok(None);
    };
    let filter = RunFilter {
        run: Some(run),
        limit: 1,
        ..RunFilter::default()
    };
    match store
        .runs(filter)
        .await
        .map_err(|error| error.problem())?
        .first()
    {
        Some(row) => {
            let found = store.session(&row.started.session).await;
            let found = found.map_err(|error| error.problem())?;
            Ok(found.filter(|session| session.deleted_at.is_none()))
        }
        None => Ok(None),
    }
}

/// Those a text could mean. A whole id or a whole name leaves no doubt; ends of ids may.
async fn called(store: &Queries, typed: &str, among: LookupScope) -> Result<Vec<Session>, Problem> {
    let filter = SessionFilter {
        called: Some(typed.to_owned()),
        deleted: among == LookupScope::Deleted,
        ..SessionFilter::default()
    };
    let found = store
        .sessions(filter)
        .await
        .map_err(|error| error.problem())?;
    let exactly = |session: &&Session| is_whole(session, typed);
    let whole: Vec<Session> = found.iter().filter(exactly).cloned().collect();
    Ok(match (whole.is_empty(), typed.len() >= SHORTEST_SUFFIX) {
        (false, _) => whole,
        (true, true) => found,
        (true, false) => Vec::new(),
    })
}

fn is_whole(session: &Session, typed: &str) -> bool {
    let named = session
        .name
        .as_deref()
        .is_some_and(|name| name.to_lowercase() == typed.to_lowercase());
    named || session.id.as_str() == typed
}

fn ambiguous(typed: &str, candidates: &[Session]) -> Problem {
    let lines: Vec<String> = candidates.iter().map(described).collect();
    id_lookup::ambiguous(SESSION, typed, &lines).fix("type more of the id, or the whole name")
}

fn described(session: &Session) -> String {
    let called = session
        .name
        .as_ref()
        .map(|name| format!(" `{name}`"))
        .unwrap_or_default();
    format!("{}{called}, {}", session.id, session.agent)
}

/// Says that there is none, and what may have been meant.
async fn missing(store: &Queries, typed: &str, among: LookupScope) -> Result<Problem, Problem> {
    let other = if among == LookupScope::Live {
        LookupScope::Deleted
    } else {
        LookupScope::Live
    };
    let problem = |message: String| Problem::new(ErrorCode::SessionNotFound, message);
    Ok(match (called(store, typed, other).await?.first(), among) {
        (Some(session), LookupScope::Live) => problem(format!("session {} is deleted", session.id))
            .fix(format!("rooftree sessions restore {}", session.id)),
        (Some(session), LookupScope::Deleted) => {
            problem(format!("session {} is not deleted", session.id))
        }
        (None, _) if typed.len() < SHORTEST_SUFFIX => {
            problem(format!("there is no session called `{typed}`")).fix(format!(
                "type at least {SHORTEST_SUFFIX} characters of an id, or a whole name"
            ))
        }
        (None, _) => problem(format!("there is no session `{typed}`"))
            .fix("rooftree sessions list --all shows what there is"),
    })
}
