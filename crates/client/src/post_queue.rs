//! Queue of posts that are not sent yet: kept in order, and sent again until the server has accepted each.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, PoisonError},
};

use rooftree_protocol::{Command, Problem, command::CommandReply};
use tokio::{
    sync::{Notify, oneshot},
    task::JoinHandle,
    time::sleep,
};

use crate::RemoteClient;

/// Posts that are sent in order, each until it is accepted or refused. Keys make sending one twice harmless.
pub struct PostQueue {
    shared: Arc<QueueState>,
    sender: JoinHandle<()>,
}

struct QueueState {
    client: RemoteClient,
    posts: Mutex<VecDeque<QueuedPost>>,
    added: Notify,
}

struct QueuedPost {
    command: Command,
    attempts: u32,
    answer: oneshot::Sender<Result<CommandReply, Problem>>,
}

/// A post that was not accepted yet.
#[derive(Clone, Debug, PartialEq)]
pub struct UnsentPost {
    /// The post.
    pub command: Command,
    /// How often it was tried.
    pub attempts: u32,
}

impl PostQueue {
    /// A queue before a server.
    pub fn new(client: RemoteClient) -> Self {
        let shared = Arc::new(QueueState {
            client,
            posts: Mutex::default(),
            added: Notify::new(),
        });
        let sender = tokio::spawn(send_all(shared.clone()));
        Self { shared, sender }
    }

    /// Adds a post. The answer comes when the server has accepted or refused it.
    pub fn post(&self, command: Command) -> oneshot::Receiver<Result<CommandReply, Problem>> {
        let (answer, received) = oneshot::channel();
        let command = self.shared.client.keyed(command);
        self.shared.posts().push_back(QueuedPost {
            command,
            attempts: 0,
            answer,
        });
        self.shared.added.notify_one();
        received
    }

    /// The posts that were not accepted yet, in order.
    pub fn unsent(&self) -> Vec<UnsentPost> {
        let posts = self.shared.posts();
        let unsent = posts.iter().map(|post| UnsentPost {
            command: post.command.clone(),
            attempts: post.attempts,
        });
        unsent.collect()
    }
}

impl Drop for PostQueue {
    fn drop(&mut self) {
        self.sender.abort();
    }
}

impl QueueState {
    fn posts(&self) -> std::sync::MutexGuard<'_, VecDeque<QueuedPost>> {
        self.posts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The first post, counted as tried once more.
    fn first(&self) -> Option<(Command, u32)> {
        let mut posts = self.posts();
        let first = posts.front_mut()?;
        first.attempts += 1;
        Some((first.command.clone(), first.attempts))
    }
}

async fn send_all(state: Arc<QueueState>) {
    loop {
        let Some((command, attempts)) = state.first() else {
            state.added.notified().await;
            continue;
        };
        match state.client.send_once(&command).await {
            Err(refused) if refused.is_passing => {
                sleep(state.client.pauses.before(attempts)).await;
            }
            answered => {
                let first = state.posts().pop_front();
                if let Some(post) = first {
                    // A caller that does not wait needs no answer.
                    let _ = post
                        .answer
                        .send(answered.map_err(|refused| refused.problem));
                }
            }
        }
    }
}
