//! Long poll of a Telegram bot: `getUpdates` with an offset that moves only behind what was acknowledged.
//!
//! Telegram forgets an update when a poll names a higher offset. So the next poll waits until everything that was given
//! out is acknowledged; after a crash what was not comes again under the same key. A poll that hangs is ended by a time
//! limit (watchdog) and made anew.

use std::{
    collections::VecDeque,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use serde_json::{Value, json};
use tokio::sync::Notify;

use super::{ALLOWED_UPDATES, TelegramConnector, TelegramMode, update};
use crate::{FailureClass, Health, Inbound, SendError, http::ReconnectBackoff};

/// How much longer than Telegram's own limit a poll may take before it counts as hung.
const WATCHDOG: Duration = Duration::from_secs(15);

/// Updates between Telegram and the caller.
#[derive(Debug, Default)]
pub(super) struct UpdateQueue {
    /// Held by the one call of `receive` that polls.
    turn: tokio::sync::Mutex<PollTurn>,
    counts: Mutex<UpdateCounts>,
    acknowledged: Notify,
}

#[derive(Debug, Default)]
struct PollTurn {
    is_connected: bool,
    backoff: ReconnectBackoff,
}

/// Invariant: nothing in `waiting` or `given` is before `fetched`'s successor, so the next offset may pass only when both
/// are empty.
#[derive(Debug, Default)]
struct UpdateCounts {
    waiting: VecDeque<Inbound>,
    /// Keys that were given out and not acknowledged, in order.
    given: VecDeque<String>,
    /// The last update that was fetched. Numbers grow, but after a week without updates they begin anew anywhere.
    fetched: i64,
}

impl UpdateQueue {
    fn counts(&self) -> MutexGuard<'_, UpdateCounts> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes that an update and everything before it is stored.
    pub(super) fn acknowledge(&self, key: &str) {
        let mut counts = self.counts();
        if let Some(at) = counts.given.iter().position(|given| given == key) {
            counts.given.drain(..=at);
        }
        drop(counts);
        self.acknowledged.notify_one();
    }

    fn give(&self) -> Option<Inbound> {
        let mut counts = self.counts();
        let inbound = counts.waiting.pop_front()?;
        counts.given.push_back(inbound.key.clone());
        Some(inbound)
    }

    /// The offset of the next poll, once everything that was given out is acknowledged.
    async fn offset(&self) -> i64 {
        loop {
            if let Some(offset) = self.counts().offset() {
                return offset;
            }
            self.acknowledged.notified().await;
        }
    }

    fn take_in(&self, updates: &[Value], parse: impl Fn(&Value) -> Option<Inbound>) {
        let mut counts = self.counts();
        for update in updates {
            if let Some(number) = update.get("update_id").and_then(Value::as_i64) {
                counts.fetched = number;
                counts.waiting.extend(parse(update));
            }
        }
    }
}

impl UpdateCounts {
    /// What was fetched and never given out is nothing for us, so it is passed over.
    fn offset(&self) -> Option<i64> {
        (self.given.is_empty() && self.waiting.is_empty()).then_some(self.fetched + 1)
    }
}

impl TelegramConnector {
    pub(super) async fn receive_next(&self) -> Result<Inbound, SendError> {
        let mut turn = self.queue.turn.lock().await;
        loop {
            if let Some(inbound) = self.queue.give() {
                return Ok(inbound);
            }
            let step = match (turn.is_connected, &self.options.mode) {
                (false, _) => self.connect().await,
                (true, TelegramMode::Webhook { .. }) => return Ok(self.requests.next().await),
                (true, TelegramMode::Poll) => self.poll().await,
            };
            match step {
                Ok(()) => {
                    turn.is_connected = true;
                    turn.backoff.reset();
                    self.set_health(Health::Up);
                }
                Err(error) => self.recover(error, &mut turn.backoff).await?,
            }
        }
    }

    /// Learns who the bot is and says how updates should come.
    async fn connect(&self) -> Result<(), SendError> {
        if *self.health.borrow() == Health::Off {
            self.set_health(Health::Connecting);
        }
        self.identity().await?;
        if !self.options.commands.is_empty() {
            let commands = self.options.commands.iter().map(
                |command| json!({"command": command.name, "description": command.description}),
            );
            let body = json!({"commands": commands.collect::<Vec<_>>()});
            self.api.call("setMyCommands", &body).await?;
        }
        match &self.options.mode {
            // While a webhook is set, a bot cannot be polled. What waits for it is kept.
            TelegramMode::Poll => self.remove_webhook().await,
            TelegramMode::Webhook { url, secret } => {
                let body =
                    json!({"url": url, "secret_token": secret, "allowed_updates": ALLOWED_UPDATES});
                self.api.call("setWebhook", &body).await.map(|_| ())
            }
        }
    }

    async fn poll(&self) -> Result<(), SendError> {
        let bot = self.identity().await?;
        let body = json!({
            "offset": self.queue.offset().await,
            "limit": 100,
            "timeout": self.options.poll.as_secs(),
            "allowed_updates": ALLOWED_UPDATES,
        });
        let limit = self.options.poll + WATCHDOG;
        let answer = self.api.call_within("getUpdates", &body, limit).await?;
        let updates = answer.as_array().map(Vec::as_slice).unwrap_or_default();
        self.queue
            .take_in(updates, |update| update::inbound(update, bot));
        Ok(())
    }

    /// Waits before the next attempt, or stops where no attempt can help.
    async fn recover(
        &self,
        error: SendError,
        backoff: &mut ReconnectBackoff,
    ) -> Result<(), SendError> {
        let reason = match error.class {
            FailureClass::Auth => "Telegram refused the bot token; get a new one from BotFather and set it again".to_owned(),
            FailureClass::Conflict if error.message.contains("webhook") => {
                "another program set a webhook for this bot; stop it, or use a bot of its own".to_owned()
            }
            FailureClass::Conflict => {
                "another program polls this bot; only one may: stop the other one, or use a bot of its own".to_owned()
            }
            FailureClass::Permission | FailureClass::InvalidPayload => error.message.clone(),
            _ => {
                self.set_health(Health::Degraded { reason: error.message.clone() });
                tokio::time::sleep(backoff.next(&error)).await;
                return Ok(());
            }
        };
        self.set_health(Health::Stopped {
            reason: reason.clone(),
        });
        Err(SendError::new(error.class, reason))
    }

    fn set_health(&self, health: Health) {
        self.health.send_if_modified(|current| {
            let is_new = *current != health;
            *current = health;
            is_new
        });
    }
}
