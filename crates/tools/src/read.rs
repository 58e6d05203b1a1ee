//! Read: a file's lines, numbered; pictures as pictures; blobs page by page.

mod page;

use std::io::{BufReader, Read as _};

use futures::future::BoxFuture;
use rooftree_protocol::{
    ErrorCode, ToolKind, ToolSpec,
    tool_call::{FileAction, FileNote},
};
use serde_json::{Value, json};

use crate::{
    Tool, ToolContext, ToolOutput,
    arguments::{self, ArgumentKind, ToolArgument, number, text},
    blocking,
    reach::FileTarget,
    resolved_path,
    text_file::{WHOLE_BYTES, hash},
    tool::ToolMedia,
    tool_info::{ToolInfo, ToolSubject},
    truncate,
};
use page::LineRange;

const DEFAULT_LINES: u64 = 2000;

/// Pictures larger than this are not shown.
const PICTURE_BYTES: u64 = 5 * 1024 * 1024;

pub(crate) const INFO: ToolInfo = ToolInfo {
    aliases: &["read_file", "readfile", "file_read"],
    kind: ToolKind::Read,
    ..ToolInfo::reads_files("Read", ToolSubject::Path("file_path"))
};

const DESCRIPTION: &str = "Read a file. Lines come numbered as `     1→text`; number and arrow are not part of the \
    file. Shows 2000 lines by default, and pictures. `blob:…` pages through output that was cut.";

pub(crate) const ARGUMENTS: [ToolArgument; 5] = [
    ToolArgument::new("file_path", ArgumentKind::Text, "")
        .required()
        .with_aliases(&["path", "filePath"]),
    ToolArgument::new("offset", ArgumentKind::Number, "First line, from 1"),
    ToolArgument::new("limit", ArgumentKind::Number, "").with_aliases(&["num_lines"]),
    ToolArgument::accepted("start_line", ArgumentKind::Number),
    ToolArgument::accepted("end_line", ArgumentKind::Number),
];

/// The Read tool.
pub(crate) struct ReadTool(ToolSpec);

impl ReadTool {
    pub fn new() -> Self {
        Self(arguments::spec(INFO.name, DESCRIPTION, &ARGUMENTS))
    }
}

impl Tool for ReadTool {
    fn info(&self) -> &ToolInfo {
        &INFO
    }

    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn normalise(&self, _called_as: &str, input: Value) -> Result<Value, String> {
        let mut input = arguments::normalise(INFO.name, &ARGUMENTS, input)?;
        let end = input.remove("end_line").and_then(|line| line.as_u64());
        if let Some(start) = input.remove("start_line") {
            input.entry("offset").or_insert(start);
        }
        let offset = input
            .get("offset")
            .and_then(Value::as_u64)
            .unwrap_or(1)
            .max(1);
        if let Some(end) = end {
            if end < offset {
                return Err(format!(
                    "Read: `end_line` {end} is before the first line {offset}."
                ));
            }
            input.insert("limit".to_owned(), json!(end - offset + 1));
        }
        if input.get("limit").and_then(Value::as_u64) == Some(0) {
            return Err("Read: `limit` must be at least 1.".to_owned());
        }
        Ok(Value::Object(input))
    }

    fn title(&self, input: &Value) -> String {
        let path = text(input, "file_path");
        match (number(input, "offset"), number(input, "limit")) {
            (None, None) => path.to_owned(),
            (offset, None) => format!("{path}:{}-", offset.unwrap_or(1)),
            (offset, Some(limit)) => {
                let first = offset.unwrap_or(1).max(1);
                format!("{path}:{first}-{}", first.saturating_add(limit) - 1)
            }
        }
    }

    fn run(&self, input: Value, context: ToolContext) -> BoxFuture<'static, ToolOutput> {
        match text(&input, "file_path").strip_prefix("blob:") {
            Some(blob) => {
                let bytes = (context.blobs)(blob.to_owned());
                let blob = blob.to_owned();
                Box::pin(async move { read_blob(bytes.await, &blob, &input) })
            }
            None => blocking::run(move || read_file(&input, &context)),
        }
    }
}

fn range(input: &Value) -> LineRange {
    let first = number(input, "offset").unwrap_or(1).max(1);
    LineRange {
        first,
        count: number(input, "limit").unwrap_or(DEFAULT_LINES),
    }
}

