//! Formats search results for the model: locations with a few lines each, the best first.

use std::path::Path;

use super::{index::SearchIndex, query::SearchQuery, rerank::SearchResult};

/// Search results, and notices about them.
pub(super) struct SearchAnswer<'a> {
    pub index: &'a SearchIndex,
    pub query: &'a SearchQuery,
    pub found: &'a [SearchResult],
    /// Words of the question that are nowhere.
    pub unknown: &'a [usize],
    pub notices: Vec<String>,
}

impl SearchAnswer<'_> {
    /// The text of it.
    pub fn text(&self, asked: &str, shown: &dyn Fn(&Path) -> String) -> String {
        let mut blocks: Vec<String> = self
            .found
            .iter()
            .filter_map(|found| self.block(found, shown))
            .collect();
        if blocks.is_empty() {
            blocks.push(format!(
                "Nothing here is about `{asked}`. Other words may find it; Grep finds exact text."
            ));
        }
        blocks.extend(self.notices().iter().map(|notice| format!("[{notice}]")));
        blocks.join("\n")
    }

    fn block(&self, found: &SearchResult, shown: &dyn Fn(&Path) -> String) -> Option<String> {
        let place = shown(&self.index.place(self.index.files.get(found.hit.file)?));
        let (piece, score) = (found.piece, found.hit.score);
        let name = if found.name.is_empty() {
            String::new()
        } else {
            format!(" {}", found.name)
        };
        let mut block = format!(
            "{place}:{}-{} {}{name} (score {score:.1})",
            piece.first,
            piece.last,
            piece.kind.word()
        );
        for (number, line) in &found.snippet {
            block.push_str(&format!("\n  {number}: {line}"));
        }
        Some(block)
    }

    fn notices(&self) -> Vec<String> {
        let mut notices = self.notices.clone();
        let unknown: Vec<String> = self
            .unknown
            .iter()
            .filter_map(|at| self.query.words.get(*at))
            .map(|word| format!("`{}`", word.shown))
            .collect();
        if !unknown.is_empty() && !self.found.is_empty() {
            notices.push(format!("no file has {}", unknown.join(" or ")));
        }
        if !self.index.is_complete {
            let count = self.index.files.len();
            notices.push(format!(
                "there are too many files; only {count} were looked at, so name a narrower path"
            ));
        }
        notices
    }
}
