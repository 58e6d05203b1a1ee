//! Receives from the Discord gateway: connects, resumes, catches up on missed messages, answers presses in time.

use std::sync::{MutexGuard, PoisonError};

use reqwest::Method;
use serde_json::{Value, json};

use super::{
    DiscordConnector, GatewayTurn,
    channel_kind::ChannelKind,
    event::{self, text},
    event_queue::{EventQueue, GatewaySession, GivenEvent},
    gateway::{GatewayEnd, GatewayEvent, GatewaySocket},
};
use crate::{FailureClass, Health, Inbound, SendError};

impl DiscordConnector {
    pub(super) fn queue(&self) -> MutexGuard<'_, EventQueue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) async fn receive_next(&self) -> Result<Inbound, SendError> {
        let mut turn = self.turn.lock().await;
        loop {
            if let Some(inbound) = self.give().await {
                return Ok(inbound);
            }
            let step = match &mut turn.socket {
                None => self.connect().await.map(Some),
                Some(socket) => self.read(socket).await.map(|()| None),
            };
            match step {
                Ok(Some(socket)) => turn.socket = Some(socket),
                Ok(None) if *self.health.borrow() == Health::Up => turn.backoff.reset(),
                Ok(None) => {}
                Err(end) => self.recover(end, &mut turn).await?,
            }
        }
    }

    /// The next event that is something for us.
    async fn give(&self) -> Option<Inbound> {
        loop {
            let next = self.queue().waiting.front().cloned()?;
            let Some(channel) = event::channel(&next.kind, &next.data).map(str::to_owned) else {
                self.queue().pass();
                continue;
            };
            let kind = self.channel_kind(&channel, &next.data).await;
            let mut queue = self.queue();
            let inbound = event::inbound(&next.kind, &next.data, &kind, &queue.bot);
            let Some(inbound) = inbound else {
                queue.pass();
                continue;
            };
            queue.give(GivenEvent {
                key: inbound.key.clone(),
                seq: next.seq,
                channel: (next.kind == "MESSAGE_CREATE").then_some(channel),
            });
            return Some(inbound);
        }
    }

    /// Whether a channel is a thread and of which channel; asked once.
    async fn channel_kind(&self, channel: &str, event: &Value) -> ChannelKind {
        if let Some(kind) = self.queue().channel(channel) {
            return kind;
        }
        let is_group = event.get("guild_id").is_some_and(Value::is_string);
        let Ok(found) = self
            .api
            .call(Method::GET, &format!("/channels/{channel}"), None)
            .await
        else {
            return ChannelKind {
                parent: None,
                is_group,
            };
        };
        let is_thread = found
            .get("type")
            .and_then(Value::as_i64)
            .is_some_and(|kind| (10..=12).contains(&kind));
        let kind = ChannelKind {
            parent: text(&found, "parent_id")
                .filter(|_| is_thread)
                .map(str::to_owned),
            is_group: is_group || found.get("guild_id").is_some_and(Value::is_string),
        };
        self.queue().note_channel(channel, kind.clone());
        kind
    }

    async fn connect(&self) -> Result<GatewaySocket, GatewayEnd> {
        if *self.health.borrow() == Health::Off {
            self.set_health(Health::Connecting);
        }
        let (session, seq) = {
            let queue = self.queue();
            (queue.cursor.session.clone(), queue.seq)
        };
        let url = match &session {
            Some(session) => session.url.clone(),
            None => self.gateway_url().await?,
        };
        if !url.starts_with("wss://") && !self.options.base_url.starts_with("http://") {
            return Err(GatewayEnd::Lost(
                "the gateway has no wss:// address".to_owned(),
            ));
        }
        let mut socket = GatewaySocket::open(&url).await?;
        match &session {
            Some(session) => socket.resume(self.api.token(), &session.id, seq).await?,
            None => socket.identify(self.api.token()).await?,
        }
        Ok(socket)
    }

    async fn gateway_url(&self) -> Result<String, GatewayEnd> {
        let answer = self.api.call(Method::GET, "/gateway/bot", None).await;
        let answer = answer.map_err(|error| match error.class {
            FailureClass::Auth => GatewayEnd::Refused(SendError::new(
                FailureClass::Auth,
                "Discord refused the bot token; get a new one and set it again",
            )),
            _ => GatewayEnd::Lost(error.message),
        })?;
        let url = text(&answer, "url").map(str::to_owned);
        url.ok_or_else(|| GatewayEnd::Lost("Discord named no gateway".to_owned()))
    }

    /// Takes in one event.
    async fn read(&self, socket: &mut GatewaySocket) -> Result<(), GatewayEnd> {
        if self.queue().is_behind {
            self.catch_up().await?;
        }
        let seq = self.queue().seq;
        let event = socket.next(seq).await?;
        match event.kind.as_str() {
            "READY" => self.note_ready(&event),
            "RESUMED" => self.set_health(Health::Up),
            "INTERACTION_CREATE" => return self.take_press(event).await,
            _ => {}
        }
        self.queue().add(event);
        Ok(())
    }

    fn note_ready(&self, event: &GatewayEvent) {
        let inner = |name: &str| event.data.get(name).and_then(|inner| text(inner, "id"));
        let mut queue = self.queue();
        queue.bot = inner("user").unwrap_or_default().to_owned();
        queue.application = inner("application").unwrap_or_default().to_owned();
        let url = text(&event.data, "resume_gateway_url");
        queue.cursor.session =
            text(&event.data, "session_id")
                .zip(url)
                .map(|(id, url)| GatewaySession {
                    id: id.to_owned(),
                    url: url.to_owned(),
                });
        // Numbers begin anew with a session.
        queue.seq = event.seq;
        queue.cursor.seq = event.seq;
        queue.is_behind = !queue.cursor.channels.is_empty();
        drop(queue);
        self.set_health(Health::Up);
    }

    /// Tells Discord at once that a press was taken: it waits three seconds.
    async fn take_press(&self, event: GatewayEvent) -> Result<(), GatewayEnd> {
        let press = text(&event.data, "id").zip(text(&event.data, "token"));
        let press = press.map(|(id, token)| (id.to_owned(), token.to_owned()));
        self.queue().add(event);
        if let Some((id, token)) = press {
            self.queue().note_press(&id, &token);
            let path = format!("/interactions/{id}/{token}/callback");
            // If it fails, the person sees that and may press again; the press itself is taken.
            let _ = self
                .api
                .call(Method::POST, &path, Some(&json!({"type": 6})))
                .await;
        }
        Ok(())
    }

    /// Fetches what was said while there was no session.
    async fn catch_up(&self) -> Result<(), GatewayEnd> {
        let channels = self.queue().cursor.channels.clone();
        for (channel, last) in channels {
            let path = format!("/channels/{channel}/messages?after={last}&limit=100");
            let answer = match self.api.call(Method::GET, &path, None).await {
                Ok(answer) => answer,
                Err(error)
                    if matches!(
                        error.class,
                        FailureClass::NotFound | FailureClass::Permission
                    ) =>
                {
                    continue;
                }
                Err(error) => return Err(GatewayEnd::Lost(error.message)),
            };
            let mut queue = self.queue();
            let seq = queue.seq;
            for data in answer.as_array().into_iter().flatten().rev() {
                queue.add(GatewayEvent {
                    kind: "MESSAGE_CREATE".to_owned(),
                    data: data.clone(),
                    seq,
                });
            }
        }
        self.queue().is_behind = false;
        Ok(())
    }

    async fn recover(&self, end: GatewayEnd, turn: &mut GatewayTurn) -> Result<(), SendError> {
        turn.socket = None;
        let reason = match end {
            GatewayEnd::Lost(reason) => reason,
            GatewayEnd::SessionOver(reason) => {
                self.queue().cursor.session = None;
                reason
            }
            GatewayEnd::Refused(error) => {
                self.set_health(Health::Stopped {
                    reason: error.message.clone(),
                });
                return Err(error);
            }
        };
        self.set_health(Health::Degraded {
            reason: reason.clone(),
        });
        let wait = turn
            .backoff
            .next(&SendError::new(FailureClass::Transient, reason));
        tokio::time::sleep(wait).await;
        Ok(())
    }

    fn set_health(&self, health: Health) {
        self.health.send_if_modified(|current| {
            let is_new = *current != health;
            *current = health;
            is_new
        });
    }
}
