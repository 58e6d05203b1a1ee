//! List: what is in a directory.

use std::{cmp::Reverse, path::Path};

use futures::future::BoxFuture;
use ignore::DirEntry;
use rooftree_protocol::ToolSpec;
use serde_json::Value;

use crate::{
    Tool, ToolContext, ToolOutput,
    arguments::{self, ArgumentKind, ToolArgument, flag},
    blocking,
    reach::{OpenDirectory, is_directory},
    resolved_path,
    resolved_path::normalize_lexically,
    tool_info::{ToolInfo, ToolSubject},
    walk::{self, WalkExclusion},
};

/// Entries shown of one directory.
const SHOWN: usize = 500;

pub(crate) const INFO: ToolInfo = ToolInfo {
    aliases: &["ls", "list_files", "list_directory", "files_workspace_list"],
    ..ToolInfo::reads_files("List", ToolSubject::SearchPath("path"))
};

const DESCRIPTION: &str = "List a directory: directories first, files with their size.";

pub(crate) const ARGUMENTS: [ToolArgument; 2] = [
    ToolArgument::new("path", ArgumentKind::Text, "").with_aliases(&[
        "file_path",
        "filePath",
        "directory",
        "dir",
    ]),
    ToolArgument::new("all", ArgumentKind::Flag, "Also what ignore files hide"),
];

/// The List tool.
pub(crate) struct ListTool(ToolSpec);

impl ListTool {
    pub fn new() -> Self {
        Self(arguments::spec(INFO.name, DESCRIPTION, &ARGUMENTS))
    }
}

impl Tool for ListTool {
    fn info(&self) -> &ToolInfo {
        &INFO
    }

    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn normalise(&self, _called_as: &str, input: Value) -> Result<Value, String> {
        arguments::normalise(INFO.name, &ARGUMENTS, input).map(Value::Object)
    }

    fn run(&self, input: Value, context: ToolContext) -> BoxFuture<'static, ToolOutput> {
        let shown = self.title(&input);
        blocking::run(move || list(&input, &shown, &context))
    }
}

/// One line of the list.
struct Entry {
    name: String,
    is_directory: bool,
    line: String,
}

fn list(input: &Value, shown: &str, context: &ToolContext) -> Result<ToolOutput, String> {
    let target = context.target(shown)?;
    let directory = target.directory()?;
    let hiding = if flag(input, "all") {
        WalkExclusion::Nothing
    } else {
        WalkExclusion::Ignored
    };
    let all = directory
        .names()
        .map_err(|error| target.explain(&error, "look into"))?
        .count();
    let mut entries = Vec::new();
    for entry in walk::within(&context.reach, &target.path, hiding)
        .max_depth(Some(1))
        .build()
        .flatten()
    {
        if context.cancel.is_cancelled() {
            break;
        }
        if entry.depth() == 1 {
            entries.extend(describe(&directory, &entry, context));
        }
    }
    entries.sort_by(|a, b| {
        (Reverse(a.is_directory), &a.name).cmp(&(Reverse(b.is_directory), &b.name))
    });
    let mut lines: Vec<String> = entries
        .iter()
        .take(SHOWN)
        .map(|entry| entry.line.clone())
        .collect();
    if entries.len() > SHOWN {
        lines.push(format!(
            "[… {} more; Glob narrows it down]",
            entries.len() - SHOWN
        ));
    }
    match all
        .saturating_sub(entries.len())
        .saturating_sub(context.reach.left_out())
    {
        0 if all == 0 => lines.push(format!("[{shown} is empty]")),
        0 => {}
        1 => lines.push("[1 more is ignored; all: true shows it]".to_owned()),
        hidden => lines.push(format!("[{hidden} more are ignored; all: true shows them]")),
    }
    lines.extend(context.reach.notice());
    Ok(ToolOutput::done(lines.join("\n")))
}

/// What has this name in the directory; nothing if that is gone.
fn describe(directory: &OpenDirectory, entry: &DirEntry, context: &ToolContext) -> Option<Entry> {
    let name = entry.file_name();
    let found = directory.stat(name).ok()?;
    let is_directory = is_directory(&found);
    let name_shown = resolved_path::one_line(&name.to_string_lossy());
    let line = match (is_directory, directory.link(name)) {
        (true, _) => format!("{name_shown}/"),
        (false, Some(target)) => format!(
            "{name_shown} → {}",
            shown_target(entry.path(), &target, context)
        ),
        (false, None) => format!(
            "{name_shown}  {}",
            resolved_path::size(u64::try_from(found.st_size).unwrap_or(0))
        ),
    };
    Some(Entry {
        name: name_shown,
        is_directory,
        line,
    })
}

/// Where a link leads, unless that must not be read: a link's text names a file too.
fn shown_target(link: &Path, target: &Path, context: &ToolContext) -> String {
    let written = normalize_lexically(&link.parent().unwrap_or(link).join(target));
    let is_shown = [written, resolved_path::real_path(link)]
        .iter()
        .all(|path| context.reach.admits_elsewhere(path));
    if is_shown {
        resolved_path::one_line(&target.to_string_lossy())
    } else {
        "[not shown]".to_owned()
    }
}
