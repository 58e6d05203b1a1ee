//! Deduplicates text in journal rows: what an event repeats is stored once, and inserted again when the event is read.
//!
//! A model's answer is in its reply twice (`text` and `parts`) and in the end of the run once more. The first of them is
//! stored; the others become a reference to its bytes. Readers see the event byte by byte as it was appended, and the
//! hash chain is computed over that.

use std::{borrow::Cow, fmt::Write};

use rooftree_protocol::event::{ReplyPart, ReplyRecord};
use rusqlite::{Connection, OptionalExtension, params};

use super::column;
use crate::Error;

/// Shorter texts are stored again: a reference takes a few bytes too.
const SHORTEST: usize = 64;

/// An event's data as its row holds it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SharedText {
    pub(crate) data: String,
    pub(crate) copies: String,
}

/// One insertion: `length` bytes at `from` of the source, inserted before byte `at` of the stored data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct TextCopy {
    at: usize,
    from: usize,
    length: usize,
    /// The event whose stored data is the source; none: the same row.
    source: Option<u64>,
}

impl TextCopy {
    fn parse(spelled: &str) -> Option<Self> {
        let mut numbers = spelled.split(',').map(|number| number.parse::<u64>().ok());
        let mut size = || {
            numbers
                .next()
                .flatten()
                .and_then(|number| number.try_into().ok())
        };
        let (at, from, length) = (size()?, size()?, size()?);
        Some(Self {
            at,
            from,
            length,
            source: numbers.next().flatten(),
        })
    }
}

/// A text as it stands in JSON, without its quotation marks; none if it is too short to be shared.
pub(crate) fn literal(text: &str) -> Option<String> {
    if text.len() < SHORTEST {
        return None;
    }
    let spelled = serde_json::to_string(text).ok()?;
    let inner = spelled.strip_prefix('"')?.strip_suffix('"')?;
    Some(inner.to_owned())
}

/// The data of a reply, with the text of its parts taken from its whole text; none if nothing is shared.
pub(crate) fn share_reply(reply: &ReplyRecord, data: &str) -> Option<SharedText> {
    let whole = literal(&reply.text)?;
    let start = data.find(&whole)?;
    let end = start + whole.len();
    let mut shared = SharedText {
        data: String::with_capacity(data.len()),
        copies: String::new(),
    };
    // Bytes of `data` up to here are in the stored data, or left out.
    let mut done = 0;
    for part in &reply.parts {
        let ReplyPart::Text { text } = part else {
            continue;
        };
        let Some(piece) = literal(text) else { continue };
        let Some(from) = whole.find(&piece) else {
            continue;
        };
        let Some(found) = field_of(data, done.max(end), &piece) else {
            continue;
        };
        shared.data.push_str(data.get(done..found)?);
        note(
            &mut shared.copies,
            shared.data.len(),
            start + from,
            piece.len(),
            None,
        );
        done = found + piece.len();
    }
    shared.data.push_str(data.get(done..)?);
    let is_exact = || {
        let whole = expand(&shared.data, Some(&shared.copies), |_| None);
        whole.is_some_and(|whole| whole == data)
    };
    (done > 0 && is_exact()).then_some(shared)
}

/// Data that repeats a text of another event, without it; none if that event does not have it.
pub(crate) fn share_with(
    data: &str,
    text: &str,
    (source, stored): (u64, &str),
) -> Option<SharedText> {
    let (at, from) = (field_of(data, 0, text)?, stored.find(text)?);
    let mut copies = String::new();
    note(&mut copies, at, from, text.len(), Some(source));
    let data = format!("{}{}", data.get(..at)?, data.get(at + text.len()..)?);
    Some(SharedText { data, copies })
}

/// Where a field `text` with this value begins, after `from`.
fn field_of(data: &str, from: usize, value: &str) -> Option<usize> {
    const FIELD: &str = "\"text\":\"";
    let mut from = from;
    loop {
        let at = from + data.get(from..)?.find(FIELD)? + FIELD.len();
        if data.get(at..)?.starts_with(value) && data.get(at + value.len()..)?.starts_with('"') {
            return Some(at);
        }
        from = at;
    }
}

