//! Reads a server's output with a limit on the line length: a server that never ends a line cannot fill our memory.

use std::{
    io,
    pin::Pin,
    sync::{Arc, OnceLock},
    task::{Context, Poll, ready},
};

use tokio::io::{AsyncRead, ReadBuf};
use tokio_util::sync::DropGuard;

/// Bytes of one message.
pub(super) const FRAME: usize = 8 * 1024 * 1024;

/// Why nothing more is read, once that is so.
pub(super) type ReadFault = Arc<OnceLock<String>>;

/// A stream of lines with a maximum length. Dropping the reader ends the program.
pub(super) struct BoundedLineReader<R> {
    inner: R,
    /// Bytes since the last end of a line.
    open: usize,
    fault: ReadFault,
    _ends: DropGuard,
}

impl<R> BoundedLineReader<R> {
    pub(super) fn new(inner: R, fault: ReadFault, ends: DropGuard) -> Self {
        Self {
            inner,
            open: 0,
            fault,
            _ends: ends,
        }
    }
}

impl<R: AsyncRead + Unpin> AsyncRead for BoundedLineReader<R> {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let before = buffer.filled().len();
        ready!(Pin::new(&mut this.inner).poll_read(cx, buffer))?;
        let new = buffer.filled().get(before..).unwrap_or_default();
        this.open = match new.iter().rposition(|byte| *byte == b'\n') {
            Some(at) => new.len() - at - 1,
            None => this.open + new.len(),
        };
        if this.open > FRAME {
            let words = format!("it sent a message of more than {} MB", FRAME / 1024 / 1024);
            let _ = this.fault.set(words.clone());
            return Poll::Ready(Err(io::Error::new(io::ErrorKind::InvalidData, words)));
        }
        Poll::Ready(Ok(()))
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncReadExt;
    use tokio_util::sync::CancellationToken;

    use super::*;

    #[tokio::test]
    async fn lines_have_a_bound_and_their_number_has_none() {
        let read = async |text: Vec<u8>| {
            let fault = ReadFault::default();
            let ended = CancellationToken::new();
            let mut bounded =
                BoundedLineReader::new(text.as_slice(), fault.clone(), ended.clone().drop_guard());
            let result =
                tokio::io::copy(&mut (&mut bounded).take(64 << 20), &mut tokio::io::sink()).await;
            drop(bounded);
            assert!(
                ended.is_cancelled(),
                "whoever stops reading ends the program"
            );
            (result.is_ok(), fault.get().is_some())
        };
        let line = [vec![b'x'; FRAME], vec![b'\n']].concat();
        assert_eq!(read([line.clone(), line].concat()).await, (true, false));
        assert_eq!(read(vec![b'x'; FRAME + 1]).await, (false, true));
    }
}
