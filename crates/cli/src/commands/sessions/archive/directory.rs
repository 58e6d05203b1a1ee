//! Session archive as a directory: descriptor, state, history, and blobs.

use std::{fs, path::Path};

use rooftree_protocol::{BlobId, ErrorCode, Event, EventBody, Problem, RuleScope, Session};
use rooftree_runtime::History;
use serde_json::{Map, Value, json};

use super::{
    FORMAT, SessionArchive, VERSION,
    read::{ArchiveReader, document, file, split, wrong},
    referenced,
};
use crate::commands::sessions::export_source::ExportSource;
use crate::{
    commands::sessions::export_file::{self, ExportFile, cannot_write},
    output,
};

const DESCRIPTOR: &str = "descriptor.json";
const STATE: &str = "state.json";
const HISTORY: &str = "history.jsonl";
const BLOBS: &str = "blobs";

/// What of a session's row never changes; the rest is its state.
const IDENTITY: [&str; 8] = [
    "id",
    "agent",
    "name",
    "model",
    "cwd",
    "parent",
    "forked_from",
    "created_at",
];

/// Writes a session. Each file appears whole; the descriptor comes last, so a directory
/// that has one is complete.
pub async fn write(
    directory: &Path,
    source: &ExportSource,
    session: &Session,
    events: &[Event],
) -> Result<(), Problem> {
    refuse_another(directory, session)?;
    fs::create_dir_all(directory).map_err(|error| cannot_write(directory, error))?;
    let blobs = referenced(events);
    if !blobs.is_empty() {
        fs::create_dir_all(directory.join(BLOBS))
            .map_err(|error| cannot_write(directory, error))?;
    }
    for id in blobs {
        if let Some(bytes) = source.bytes_of(&id).await? {
            export_file::write(&directory.join(BLOBS).join(id.as_str()), &bytes)?;
        }
    }
    let mut history = ExportFile::create(&directory.join(HISTORY))?;
    for event in events {
        history.write(output::json_line(event)?.as_bytes())?;
    }
    history.commit()?;
    let (descriptor, mut state) = apart(session, events);
    state.insert(
        "permissions".into(),
        permissions(source, session, events).await?,
    );
    export_file::write(
        &directory.join(STATE),
        output::json_page(&state)?.as_bytes(),
    )?;
    export_file::write(
        &directory.join(DESCRIPTOR),
        output::json_page(&descriptor)?.as_bytes(),
    )
}

/// A directory may be written again for the same session, never for another one.
fn refuse_another(directory: &Path, session: &Session) -> Result<(), Problem> {
    let there = directory.join(DESCRIPTOR);
    if !there.exists() {
        return Ok(());
    }
    let descriptor: Map<String, Value> = document(DESCRIPTOR, &file(&there)?)?;
    if descriptor.get("id").and_then(Value::as_str) == Some(session.id.as_str()) {
        return Ok(());
    }
    let message = format!("`{}` holds another session", directory.display());
    Err(Problem::new(ErrorCode::InvalidArguments, message)
        .fix("choose another place with --out PATH"))
}

/// A session's row taken apart into who it is and how it is.
fn apart(session: &Session, events: &[Event]) -> (Map<String, Value>, Map<String, Value>) {
    let mut descriptor = Map::new();
    descriptor.insert("format".into(), FORMAT.into());
    descriptor.insert("v".into(), VERSION.into());
    let mut state = Map::new();
    if let Ok(Value::Object(row)) = serde_json::to_value(session) {
        for (key, value) in row {
            let part = if IDENTITY.contains(&key.as_str()) {
                &mut descriptor
            } else {
                &mut state
            };
            part.insert(key, value);
        }
    }
    let mut history = History::default();
    events.iter().for_each(|event| history.apply(event));
    state.insert("context_after".into(), context_after(events).into());
    state.insert(
        "run".into(),
        json!(history.run().map(|run| run.id.as_str())),
    );
    state.insert("todos".into(), json!(history.todos()));
    (descriptor, state)
}

/// What its last run could do without asking, and the rules that hold in this session alone. For people and other
/// programs: an import leaves it out.
async fn permissions(
    source: &ExportSource,
    session: &Session,
    events: &[Event],
) -> Result<Value, Problem> {
    let told = events.iter().rev().find_map(|event| match &event.body {
        EventBody::RunStarted { policy, .. } => policy.as_deref(),
        EventBody::PolicyChanged(policy) => Some(policy),
        _ => None,
    });
    let policy = told.cloned().unwrap_or_default();
    let rules = source.rules().await?;
    let own = rules
        .iter()
        .filter(|row| matches!(&row.scope, RuleScope::Session(of) if *of == session.id));
    let own: Vec<Value> = own
        .map(|row| json!({"kind": row.kind, "rule": row.rule, "by": row.by, "at": row.at}))
        .collect();
    Ok(json!({
        "mode": policy.mode,
        "allow": policy.allow,
        "ask": policy.ask,
        "deny": policy.deny,
        "rules": own,
    }))
}

/// The number of the latest marker at which the context started anew.
fn context_after(events: &[Event]) -> u64 {
    let begins = |event: &&Event| {
        let starts = matches!(
            &event.body,
            EventBody::SessionOpened {
                forked_from: None,
                ..
            }
        );
        starts || matches!(&event.body, EventBody::SessionCleared { .. })
    };
    events
        .iter()
        .rev()
        .find(begins)
        .and_then(|event| event.id)
        .unwrap_or(0)
}

/// Reads a directory back.
pub fn read(directory: &Path) -> Result<SessionArchive, Problem> {
    let mut row: Map<String, Value> = document(DESCRIPTOR, &file(&directory.join(DESCRIPTOR))?)?;
    let is_ours = row.get("format").and_then(Value::as_str) == Some(FORMAT);
    if !is_ours || row.get("v").and_then(Value::as_u64) != Some(VERSION.into()) {
        return Err(wrong(
            DESCRIPTOR,
            format!("it is not `{FORMAT}` of version {VERSION}"),
        ));
    }
    let state: Map<String, Value> = document(STATE, &file(&directory.join(STATE))?)?;
    row.extend(state);
    let session: Session =
        serde_json::from_value(Value::Object(row)).map_err(|error| wrong(DESCRIPTOR, error))?;
    let mut reader = ArchiveReader::default();
    for (number, line) in split(&file(&directory.join(HISTORY))?).enumerate() {
        reader.take_event(&format!("{HISTORY} line {}", number + 1), line)?;
    }
    read_blobs(&directory.join(BLOBS), &mut reader)?;
    reader.finish(session)
}

fn read_blobs(directory: &Path, reader: &mut ArchiveReader) -> Result<(), Problem> {
    let Ok(entries) = fs::read_dir(directory) else {
        return Ok(());
    };
    for entry in entries.filter_map(Result::ok) {
        let name = entry.file_name().to_string_lossy().into_owned();
        // A file of another name is not part of the archive.
        if let Ok(id) = BlobId::parse(&name) {
            reader.take_bytes(&format!("{BLOBS}/{name}"), id, file(&entry.path())?)?;
        }
    }
    Ok(())
}
