//! Archive format of a session: lossless JSON lines, or a directory of three files.
//!
//! The first line is the session's row, then come its events as the protocol spells them,
//! inherited ones included, then the bytes they refer to. `head` in the row says how many
//! events there must be, so a file that was cut between two lines is found out too.

pub mod directory;
pub mod read;

use std::{borrow::Cow, collections::BTreeSet, path::Path};

use base64::{Engine, engine::general_purpose::STANDARD};
use rooftree_protocol::{BlobId, Event, Problem, Session};
use serde::{Deserialize, Serialize};

use crate::output;

/// What the first line says it is.
pub const FORMAT: &str = "rooftree.session";
/// The version of these lines; the events have their own.
pub const VERSION: u32 = 1;

/// A whole session.
#[derive(Debug)]
pub struct SessionArchive {
    pub session: Session,
    /// Events with the place in the file where they were read.
    pub events: Vec<(String, Event)>,
    pub blobs: Vec<Vec<u8>>,
}

/// The first line.
#[derive(Serialize, Deserialize)]
struct ArchiveHeader<'a> {
    #[serde(rename = "type")]
    kind: Cow<'a, str>,
    format: Cow<'a, str>,
    v: u32,
    session: Cow<'a, Session>,
}

/// Bytes that events refer to.
#[derive(Serialize, Deserialize)]
struct ArchiveBlob {
    #[serde(rename = "type")]
    kind: String,
    id: BlobId,
    /// Absent if the store had lost them.
    base64: Option<String>,
}

/// Reads a file, a directory, or standard input if it is called `-`.
pub fn read(path: &Path) -> Result<SessionArchive, Problem> {
    match path {
        _ if path == Path::new("-") => read::lines(&read::standard_input()?),
        _ if path.is_dir() => directory::read(path),
        _ => read::lines(&read::file(path)?),
    }
}

/// The line with the session's row.
pub fn header_line(session: &Session) -> Result<String, Problem> {
    output::json_line(&ArchiveHeader {
        kind: "session".into(),
        format: FORMAT.into(),
        v: VERSION,
        session: Cow::Borrowed(session),
    })
}

/// The line with some bytes.
pub fn blob_line(id: &BlobId, bytes: Option<&[u8]>) -> Result<String, Problem> {
    let base64 = bytes.map(|bytes| STANDARD.encode(bytes));
    output::json_line(&ArchiveBlob {
        kind: "blob".into(),
        id: id.clone(),
        base64,
    })
}

/// The names of all bytes that events refer to.
pub fn referenced<'a>(events: impl IntoIterator<Item = &'a Event>) -> BTreeSet<BlobId> {
    let blobs = events.into_iter().flat_map(|event| event.body.blobs());
    blobs.cloned().collect()
}
