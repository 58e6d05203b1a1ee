//! Tools of a scheduled run for its own schedule: the next due time (self-pacing), and its memory.

use std::{fs, path::PathBuf};

use rooftree_protocol::Timestamp;
use rooftree_schedule::next_after;
use rooftree_stdx::atomic_file;
use rooftree_store::OccurrenceRow;

use crate::{caller::Caller, memory::MAIN, schedules};

/// Bytes that the memory of a schedule may have.
const LARGEST: usize = 256 * 1024;

/// The occurrence whose run this is.
pub(super) async fn occurrence(caller: &Caller) -> Result<Option<OccurrenceRow>, String> {
    let found = caller.context.store().occurrences_of_run(&caller.run).await;
    let found = found.map_err(|error| error.to_string())?;
    Ok(found.into_iter().next())
}

async fn own(caller: &Caller) -> Result<OccurrenceRow, String> {
    let own = occurrence(caller).await?;
    own.ok_or_else(|| "This run was not started by a schedule.".to_owned())
}

/// Notes when the schedule is due next, within the bounds of its plan.
pub(super) async fn next_check(caller: &Caller, wait: &str) -> Result<String, String> {
    let own = own(caller).await?;
    let store = caller.context.store();
    let row = store.schedule(&own.schedule).await;
    let row = row.map_err(|error| error.to_string())?;
    let row = row.ok_or("The schedule is gone.")?;
    let now = caller.context.now();
    let spec = schedules::parsed(wait, "UTC", now).map_err(|problem| problem.message)?;
    let wanted = next_after(&spec, now.0).unwrap_or(now.0);
    let bound =
        |seconds: u64| now.0 + i64::try_from(seconds.saturating_mul(1000)).unwrap_or(i64::MAX / 2);
    let pacing = row.plan.pacing;
    let least = bound(pacing.min_secs);
    let at = Timestamp(wanted.clamp(least, bound(pacing.max_secs).max(least)));
    let noted = store.set_next_check(&caller.run, at).await;
    noted.map_err(|error| error.to_string())?;
    Ok(format!(
        "If this run completes, the schedule is due at {at}."
    ))
}

/// The memory of the schedule.
///
/// Invariant: the path follows from the run that calls. No run reads or writes that of another schedule.
async fn file(caller: &Caller) -> Result<PathBuf, String> {
    let own = own(caller).await?;
    let user = caller.context.options.agents.memory.user.clone();
    let user = user.ok_or("Nothing is kept for schedules here.")?;
    Ok(user.join(".schedules").join(own.schedule).join(MAIN))
}

pub(super) async fn read_memory(caller: &Caller) -> Result<String, String> {
    let file = file(caller).await?;
    match fs::read_to_string(file) {
        Ok(text) if !text.trim().is_empty() => Ok(text),
        _ => Ok("There is nothing yet.".to_owned()),
    }
}

pub(super) async fn write_memory(caller: &Caller, text: &str) -> Result<String, String> {
    if text.len() > LARGEST {
        return Err(format!(
            "The memory of a schedule has at most {LARGEST} bytes."
        ));
    }
    let file = file(caller).await?;
    let directory = file.parent().ok_or("there is no place for it")?;
    fs::create_dir_all(directory).map_err(|error| error.to_string())?;
    let text = caller
        .context
        .secrets()
        .clean(text)
        .unwrap_or_else(|| text.to_owned());
    atomic_file::replace(&file, text.as_bytes()).map_err(|error| error.to_string())?;
    Ok("It is written down.".to_owned())
}
