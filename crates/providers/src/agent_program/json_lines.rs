//! Bytes into records: one JSON object per line, whatever the borders of the pieces are.
//!
//! A line is decoded only when it is whole, so a character split between two pieces is never
//! broken. What is no record is counted and a little of it kept; it never ends an answer.

use serde_json::Value;

/// The longest line that is read. `pi` repeats the whole conversation in its last record.
const LINE_BYTES: usize = 64 * 1024 * 1024;
/// How much of the first line that is no record is kept.
const SAMPLE_CHARS: usize = 200;

/// Collects pieces until they are lines.
#[derive(Debug, Default)]
pub(super) struct JsonLineReader {
    begun: Vec<u8>,
    /// The line that is coming is too long and being let go.
    is_skipping: bool,
    /// Lines that are no records.
    pub(super) strange: u64,
    /// The first of them, in short.
    pub(super) sample: String,
}

impl JsonLineReader {
    /// Takes in a piece and gives the records that are whole now.
    pub(super) fn push(&mut self, mut bytes: &[u8]) -> Vec<Value> {
        let mut records = Vec::new();
        while let Some(at) = bytes.iter().position(|byte| *byte == b'\n') {
            let (head, rest) = bytes.split_at_checked(at).unwrap_or((bytes, &[]));
            self.begin(head);
            records.extend(self.end());
            bytes = rest.get(1..).unwrap_or_default();
        }
        self.begin(bytes);
        records
    }

    /// The record in a last line that lacks its end.
    pub(super) fn finish(&mut self) -> Option<Value> {
        self.end()
    }

    fn begin(&mut self, bytes: &[u8]) {
        if self.begun.len() + bytes.len() > LINE_BYTES {
            self.is_skipping = true;
            self.begun = Vec::new();
        }
        if !self.is_skipping {
            self.begun.extend_from_slice(bytes);
        }
    }

    fn end(&mut self) -> Option<Value> {
        if std::mem::take(&mut self.is_skipping) {
            self.complain(b"[a line that is too long]");
            return None;
        }
        let line = std::mem::take(&mut self.begun);
        if line.trim_ascii().is_empty() {
            return None;
        }
        let record = serde_json::from_slice::<Value>(&line)
            .ok()
            .filter(Value::is_object);
        if record.is_none() {
            self.complain(&line);
        }
        record
    }

    fn complain(&mut self, line: &[u8]) {
        self.strange += 1;
        if self.sample.is_empty() {
            let line = line.get(..SAMPLE_CHARS * 4).unwrap_or(line);
            self.sample = String::from_utf8_lossy(line)
                .trim()
                .chars()
                .take(SAMPLE_CHARS)
                .collect();
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn records_are_the_same_wherever_the_pieces_are_cut() {
        let text = "{\"a\":\"zwölf ✓\"}\n\nnoise ✗\n{\"b\":\" \\n\"}\r\n[1]\n{\"c\":1}";
        for size in 1..text.len() {
            let mut lines = JsonLineReader::default();
            let mut records: Vec<Value> = text
                .as_bytes()
                .chunks(size)
                .flat_map(|piece| lines.push(piece))
                .collect();
            records.extend(lines.finish());
            assert_eq!(
                records,
                [
                    json!({"a": "zwölf ✓"}),
                    json!({"b": " \n"}),
                    json!({"c": 1})
                ]
            );
            assert_eq!(
                (lines.strange, lines.sample.as_str()),
                (2, "noise ✗"),
                "in pieces of {size}"
            );
        }
    }

    #[test]
    fn a_line_without_end_costs_no_more_than_its_bound() {
        let mut lines = JsonLineReader::default();
        let piece = vec![b'x'; 1024 * 1024];
        for _ in 0..100 {
            assert!(lines.push(&piece).is_empty());
            assert!(lines.begun.len() <= LINE_BYTES);
        }
        assert_eq!(
            lines.push(b"\n{\"after\":true}\n"),
            [json!({"after": true})]
        );
        assert_eq!(lines.strange, 1);
    }
}
