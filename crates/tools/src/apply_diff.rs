//! ApplyDiff: SEARCH/REPLACE blocks for a file that was read; all of them or none.

use futures::future::BoxFuture;
use rooftree_protocol::ToolSpec;
use serde_json::Value;

use crate::{
    PlannedFileChange, Tool, ToolContext, ToolOutput,
    arguments::{self, ArgumentKind, ToolArgument, text},
    blocking,
    edit::{
        plan_replacements,
        replace::{MatchMode, TextReplacement},
    },
    file_change::{self, FileChange},
    tool_info::ToolInfo,
};

pub(crate) const INFO: ToolInfo = ToolInfo {
    aliases: &["apply_diff"],
    ..ToolInfo::changes_files("ApplyDiff")
};

const DESCRIPTION: &str = "Edit a file that was read with SEARCH/REPLACE blocks. \
    Each has the form\n<<<<<<< SEARCH\nold lines\n=======\nnew lines\n>>>>>>> REPLACE\n\
    Each SEARCH must occur exactly once. All blocks are applied or none.";

pub(crate) const ARGUMENTS: [ToolArgument; 2] = [
    ToolArgument::new("file_path", ArgumentKind::Text, "")
        .required()
        .with_aliases(&["path", "filePath"]),
    ToolArgument::new("diff", ArgumentKind::Text, "").required(),
];

/// The ApplyDiff tool.
pub(crate) struct ApplyDiffTool(ToolSpec);

impl ApplyDiffTool {
    pub fn new() -> Self {
        Self(arguments::spec(INFO.name, DESCRIPTION, &ARGUMENTS))
    }
}

impl Tool for ApplyDiffTool {
    fn info(&self) -> &ToolInfo {
        &INFO
    }

    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn normalise(&self, _called_as: &str, input: Value) -> Result<Value, String> {
        let input = arguments::normalise(INFO.name, &ARGUMENTS, input).map(Value::Object)?;
        blocks(text(&input, "diff")).map_err(|words| format!("ApplyDiff: {words}"))?;
        Ok(input)
    }

    fn preflight(&self, input: &Value, context: &ToolContext) -> Result<(), String> {
        plan(input, context).map(|_| ())
    }

    fn preview(&self, input: &Value, context: &ToolContext) -> String {
        file_change::preview(plan(input, context))
    }

    fn file_changes(&self, input: &Value, context: &ToolContext) -> Vec<PlannedFileChange> {
        file_change::planned(plan(input, context))
    }

    fn run(&self, input: Value, context: ToolContext) -> BoxFuture<'static, ToolOutput> {
        blocking::run(move || {
            Ok(file_change::plan_and_make(&context, || {
                plan(&input, &context)
            }))
        })
    }
}

fn plan(input: &Value, context: &ToolContext) -> Result<(FileChange, String), String> {
    plan_replacements(
        text(input, "file_path"),
        &blocks(text(input, "diff"))?,
        context,
    )
}

/// Where in a block a line is.
enum DiffParseState {
    Outside,
    Search(String),
    Replace(String, String),
}

/// The blocks of a diff. Lines between blocks are talk and are passed over.
fn blocks(diff: &str) -> Result<Vec<TextReplacement>, String> {
    let mut found = Vec::new();
    let mut place = DiffParseState::Outside;
    for line in diff.split_inclusive('\n') {
        let bare = line.trim_end();
        place = match place {
            DiffParseState::Outside if is_mark(bare, '<', "SEARCH") => {
                DiffParseState::Search(String::new())
            }
            DiffParseState::Outside => DiffParseState::Outside,
            DiffParseState::Search(old) if bare == "=======" => {
                DiffParseState::Replace(old, String::new())
            }
            DiffParseState::Search(old) => DiffParseState::Search(old + line),
            DiffParseState::Replace(old, new) if is_mark(bare, '>', "REPLACE") => {
                found.push(replacement(old, new));
                DiffParseState::Outside
            }
            DiffParseState::Replace(old, new) => DiffParseState::Replace(old, new + line),
        };
    }
    match place {
        DiffParseState::Search(_) => Err("a SEARCH block has no `=======` line.".to_owned()),
        DiffParseState::Replace(..) => Err("a block has no `>>>>>>> REPLACE` line.".to_owned()),
        DiffParseState::Outside if found.is_empty() => {
            Err("there is no `<<<<<<< SEARCH` block in it.".to_owned())
        }
        DiffParseState::Outside => Ok(found),
    }
}

/// `<<<<<<< SEARCH`, with five or more signs.
fn is_mark(line: &str, sign: char, word: &str) -> bool {
    let rest = line.trim_start_matches(sign);
    line.len() - rest.len() >= 5 && rest.trim() == word
}

/// Blocks are whole lines. The end of the last one stays outside of what is replaced,
/// because the last line of a file may have none.
fn replacement(old: String, new: String) -> TextReplacement {
    let matches = if new.is_empty() {
        MatchMode::RemovedLines
    } else {
        MatchMode::Lines
    };
    let inner = |text: String| text.strip_suffix('\n').map(str::to_owned).unwrap_or(text);
    TextReplacement {
        old: inner(old),
        new: inner(new),
        matches,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_read_and_talk_is_passed_over() {
        let diff = "Here:\n<<<<<<< SEARCH\na\nb\n=======\nc\n>>>>>>> REPLACE\nand\n<<<<< SEARCH\nx\n=======\n>>>>> REPLACE";
        let blocks = blocks(diff).unwrap();
        let pairs: Vec<(&str, &str)> = blocks
            .iter()
            .map(|block| (block.old.as_str(), block.new.as_str()))
            .collect();
        assert_eq!(pairs, [("a\nb", "c"), ("x", "")]);
    }

    #[test]
    fn an_unfinished_block_is_named() {
        let table = [
            ("", "no `<<<<<<< SEARCH`"),
            ("<<<<<<< SEARCH\na\n", "no `=======`"),
            ("<<<<<<< SEARCH\na\n=======\nb\n", "no `>>>>>>> REPLACE`"),
        ];
        for (diff, words) in table {
            let error = blocks(diff).err().unwrap();
            assert!(error.contains(words), "{error}");
        }
    }
}
