//! Settles background programs whose process was killed: their rows end, and their agent is told once.
//!
//! A program belongs to the process that started it and ends with it, so its row must not stay `running` when that
//! process is gone. The next reader settles it: the session when it resumes, a server when it starts, or `rooftree
//! tasks`. How such a program ended is not known.

use rooftree_process::{ProcessIdentity, is_alive, kill_group};
use rooftree_protocol::{SessionId, Timestamp};
use rooftree_store::{Error, Owner, Store, TaskRow, TaskStatus};

use super::notice;

/// The key of [`TaskRow::data`] that holds the process a program belongs to.
pub(super) const OWNER: &str = "owner";

/// Settles the programs, of one session or of all, that belong to a process that is gone. Says how many.
pub async fn settle_orphaned_programs(
    store: &dyn Store,
    session: Option<&SessionId>,
    now: Timestamp,
) -> Result<usize, Error> {
    let me = Owner::this_process();
    let mut settled = 0;
    let filter = rooftree_store::TaskFilter {
        session: session.cloned(),
        ..rooftree_store::TaskFilter::default()
    };
    for task in store.tasks(filter).await? {
        if is_left(store, &task, &me).await? {
            settle(store, task, now).await?;
            settled += 1;
        }
    }
    Ok(settled)
}

/// Whether a row says that a program runs whose process is gone.
async fn is_left(store: &dyn Store, task: &TaskRow, me: &Owner) -> Result<bool, Error> {
    if task.status != TaskStatus::Running || task.kind != "process" {
        return Ok(false);
    }
    let owner = task
        .data
        .get(OWNER)
        .and_then(|owner| serde_json::from_value::<Owner>(owner.clone()).ok());
    if let Some(owner) = owner {
        return Ok(owner.is_dead_for(me));
    }
    // Rows of older versions do not say whose they are. A program that still runs may have a living owner.
    let runs = task
        .process_group
        .is_some_and(|(group, start)| is_alive(ProcessIdentity { group, start }));
    let holder = store.owner(&task.session).await?;
    Ok(!runs && holder.is_none_or(|holder| holder.is_dead_for(me)))
}

/// Ends what is left of a program, tells its agent, and ends its row, in this order: after a crash in between all of it
/// is done again, and the message has a key.
pub(super) async fn settle(store: &dyn Store, task: TaskRow, now: Timestamp) -> Result<(), Error> {
    if let Some((group, start)) = task.process_group {
        let _ = tokio::task::spawn_blocking(move || kill_group(group, start)).await;
    }
    match store.post_to_living(notice::left(&task, now)).await {
        Ok(_) | Err(Error::NoSession(_) | Error::InboxFull(_)) => {}
        Err(error) => return Err(error),
    }
    let detail = "outcome unknown: the process that had started it was gone".into();
    store
        .put_task(TaskRow {
            status: TaskStatus::Failed,
            detail,
            ended_at: Some(now),
            ..task
        })
        .await
}
