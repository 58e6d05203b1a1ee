//! Imports a session that `export` wrote: all of it, or nothing.
//!
//! The new session is hidden as a deleted one until its last event is stored. A crash on the way leaves
//! nothing that a user sees or that an agent would work on.

mod rebuild;
mod strip_rights;

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use clap::Args;
use rooftree_protocol::{ErrorCode, Problem, Session, SessionId, Timestamp};
use rooftree_runtime::{Clock, SystemClock};
use rooftree_store::{
    AppendBatch, ClaimOutcome, Error, InboxPost, NewSessionRow, Owner, SessionPatch, Store,
};

use self::rebuild::RebuiltJournal;
use super::{
    archive::{self, SessionArchive},
    in_words, name,
};
use crate::{environment::Environment, exit::Exit, output, terminal::run_text::counted};

/// How long the claim lives if this process dies.
const LEASE: Duration = Duration::from_secs(15);

/// Options of `sessions import`.
#[derive(Args, Debug)]
pub struct Arguments {
    /// A file or directory that `export` wrote; `-` for standard input
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// What to call the new session, instead of what it was called
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
}

/// Prints the new session's id.
pub async fn execute(arguments: Arguments, environment: &Environment) -> Result<Exit, Problem> {
    let asked = arguments
        .name
        .as_deref()
        .map(name::checked)
        .transpose()?
        .flatten();
    let path = if arguments.file.as_os_str() == "-" {
        arguments.file
    } else {
        environment.cwd.join(arguments.file)
    };
    let archive = archive::read(&path)?;
    let id = SessionId::from_entropy(SystemClock.entropy());
    let rebuilt = rebuild::journal(&archive, &id)?;
    let store = environment.store()?;
    if let Some(name) = &asked {
        name::refuse_taken(store.as_ref(), name).await?;
    }
    let count = rebuilt.events.len() as u64;
    fill(store.as_ref(), &archive, (&id, &environment.cwd), rebuilt).await?;
    let session = reveal(store.as_ref(), &archive.session, &id, asked).await?;
    output::print(&format!("{id}\n"))?;
    let called = session
        .name
        .map(|name| format!(" as `{name}`"))
        .unwrap_or_default();
    let place = environment.cwd.display();
    output::print_note(
        environment,
        &format!(
            "imported {}{called}; it works in {place}",
            counted(count, "event")
        ),
    );
    if let Some(model) = &archive.session.model {
        let words = format!(
            "the file names the model {model}, which is not taken over; choose one with -m"
        );
        output::print_note(environment, &words);
    }
    Ok(Exit::DONE)
}

/// Opens the session, hides it, and stores all that belongs to it. It works where it is imported, with a model of
/// the one who imports it: a file decides neither where tools work nor where a conversation is sent.
async fn fill(
    store: &dyn Store,
    archive: &SessionArchive,
    (id, cwd): (&SessionId, &Path),
    rebuilt: RebuiltJournal,
) -> Result<(), Problem> {
    for bytes in &archive.blobs {
        store.put_blob(bytes.clone()).await.map_err(in_words)?;
    }
    let from = &archive.session;
    let new = NewSessionRow {
        id: id.clone(),
        agent: from.agent.clone(),
        name: None,
        model: None,
        cwd: cwd.to_owned(),
        parent: None,
        connector_key: None,
        at: from.created_at,
    };
    let now = SystemClock.now();
    let hidden = SessionPatch {
        deleted_at: Some(Some(now)),
        ..SessionPatch::default()
    };
    // Writes are kept in order, so waiting for the second is waiting for both.
    store.open(new).detach();
    store.update(id, hidden).await.map_err(in_words)?;
    if rebuilt.events.is_empty() {
        return Ok(());
    }
    for (number, (lane, message)) in rebuilt.posts.iter().enumerate() {
        let key = format!("import-{number}");
        let post = InboxPost {
            session: id.clone(),
            lane: *lane,
            key,
            message: message.clone(),
            capacity: u64::MAX,
        };
        store.post(post).detach();
    }
    append(store, id, rebuilt, from.last_snippet.clone(), now).await
}

/// Stores the journal in one commit. Messages in it count as taken: no agent answers them again.
async fn append(
    store: &dyn Store,
    id: &SessionId,
    rebuilt: RebuiltJournal,
    snippet: String,
    now: Timestamp,
) -> Result<(), Problem> {
    let lease = now.after(LEASE);
    let claim = match store
        .claim(id, &Owner::this_process(), now, lease)
        .await
        .map_err(in_words)?
    {
        ClaimOutcome::Granted(claimed) => claimed.claim,
        ClaimOutcome::Held(_) => {
            return Err(Problem::new(
                ErrorCode::SessionBusy,
                "another process took the new session",
            ));
        }
    };
    let batch = AppendBatch {
        events: rebuilt.events,
        done: rebuilt.taken.clone(),
        taken: rebuilt.taken,
        run: Some(None),
        snippet: Some(snippet),
        lease,
        ..AppendBatch::default()
    };
    store.append(&claim, batch).await.map_err(in_words)?;
    store.release(claim).await.map(drop).map_err(in_words)
}

/// Shows the session under its name, or under one like it if that is taken.
async fn reveal(
    store: &dyn Store,
    from: &Session,
    id: &SessionId,
    asked: Option<String>,
) -> Result<Session, Problem> {
    let is_asked = asked.is_some();
    let wanted = asked.or_else(|| from.name.clone());
    let mut name = wanted.clone();
    for number in 2_u32.. {
        let patch = SessionPatch {
            name: Some(name),
            deleted_at: Some(None),
            pinned_at: Some(from.pinned_at),
            attributes: from.attributes.clone(),
            ..SessionPatch::default()
        };
        match store.update(id, patch).await {
            Err(Error::NameTaken(_)) if !is_asked => {
                name = wanted.as_ref().map(|wanted| format!("{wanted} ({number})"));
            }
            other => return other.map_err(in_words),
        }
    }
    Err(Problem::new(ErrorCode::Internal, "no name is free"))
}
