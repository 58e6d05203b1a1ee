//! Query-independent weight of a chunk, from its path and kind.

use super::{
    definition::ChunkKind,
    indexed_file::{IndexedChunk, IndexedFile},
    query::SearchQuery,
    tokenizer::{Term, term},
};

/// Weight of a test, if the query is not about tests.
const TEST: f32 = 0.5;

/// Weight of vendored or generated code, and of data.
const FOREIGN: f32 = 0.6;
const DATA: f32 = 0.6;

/// A type of fewer words is only the line that opens it, and says no more than its name.
const BARE: u16 = 8;
const OPENING: f32 = 0.6;

/// Properties of the query that the weights depend on.
pub(super) struct ChunkPrior {
    is_about_tests: bool,
    /// Words that are in the paths of tests.
    of_tests: [Term; 3],
}

/// A file's share of it.
pub(super) struct FilePrior {
    weight: f32,
    is_test: bool,
}

impl ChunkPrior {
    pub fn new(query: &SearchQuery) -> Self {
        let is_about_tests = query.mentions("test") || query.mentions("spec");
        Self {
            is_about_tests,
            of_tests: ["test", "fixture", "mock"].map(term),
        }
    }

    /// Weight of a file, from its path.
    pub fn of_file(&self, entry: &IndexedFile) -> FilePrior {
        let path = entry.path.to_string_lossy().to_lowercase();
        let has = |words: &[&str]| words.iter().any(|word| path.contains(word));
        let ends = |ends: &[&str]| ends.iter().any(|end| path.ends_with(end));
        let is_called = |term: &Term| entry.path_terms.binary_search(term).is_ok();
        let weight = if has(&[
            "vendor/",
            "third_party/",
            "third-party/",
            "generated",
            "changelog",
        ]) {
            FOREIGN
        } else if ends(&[
            ".json", ".jsonl", ".csv", ".tsv", ".xml", ".po", ".log", ".css",
        ]) {
            DATA
        } else {
            1.0
        };
        let is_test = self.of_tests.iter().any(is_called) || has(&[".spec.", "_spec.", "spec/"]);
        FilePrior { weight, is_test }
    }

    /// Weight of a chunk of that file, relative to others with the same words.
    pub fn of_piece(&self, file: &FilePrior, piece: &IndexedChunk) -> f32 {
        let kind = match piece.kind {
            ChunkKind::Type if piece.words < BARE => OPENING,
            ChunkKind::Function | ChunkKind::Type => 1.0,
            ChunkKind::Heading => 0.85,
            ChunkKind::Text => 0.8,
        };
        let is_test = (file.is_test || piece.is_test) && !self.is_about_tests;
        file.weight * kind * if is_test { TEST } else { 1.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::indexed_file::IndexedFileStamp;

    #[test]
    fn tests_come_later_unless_they_are_asked_for() {
        let entry = |path: &str| {
            IndexedFile::new(
                path.into(),
                IndexedFileStamp {
                    bytes: 1,
                    changed: 1,
                },
                b"fn retry() { again(); }\n",
            )
        };
        let weight = |path: &str, question: &str| {
            let (entry, bearing) = (entry(path), ChunkPrior::new(&SearchQuery::new(question)));
            bearing.of_piece(&bearing.of_file(&entry), &entry.pieces[0])
        };
        for path in [
            "src/retry.rs",
            "src/latest.rs",
            "src/contest.rs",
            "src/inspector.rs",
        ] {
            assert_eq!(weight(path, "retry"), 1.0, "{path}");
        }
        for path in [
            "tests/retry.rs",
            "src/retry_test.go",
            "RetryTest.java",
            "a.spec.ts",
            "mocks/retry.py",
        ] {
            assert_eq!(weight(path, "retry"), TEST, "{path}");
            assert_eq!(weight(path, "tests of retry"), 1.0, "{path}");
        }
        assert_eq!(weight("vendor/retry.rs", "retry"), FOREIGN);
    }
}
