//! One file in the index: its chunks, and which words occur where. Its text is not stored.
//!
//! An entry is self-contained: no numbers shared with other files, no counts kept elsewhere. When a file changes, its
//! entry is replaced, and nothing else has to be updated.

use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use super::{
    chunk::{SourceChunk, SourceFormat, chunks},
    definition::{ChunkKind, definition, is_comment},
    postings::{self, Postings},
    tokenizer::{Term, TokenShape, WordSplitter},
};

/// Bytes of a line that are indexed; the rest of a longer line is data.
const LINE_BYTES: usize = 1000;

/// A file with a zero byte this early is no text.
const BINARY_BYTES: usize = 8000;

/// Weights of a word by where it occurs: body, comment, enclosing name, own name. Two units are one occurrence.
const BODY: u8 = 2;
const COMMENT: u8 = 3;
const AROUND: u8 = 4;
const NAME: u8 = 8;

/// File metadata, read without opening the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct IndexedFileStamp {
    pub bytes: u64,
    /// When content or name last changed, in nanoseconds since 1970.
    pub changed: i64,
}

/// The beginning of a content's SHA-256.
pub(super) type ContentHash = [u8; 16];

/// A file as the index knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct IndexedFile {
    /// From the root on.
    pub path: PathBuf,
    pub stamp: IndexedFileStamp,
    pub hash: ContentHash,
    pub pieces: Vec<IndexedChunk>,
    /// The words of its path, sorted.
    pub path_terms: Vec<Term>,
    /// The words of its text, sorted.
    pub terms: Vec<Term>,
    /// Where the postings of each term end.
    pub ends: Vec<u32>,
    /// For each term its pieces: steps from one to the next, each followed by units.
    pub postings: Vec<u8>,
}

/// A piece of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct IndexedChunk {
    /// Its first and last line, counted from 1.
    pub first: u32,
    pub last: u32,
    pub kind: ChunkKind,
    /// Whether it tests something else.
    pub is_test: bool,
    pub words: u16,
    /// The hash of its text, which its vector is found by.
    pub key: u64,
}

/// The name of a content.
pub(super) fn hash(bytes: &[u8]) -> ContentHash {
    let digest = Sha256::digest(bytes);
    let mut hash = ContentHash::default();
    hash.iter_mut()
        .zip(digest.iter())
        .for_each(|(to, from)| *to = *from);
    hash
}

impl IndexedFile {
    /// Reads a content. What is not text has an entry without pieces, so that it is read once only.
    pub fn new(path: PathBuf, stamp: IndexedFileStamp, bytes: &[u8]) -> Self {
        let is_binary = bytes.iter().take(BINARY_BYTES).any(|byte| *byte == 0);
        let text = if is_binary {
            "".into()
        } else {
            String::from_utf8_lossy(bytes)
        };
        let name = path.to_string_lossy();
        let lines: Vec<&str> = text.lines().collect();
        let mut reader = TermCollector::default();
        let manner = SourceFormat::of(&name);
        let pieces: Vec<IndexedChunk> = chunks(&lines, manner)
            .iter()
            .zip(0..)
            .map(|(chunk, at)| {
                reader.read(
                    at,
                    chunk,
                    lines.get(chunk.lines.clone()).unwrap_or_default(),
                )
            })
            .collect();
        let path_terms = reader.path_terms(&path);
        let (terms, ends, postings) = reader.posted();
        Self {
            path,
            stamp,
            hash: hash(bytes),
            pieces,
            path_terms,
            terms,
            ends,
            postings,
        }
    }

    /// Where in the file a word is: pieces and units.
    pub fn find(&self, term: Term) -> Option<Postings<'_>> {
        let at = self.terms.binary_search(&term).ok()?;
        let start = if at == 0 { 0 } else { *self.ends.get(at - 1)? };
        let bytes = self
            .postings
            .get(start as usize..*self.ends.get(at)? as usize)?;
        Some(Postings::new(bytes))
    }
}

/// Collects the words of one file.
#[derive(Default)]
struct TermCollector {
    splitter: WordSplitter,
    found: Vec<(Term, u32, u8)>,
}

impl TermCollector {
    fn read(&mut self, at: u32, chunk: &SourceChunk<'_>, lines: &[&str]) -> IndexedChunk {
        let mut words = 0u16;
        let mut key = ChunkHasher::default();
        for line in lines {
            let line = shortened(line);
            key.take(line);
            let units = if is_comment(line.trim_start()) {
                COMMENT
            } else {
                BODY
            };
            let found = &mut self.found;
            self.splitter.each(line, |term, shape| {
                found.push((term, at, units));
                words = words.saturating_add(u16::from(shape == TokenShape::Part));
            });
            if let Some(constant) =
                definition(line.trim()).filter(|_| chunk.kind == ChunkKind::Text)
            {
                self.take(constant.name, at, NAME);
            }
        }
        if chunk.kind != ChunkKind::Text {
            self.take(chunk.name, at, NAME);
        }
        chunk
            .within
            .iter()
            .for_each(|name| self.take(name, at, AROUND));
        let number = |line: usize| u32::try_from(line).unwrap_or(u32::MAX);
        let (first, last) = (number(chunk.lines.start + 1), number(chunk.lines.end));
        IndexedChunk {
            first,
            last,
            kind: chunk.kind,
            is_test: is_test(chunk, lines),
            words,
            key: key.0,
        }
    }

