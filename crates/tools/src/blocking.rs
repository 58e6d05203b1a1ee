//! Runs blocking disk work on a blocking thread (`spawn_blocking`), off the async workers.

use futures::future::BoxFuture;
use rooftree_protocol::ErrorCode;

use crate::ToolOutput;

/// Does blocking work on a thread of its own; an `Err` is what the model reads.
pub(crate) fn run(
    work: impl FnOnce() -> Result<ToolOutput, String> + Send + 'static,
) -> BoxFuture<'static, ToolOutput> {
    let task = tokio::task::spawn_blocking(work);
    Box::pin(async move {
        match task.await {
            Ok(Ok(output)) => output,
            Ok(Err(words)) => ToolOutput::failed(ErrorCode::ToolFailed, words),
            Err(error) => {
                ToolOutput::failed(ErrorCode::Internal, format!("The tool broke: {error}."))
            }
        }
    })
}
