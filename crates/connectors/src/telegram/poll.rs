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

/// Invariant: `acknowledged <= given <= fetched`, as numbers of updates.
#[derive(Debug, Default)]
struct UpdateCounts {
    waiting: VecDeque<Inbound>,
    fetched: i64,
    given: i64,
    acknowledged: i64,
}

impl UpdateQueue {
    fn counts(&self) -> MutexGuard<'_, UpdateCounts> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes that an update and everything before it is stored.
    pub(super) fn acknowledge(&self, key: &str) -> Result<(), SendError> {
        let number: i64 = key.parse().map_err(|_| {
            SendError::new(FailureClass::NotFound, "the key of an update is a number")
        })?;
        let mut counts = self.counts();
        counts.acknowledged = counts.acknowledged.max(number.min(counts.given));
        drop(counts);
        self.acknowledged.notify_one();
        Ok(())
    }

    fn give(&self) -> Option<Inbound> {
        let mut counts = self.counts();
        let inbound = counts.waiting.pop_front()?;
        counts.given = inbound.key.parse().unwrap_or(counts.given);
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
            let number = update.get("update_id").and_then(Value::as_i64);
            let Some(number) = number.filter(|number| *number > counts.fetched) else {
                continue;
            };
            counts.fetched = number;
            counts.waiting.extend(parse(update));
        }
    }
}

impl UpdateCounts {
    /// What was fetched and never given out is nothing for us, so it is passed over.
    fn offset(&self) -> Option<i64> {
        (self.acknowledged >= self.given).then_some(self.fetched + 1)
    }
}

impl TelegramConnector {
    pub(super) async fn receive_next(&self) -> Result<Inbound, SendError> {
        let mut turn = self.queue.turn.lock().await;
        loop {
            if let Some(inbound) = self.queue.give() {
                return Ok(inbound);
            }
            let step = if turn.is_connected {
                self.poll().await
            } else {
                self.connect().await
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
        if let TelegramMode::Webhook { url, secret } = &self.options.mode {
            let body =
                json!({"url": url, "secret_token": secret, "allowed_updates": ALLOWED_UPDATES});
            self.api.call("setWebhook", &body).await?;
        }
        Ok(())
    }

    async fn poll(&self) -> Result<(), SendError> {
        if self.options.mode != TelegramMode::Poll {
            // Updates come to `take_webhook`.
            return std::future::pending().await;
        }
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
                "a webhook is set for this bot; remove it (deleteWebhook) or set the mode to webhook".to_owned()
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