    fn take(&mut self, text: &str, at: u32, units: u8) {
        let found = &mut self.found;
        self.splitter
            .each(shortened(text), |term, _| found.push((term, at, units)));
    }

    /// The end of a file's name says what it is written in, not what it is about.
    fn path_terms(&mut self, path: &Path) -> Vec<Term> {
        let mut terms = Vec::new();
        self.splitter
            .each(&path.with_extension("").to_string_lossy(), |term, _| {
                terms.push(term)
            });
        terms.sort_unstable();
        terms.dedup();
        terms
    }

    /// All that was found, by term: terms, ends, postings.
    fn posted(mut self) -> (Vec<Term>, Vec<u32>, Vec<u8>) {
        self.found
            .sort_unstable_by_key(|(term, at, _)| (*term, *at));
        let (mut terms, mut ends, mut postings) = (Vec::new(), Vec::new(), Vec::new());
        for of_term in self.found.chunk_by(|one, other| one.0 == other.0) {
            let of_pieces = of_term
                .chunk_by(|one, other| one.1 == other.1)
                .filter_map(|same| {
                    let units = same
                        .iter()
                        .fold(0, |sum: u8, (_, _, units)| sum.saturating_add(*units));
                    same.first().map(|(_, piece, _)| (*piece, units))
                });
            postings::write(of_pieces, &mut postings);
            terms.extend(of_term.first().map(|(term, _, _)| *term));
            ends.push(u32::try_from(postings.len()).unwrap_or(u32::MAX));
        }
        terms.shrink_to_fit();
        postings.shrink_to_fit();
        (terms, ends, postings)
    }
}

/// By its name, what it is in, or what stands above it.
fn is_test(chunk: &SourceChunk<'_>, lines: &[&str]) -> bool {
    let is_place = |name: &&str| matches!(*name, "test" | "tests" | "testing");
    let marks = [
        "#[test]",
        "#[cfg(test)]",
        "#[tokio::test",
        "@Test",
        "@pytest",
    ];
    let is_mark = |line: &str| marks.iter().any(|mark| line.trim_start().starts_with(mark));
    chunk.name.starts_with("test_")
        || chunk.within.iter().chain([&chunk.name]).any(is_place)
        || lines
            .iter()
            .take_while(|line| is_comment(line.trim_start()))
            .any(|line| is_mark(line))
}

/// The beginning of a line.
pub(super) fn shortened(line: &str) -> &str {
    line.get(..line.floor_char_boundary(LINE_BYTES))
        .unwrap_or(line)
}

/// FNV-1a in 64 bits.
struct ChunkHasher(u64);

impl Default for ChunkHasher {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl ChunkHasher {
    fn take(&mut self, line: &str) {
        for byte in line.bytes().chain([b'\n']) {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tokenizer::term;

    fn entry(path: &str, content: &[u8]) -> IndexedFile {
        IndexedFile::new(
            path.into(),
            IndexedFileStamp {
                bytes: content.len() as u64,
                changed: 1,
            },
            content,
        )
    }

    #[test]
    fn words_are_found_in_their_pieces_and_names_count_more() {
        let mut text = String::new();
        for n in 0..300 {
            text.push_str(&format!("fn number_{n}() {{ work(); }}\n"));
        }
        text.push_str("fn retry() { work(); }\n");
        let entry = entry("src/a.rs", text.as_bytes());
        let all: Vec<_> = entry.find(term("work")).unwrap().collect();
        assert_eq!(all, (0..301).map(|at| (at, BODY)).collect::<Vec<_>>());
        let names: Vec<_> = entry.find(term("retries")).unwrap().collect();
        assert_eq!(names, [(300, BODY + NAME)]);
        assert!(entry.find(term("absent")).is_none());
        assert_eq!(entry.path_terms, [term("src")]);
    }

    #[test]
    fn what_is_no_text_has_no_pieces_and_broken_text_has() {
        assert!(entry("a.bin", b"fn a\0b").pieces.is_empty());
        let broken = entry("a.rs", b"fn caf\xff_retry() {}\n");
        assert!(broken.find(term("retry")).is_some());
    }

    #[test]
    fn the_end_of_a_giant_line_is_not_looked_at() {
        let text = format!("{} tail\n", "word ".repeat(100_000));
        let entry = entry("a.js", text.as_bytes());
        assert!(entry.find(term("word")).is_some() && entry.find(term("tail")).is_none());
    }
}
