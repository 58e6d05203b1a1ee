//! Parses server-sent events from a byte stream, however it is split.
//!
//! Bytes are buffered until their line is complete, so neither a character nor a line end that is
//! split between two chunks is lost. Comments are skipped, `id` and `retry` are not used.

/// One event.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SseEvent {
    /// The value of its `event` line; empty if there is none.
    pub name: String,
    /// Its `data` lines.
    pub data: String,
}

/// Error: one event exceeds the size limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SseEventTooLarge;

/// Maximum bytes of one event: a larger one is a defect or an attack.
const EVENT_BYTES: usize = 64 * 1024 * 1024;

/// Parses chunks of a body into events.
#[derive(Debug)]
pub struct SseDecoder {
    /// The incomplete line.
    line: Vec<u8>,
    /// The incomplete event; no data before its first `data` line.
    name: String,
    data: Option<String>,
    /// The last byte was a carriage return: a line feed right after it belongs to it.
    after_return: bool,
    /// Nothing has been read: a byte order mark may come.
    first_line: bool,
    limit: usize,
}

impl Default for SseDecoder {
    fn default() -> Self {
        Self::with_limit(EVENT_BYTES)
    }
}

impl SseDecoder {
    /// A parser that rejects events of more bytes than this.
    pub fn with_limit(limit: usize) -> Self {
        Self {
            line: Vec::new(),
            name: String::new(),
            data: None,
            after_return: false,
            first_line: true,
            limit,
        }
    }

    /// Takes more bytes and returns the events they complete.
    pub fn push(&mut self, bytes: &[u8]) -> Result<Vec<SseEvent>, SseEventTooLarge> {
        let mut events = Vec::new();
        let mut rest = bytes;
        if self.after_return && !rest.is_empty() {
            rest = rest.strip_prefix(b"\n").unwrap_or(rest);
            self.after_return = false;
        }
        while let Some(end) = rest.iter().position(|byte| matches!(byte, b'\n' | b'\r')) {
            let (head, tail) = rest.split_at(end);
            self.grow(head)?;
            events.extend(self.end_line());
            rest = match tail {
                [b'\r', b'\n', after @ ..] => after,
                [b'\r'] => {
                    self.after_return = true;
                    &[]
                }
                [_, after @ ..] => after,
                [] => &[],
            };
        }
        self.grow(rest)?;
        Ok(events)
    }

    /// The last event of a body that ends without the empty line after it.
    pub fn finish(mut self) -> Option<SseEvent> {
        self.end_line().or_else(|| self.dispatch())
    }

    fn grow(&mut self, bytes: &[u8]) -> Result<(), SseEventTooLarge> {
        let kept = self.line.len() + self.data.as_ref().map_or(0, String::len);
        if kept + bytes.len() > self.limit {
            return Err(SseEventTooLarge);
        }
        self.line.extend_from_slice(bytes);
        Ok(())
    }

    fn end_line(&mut self) -> Option<SseEvent> {
        let line = std::mem::take(&mut self.line);
        let mut line = line.as_slice();
        if std::mem::take(&mut self.first_line) {
            line = line.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(line);
        }
        if line.is_empty() {
            return self.dispatch();
        }
        let colon = line
            .iter()
            .position(|byte| *byte == b':')
            .unwrap_or(line.len());
        let (field, value) = line.split_at(colon);
        let value = value.strip_prefix(b":").unwrap_or(value);
        let value = String::from_utf8_lossy(value.strip_prefix(b" ").unwrap_or(value));
        match field {
            b"event" => self.name = value.into_owned(),
            b"data" => match &mut self.data {
                None => self.data = Some(value.into_owned()),
                Some(data) => {
                    data.push('\n');
                    data.push_str(&value);
                }
            },
            _ => {}
        }
        None
    }

    fn dispatch(&mut self) -> Option<SseEvent> {
        let name = std::mem::take(&mut self.name);
        self.data.take().map(|data| SseEvent { name, data })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(name: &str, data: &str) -> SseEvent {
        SseEvent {
            name: name.to_owned(),
            data: data.to_owned(),
        }
    }

    fn decode(pieces: &[&[u8]]) -> Vec<SseEvent> {
        let mut decoder = SseDecoder::default();
        let mut events: Vec<SseEvent> = pieces
            .iter()
            .flat_map(|piece| decoder.push(piece).unwrap())
            .collect();
        events.extend(decoder.finish());
        events
    }

    #[test]
    fn lines_may_end_in_three_ways() {
        let expected = [event("a", "1"), event("", "2")];
        for text in [
            "event: a\ndata: 1\n\ndata: 2\n\n",
            "event: a\r\ndata: 1\r\n\r\ndata: 2\r\n\r\n",
        ] {
            assert_eq!(decode(&[text.as_bytes()]), expected, "{text:?}");
        }
        assert_eq!(decode(&[b"event: a\rdata: 1\r\rdata: 2\r\r"]), expected);
    }

    #[test]
    fn any_split_gives_the_same_events() {
        let text = "\u{FEFF}: hello\r\nevent: größe\r\ndata: {\"a\":\"木\r\ndata:🏠\"}\r\n\r\n:\r\n\r\ndata\r\n\r\n";
        let whole = decode(&[text.as_bytes()]);
        assert_eq!(whole, [event("größe", "{\"a\":\"木\n🏠\"}"), event("", "")]);
        for at in 0..=text.len() {
            let (head, tail) = text.as_bytes().split_at(at);
            assert_eq!(decode(&[head, tail]), whole, "split at {at}");
        }
        let bytes: Vec<&[u8]> = text.as_bytes().chunks(1).collect();
        assert_eq!(decode(&bytes), whole);
    }

    #[test]
    fn comments_unknown_fields_and_nameless_blocks_are_no_events() {
        assert_eq!(
            decode(&[b": ping\n\nid: 4\nretry: 10\n\nevent: alone\n\ndata: x\n\n"]),
            [event("", "x")]
        );
    }

    #[test]
    fn the_last_event_counts_without_its_empty_line() {
        assert_eq!(
            decode(&[b"data: 1\n\ndata: 2"]),
            [event("", "1"), event("", "2")]
        );
        assert_eq!(
            decode(&[b"data: 1\n\ndata: 2\n"]),
            [event("", "1"), event("", "2")]
        );
    }

    #[test]
    fn an_endless_event_is_refused() {
        let mut decoder = SseDecoder::with_limit(10);
        assert_eq!(decoder.push(b"data: 12"), Ok(vec![]));
        assert_eq!(decoder.push(b"345678"), Err(SseEventTooLarge));
        let mut decoder = SseDecoder::with_limit(10);
        assert!((0..9).any(|_| decoder.push(b"data:1\n").is_err()));
    }

    #[test]
    fn bytes_that_are_no_text_do_not_stop_the_stream() {
        assert_eq!(
            decode(&[b"data: \xff\xfe\n\ndata: 2\n\n"]),
            [event("", "\u{FFFD}\u{FFFD}"), event("", "2")]
        );
    }
}
