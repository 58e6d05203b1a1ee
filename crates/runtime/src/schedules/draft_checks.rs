//! Checks a schedule's draft against what is stored: a given name must be free, and connectors of its chats must exist.

use rooftree_protocol::{Account, ChatTarget, ErrorCode, Problem, ScheduleDraft};
use rooftree_store::{ScheduleFilter, Store};

use crate::Error;

/// Refuses a draft that would be a second schedule of this name, or whose messages no connector would send. `own` is the
/// id of the schedule that is changed.
pub(crate) async fn check_against_store(
    store: &dyn Store,
    account: &Account,
    draft: &ScheduleDraft,
    own: Option<&str>,
) -> Result<(), Error> {
    if let Some(name) = draft.name.as_deref() {
        refuse_taken_name(store, account, name, own).await?;
    }
    for chat in [&draft.target, &draft.fail_target].into_iter().flatten() {
        refuse_unknown_connector(store, account, chat).await?;
    }
    Ok(())
}

async fn refuse_taken_name(
    store: &dyn Store,
    account: &Account,
    name: &str,
    own: Option<&str>,
) -> Result<(), Error> {
    let filter = ScheduleFilter {
        tenant: Some(account.tenant.clone()),
        person: Some(account.person.clone()),
        ..ScheduleFilter::default()
    };
    let rows = store.schedules(filter).await?;
    let is_taken = rows
        .iter()
        .any(|row| row.name.eq_ignore_ascii_case(name.trim()) && Some(row.id.as_str()) != own);
    if !is_taken {
        return Ok(());
    }
    let message = format!("there is a schedule `{name}` already");
    let problem = Problem::new(ErrorCode::Conflict, message);
    let fix = format!("choose another name, or remove it: rooftree schedules rm {name}");
    Err(problem.fix(fix).into())
}

async fn refuse_unknown_connector(
    store: &dyn Store,
    account: &Account,
    target: &str,
) -> Result<(), Error> {
    // What is no chat at all is refused where the draft is read.
    let Ok(chat) = target.trim().parse::<ChatTarget>() else {
        return Ok(());
    };
    let connectors = store.connectors(&account.tenant).await?;
    if connectors.iter().any(|row| row.name == chat.connector) {
        return Ok(());
    }
    let message = format!("there is no connector `{}`", chat.connector);
    let problem = Problem::new(ErrorCode::InvalidArguments, message);
    Err(problem
        .cause(format!("`{target}` is a chat of it"))
        .fix("rooftree connectors list shows them, rooftree connectors add adds one")
        .into())
}
