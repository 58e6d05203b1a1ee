//! Poller of one connector: receives, takes in, posts what waited long enough, until it is stopped or loses its claim.

use std::time::Duration;

use futures::future::BoxFuture;
use rooftree_connectors::{Inbound, SendError};
use rooftree_runtime::Error;
use tokio_util::sync::CancellationToken;

use super::{chat_inbox::ChatInbox, inbound::Arrival};

/// Waits between attempts when the store fails.
const RETRY: Duration = Duration::from_secs(1);

/// Why a poller ended.
#[derive(Debug)]
pub(super) enum PollerEnd {
    /// It was told to.
    Stopped,
    /// The platform refuses it for good.
    Refused(SendError),
}

impl ChatInbox {
    /// Polls until it ends. What is not stored then is not acknowledged, and comes again.
    pub(super) async fn poll(mut self, stop: CancellationToken) -> PollerEnd {
        loop {
            let connector = self.connector.clone();
            tokio::select! {
                () = stop.cancelled() => return PollerEnd::Stopped,
                arrived = connector.receive() => match arrived {
                    Ok(inbound) => {
                        let taken = stop.run_until_cancelled(self.take_in(inbound)).await;
                        if taken.is_none() {
                            return PollerEnd::Stopped;
                        }
                    }
                    Err(error) => return PollerEnd::Refused(error),
                },
                () = self.until_due() => {
                    if stop.run_until_cancelled(self.post_due()).await.is_none() {
                        return PollerEnd::Stopped;
                    }
                }
            }
        }
    }

    /// Takes something in, however often the store has to be asked.
    async fn take_in(&mut self, inbound: Inbound) {
        self.acks.arrived(&inbound.key);
        loop {
            match self.take(&inbound).await {
                Ok(Arrival::Waits) => return self.post_due().await,
                Ok(Arrival::Stored) => return self.acknowledge(&inbound.key).await,
                // It can never be taken, and must not hold up what follows.
                Err(Error::Refused(_)) => return self.acknowledge(&inbound.key).await,
                Err(Error::Closed) => std::future::pending().await,
                Err(Error::Store(_)) => self.clock.sleep(RETRY).await,
            }
        }
    }

    async fn post_due(&mut self) {
        loop {
            match self.flush_due().await {
                Ok(()) => return,
                Err(Error::Closed) => std::future::pending().await,
                Err(_) => self.clock.sleep(RETRY).await,
            }
        }
    }

    fn until_due(&self) -> BoxFuture<'static, ()> {
        match self.debouncer.next_due() {
            Some(due) => {
                let wait = due.0.saturating_sub(self.clock.now().0);
                let wait = Duration::from_millis(u64::try_from(wait).unwrap_or(0));
                self.clock.sleep(wait)
            }
            None => Box::pin(std::future::pending()),
        }
    }
}