fn read_blob(bytes: Option<Vec<u8>>, blob: &str, input: &Value) -> ToolOutput {
    let Some(bytes) = bytes else {
        return ToolOutput::failed(ErrorCode::ToolFailed, format!("There is no blob {blob}."));
    };
    let whole = String::from_utf8_lossy(&bytes);
    // Folded, so that also the middle of an endless line can be reached.
    let folded: String = truncate::lines(&whole)
        .flat_map(|line| [line, "\n"])
        .collect();
    let total = folded.lines().count() as u64;
    let page = page::read(folded.as_bytes(), range(input), || false).unwrap_or_default();
    page.describe(&format!("blob:{blob}"), Some(total))
        .map_or_else(
            |words| ToolOutput::failed(ErrorCode::ToolFailed, words),
            ToolOutput::done,
        )
}

fn read_file(input: &Value, context: &ToolContext) -> Result<ToolOutput, String> {
    let shown = text(input, "file_path");
    let target = context.target(shown)?;
    let (mut file, metadata) = target.open()?;
    if metadata.len() > WHOLE_BYTES {
        return read_part_of_huge(file, metadata.len(), &target, (input, context));
    }
    let mut bytes = Vec::new();
    file.by_ref()
        .take(WHOLE_BYTES)
        .read_to_end(&mut bytes)
        .map_err(|error| target.explain(&error, "read"))?;
    let note = FileNote {
        path: target.path,
        action: FileAction::Read,
        hash: Some(hash(&bytes)),
        added: 0,
        removed: 0,
    };
    context.views.note(&note);
    let mut output = show(&bytes, shown, input)?;
    output.files.push(note);
    Ok(output)
}

fn show(bytes: &[u8], shown: &str, input: &Value) -> Result<ToolOutput, String> {
    let size = bytes.len() as u64;
    if let Some(media_type) = picture_type(bytes) {
        return show_picture(bytes, shown, media_type);
    }
    if is_binary(bytes) {
        return Err(binary(shown, size, bytes));
    }
    if bytes.is_empty() {
        return Ok(ToolOutput::done(format!("[{shown} is empty]")));
    }
    let total =
        bytes.split(|byte| *byte == b'\n').count() as u64 - u64::from(bytes.ends_with(b"\n"));
    let page = page::read(bytes, range(input), || false).unwrap_or_default();
    let mut words = page.describe(shown, Some(total))?;
    if std::str::from_utf8(bytes).is_err() {
        words.push_str(
            "\n[not valid UTF-8: broken characters are shown as �, and Edit cannot change this file]",
        );
    }
    Ok(ToolOutput::done(words))
}

fn show_picture(bytes: &[u8], shown: &str, media_type: &str) -> Result<ToolOutput, String> {
    let size = bytes.len() as u64;
    if size > PICTURE_BYTES {
        return Err(format!(
            "{shown} is a picture ({media_type}) of {}; at most 5 MB are shown.",
            resolved_path::size(size)
        ));
    }
    let mut output = ToolOutput::done(format!(
        "[{shown}: {media_type}, {}]",
        resolved_path::size(size)
    ));
    output.media.push(ToolMedia {
        media_type: media_type.to_owned(),
        bytes: bytes.to_vec(),
    });
    Ok(output)
}

/// A huge file is never taken into memory: only a range of it, line by line.
fn read_part_of_huge(
    mut file: std::fs::File,
    size: u64,
    target: &FileTarget,
    (input, context): (&Value, &ToolContext),
) -> Result<ToolOutput, String> {
    let shown = target.shown.as_str();
    let failed = |error: std::io::Error| target.explain(&error, "read");
    let mut start = Vec::new();
    file.by_ref()
        .take(8192)
        .read_to_end(&mut start)
        .map_err(failed)?;
    if is_binary(&start) {
        return Err(binary(shown, size, &start));
    }
    if number(input, "offset").is_none() && number(input, "limit").is_none() {
        return Err(format!(
            "{shown} has {}, too much to read whole. Give offset and limit, or search it with Grep.",
            resolved_path::size(size)
        ));
    }
    let reader = BufReader::with_capacity(256 * 1024, start.chain(file));
    let page =
        page::read(reader, range(input), || context.cancel.is_cancelled()).map_err(failed)?;
    page.describe(shown, None).map(ToolOutput::done)
}

fn picture_type(bytes: &[u8]) -> Option<&'static str> {
    let kind = infer::get(bytes)?.mime_type();
    ["image/png", "image/jpeg", "image/gif", "image/webp"]
        .contains(&kind)
        .then_some(kind)
}

/// Text holds no NUL; the first few kilobytes tell.
fn is_binary(bytes: &[u8]) -> bool {
    bytes.iter().take(8192).any(|byte| *byte == 0)
        || infer::is_archive(bytes)
        || infer::is_app(bytes)
}

fn binary(shown: &str, size: u64, start: &[u8]) -> String {
    let kind = infer::get(start).map_or("application/octet-stream", |kind| kind.mime_type());
    format!(
        "{shown} is a binary file ({kind}, {}), not text. A Bash command can look into it.",
        resolved_path::size(size)
    )
}
