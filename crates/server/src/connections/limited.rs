//! A stream that ends when its connection must: not authorised in time, closed to make room, or not read.

use std::{
    io,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    time::{Instant, Sleep, sleep, sleep_until},
};
use tokio_util::sync::WaitForCancellationFutureOwned;

use super::ClientConnection;

/// A stream and the limits on it.
pub(crate) struct LimitedStream<S> {
    stream: S,
    connection: Arc<ClientConnection>,
    closed: Pin<Box<WaitForCancellationFutureOwned>>,
    deadline: Pin<Box<Sleep>>,
    write: Duration,
    /// Runs while the client takes nothing of what is written.
    stalled: Option<Pin<Box<Sleep>>>,
}

impl<S> LimitedStream<S> {
    pub(super) fn new(stream: S, connection: Arc<ClientConnection>, write: Duration) -> Self {
        let closed = Box::pin(connection.close.clone().cancelled_owned());
        let deadline = Box::pin(sleep_until(
            connection.state().deadline.unwrap_or_else(Instant::now),
        ));
        Self {
            stream,
            connection,
            closed,
            deadline,
            write,
            stalled: None,
        }
    }

    pub(crate) fn connection(&self) -> &Arc<ClientConnection> {
        &self.connection
    }

    /// Whether the connection must end now; otherwise it is asked again when it must.
    fn is_over(&mut self, context: &mut Context<'_>) -> bool {
        loop {
            let Some(deadline) = self.connection.state().deadline else {
                return false;
            };
            if self.closed.as_mut().poll(context).is_ready() {
                return true;
            }
            if self.deadline.as_mut().poll(context).is_pending() {
                return false;
            }
            if deadline <= Instant::now() {
                return true;
            }
            self.deadline.as_mut().reset(deadline);
        }
    }

    /// What a write came to, unless it has waited too long.
    fn bounded<T>(
        &mut self,
        context: &mut Context<'_>,
        written: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if written.is_ready() {
            self.stalled = None;
            return written;
        }
        let limit = self.write;
        let stalled = self.stalled.get_or_insert_with(|| Box::pin(sleep(limit)));
        match stalled.as_mut().poll(context) {
            Poll::Ready(()) => Poll::Ready(Err(io::ErrorKind::TimedOut.into())),
            Poll::Pending => Poll::Pending,
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for LimitedStream<S> {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        if this.is_over(context) {
            return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
        }
        Pin::new(&mut this.stream).poll_read(context, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for LimitedStream<S> {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let written = Pin::new(&mut this.stream).poll_write(context, bytes);
        this.bounded(context, written)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let written = Pin::new(&mut this.stream).poll_write_vectored(context, slices);
        this.bounded(context, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let flushed = Pin::new(&mut this.stream).poll_flush(context);
        this.bounded(context, flushed)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let shut = Pin::new(&mut this.stream).poll_shutdown(context);
        this.bounded(context, shut)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;
    use crate::connections::{ConnectionLimits, ConnectionTracker};

    fn limits() -> ConnectionLimits {
        let short = Duration::from_millis(20);
        ConnectionLimits {
            head: short,
            answer: short,
            write: short,
            ..ConnectionLimits::default()
        }
    }

    #[tokio::test]
    async fn s_b8_a_client_that_reads_nothing_is_given_up() {
        let (near, _far) = tokio::io::duplex(16);
        let connection = ConnectionTracker::new(limits()).admit([127, 0, 0, 1].into());
        let mut limited = LimitedStream::new(near, connection, limits().write);
        let written =
            tokio::time::timeout(Duration::from_secs(20), limited.write_all(&[0; 1024])).await;
        let error = written.expect("it does not wait for ever").unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
    }

    #[tokio::test]
    async fn s_b8_a_connection_without_an_authorised_request_ends_and_one_with_it_stays() {
        let connections = ConnectionTracker::new(limits());
        let (near, _far) = tokio::io::duplex(16);
        let mut limited = LimitedStream::new(
            near,
            connections.admit([127, 0, 0, 1].into()),
            limits().write,
        );
        limited.connection().request_received();
        let error = limited.read_u8().await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        let (near, mut far) = tokio::io::duplex(16);
        let mut limited = LimitedStream::new(
            near,
            connections.admit([127, 0, 0, 1].into()),
            limits().write,
        );
        assert!(limited.connection().authorise(&"tok".into()));
        tokio::time::sleep(limits().head * 2).await;
        far.write_u8(7).await.unwrap();
        assert_eq!(limited.read_u8().await.unwrap(), 7);
    }

    #[test]
    fn s_b8_authorised_connections_count_for_the_token_and_are_never_closed_for_others() {
        let bounds = ConnectionLimits {
            waiting: 2,
            per_address: 2,
            authorised: 1,
            ..limits()
        };
        let connections = ConnectionTracker::new(bounds);
        let _runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build()
            .unwrap();
        let one = connections.admit([127, 0, 0, 1].into());
        let token = "tok".into();
        assert!(
            one.authorise(&token) && one.authorise(&token),
            "twice is once"
        );
        let others: Vec<_> = (0..4)
            .map(|_| connections.admit([127, 0, 0, 1].into()))
            .collect();
        assert!(!one.close.is_cancelled());
        let closed: Vec<bool> = others
            .iter()
            .map(|other| other.close.is_cancelled())
            .collect();
        assert_eq!(closed, [true, true, false, false], "the oldest make room");
        assert!(
            !others[3].authorise(&token),
            "one token has one connection here"
        );
        assert!(
            others[2].authorise(&"other".into()),
            "and another token its own"
        );
        assert!(!others[2].authorise(&token), "it stays with its token");
        drop(one);
        assert!(others[3].authorise(&token));
        let elsewhere = connections.admit([10, 0, 0, 1].into());
        assert!(!elsewhere.close.is_cancelled() && !others[2].close.is_cancelled());
    }

    #[test]
    fn s_b8_one_address_takes_no_room_from_others_and_all_together_have_a_limit() {
        let bounds = ConnectionLimits {
            waiting: 4,
            per_address: 2,
            ..limits()
        };
        let connections = ConnectionTracker::new(bounds);
        let _runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build()
            .unwrap();
        let is_closed = |of: &[Arc<ClientConnection>]| {
            of.iter()
                .map(|one| one.close.is_cancelled())
                .collect::<Vec<_>>()
        };
        let quiet = [connections.admit([10, 0, 0, 1].into())];
        let many: Vec<_> = (0..5)
            .map(|_| connections.admit([127, 0, 0, 1].into()))
            .collect();
        assert_eq!(
            is_closed(&many),
            [true, true, true, false, false],
            "the oldest of the address make room"
        );
        assert_eq!(is_closed(&quiet), [false]);
        let others: Vec<_> = (2..5)
            .map(|last| connections.admit([10, 0, 0, last].into()))
            .collect();
        assert_eq!(
            (is_closed(&quiet), is_closed(&others)),
            (vec![true], vec![false; 3]),
            "the oldest of all"
        );
    }
}
