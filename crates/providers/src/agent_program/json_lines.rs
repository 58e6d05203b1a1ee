//! Parses a byte stream into JSON records, one per line, however the bytes are split.
//!
//! A line is decoded only when it is complete, so a character split between two chunks is never
//! broken. Invalid lines are counted and the first one is kept as a sample; they never end an answer.

use serde_json::Value;

/// Maximum length of a line. `pi` repeats the whole conversation in its last record.
const LINE_BYTES: usize = 64 * 1024 * 1024;
/// Characters kept of the first invalid line.
const SAMPLE_CHARS: usize = 200;

/// Buffers chunks until they form lines.
#[derive(Debug, Default)]
pub(super) struct JsonLineReader {
    begun: Vec<u8>,
    /// The current line exceeds the limit and is being skipped.
    is_skipping: bool,
    /// Number of invalid lines.
    pub(super) strange: u64,
    /// The beginning of the first invalid line.
    pub(super) sample: String,
}

impl JsonLineReader {
    /// Takes a chunk and returns the records that are complete now.
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

    /// The record in a last line without a line end.
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
