//! Checks the database: its path, free disk space, unfinished sessions, owners that have died.

use std::{fs, path::Path};

use nix::{
    sys::statvfs::statvfs,
    unistd::{AccessFlags, access},
};
use rooftree_protocol::SessionId;
use rooftree_store::{Error, Owner, SessionFilter, SqliteStore, prelude::*};

use super::check::{DoctorCheck, DoctorGroup};
use crate::{environment::Environment, human_format, terminal::run_text::counted};

/// Less free space than this is worth a warning.
const LITTLE: u64 = 200_000_000;
/// How many resting sessions are asked for owners that were left behind.
const LATEST: usize = 200;

/// All checks. Read-only: creates, changes and migrates nothing.
pub async fn checks(environment: &Environment) -> Vec<DoctorCheck> {
    let path = environment.database.as_path();
    let place = existing(path);
    let mut checks = vec![space(place), writable(path, place)];
    if !path.exists() {
        let words = format!(
            "{} is not there yet; the first run makes it",
            human_format::place(path)
        );
        checks.insert(0, DoctorGroup::Storage.absent("database", words));
        return checks;
    }
    match SqliteStore::open_read_only(path) {
        Ok(store) => {
            checks.insert(0, database(path));
            checks.extend(store.integrity_problems().iter().map(|what| {
                let fix = "rooftree doctor salvage saves what can be read to a new file";
                DoctorGroup::Storage.failure("loss", what.as_str()).fix(fix)
            }));
            checks.extend(
                sessions(&store)
                    .await
                    .unwrap_or_else(|error| vec![broken("sessions", &error)]),
            );
        }
        Err(error) => checks.insert(0, broken("database", &error)),
    }
    checks
}

fn database(path: &Path) -> DoctorCheck {
    let beside = ["", "-wal", "-shm", "-mark"].map(|end| format!("{}{end}", path.display()));
    let bytes: u64 = beside
        .iter()
        .filter_map(|file| fs::metadata(file).ok())
        .map(|data| data.len())
        .sum();
    let (size, schema) = (human_format::size(bytes), SqliteStore::SCHEMA);
    DoctorGroup::Storage.good(
        "database",
        format!("{} ({size}, schema {schema})", human_format::place(path)),
    )
}

fn broken(name: &'static str, error: &Error) -> DoctorCheck {
    let problem = error.problem();
    DoctorGroup::Storage
        .failure(name, problem.message)
        .fix("rooftree doctor verify says more; restore a backup, or rooftree doctor salvage saves what can be read")
}

/// The nearest directory at or above the database that is there.
fn existing(path: &Path) -> &Path {
    path.ancestors()
        .skip(1)
        .find(|directory| directory.is_dir())
        .unwrap_or(Path::new("/"))
}

fn space(directory: &Path) -> DoctorCheck {
    let Ok(system) = statvfs(directory) else {
        return DoctorGroup::Storage.warning(
            "space",
            format!(
                "cannot ask how much is free at {}",
                human_format::place(directory)
            ),
        );
    };
    let free = system
        .blocks_available()
        .saturating_mul(system.fragment_size());
    let words = format!("{} free", human_format::size(free));
    if free >= LITTLE {
        DoctorGroup::Storage.good("space", words)
    } else {
        DoctorGroup::Storage
            .warning("space", words)
            .fix("free some space before long runs")
    }
}

fn writable(path: &Path, directory: &Path) -> DoctorCheck {
    let file = if path.exists() { path } else { directory };
    match [directory, file]
        .into_iter()
        .find(|place| access(*place, AccessFlags::W_OK).is_err())
    {
        None => DoctorGroup::Storage.good("writing", "allowed"),
        Some(place) => DoctorGroup::Storage
            .failure(
                "writing",
                format!("{} cannot be written to", human_format::place(place)),
            )
            .fix("make it writable, or set ROOFTREE_HOME to another directory"),
    }
}

async fn sessions(store: &SqliteStore) -> Result<Vec<DoctorCheck>, Error> {
    let live = store
        .sessions(SessionFilter {
            limit: LATEST,
            ..SessionFilter::default()
        })
        .await?;
    let unfinished = store.unfinished().await?;
    let (mut idle, mut working, mut left) = (Vec::new(), 0, 0);
    for id in &unfinished {
        match alive(store, id).await? {
            Some(true) => working += 1,
            Some(false) | None => idle.push(id),
        }
    }
    for session in live
        .iter()
        .filter(|session| !unfinished.contains(&session.id))
    {
        left += u64::from(alive(store, &session.id).await? == Some(false));
    }
    Ok(vec![unfinished_check(&idle, working), owners_check(left)])
}

/// Whether the process that owns a session is alive; none if no process owns it.
async fn alive(store: &SqliteStore, id: &SessionId) -> Result<Option<bool>, Error> {
    Ok(store
        .owner(id)
        .await?
        .map(|owner| !owner.is_dead_for(&Owner::this_process())))
}

fn unfinished_check(idle: &[&SessionId], working: u64) -> DoctorCheck {
    let busy = if working == 0 {
        String::new()
    } else {
        format!("{working} at work · ")
    };
    match idle {
        [] => DoctorGroup::Sessions.good("unfinished", format!("{busy}none left behind")),
        [first, ..] => {
            let count = counted(idle.len() as u64, "session");
            DoctorGroup::Sessions
                .warning(
                    "unfinished",
                    format!("{busy}{count} with something left to do"),
                )
                .fix(format!(
                    "rooftree run -s {first} goes on with the first one"
                ))
        }
    }
}

fn owners_check(left: u64) -> DoctorCheck {
    match left {
        0 => DoctorGroup::Sessions.good("owners", "none left behind"),
        _ => {
            let count = counted(left, "session");
            DoctorGroup::Sessions.absent(
                "owners",
                format!("{count} held by processes that are gone; the next one takes over"),
            )
        }
    }
}
