//! The websocket of the Discord gateway: hello, identify or resume, heartbeats, and why it ended.

use std::time::Duration;

use futures::{SinkExt as _, StreamExt as _};
use reqwest::Url;
use serde_json::{Value, json};
use tokio::{net::TcpStream, time::Instant};
use tokio_tungstenite::{
    MaybeTlsStream, WebSocketStream, connect_async,
    tungstenite::{Message, protocol::CloseFrame},
};

use super::event::text;
use crate::{FailureClass, SendError};

/// How long connecting and the first message may take.
const CONNECT: Duration = Duration::from_secs(20);
/// Servers, their messages, direct messages, and what messages say.
const INTENTS: u64 = (1 << 0) | (1 << 9) | (1 << 12) | (1 << 15);

/// An open connection.
#[derive(Debug)]
pub(super) struct GatewaySocket {
    socket: WebSocketStream<MaybeTlsStream<TcpStream>>,
    interval: Duration,
    next_beat: Instant,
    is_answered: bool,
}

/// Something that happened.
#[derive(Clone, Debug)]
pub(super) struct GatewayEvent {
    pub(super) kind: String,
    pub(super) data: Value,
    pub(super) seq: i64,
}

/// Why a connection ended.
#[derive(Debug)]
pub(super) enum GatewayEnd {
    /// The session goes on with the next connection.
    Lost(String),
    /// The session is over; the next connection begins a new one.
    SessionOver(String),
    /// No connection can help.
    Refused(SendError),
}

impl GatewaySocket {
    /// Connects and waits for the hello.
    pub(super) async fn open(url: &str) -> Result<Self, GatewayEnd> {
        let mut url =
            Url::parse(url).map_err(|_| lost("the address of the gateway is not valid"))?;
        url.set_query(Some("v=10&encoding=json"));
        let opened = tokio::time::timeout(CONNECT, connect_async(url.as_str())).await;
        let (socket, _) = match opened {
            Ok(Ok(opened)) => opened,
            Ok(Err(_)) => return Err(lost("cannot connect to the gateway")),
            Err(_) => return Err(lost("the gateway did not answer in time")),
        };
        let mut gateway = Self {
            socket,
            interval: Duration::from_secs(45),
            next_beat: Instant::now() + CONNECT,
            is_answered: true,
        };
        let hello = tokio::time::timeout(CONNECT, gateway.read()).await;
        let hello = hello.map_err(|_| lost("the gateway said no hello"))??;
        let interval = hello
            .get("d")
            .and_then(|data| data.get("heartbeat_interval")?.as_u64());
        gateway.interval = Duration::from_millis(interval.unwrap_or(45_000).clamp(10, 600_000));
        // The first one comes early, so that many clients do not send theirs together.
        gateway.next_beat = Instant::now() + gateway.interval / 2;
        Ok(gateway)
    }

    pub(super) async fn identify(&mut self, token: &str) -> Result<(), GatewayEnd> {
        let properties = json!({"os": "linux", "browser": "rooftree", "device": "rooftree"});
        let data = json!({"token": token, "intents": INTENTS, "properties": properties});
        self.send(&json!({"op": 2, "d": data})).await
    }

    pub(super) async fn resume(
        &mut self,
        token: &str,
        session: &str,
        seq: i64,
    ) -> Result<(), GatewayEnd> {
        let data = json!({"token": token, "session_id": session, "seq": seq});
        self.send(&json!({"op": 6, "d": data})).await
    }

    /// The next event; heartbeats are kept meanwhile.
    pub(super) async fn next(&mut self, seq: i64) -> Result<GatewayEvent, GatewayEnd> {
        loop {
            let next_beat = self.next_beat;
            let frame = tokio::select! {
                frame = self.read() => Some(frame?),
                () = tokio::time::sleep_until(next_beat) => None,
            };
            let Some(frame) = frame else {
                self.beat(seq).await?;
                continue;
            };
            match frame.get("op").and_then(Value::as_i64) {
                Some(0) => {
                    return Ok(GatewayEvent {
                        kind: text(&frame, "t").unwrap_or_default().to_owned(),
                        seq: frame.get("s").and_then(Value::as_i64).unwrap_or(seq),
                        data: frame.get("d").cloned().unwrap_or_default(),
                    });
                }
                Some(1) => {
                    self.is_answered = true;
                    self.beat(seq).await?;
                }
                Some(7) => return Err(lost("Discord asked to reconnect")),
                Some(9) if frame.get("d") == Some(&Value::Bool(true)) => {
                    return Err(lost("Discord asked to resume"));
                }
                Some(9) => {
                    return Err(GatewayEnd::SessionOver(
                        "the session is no longer known".to_owned(),
                    ));
                }
                Some(11) => self.is_answered = true,
                _ => {}
            }
        }
    }

    async fn beat(&mut self, seq: i64) -> Result<(), GatewayEnd> {
        if !self.is_answered {
            return Err(lost("the gateway did not answer a heartbeat"));
        }
        self.is_answered = false;
        self.next_beat = Instant::now() + self.interval;
        let last = (seq > 0).then_some(seq);
        self.send(&json!({"op": 1, "d": last})).await
    }

    async fn send(&mut self, frame: &Value) -> Result<(), GatewayEnd> {
        let sent = self.socket.send(Message::text(frame.to_string())).await;
        sent.map_err(|_| lost("the connection to the gateway broke"))
    }

    async fn read(&mut self) -> Result<Value, GatewayEnd> {
        loop {
            match self.socket.next().await {
                Some(Ok(Message::Text(text))) => {
                    let frame = serde_json::from_str(&text);
                    return frame.map_err(|_| lost("the gateway sent no JSON"));
                }
                Some(Ok(Message::Close(frame))) => return Err(closed(frame)),
                Some(Ok(_)) => {}
                Some(Err(_)) | None => return Err(lost("the connection to the gateway broke")),
            }
        }
    }
}

fn lost(words: &str) -> GatewayEnd {
    GatewayEnd::Lost(words.to_owned())
}

fn closed(frame: Option<CloseFrame>) -> GatewayEnd {
    let code = frame.map_or(0, |frame| u16::from(frame.code));
    let (class, words) = match code {
        4004 => (
            FailureClass::Auth,
            "Discord refused the bot token; get a new one and set it again",
        ),
        4013 | 4014 => (
            FailureClass::Permission,
            "Discord refused the intents; switch on the message content intent of the bot",
        ),
        4010..=4012 => (
            FailureClass::Conflict,
            "Discord refused this version or shard of the gateway",
        ),
        4007 | 4009 => {
            return GatewayEnd::SessionOver(format!("the session ended (close code {code})"));
        }
        _ => return GatewayEnd::Lost(format!("Discord closed the connection (code {code})")),
    };
    GatewayEnd::Refused(SendError::new(class, words))
}
