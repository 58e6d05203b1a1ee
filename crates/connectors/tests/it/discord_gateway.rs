//! Discord's gateway as a script on loopback: a press answered in time, resuming, a lost session, refused intents.

use futures::{SinkExt as _, StreamExt as _};
use rooftree_connectors::{
    Connector, DiscordConnector, DiscordOptions, FailureClass, Health, InboundBody,
};
use serde_json::{Value, json};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::mpsc,
};
use tokio_tungstenite::{
    WebSocketStream, accept_async,
    tungstenite::{Message, protocol::CloseFrame},
};

use crate::loopback::{Loopback, Reaction};

pub const TOKEN: &str = "discord.secret-token";

/// One connection of a client, as the gateway sees it.
pub struct Client(WebSocketStream<TcpStream>);

impl Client {
    pub async fn send(&mut self, frame: Value) {
        let frame = Message::text(frame.to_string());
        self.0.send(frame).await.unwrap();
    }

    pub async fn event(&mut self, seq: i64, kind: &str, data: Value) {
        self.send(json!({"op": 0, "s": seq, "t": kind, "d": data}))
            .await;
    }

    /// The next frame that is no heartbeat.
    pub async fn next(&mut self) -> Value {
        loop {
            let frame = self.0.next().await.unwrap().unwrap();
            let frame: Value = serde_json::from_str(frame.to_text().unwrap()).unwrap();
            if frame["op"] != 1 {
                return frame;
            }
            self.send(json!({"op": 11})).await;
        }
    }

    pub async fn close(mut self, code: u16) {
        let frame = CloseFrame {
            code: code.into(),
            reason: "".into(),
        };
        self.0.close(Some(frame)).await.unwrap();
    }
}

/// A gateway and the API that names it.
pub struct Gateway {
    pub api: Loopback,
    clients: mpsc::UnboundedReceiver<Client>,
    url: String,
}

impl Gateway {
    pub async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("ws://{}", listener.local_addr().unwrap());
        let (given, clients) = mpsc::unbounded_channel();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let mut client = Client(accept_async(stream).await.unwrap());
                client
                    .send(json!({"op": 10, "d": {"heartbeat_interval": 45_000}}))
                    .await;
                given.send(client).ok();
            }
        });
        let named = url.clone();
        let api = Loopback::start(move |request| match request.method() {
            "bot" => Reaction::json(200, json!({"url": named})),
            _ => Reaction::json(200, json!({"id": "99"})),
        });
        Self {
            api: api.await,
            clients,
            url,
        }
    }

    pub fn connector(&self) -> DiscordConnector {
        let options = DiscordOptions {
            base_url: self.api.url.clone(),
            cursor: None,
        };
        DiscordConnector::new(TOKEN, options).unwrap()
    }

    pub async fn client(&mut self) -> Client {
        self.clients.recv().await.unwrap()
    }

    pub fn ready(&self) -> Value {
        json!({"session_id": "s1", "resume_gateway_url": self.url, "user": {"id": "77"}, "application": {"id": "88"}})
    }
}

fn press(id: &str) -> Value {
    json!({"id": id, "token": "press-token", "type": 3, "channel_id": "50", "user": {"id": "5", "username": "ada"},
        "data": {"custom_id": "p:1:y"}, "message": {"id": "31"}})
}

#[tokio::test]
async fn a_press_is_taken_at_once_and_answered_to_its_person() {
    let mut gateway = Gateway::start().await;
    let connector = gateway.connector();
    let script = async {
        let mut client = gateway.client().await;
        let identify = client.next().await;
        assert_eq!(identify["op"], 2);
        assert_eq!(identify["d"]["token"], TOKEN);
        assert_ne!(
            identify["d"]["intents"].as_u64().unwrap() & (1 << 15),
            0,
            "message content"
        );
        client.event(1, "READY", gateway.ready()).await;
        client.event(2, "INTERACTION_CREATE", press("9")).await;
        client
    };
    let (found, _client) = tokio::join!(connector.receive(), script);
    let InboundBody::Button {
        data,
        press,
        message,
    } = found.unwrap().body
    else {
        panic!("a press")
    };
    assert_eq!((data.as_str(), message.as_str()), ("p:1:y", "31"));
    // Before it was given out: Discord waits three seconds.
    let callback = gateway.api.calls("callback");
    assert_eq!(callback, [json!({"type": 6})]);
    connector.answer_button(&press, "Allowed").await.unwrap();
    let answered = gateway.api.arrived().pop().unwrap();
    assert_eq!(answered.path, "/webhooks/88/press-token");
    assert_eq!(answered.json()["flags"], 64);
    let unknown = connector.answer_button("1", "x").await.unwrap_err();
    assert_eq!(unknown.class, FailureClass::NotFound);
}

#[tokio::test]
async fn a_lost_connection_is_resumed_and_a_lost_session_begun_anew() {
    let mut gateway = Gateway::start().await;
    let connector = gateway.connector();
    let script = async {
        let mut client = gateway.client().await;
        client.next().await;
        client.event(1, "READY", gateway.ready()).await;
        client.event(7, "TYPING_START", json!({})).await;
        client.close(4_000).await;
        let mut client = gateway.client().await;
        let resume = client.next().await;
        assert_eq!(resume["op"], 6);
        assert_eq!(
            (&resume["d"]["session_id"], &resume["d"]["seq"]),
            (&json!("s1"), &json!(7))
        );
        client.send(json!({"op": 9, "d": false})).await;
        let mut client = gateway.client().await;
        assert_eq!(client.next().await["op"], 2);
        client.event(1, "READY", gateway.ready()).await;
        client.event(2, "INTERACTION_CREATE", press("9")).await;
        client
    };
    let (found, _client) = tokio::join!(connector.receive(), script);
    assert_eq!(found.unwrap().key, "9");
    assert_eq!(*connector.health().borrow(), Health::Up);
}

#[tokio::test]
async fn refused_intents_and_tokens_stop_the_connector_with_a_reason() {
    for (code, class, words) in [
        (4_014, FailureClass::Permission, "message content intent"),
        (4_004, FailureClass::Auth, "bot token"),
    ] {
        let mut gateway = Gateway::start().await;
        let connector = gateway.connector();
        let script = async {
            let mut client = gateway.client().await;
            client.next().await;
            client.close(code).await;
        };
        let (found, ()) = tokio::join!(connector.receive(), script);
        let error = found.unwrap_err();
        assert_eq!(error.class, class);
        assert!(error.message.contains(words), "{error}");
        assert!(matches!(
            *connector.health().borrow(),
            Health::Stopped { .. }
        ));
    }
}
