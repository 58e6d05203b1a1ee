//! What a program writes, as messages: lines of bounded length, and those of them that are messages.

use rmcp::{
    RoleClient,
    transport::{Transport, async_rw::AsyncRwTransport},
};
use tokio::io::{AsyncRead, AsyncWrite};

use super::bounded::{Bounded, FRAME};

/// The way to a program: what is read from it and what is written to it.
pub(super) fn lines<R, W>(output: Bounded<R>, input: W) -> AsyncRwTransport<RoleClient, Bounded<R>, W>
where
    R: AsyncRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
{
    AsyncRwTransport::new_client(output, input).with_max_line_length(2 * FRAME)
}

/// For a fuzzer: any bytes as what a server writes, down to what an agent would get. Says how many of the
/// lines were messages.
pub fn fuzz(bytes: &[u8]) -> usize {
    let Ok(runtime) = tokio::runtime::Builder::new_current_thread().build() else { return 0 };
    runtime.block_on(async {
        let ends = tokio_util::sync::CancellationToken::new().drop_guard();
        let output = Bounded::new(std::io::Cursor::new(bytes.to_vec()), Default::default(), ends);
        let mut lines = lines(output, tokio::io::sink());
        let mut count = 0;
        while let Some(message) = lines.receive().await {
            taken::take(message);
            count += 1;
        }
        count
    })
}

mod taken {
    //! What is made of each kind of message.

    use rmcp::{
        RoleClient,
        model::{JsonRpcMessage, ServerRequest, ServerResult},
        service::RxJsonRpcMessage,
    };
    use serde_json::Value;

    use crate::mcp::{content, elicit::Form, names, secrets::Secrets, untrusted::cleaned_schema};

    pub(super) fn take(message: RxJsonRpcMessage<RoleClient>) {
        match message {
            JsonRpcMessage::Request(request) => {
                if let ServerRequest::ElicitRequest(asked) = request.request {
                    let _ = Form::of("s", asked.params).map(|form| form.questions("").len());
                }
            }
            JsonRpcMessage::Response(response) => match response.result {
                ServerResult::CallToolResult(result) => drop(content::output(result, &Secrets::default())),
                ServerResult::ListToolsResult(listed) => {
                    for tool in listed.tools {
                        let _ = cleaned_schema(&Value::Object(tool.input_schema.as_ref().clone()));
                        let _ = names::of_tool("s", &tool.name);
                    }
                }
                _ => {}
            },
            _ => {}
        }
    }
}
