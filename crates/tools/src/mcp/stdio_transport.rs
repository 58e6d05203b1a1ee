//! Stdio transport to a server program: one message per line, with a limit on the line length.

use rmcp::{RoleClient, transport::async_rw::AsyncRwTransport};
use tokio::io::{AsyncRead, AsyncWrite};

use super::{
    bounded_reader::{BoundedLineReader, FRAME},
    drop_late_replies::LateReplyFilter,
};

/// The way to a program: what is read from it and what is written to it.
pub(super) fn lines<R, W>(
    output: BoundedLineReader<R>,
    input: W,
) -> LateReplyFilter<AsyncRwTransport<RoleClient, BoundedLineReader<R>, W>>
where
    R: AsyncRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
{
    LateReplyFilter::new(
        AsyncRwTransport::new_client(output, input).with_max_line_length(2 * FRAME),
    )
}
