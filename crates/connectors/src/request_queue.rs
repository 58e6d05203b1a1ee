//! A queue between HTTP requests of platforms and `receive`: a request is answered when what it held is acknowledged.
//!
//! Nothing of it outlives the process: a platform that got no success sends the request again, under the same key.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::sync::{Notify, oneshot};

use crate::{Inbound, PlatformAnswer};

/// How much may wait; more is refused and sent again later.
const MOST: usize = 256;
/// How many acknowledged keys are kept. The caller keeps them all; these save it the work.
const REMEMBERED: usize = 1_024;
/// How long a request waits for its acknowledgement. Platforms give up after ten seconds or more.
const WAIT: Duration = Duration::from_secs(8);

/// What became of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Submitted {
    /// It was acknowledged.
    Stored,
    /// Too much waits.
    Full,
    /// It was not acknowledged in time.
    Late,
}

impl Submitted {
    /// The refusal that makes the platform send it again; none if it is stored.
    pub(crate) fn refusal(self) -> Option<PlatformAnswer> {
        match self {
            Self::Stored => None,
            Self::Full => Some(PlatformAnswer::refused(
                503,
                "too much waits; send it again later",
            )),
            Self::Late => Some(PlatformAnswer::refused(
                503,
                "it could not be stored in time; send it again",
            )),
        }
    }
}

/// What arrived by requests and is not acknowledged.
#[derive(Debug, Default)]
pub(crate) struct RequestQueue {
    queued: Mutex<QueuedRequests>,
    arrived: Notify,
}

#[derive(Debug, Default)]
struct QueuedRequests {
    waiting: VecDeque<Inbound>,
    /// Keys that were given out, in order.
    given: VecDeque<String>,
    /// Requests to be answered, by key.
    open: HashMap<String, Vec<oneshot::Sender<()>>>,
    /// Keys that were acknowledged lately: what has one of them is stored.
    stored: VecDeque<String>,
}

impl RequestQueue {
    fn queued(&self) -> MutexGuard<'_, QueuedRequests> {
        self.queued.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets something arrive and waits until it is acknowledged. The same key again joins the wait for the first.
    pub(crate) async fn submit(&self, inbound: Inbound) -> Submitted {
        let key = inbound.key.clone();
        if self.queued().stored.contains(&key) {
            return Submitted::Stored;
        }
        let Some(answered) = self.queued().add(inbound) else {
            return Submitted::Full;
        };
        self.arrived.notify_one();
        match tokio::time::timeout(WAIT, answered).await {
            Ok(Ok(())) => Submitted::Stored,
            _ => {
                self.queued().withdraw(&key);
                Submitted::Late
            }
        }
    }

    /// The next that arrived.
    pub(crate) async fn next(&self) -> Inbound {
        loop {
            if let Some(inbound) = self.queued().give() {
                return inbound;
            }
            self.arrived.notified().await;
        }
    }

    /// Whether what has this key waits or was given out and is not acknowledged.
    pub(crate) fn holds(&self, key: &str) -> bool {
        self.queued().holds(key)
    }

    /// Answers the request with this key and those given out before it; returns their keys.
    pub(crate) fn acknowledge(&self, key: &str) -> Vec<String> {
        let mut queued = self.queued();
        let at = queued.given.iter().position(|given| given == key);
        let stored: Vec<String> = match at {
            Some(at) => queued.given.drain(..=at).collect(),
            None => Vec::new(),
        };
        for key in &stored {
            queued.remember(key);
            for request in queued.open.remove(key).unwrap_or_default() {
                // The platform may have hung up; it sends the request again, and its key is known then.
                let _ = request.send(());
            }
        }
        stored
    }
}

impl QueuedRequests {
    fn holds(&self, key: &str) -> bool {
        let is_given = self.given.iter().any(|given| given == key);
        is_given || self.waiting.iter().any(|waiting| waiting.key == key)
    }

    fn add(&mut self, inbound: Inbound) -> Option<oneshot::Receiver<()>> {
        let (answer, answered) = oneshot::channel();
        let is_known = self.holds(&inbound.key);
        if !is_known && self.waiting.len() + self.given.len() >= MOST {
            return None;
        }
        self.open
            .entry(inbound.key.clone())
            .or_default()
            .push(answer);
        if !is_known {
            self.waiting.push_back(inbound);
        }
        Some(answered)
    }

    fn remember(&mut self, key: &str) {
        if self.stored.len() == REMEMBERED {
            self.stored.pop_front();
        }
        self.stored.push_back(key.to_owned());
    }

    fn give(&mut self) -> Option<Inbound> {
        let inbound = self.waiting.pop_front()?;
        self.given.push_back(inbound.key.clone());
        Some(inbound)
    }

    /// Forgets what no request waits for and `receive` did not give out: it comes again.
    fn withdraw(&mut self, key: &str) {
        let Some(open) = self.open.get_mut(key) else {
            return;
        };
        open.retain(|request| !request.is_closed());
        if open.is_empty() {
            self.open.remove(key);
            self.waiting.retain(|waiting| waiting.key != key);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ChatPlace, ChatSender, InboundBody};

    fn inbound(key: &str) -> Inbound {
        Inbound {
            key: key.to_owned(),
            place: ChatPlace {
                chat: "c".to_owned(),
                thread: None,
                reply_to: None,
                group: false,
            },
            from: ChatSender {
                id: "1".to_owned(),
                name: String::new(),
            },
            body: InboundBody::Moved {
                chat: "d".to_owned(),
            },
            at_ms: 0,
            agent: None,
        }
    }

    #[tokio::test]
    async fn a_request_is_answered_when_it_or_a_later_one_is_acknowledged() {
        let queue = RequestQueue::default();
        let store = async {
            assert_eq!(queue.next().await.key, "1");
            assert_eq!(queue.next().await.key, "2");
            assert_eq!(queue.acknowledge("2"), ["1", "2"]);
        };
        let (first, again, second, ()) = tokio::join!(
            queue.submit(inbound("1")),
            queue.submit(inbound("1")),
            queue.submit(inbound("2")),
            store
        );
        assert_eq!([first, again, second], [Submitted::Stored; 3]);
        let replayed = queue.submit(inbound("1")).await;
        assert_eq!(replayed, Submitted::Stored);
        assert!(
            queue.queued().waiting.is_empty(),
            "it is not given out again"
        );
    }

    #[tokio::test(start_paused = true)]
    async fn a_request_that_is_not_acknowledged_is_refused_and_comes_again() {
        let queue = RequestQueue::default();
        assert_eq!(queue.submit(inbound("1")).await, Submitted::Late);
        assert!(
            queue.queued().waiting.is_empty(),
            "it was not given out, so it may come again"
        );
        let received = async {
            let given = queue.next().await;
            assert_eq!(given.key, "2");
        };
        let (late, ()) = tokio::join!(queue.submit(inbound("2")), received);
        assert_eq!(late, Submitted::Late);
        assert_eq!(
            queue.acknowledge("2"),
            ["2"],
            "it was given out, so it may be stored still"
        );
    }

    #[tokio::test(start_paused = true)]
    async fn no_more_than_a_limit_waits() {
        let queue = RequestQueue::default();
        for number in 0..MOST {
            assert!(queue.queued().add(inbound(&number.to_string())).is_some());
        }
        assert_eq!(queue.submit(inbound("more")).await, Submitted::Full);
        assert_eq!(
            queue.submit(inbound("0")).await,
            Submitted::Late,
            "the same again takes no place"
        );
    }
}
