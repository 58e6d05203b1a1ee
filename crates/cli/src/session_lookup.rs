//! Finds the session that was typed: a full id, its last characters, a name, or a run in it.

use rooftree_client::{RuntimeClient, SessionQuery};
use rooftree_protocol::{ErrorCode, Problem, RunId, Session};
use rooftree_runtime::Queries;
use rooftree_store::{RunFilter, SessionFilter};

use crate::id_lookup::{self, IdKind, SHORTEST_SUFFIX};

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

/// Where sessions are looked up: the database of this machine, or a runtime wherever it is.
pub trait SessionDirectory: Sync {
    /// Those with this id, this end of an id or this name.
    fn called(
        &self,
        typed: &str,
        among: LookupScope,
    ) -> impl Future<Output = Result<Vec<Session>, Problem>> + Send;

    /// The session of a run.
    fn of_run(&self, run: RunId) -> impl Future<Output = Result<Option<Session>, Problem>> + Send;
}

impl SessionDirectory for Queries {
    async fn called(&self, typed: &str, among: LookupScope) -> Result<Vec<Session>, Problem> {
        let filter = SessionFilter {
            called: Some(typed.to_owned()),
            deleted: among == LookupScope::Deleted,
            ..SessionFilter::default()
        };
        let found = self.sessions(filter).await;
        found.map_err(|error| error.problem())
    }

    async fn of_run(&self, run: RunId) -> Result<Option<Session>, Problem> {
        let filter = RunFilter {
            run: Some(run),
            limit: 1,
            ..RunFilter::default()
        };
        let rows = self.runs(filter).await.map_err(|error| error.problem())?;
        let Some(row) = rows.first() else {
            return Ok(None);
        };
        let found = self.session(&row.started.session).await;
        found.map_err(|error| error.problem())
    }
}

impl SessionDirectory for dyn RuntimeClient + '_ {
    async fn called(&self, typed: &str, among: LookupScope) -> Result<Vec<Session>, Problem> {
        let query = SessionQuery {
            called: Some(typed.to_owned()),
            deleted: among == LookupScope::Deleted,
            ..SessionQuery::default()
        };
        self.sessions(query).await
    }

    async fn of_run(&self, run: RunId) -> Result<Option<Session>, Problem> {
        match self.run(&run).await? {
            Some(found) => self.session(&found.item.session).await,
            None => Ok(None),
        }
    }
}

/// The one session that is meant.
pub async fn session<S: SessionDirectory + ?Sized>(
    store: &S,
    typed: &str,
    among: LookupScope,
) -> Result<Session, Problem> {
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

/// The session of a run, by the run's whole id: tasks and results name runs.
async fn of_run<S: SessionDirectory + ?Sized>(
    store: &S,
    typed: &str,
    among: LookupScope,
) -> Result<Option<Session>, Problem> {
    let run = RunId::parse(typed).ok();
    let Some(run) = run.filter(|_| among == LookupScope::Live) else {
        return Ok(None);
    };
    let found = store.of_run(run).await?;
    Ok(found.filter(|session| session.deleted_at.is_none()))
}

/// Those a text could mean. A whole id or a whole name leaves no doubt; ends of ids may.
async fn called<S: SessionDirectory + ?Sized>(
    store: &S,
    typed: &str,
    among: LookupScope,
) -> Result<Vec<Session>, Problem> {
    let found = store.called(typed, among).await?;
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
async fn missing<S: SessionDirectory + ?Sized>(
    store: &S,
    typed: &str,
    among: LookupScope,
) -> Result<Problem, Problem> {
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
