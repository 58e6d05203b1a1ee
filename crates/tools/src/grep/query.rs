//! Parses and validates the arguments of Grep: pattern, path, filters.

use std::path::PathBuf;

use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder};
use ignore::{WalkParallel, overrides::OverrideBuilder, types::TypesBuilder};
use serde_json::Value;

use crate::{
    CallReach, ToolContext,
    arguments::{flag, number, text},
    walk::{self, WalkExclusion},
};

/// Lines or files shown unless the model asks for more.
const DEFAULT_SHOWN: u64 = 250;

/// A search over several lines reads whole files; larger ones are passed over.
const MULTILINE_BYTES: u64 = 50 * 1024 * 1024;

/// Output mode.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum GrepMode {
    /// The line, with those around it.
    Content,
    /// The file's name.
    Files,
    /// The file's name and how many lines match.
    Count,
}

/// A validated search.
pub(super) struct GrepQuery {
    pub matcher: RegexMatcher,
    pub mode: GrepMode,
    /// Lines or files shown.
    pub shown: usize,
    pub pattern: String,
    /// Whether lines come with their numbers.
    pub is_numbered: bool,
    root: PathBuf,
    glob: Option<String>,
    file_type: Option<String>,
    is_multiline: bool,
    before: usize,
    after: usize,
}

impl GrepQuery {
    pub fn new(input: &Value, context: &ToolContext) -> Result<Self, String> {
        let around = number(input, "context").unwrap_or(0);
        let lines = |name: &str| {
            usize::try_from(number(input, name).unwrap_or(around)).unwrap_or(usize::MAX)
        };
        let optional =
            |name: &str| Some(text(input, name).to_owned()).filter(|text| !text.is_empty());
        let shown = match number(input, "head_limit").unwrap_or(DEFAULT_SHOWN) {
            0 => usize::MAX,
            count => usize::try_from(count).unwrap_or(usize::MAX),
        };
        let query = Self {
            matcher: matcher(input)?,
            mode: match text(input, "output_mode") {
                "files_with_matches" => GrepMode::Files,
                "count" => GrepMode::Count,
                _ => GrepMode::Content,
            },
            shown,
            pattern: text(input, "pattern").to_owned(),
            is_numbered: input
                .get("line_numbers")
                .and_then(Value::as_bool)
                .unwrap_or(true),
            root: root(text(input, "path"), context)?,
            glob: optional("glob"),
            file_type: optional("type"),
            is_multiline: flag(input, "multiline"),
            before: lines("before"),
            after: lines("after"),
        };
        // Built once for its errors: a walk that cannot begin is told before it is tried.
        query.walk(&context.reach).map(|_| query)
    }

    /// A walk over all files that may be searched.
    pub fn walk(&self, reach: &CallReach) -> Result<WalkParallel, String> {
        let mut walk = walk::within(reach, &self.root, WalkExclusion::Ignored);
        if let Some(glob) = &self.glob {
            let mut overrides = OverrideBuilder::new(&self.root);
            let built = overrides.add(glob).and_then(|overrides| overrides.build());
            walk.overrides(
                built.map_err(|error| format!("`{glob}` is not a valid glob: {error}."))?,
            );
        }
        if let Some(name) = &self.file_type {
            let types = TypesBuilder::new().add_defaults().select(name).build();
            walk.types(
                types
                    .map_err(|_| format!("`{name}` is not a known file type; use glob instead."))?,
            );
        }
        if self.is_multiline {
            walk.max_filesize(Some(MULTILINE_BYTES));
        }
        Ok(walk.build_parallel())
    }

    /// What one thread searches with.
    pub fn searcher(&self) -> Searcher {
        let is_content = self.mode == GrepMode::Content;
        SearcherBuilder::new()
            .binary_detection(BinaryDetection::quit(0))
            .line_number(is_content)
            .multi_line(self.is_multiline)
            .before_context(if is_content { self.before } else { 0 })
            .after_context(if is_content { self.after } else { 0 })
            .build()
    }

    pub fn has_context(&self) -> bool {
        self.mode == GrepMode::Content && (self.before > 0 || self.after > 0)
    }
}

fn matcher(input: &Value) -> Result<RegexMatcher, String> {
    let pattern = text(input, "pattern");
    let mut builder = RegexMatcherBuilder::new();
    builder
        .case_insensitive(flag(input, "ignore_case"))
        .multi_line(true);
    if flag(input, "multiline") {
        builder.dot_matches_new_line(true);
    } else {
        // Lets the searcher look at whole buffers instead of line after line.
        builder.line_terminator(Some(b'\n'));
    }
    builder.build(pattern).map_err(|error| {
        format!(
            "`{pattern}` is not a valid regular expression: {error}\nTo search for exactly that text, escape it: `{}`. \
             A pattern that spans lines needs multiline.",
            regex::escape(pattern)
        )
    })
}

fn root(path: &str, context: &ToolContext) -> Result<PathBuf, String> {
    let target = context.target(if path.is_empty() { "." } else { path })?;
    target.look("search")?;
    Ok(target.path)
}