fn note(copies: &mut String, at: usize, from: usize, length: usize, source: Option<u64>) {
    let separator = if copies.is_empty() { "" } else { ";" };
    // Writing to a string does not fail.
    let _ = write!(copies, "{separator}{at},{from},{length}");
    if let Some(source) = source {
        let _ = write!(copies, ",{source}");
    }
}

/// The data as it was appended; none if a reference leads nowhere. `stored` gives the stored data of another event.
fn expand<'a>(
    data: &'a str,
    copies: Option<&str>,
    stored: impl Fn(u64) -> Option<String>,
) -> Option<Cow<'a, str>> {
    let Some(copies) = copies else {
        return Some(Cow::Borrowed(data));
    };
    let mut whole = String::with_capacity(data.len() * 2);
    let mut done = 0;
    for copy in copies.split(';').map(TextCopy::parse) {
        let TextCopy {
            at,
            from,
            length,
            source,
        } = copy?;
        whole.push_str(data.get(done..at)?);
        let bytes = from..from.checked_add(length)?;
        match source {
            None => whole.push_str(data.get(bytes)?),
            Some(seq) => whole.push_str(stored(seq)?.get(bytes)?),
        }
        done = at;
    }
    whole.push_str(data.get(done..)?);
    Some(Cow::Owned(whole))
}

/// The data of a row as it was appended to the journal of this session.
pub(crate) fn whole_data<'a>(
    connection: &Connection,
    session: i64,
    data: &'a str,
    copies: Option<&str>,
) -> Result<Cow<'a, str>, Error> {
    let stored = |seq: u64| {
        connection
            .prepare_cached("SELECT data FROM journal WHERE session = ?1 AND seq = ?2")
            .ok()?
            .query_row(params![session, column::signed(seq)], |row| row.get(0))
            .ok()
    };
    expand(data, copies, stored)
        .ok_or_else(|| Error::Failed("an event refers to text that is not there".to_owned()))
}

/// The last reply in a session's own journal: its number and its stored data.
pub(crate) fn last_reply(
    connection: &Connection,
    session: i64,
) -> Result<Option<(u64, String)>, Error> {
    let found = connection
        .prepare_cached(
            "SELECT seq, data FROM journal WHERE session = ?1 AND type = 'message.completed' ORDER BY seq DESC LIMIT 1",
        )?
        .query_row([session], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    Ok(found.map(|(seq, data): (i64, String)| (column::unsigned(seq), data)))
}

#[cfg(test)]
mod tests {
    use rooftree_protocol::{Usage, event::StopReason};

    use super::*;

    fn reply(text: &str, parts: &[&str]) -> ReplyRecord {
        let part = |text: &&str| ReplyPart::Text {
            text: (*text).to_owned(),
        };
        ReplyRecord {
            message: None,
            text: text.to_owned(),
            parts: parts.iter().map(part).collect(),
            model: "m".into(),
            stop: StopReason::End,
            usage: Usage::none(),
            request: None,
        }
    }

    #[test]
    fn p_4d_what_a_reply_repeats_is_stored_once_and_read_as_it_was() {
        let long = "He said \"yes\".\n".repeat(40);
        let other = "Something else: ä€😀 \\ \u{1}. ".repeat(20);
        let both = format!("{long}{other}");
        for (text, parts, saves) in [
            (long.as_str(), vec![long.as_str()], true),
            (&both, vec![&long, &other], true),
            (&long, vec!["short", &long, "short"], true),
            (&long, vec![&other], false),
            ("short", vec!["short"], false),
            (&long, vec![], false),
        ] {
            let reply = reply(text, &parts);
            let data = serde_json::to_string(&reply).unwrap();
            let shared = share_reply(&reply, &data);
            assert_eq!(shared.is_some(), saves, "{parts:?}");
            let Some(shared) = shared else { continue };
            assert!(shared.data.len() < data.len() * 2 / 3);
            assert!(serde_json::from_str::<serde_json::Value>(&shared.data).is_ok());
            let whole = expand(&shared.data, Some(&shared.copies), |_| None).unwrap();
            assert_eq!(whole, data);
        }
    }

    #[test]
    fn a_reference_that_leads_nowhere_is_noticed() {
        for copies in [
            "",
            "1,2",
            "0,0,99",
            "9999,0,1",
            "0,0,1,7",
            "a,b,c",
            "0,0,18446744073709551615",
        ] {
            assert_eq!(expand("{}", Some(copies), |_| None), None, "{copies}");
        }
    }
}
