//! Runs a Grep search: files in parallel, results sorted by path.

use std::{
    io::{self, Read},
    path::PathBuf,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
};

use grep_searcher::Searcher;
use ignore::{DirEntry, WalkState};
use rooftree_protocol::tool_call::FileNote;
use tokio_util::sync::CancellationToken;

use super::{
    query::{GrepMode, GrepQuery},
    sink::{GrepLine, MatchCollector},
};
use crate::{ToolContext, reach};

/// Lines collected before a search ends early. Far more than is shown, because what is shown
/// is the beginning in order of path, and files are found in any order.
const COLLECTED: usize = 50_000;

/// Results of a search.
pub(super) struct GrepResults {
    files: Vec<(PathBuf, MatchCollector)>,
    is_complete: bool,
}

/// Searches all files of a query.
pub(super) fn search(query: &GrepQuery, context: &ToolContext) -> GrepResults {
    let cancel = &context.cancel;
    let files = Mutex::new(Vec::new());
    let collected = AtomicUsize::new(0);
    let Ok(walk) = query.walk(&context.reach) else {
        return GrepResults {
            files: Vec::new(),
            is_complete: true,
        };
    };
    walk.run(|| {
        let mut searcher = query.searcher();
        let (files, collected) = (&files, &collected);
        Box::new(move |entry| {
            if cancel.is_cancelled() || collected.load(Ordering::Relaxed) >= COLLECTED {
                return WalkState::Quit;
            }
            if let Some((path, collector)) = entry
                .ok()
                .and_then(|entry| search_file(query, &mut searcher, &entry, context))
            {
                collected.fetch_add(collector.lines.len().max(1), Ordering::Relaxed);
                files
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .push((path, collector));
            }
            WalkState::Continue
        })
    });
    let mut files = files.into_inner().unwrap_or_else(PoisonError::into_inner);
    files.sort_by(|a, b| a.0.cmp(&b.0));
    GrepResults {
        files,
        is_complete: collected.into_inner() < COLLECTED,
    }
}

/// Anything that cannot be read is passed over, as ripgrep does.
fn search_file(
    query: &GrepQuery,
    searcher: &mut Searcher,
    entry: &DirEntry,
    context: &ToolContext,
) -> Option<(PathBuf, MatchCollector)> {
    // Where a walk begins is behind all links, and what it finds must be a file itself.
    if !entry.file_type().is_some_and(|kind| kind.is_file()) {
        return None;
    }
    let mut collector = MatchCollector::new(query.mode, COLLECTED);
    let file = reach::read_within(&context.reach, entry.path()).ok()?;
    let reader = CancellableReader {
        file,
        cancel: &context.cancel,
    };
    searcher
        .search_reader(&query.matcher, reader, &mut collector)
        .ok()?;
    collector
        .is_match()
        .then(|| (entry.path().to_owned(), collector))
}

/// A file that cannot be read any further once the call is cancelled.
struct CancellableReader<'a, R> {
    file: R,
    cancel: &'a CancellationToken,
}

impl<R: Read> Read for CancellableReader<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.cancel.is_cancelled() {
            return Err(io::ErrorKind::ConnectionAborted.into());
        }
        self.file.read(buffer)
    }
}

impl GrepResults {
    /// The files with matches, as far as the model can have seen them.
    pub fn notes(&self, query: &GrepQuery) -> Vec<FileNote> {
        let shown = query.shown.min(FileNote::FOUND);
        let paths = self.files.iter().map(|(path, _)| path.clone());
        paths.take(shown).map(FileNote::found).collect()
    }

    /// Text for the model.
    pub fn describe(&self, query: &GrepQuery, context: &ToolContext) -> String {
        let mut text = match self.files.as_slice() {
            [] => format!("No matches for `{}`.", query.pattern),
            _ => self.lines(query, context),
        };
        text.extend(context.reach.notice().map(|notice| format!("\n{notice}")));
        text
    }

    fn lines(&self, query: &GrepQuery, context: &ToolContext) -> String {
        let lines = self
            .files
            .iter()
            .enumerate()
            .flat_map(|(at, (path, collector))| {
                // With context lines, a separator shows where the matches of the next file begin.
                let border = (at > 0 && query.has_context()).then(|| "--".to_owned());
                border
                    .into_iter()
                    .chain(file_lines(query, context.shown(path), collector))
            });
        let mut shown: Vec<String> = Vec::new();
        let mut left_out = 0;
        for line in lines {
            if shown.len() < query.shown {
                shown.push(line);
            } else {
                left_out += 1;
            }
        }
        if left_out > 0 {
            let least = if self.is_complete { "" } else { "at least " };
            shown.push(format!(
                "[… {least}{left_out} more; narrow the search or raise head_limit]"
            ));
        }
        shown.join("\n")
    }
}

fn file_lines<'a>(
    query: &GrepQuery,
    name: String,
    collector: &'a MatchCollector,
) -> Box<dyn Iterator<Item = String> + 'a> {
    match query.mode {
        GrepMode::Files => Box::new(std::iter::once(name)),
        GrepMode::Count => Box::new(std::iter::once(format!("{name}:{}", collector.count))),
        GrepMode::Content if query.is_numbered => {
            Box::new(collector.lines.iter().map(move |line| match line {
                GrepLine::Match(number, text) => format!("{name}:{number}:{text}"),
                GrepLine::Context(number, text) => format!("{name}-{number}-{text}"),
                GrepLine::Break => "--".to_owned(),
            }))
        }
        GrepMode::Content => Box::new(collector.lines.iter().map(move |line| match line {
            GrepLine::Match(_, text) => format!("{name}:{text}"),
            GrepLine::Context(_, text) => format!("{name}-{text}"),
            GrepLine::Break => "--".to_owned(),
        })),
    }
}
