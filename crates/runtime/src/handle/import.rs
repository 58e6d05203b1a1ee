//! Imports an exported session: all of it, or nothing.
//!
//! The new session is hidden as a deleted one until its last event is stored. A crash on the way leaves
//! nothing that a user sees or that an agent would work on.

mod rebuild;
mod strip_rights;

use std::{path::PathBuf, time::Duration};

use rooftree_protocol::{
    ErrorCode, Principal, Problem, Session, SessionId, Timestamp,
    command::{CommandReply, ExportedSession},
};
use rooftree_store::{
    AppendBatch, AuditEntry, ClaimOutcome, InboxPost, NewSessionRow, SessionFilter, SessionPatch,
};

use self::rebuild::RebuiltJournal;
pub use self::rebuild::{ImportError, check};
use super::Handle;
use crate::{Error, router::refuse_other_agent};

/// How long the claim lives if this process dies.
const LEASE: Duration = Duration::from_secs(15);

/// What becomes of an imported session.
pub(super) struct ImportTarget {
    pub(super) cwd: PathBuf,
    pub(super) name: Option<String>,
}

/// Imports it. A name that was asked for must be free; the one it had gets a number if it is taken.
pub(super) async fn import(
    handle: &Handle,
    who: &Principal,
    exported: ExportedSession,
    target: ImportTarget,
) -> Result<CommandReply, Error> {
    refuse_other_agent(who, &exported.session.agent)?;
    let id = SessionId::from_entropy(handle.clock.entropy());
    let rebuilt = rebuild::journal(&exported, &id).map_err(|wrong| {
        Problem::new(
            ErrorCode::InvalidArguments,
            format!("nothing was imported: event {} is wrong", wrong.index + 1),
        )
        .cause(wrong.why)
    })?;
    if let Some(name) = &target.name {
        refuse_taken(handle, name).await?;
    }
    let importing = Importing {
        handle,
        who,
        exported,
        id,
    };
    importing.fill(target.cwd, rebuilt).await?;
    let session = importing.reveal(target.name).await?;
    Ok(CommandReply::Session(Box::new(session)))
}

/// Says early that a name is taken, before work is done that would be in vain.
async fn refuse_taken(handle: &Handle, name: &str) -> Result<(), Error> {
    let filter = SessionFilter {
        called: Some(name.to_owned()),
        ..SessionFilter::default()
    };
    let has_it = |session: &Session| {
        session
            .name
            .as_ref()
            .is_some_and(|other| other.to_lowercase() == name.to_lowercase())
    };
    if handle.store.sessions(filter).await?.iter().any(has_it) {
        return Err(rooftree_store::Error::NameTaken(name.to_owned()).into());
    }
    Ok(())
}

struct Importing<'a> {
    handle: &'a Handle,
    who: &'a Principal,
    exported: ExportedSession,
    id: SessionId,
}

impl Importing<'_> {
    /// Opens the session, hides it, and stores all that belongs to it. It works where it is imported, with a model of
    /// the one who imports it: a file decides neither where tools work nor where a conversation is sent.
    async fn fill(&self, cwd: PathBuf, rebuilt: RebuiltJournal) -> Result<(), Error> {
        let (store, id) = (&self.handle.store, &self.id);
        for bytes in &self.exported.blobs {
            store.put_blob(bytes.clone()).await?;
        }
        let from = &self.exported.session;
        let new = NewSessionRow {
            id: id.clone(),
            agent: from.agent.clone(),
            name: None,
            model: None,
            cwd,
            parent: None,
            connector_key: None,
            chat: None,
            account: self.who.account(),
            audit: None,
            at: from.created_at,
        };
        let now = self.handle.now();
        let hidden = SessionPatch {
            deleted_at: Some(Some(now)),
            ..SessionPatch::default()
        };
        // Writes are kept in order, so waiting for the second is waiting for both.
        store.open(new).detach();
        store.update(id, hidden).await?;
        if rebuilt.events.is_empty() {
            return Ok(());
        }
        for (number, (lane, message)) in rebuilt.posts.iter().enumerate() {
            let post = InboxPost {
                session: id.clone(),
                lane: *lane,
                key: format!("import-{number}"),
                message: message.clone(),
                capacity: u64::MAX,
            };
            store.post(post).detach();
        }
        self.append(rebuilt, now).await
    }

    /// Stores the journal in one commit. Messages in it count as taken: no agent answers them again.
    async fn append(&self, rebuilt: RebuiltJournal, now: Timestamp) -> Result<(), Error> {
        let (store, lease) = (&self.handle.store, now.after(LEASE));
        let claimed = store
            .claim(&self.id, &self.handle.owner, now, lease)
            .await?;
        let ClaimOutcome::Granted(claimed) = claimed else {
            return Err(Problem::new(
                ErrorCode::SessionBusy,
                "another process took the new session",
            )
            .into());
        };
        let batch = AppendBatch {
            events: rebuilt.events,
            done: rebuilt.taken.clone(),
            taken: rebuilt.taken,
            run: Some(None),
            snippet: Some(self.exported.session.last_snippet.clone()),
            lease,
            ..AppendBatch::default()
        };
        store.append(&claimed.claim, batch).await?;
        store.release(claimed.claim).await?;
        Ok(())
    }

    /// Shows the session under its name, or under one like it if that is taken.
    async fn reveal(&self, asked: Option<String>) -> Result<Session, Error> {
        let from = &self.exported.session;
        let is_asked = asked.is_some();
        let wanted = asked.or_else(|| from.name.clone());
        let mut name = wanted.clone();
        for number in 2_u32.. {
            let entry = AuditEntry::done(self.who, self.handle.now(), "session.import", &self.id);
            let patch = SessionPatch {
                name: Some(name),
                deleted_at: Some(None),
                pinned_at: Some(from.pinned_at),
                attributes: from.attributes.clone(),
                audit: Some(Box::new(entry.with("from", from.id.to_string()))),
                ..SessionPatch::default()
            };
            match self.handle.store.update(&self.id, patch).await {
                Err(rooftree_store::Error::NameTaken(_)) if !is_asked => {
                    name = wanted.as_ref().map(|wanted| format!("{wanted} ({number})"));
                }
                other => return Ok(other?),
            }
        }
        Err(Problem::new(ErrorCode::Internal, "no name is free").into())
    }
}
