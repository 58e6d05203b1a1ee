//! Parses and validates a session archive, and reports the line that is wrong.

use std::{
    borrow::Cow,
    collections::BTreeSet,
    fs,
    io::{self, Read},
    path::Path,
};

use base64::{Engine, engine::general_purpose::STANDARD};
use rooftree_protocol::{BlobId, ErrorCode, Event, Problem, Session, event};
use rooftree_store::blob_id;
use serde::{Deserialize, de::DeserializeOwned};

use super::{ArchiveBlob, ArchiveHeader, FORMAT, SessionArchive, VERSION, referenced};

/// All of standard input.
pub fn standard_input() -> Result<Vec<u8>, Problem> {
    let mut bytes = Vec::new();
    let read = io::stdin().lock().read_to_end(&mut bytes);
    read.map(|_| bytes)
        .map_err(|error| unreadable("standard input", &error))
}

/// A file's bytes.
pub fn file(path: &Path) -> Result<Vec<u8>, Problem> {
    fs::read(path).map_err(|error| unreadable(&path.display().to_string(), &error))
}

fn unreadable(place: &str, error: &io::Error) -> Problem {
    Problem::new(
        ErrorCode::InvalidArguments,
        format!("cannot read `{place}`"),
    )
    .cause(error.to_string())
    .fix("name a file or a directory that `rooftree sessions export` wrote")
}

/// Says what is wrong where.
pub fn wrong(place: &str, why: impl ToString) -> Problem {
    Problem::new(
        ErrorCode::InvalidArguments,
        format!("nothing was imported: {place} is wrong"),
    )
    .cause(why.to_string())
    .fix("export the session again with `rooftree sessions export ID --out FILE`")
}

/// Enough of a line to know what it is.
#[derive(Deserialize)]
struct Kind<'a> {
    #[serde(rename = "type", borrow)]
    kind: Cow<'a, str>,
    v: Option<u32>,
}

/// Reads the lines of a file.
pub fn lines(bytes: &[u8]) -> Result<SessionArchive, Problem> {
    let mut reader = ArchiveReader::default();
    for (number, line) in split(bytes).enumerate() {
        reader.take(&format!("line {}", number + 1), line)?;
    }
    let session = reader
        .session
        .take()
        .ok_or_else(|| wrong("the file", "it is empty"))?;
    reader.finish(session)
}

/// The lines of a file. What follows the last line break is a line too, unless it is empty.
pub fn split(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    bytes
        .strip_suffix(b"\n")
        .unwrap_or(bytes)
        .split(|byte| *byte == b'\n')
        .filter(move |_| !bytes.is_empty())
}

/// Takes in line after line.
#[derive(Default)]
pub struct ArchiveReader {
    session: Option<Session>,
    events: Vec<(String, Event)>,
    blobs: Vec<Vec<u8>>,
    known: BTreeSet<BlobId>,
}

impl ArchiveReader {
    fn take(&mut self, place: &str, line: &[u8]) -> Result<(), Problem> {
        let kind: Kind<'_> = parsed(place, line)?;
        match (kind.kind.as_ref(), &self.session) {
            ("session", None) => self.session = Some(header(place, kind.v, line)?),
            (_, None) => {
                return Err(wrong(
                    place,
                    "the first line must be a session's, as `export` writes it",
                ));
            }
            ("session", Some(_)) => return Err(wrong(place, "a second session begins here")),
            ("blob", Some(_)) => self.take_blob(place, line)?,
            _ => self.take_event(place, line)?,
        }
        Ok(())
    }

    /// Takes an event; its number must follow the one before.
    pub fn take_event(&mut self, place: &str, line: &[u8]) -> Result<(), Problem> {
        let kind: Kind<'_> = parsed(place, line)?;
        if kind.v != Some(event::VERSION) {
            let version = kind
                .v
                .map_or_else(|| "no version".into(), |v| format!("version {v}"));
            let known = event::VERSION;
            return Err(wrong(
                place,
                format!("it has {version}, and this program reads version {known}"),
            ));
        }
        let event: Event = parsed(place, line)?;
        let next = self.events.len() as u64 + 1;
        if event.id != Some(next) {
            let number = event
                .id
                .map_or_else(|| "no number".into(), |id| format!("number {id}"));
            return Err(wrong(
                place,
                format!("the event has {number} where {next} is next"),
            ));
        }
        self.events.push((place.to_owned(), event));
        Ok(())
    }

    fn take_blob(&mut self, place: &str, line: &[u8]) -> Result<(), Problem> {
        let blob: ArchiveBlob = parsed(place, line)?;
        let bytes = blob.base64.map(|text| STANDARD.decode(text)).transpose();
        match bytes.map_err(|error| wrong(place, error))? {
            Some(bytes) => self.take_bytes(place, blob.id, bytes),
            None => {
                self.known.insert(blob.id);
                Ok(())
            }
        }
    }

    /// Takes bytes; they must be those their name stands for.
    pub fn take_bytes(&mut self, place: &str, id: BlobId, bytes: Vec<u8>) -> Result<(), Problem> {
        if blob_id(&bytes) != id {
            return Err(wrong(place, format!("its bytes are not those of {id}")));
        }
        self.known.insert(id);
        self.blobs.push(bytes);
        Ok(())
    }

    /// The whole session, if nothing is missing.
    pub fn finish(self, session: Session) -> Result<SessionArchive, Problem> {
        let (found, wanted) = (self.events.len() as u64, session.head);
        if found != wanted {
            let why = format!(
                "it has {found} events and its session says {wanted}: something was cut off"
            );
            return Err(wrong("the end", why));
        }
        let wanted = referenced(self.events.iter().map(|(_, event)| event));
        if let Some(missing) = wanted.difference(&self.known).next() {
            return Err(wrong(
                "the end",
                format!("the bytes of {missing} are missing"),
            ));
        }
        Ok(SessionArchive {
            session,
            events: self.events,
            blobs: self.blobs,
        })
    }
}

fn header(place: &str, version: Option<u32>, line: &[u8]) -> Result<Session, Problem> {
    if version != Some(VERSION) {
        let version = version.map_or_else(|| "no version".into(), |v| format!("version {v}"));
        return Err(wrong(
            place,
            format!("it has {version}, and this program reads version {VERSION}"),
        ));
    }
    let header: ArchiveHeader<'_> = parsed(place, line)?;
    if header.format != FORMAT {
        return Err(wrong(
            place,
            format!("its format is `{}`, not `{FORMAT}`", header.format),
        ));
    }
    Ok(header.session.into_owned())
}

/// Reads one line, and tells a foreign line from one that was cut off.
fn parsed<'a, T: Deserialize<'a>>(place: &str, line: &'a [u8]) -> Result<T, Problem> {
    serde_json::from_slice(line).map_err(|error| {
        let why = if error.is_eof() {
            "the line is cut off".into()
        } else {
            format!("not a line of ours: {error}")
        };
        wrong(place, why)
    })
}

/// Reads a whole file of JSON.
pub fn document<T: DeserializeOwned>(place: &str, bytes: &[u8]) -> Result<T, Problem> {
    serde_json::from_slice(bytes).map_err(|error| wrong(place, error))
}
