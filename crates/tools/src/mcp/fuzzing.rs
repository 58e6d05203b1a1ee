//! Fuzzing entry points: any bytes as the output of a server, over both transports, down to what an agent would get.

use rmcp::{
    RoleClient,
    model::{JsonRpcMessage, ServerRequest, ServerResult},
    service::RxJsonRpcMessage,
    transport::Transport,
};
use serde_json::Value;

use super::{
    bounded_reader::BoundedLineReader, elicitation::ElicitationForm, http, names, prompts,
    result_content, sanitize::sanitize_schema, stdio_transport::lines,
};

/// What a program writes. Says how many of the lines were messages.
pub fn fuzz(bytes: &[u8]) -> usize {
    let Ok(runtime) = tokio::runtime::Builder::new_current_thread().build() else {
        return 0;
    };
    runtime.block_on(async {
        let ends = tokio_util::sync::CancellationToken::new().drop_guard();
        let output = BoundedLineReader::new(
            std::io::Cursor::new(bytes.to_vec()),
            Default::default(),
            ends,
        );
        let mut lines = lines(output, tokio::io::sink());
        let mut count = 0;
        while let Some(message) = lines.receive().await {
            take(message);
            count += 1;
        }
        count
    })
}

/// The same of what a server answers over HTTP, as one message or as a stream of events; the first byte
/// says which.
pub fn fuzz_http(bytes: &[u8]) -> usize {
    let Ok(runtime) = tokio::runtime::Builder::new_current_thread().build() else {
        return 0;
    };
    let Some((kind, body)) = bytes.split_first() else {
        return 0;
    };
    let messages = runtime.block_on(http::fuzzed(body.to_vec(), kind % 2 == 0));
    let count = messages.len();
    messages.into_iter().for_each(take);
    count
}

/// What is made of each kind of message.
fn take(message: RxJsonRpcMessage<RoleClient>) {
    match message {
        JsonRpcMessage::Request(request) => {
            if let ServerRequest::ElicitRequest(asked) = request.request {
                let _ = ElicitationForm::of("s", asked.params).map(|form| form.questions("").len());
            }
        }
        JsonRpcMessage::Response(response) => match response.result {
            ServerResult::CallToolResult(result) => drop(result_content::taken(result)),
            ServerResult::ListPromptsResult(listed) => drop(prompts::known("s", listed.prompts)),
            ServerResult::ListToolsResult(listed) => {
                for tool in listed.tools {
                    let _ = sanitize_schema(&Value::Object(tool.input_schema.as_ref().clone()));
                    let _ = names::of_tool("s", &tool.name);
                }
            }
            _ => {}
        },
        _ => {}
    }
}
