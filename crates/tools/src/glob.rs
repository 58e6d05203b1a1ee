//! Glob: files by name, newest first.

use std::{
    cmp::Reverse,
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
};

use futures::future::BoxFuture;
use globset::{GlobBuilder, GlobMatcher};
use ignore::{DirEntry, WalkState};
use rooftree_protocol::{ErrorCode, ToolSpec, tool_call::FileNote};
use serde_json::Value;

use crate::{
    Tool, ToolContext, ToolOutput,
    arguments::{self, ArgumentKind, ToolArgument, number, text},
    blocking,
    reach::DirectoryStatCache,
    tool_info::{ToolInfo, ToolSubject},
    walk::{self, WalkExclusion},
};

const DEFAULT_FILES: u64 = 200;

pub(crate) const INFO: ToolInfo = ToolInfo {
    aliases: &["glob_search"],
    ..ToolInfo::reads_files("Glob", ToolSubject::SearchPath("path"))
};

const DESCRIPTION: &str = "Find files by glob, newest first: `src/**/*.rs`.";

pub(crate) const ARGUMENTS: [ToolArgument; 3] = [
    ToolArgument::new("pattern", ArgumentKind::Text, "")
        .required()
        .with_aliases(&["glob", "glob_pattern"]),
    ToolArgument::new("path", ArgumentKind::Text, "").with_aliases(&[
        "file_path",
        "filePath",
        "directory",
    ]),
    ToolArgument::new("limit", ArgumentKind::Number, "").with_aliases(&["head_limit"]),
];

/// The Glob tool.
pub(crate) struct GlobTool(ToolSpec);

impl GlobTool {
    pub fn new() -> Self {
        Self(arguments::spec(INFO.name, DESCRIPTION, &ARGUMENTS))
    }
}

impl Tool for GlobTool {
    fn info(&self) -> &ToolInfo {
        &INFO
    }

    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn normalise(&self, _called_as: &str, input: Value) -> Result<Value, String> {
        arguments::normalise(INFO.name, &ARGUMENTS, input).map(Value::Object)
    }

    fn title(&self, input: &Value) -> String {
        match text(input, "path") {
            "" => text(input, "pattern").to_owned(),
            path => format!("{} in {path}", text(input, "pattern")),
        }
    }

    /// Where it looks: the fixed beginning of the pattern is part of that.
    fn subject(&self, input: &Value) -> Option<String> {
        let (base, _) = split(text(input, "pattern"));
        let path = Path::new(text(input, "path"))
            .join(base)
            .to_string_lossy()
            .into_owned();
        Some(if path.is_empty() {
            ".".to_owned()
        } else {
            path
        })
    }

    fn run(&self, input: Value, context: ToolContext) -> BoxFuture<'static, ToolOutput> {
        blocking::run(move || find(&input, &context))
    }
}

/// A pattern's fixed beginning and what follows it.
fn split(pattern: &str) -> (PathBuf, String) {
    let is_fixed = |piece: &&str| !piece.contains(['*', '?', '[', '{', '\\']);
    let pieces: Vec<&str> = pattern.split('/').collect();
    // The last piece is always matched, so that a plain name is found too.
    let fixed = pieces
        .iter()
        .take(pieces.len() - 1)
        .take_while(|piece| is_fixed(piece))
        .count();
    let (base, rest) = pieces.split_at_checked(fixed).unwrap_or_default();
    let base = if pattern.starts_with('/') {
        format!("/{}", base.join("/"))
    } else {
        base.join("/")
    };
    (PathBuf::from(base), rest.join("/"))
}

fn find(input: &Value, context: &ToolContext) -> Result<ToolOutput, String> {
    let pattern = text(input, "pattern");
    let (base, rest) = split(pattern);
    let start = Path::new(text(input, "path"))
        .join(&base)
        .to_string_lossy()
        .into_owned();
    let target = context.target(if start.is_empty() { "." } else { &start })?;
    target.directory()?;
    let glob = GlobBuilder::new(&rest)
        .literal_separator(true)
        .build()
        .map_err(|error| format!("`{pattern}` is not a valid glob: {}.", error.kind()))?;
    let mut found = walk_for(&target.path, &glob.compile_matcher(), context);
    if context.cancel.is_cancelled() {
        return Ok(ToolOutput::failed(ErrorCode::ToolCancelled, "[cancelled]"));
    }
    found.sort_by(|a, b| (Reverse(a.0), &a.1).cmp(&(Reverse(b.0), &b.1)));
    let shown = shown(input).min(FileNote::FOUND);
    let files = found.iter().take(shown);
    Ok(ToolOutput {
        files: files
            .map(|(_, path)| FileNote::found(path.clone()))
            .collect(),
        ..ToolOutput::done(describe(&found, input, context))
    })
}

/// When a file changed, in seconds and nanoseconds, and where it is.
type GlobMatch = ((i64, u64), PathBuf);

fn walk_for(root: &Path, glob: &GlobMatcher, context: &ToolContext) -> Vec<GlobMatch> {
    let found = Mutex::new(Vec::new());
    walk::within(&context.reach, root, WalkExclusion::Ignored)
        .build_parallel()
        .run(|| {
            let (mut neighbours, found) = (DirectoryStatCache::default(), &found);
            Box::new(move |entry| {
                if context.cancel.is_cancelled() {
                    return WalkState::Quit;
                }
                let file = entry.ok().filter(|entry| is_match(entry, root, glob));
                // Also a proof that it is there: a directory may have become a link during the walk.
                let seen = file.and_then(|entry| Some((neighbours.stat(entry.path())?, entry)));
                if let Some((seen, entry)) = seen {
                    let changed = (seen.st_mtime, seen.st_mtime_nsec);
                    found
                        .lock()
                        .unwrap_or_else(PoisonError::into_inner)
                        .push((changed, entry.into_path()));
                }
                WalkState::Continue
            })
        });
    found.into_inner().unwrap_or_else(PoisonError::into_inner)
}

fn is_match(entry: &DirEntry, root: &Path, glob: &GlobMatcher) -> bool {
    let is_directory = entry.file_type().is_some_and(|kind| kind.is_dir());
    !is_directory
        && entry
            .path()
            .strip_prefix(root)
            .is_ok_and(|inside| glob.is_match(inside))
}

/// Files that are shown at most.
fn shown(input: &Value) -> usize {
    usize::try_from(number(input, "limit").unwrap_or(DEFAULT_FILES)).unwrap_or(usize::MAX)
}

fn describe(found: &[GlobMatch], input: &Value, context: &ToolContext) -> String {
    let pattern = text(input, "pattern");
    if found.is_empty() {
        let hint = if pattern.contains('/') {
            String::new()
        } else {
            format!(" `**/{pattern}` looks deeper.")
        };
        let notice = context
            .reach
            .notice()
            .map(|notice| format!("\n{notice}"))
            .unwrap_or_default();
        return format!("No files match `{pattern}`.{hint}{notice}");
    }
    let limit = shown(input);
    let mut lines: Vec<String> = found
        .iter()
        .take(limit)
        .map(|(_, path)| context.shown(path))
        .collect();
    if found.len() > limit {
        lines.push(format!(
            "[… {} more; narrow the pattern or raise limit]",
            found.len() - limit
        ));
    }
    lines.extend(context.reach.notice());
    lines.join("\n")
}
