//! What a program writes, as messages: lines of bounded length.

use rmcp::{RoleClient, transport::async_rw::AsyncRwTransport};
use tokio::io::{AsyncRead, AsyncWrite};

use super::{
    bounded::{Bounded, FRAME},
    late::Forgetful,
};

/// The way to a program: what is read from it and what is written to it.
pub(super) fn lines<R, W>(
    output: Bounded<R>,
    input: W,
) -> Forgetful<AsyncRwTransport<RoleClient, Bounded<R>, W>>
where
    R: AsyncRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
{
    Forgetful::new(AsyncRwTransport::new_client(output, input).with_max_line_length(2 * FRAME))
}
