//! Clears the context of a session. Identity, metadata and journal stay: a marker is appended.

use std::time::Duration;

use clap::Args;
use rooftree_protocol::{
    Command, ErrorCode, Event, EventBody, Lane, Problem, SessionId, event::ClearReason,
};
use rooftree_runtime::{Clock, History, SystemClock};
use rooftree_store::{AppendBatch, ClaimOutcome, ClaimedSession, Owner, Store};

use super::{
    close_run::{self, EventEnvelope},
    find::{self, LookupScope},
    in_words, journal, open_writable,
};
use crate::{environment::Environment, exit::Exit, output};

/// How long the claim lives if this process dies.
const LEASE: Duration = Duration::from_secs(15);

/// Options of `sessions clear`.
#[derive(Args, Debug)]
pub struct Arguments {
    /// Which session: its id, the last 4 or more characters of it, or its name
    #[arg(value_name = "ID")]
    session: String,
    /// Also while a process works on it: its run is stopped
    #[arg(long)]
    force: bool,
}

/// Does it, or leaves it to the process that works on the session.
pub async fn execute(arguments: Arguments, environment: &Environment) -> Result<Exit, Problem> {
    let store = open_writable(environment)?;
    let id = find::session(store.as_ref(), &arguments.session, LookupScope::Live)
        .await?
        .id;
    let now = SystemClock.now();
    let claim = store
        .claim(&id, &Owner::this_process(), now, now.after(LEASE))
        .await
        .map_err(in_words)?;
    match claim {
        ClaimOutcome::Granted(claimed) => {
            append(store.as_ref(), claimed).await?;
            output::print_note(
                environment,
                &format!("session {id} starts anew; what was said stays in its journal"),
            );
        }
        // An owner without a run is about to release the session.
        ClaimOutcome::Held(owner)
            if !arguments.force && is_at_work(store.as_ref(), &id).await? =>
        {
            let message = format!(
                "process {} on {} is at work on session {id}",
                owner.pid, owner.host
            );
            return Err(Problem::new(ErrorCode::SessionBusy, message)
                .cause("clearing it would stop its run")
                .fix("wait until it is done, or add --force"));
        }
        ClaimOutcome::Held(owner) => {
            let command = Command::Clear {
                session: id.clone(),
            };
            store
                .put_command(&id, command, now)
                .await
                .map_err(in_words)?;
            let said = format!(
                "process {} works on session {id}; it stops its run and clears it",
                owner.pid
            );
            output::print_note(environment, &said);
        }
    }
    Ok(Exit::DONE)
}

async fn is_at_work(store: &dyn Store, id: &SessionId) -> Result<bool, Problem> {
    Ok(store.unfinished().await.map_err(in_words)?.contains(id))
}

/// Ends a run that was left open, then appends the marker; all in one commit.
async fn append(store: &dyn Store, claimed: ClaimedSession) -> Result<(), Problem> {
    let ClaimedSession { claim, session, .. } = claimed;
    let mut history = History::default();
    journal::whole(store, &session)
        .await?
        .iter()
        .for_each(|event| history.apply(event));
    let now = SystemClock.now();
    let outside = EventEnvelope {
        session: &session.id,
        agent: &session.agent,
        run: None,
        ts: now,
    };
    let mut events: Vec<Event> = close_run::opening(&session)
        .map(|body| outside.around(body))
        .into_iter()
        .collect();
    events.iter().for_each(|event| history.apply(event));
    let mail = history.run().and_then(|run| run.mail);
    let inside = EventEnvelope {
        run: history.run().map(|run| run.id.clone()),
        ..outside
    };
    events.extend(
        close_run::interruption(&history, now)
            .into_iter()
            .map(|body| inside.around(body)),
    );
    let marker = EventBody::SessionCleared {
        reason: ClearReason::Asked,
    };
    events.push(
        EventEnvelope {
            run: None,
            ..inside
        }
        .around(marker),
    );
    for (number, event) in (session.head + 1..).zip(&mut events) {
        event.id = Some(number);
    }
    let batch = AppendBatch {
        events,
        done: mail
            .map(|position| (Lane::Mail, position))
            .into_iter()
            .collect(),
        run: Some(None),
        lease: now.after(LEASE),
        ..AppendBatch::default()
    };
    store.append(&claim, batch).await.map_err(in_words)?;
    store.release(claim).await.map(drop).map_err(in_words)
}
