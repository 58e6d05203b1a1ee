//! SendFile: sends a file of the workspace to the chat that the run answers. Reading it is judged like Read; the runtime
//! delivers it with the result of the call.

use std::io::Read as _;

use futures::future::BoxFuture;
use rooftree_protocol::{
    ToolKind, ToolSpec,
    media::media_type,
    tool_call::{FileAction, FileNote},
};
use serde_json::Value;

use crate::{
    Tool, ToolContext, ToolOutput,
    arguments::{self, ArgumentKind, ToolArgument, text},
    blocking, resolved_path,
    text_file::hash,
    tool::FileToSend,
    tool_info::{SkillExemption, ToolInfo, ToolOffer, ToolSubject},
};

/// The largest file that is sent.
const MOST_BYTES: u64 = 50 * 1024 * 1024;

pub(crate) const INFO: ToolInfo = ToolInfo {
    aliases: &["send_file", "sendfile"],
    kind: ToolKind::Read,
    capabilities: &["file.read", "people"],
    is_cacheable: false,
    skill_exemption: SkillExemption::None,
    offer: ToolOffer::InChats,
    ..ToolInfo::reads_files("SendFile", ToolSubject::Path("file_path"))
};

const DESCRIPTION: &str =
    "Send a file to the chat this conversation is in. Text belongs in your answer, not in a file.";

pub(crate) const ARGUMENTS: [ToolArgument; 2] = [
    ToolArgument::new("file_path", ArgumentKind::Text, "")
        .required()
        .with_aliases(&["path", "filePath"]),
    ToolArgument::new("caption", ArgumentKind::Text, "What is said with it")
        .with_aliases(&["text", "message"]),
];

/// The SendFile tool.
pub(crate) struct SendFileTool(ToolSpec);

impl SendFileTool {
    pub fn new() -> Self {
        Self(arguments::spec(INFO.name, DESCRIPTION, &ARGUMENTS))
    }
}

impl Tool for SendFileTool {
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
        text(input, "file_path").to_owned()
    }

    fn run(&self, input: Value, context: ToolContext) -> BoxFuture<'static, ToolOutput> {
        blocking::run(move || send(&input, &context))
    }
}

fn send(input: &Value, context: &ToolContext) -> Result<ToolOutput, String> {
    let shown = text(input, "file_path");
    let target = context.target(shown)?;
    let (mut file, metadata) = target.open()?;
    if metadata.len() > MOST_BYTES {
        return Err(format!(
            "{shown} has {}; at most {} are sent.",
            resolved_path::size(metadata.len()),
            resolved_path::size(MOST_BYTES)
        ));
    }
    let mut bytes = Vec::new();
    file.by_ref()
        .take(MOST_BYTES)
        .read_to_end(&mut bytes)
        .map_err(|error| target.explain(&error, "read"))?;
    if bytes.is_empty() {
        return Err(format!("{shown} is empty; there is nothing to send."));
    }
    let name = target.path.file_name().unwrap_or_default();
    let sent = FileToSend {
        name: name.to_string_lossy().into_owned(),
        media_type: media_type(&bytes).to_owned(),
        caption: text(input, "caption").to_owned(),
        path: target.path.clone(),
        bytes,
    };
    let note = FileNote {
        path: target.path,
        action: FileAction::Read,
        hash: Some(hash(&sent.bytes)),
        added: 0,
        removed: 0,
    };
    let mut output = ToolOutput::done("");
    output.files.push(note);
    output.send = Some(sent);
    Ok(output)
}
