//! Long poll of Telegram: the offset, acknowledgements, a second poller, a refused token, reconnecting.

use rooftree_connectors::{
    BotCommand, ChatPlace, Connector, FailureClass, Health, InboundBody, TelegramConnector,
    TelegramOptions,
};
use serde_json::{Value, json};

use crate::loopback::{Arrived, Loopback, Reaction};

pub const TOKEN: &str = "12345:AAsecret-token_value";

pub fn connector(server: &Loopback) -> TelegramConnector {
    let options = TelegramOptions {
        base_url: server.url.clone(),
        ..TelegramOptions::default()
    };
    TelegramConnector::new(TOKEN, options).unwrap()
}

pub fn get_me() -> Reaction {
    Reaction::ok(json!({"id": 777, "is_bot": true, "username": "rooftree_bot"}))
}

pub fn update(number: i64, text: &str) -> Value {
    json!({"update_id": number, "message": {
        "message_id": number + 100, "date": 1_700_000_000, "text": text,
        "chat": {"id": 5, "type": "private"}, "from": {"id": 5, "first_name": "Ada", "is_bot": false},
    }})
}

/// A server that has these updates and behaves as Telegram does with offsets.
async fn telegram(updates: Vec<Value>) -> Loopback {
    Loopback::start(move |request: &Arrived| match request.method() {
        "getMe" => get_me(),
        "getUpdates" => {
            let offset = request.json()["offset"].as_i64().unwrap();
            let left = updates
                .iter()
                .filter(|update| update["update_id"].as_i64() >= Some(offset));
            let left: Vec<Value> = left.cloned().collect();
            if left.is_empty() {
                Reaction::Hold
            } else {
                Reaction::ok(json!(left))
            }
        }
        _ => Reaction::ok(json!(true)),
    })
    .await
}

#[tokio::test]
async fn the_offset_moves_only_behind_what_was_acknowledged() {
    let server = telegram(vec![update(41, "a"), update(42, "b")]).await;
    let connector = connector(&server);
    let first = connector.receive().await.unwrap();
    let second = connector.receive().await.unwrap();
    assert_eq!((first.key.as_str(), second.key.as_str()), ("41", "42"));
    connector.acknowledge("41").await.unwrap();
    // The second is not stored: no poll may tell Telegram to forget it.
    let place = ChatPlace {
        chat: "5".to_owned(),
        thread: None,
        reply_to: None,
        group: false,
    };
    let other_requests = async {
        for _ in 0..20 {
            connector.typing(&place).await.unwrap();
        }
    };
    tokio::select! {
        _ = connector.receive() => panic!("nothing new may be fetched"),
        () = other_requests => {}
    }
    assert_eq!(server.calls("getUpdates").len(), 1);
    // After a restart it comes again under the same key.
    let restarted = self::connector(&server);
    assert_eq!(restarted.receive().await.unwrap().key, "41");
    assert_eq!(restarted.receive().await.unwrap().key, "42");
    restarted.acknowledge("42").await.unwrap();
    tokio::select! {
        _ = restarted.receive() => panic!("nothing is left"),
        () = server.until("getUpdates", 3) => {}
    }
    let polls = server.calls("getUpdates");
    assert_eq!(polls[2]["offset"], 43);
    assert_eq!(polls[2]["timeout"], 50);
    assert_eq!(
        polls[2]["allowed_updates"],
        json!(["message", "callback_query"])
    );
}

#[tokio::test]
async fn updates_that_are_nothing_for_us_are_passed_over() {
    let service = json!({"update_id": 7, "message": {"message_id": 1, "date": 1, "chat": {"id": 5, "type": "group"},
        "from": {"id": 5, "is_bot": false, "first_name": "A"}, "new_chat_title": "x"}});
    let server = telegram(vec![service]).await;
    let connector = connector(&server);
    tokio::select! {
        _ = connector.receive() => panic!("there is no message"),
        () = server.until("getUpdates", 2) => {}
    }
    assert_eq!(server.calls("getUpdates")[1]["offset"], 8);
}

#[tokio::test]
async fn a_second_poller_stops_the_connector_with_a_clear_reason() {
    for (description, words) in [
        (
            "Conflict: terminated by other getUpdates request",
            "another program polls this bot",
        ),
        (
            "Conflict: can't use getUpdates method while webhook is active",
            "set a webhook",
        ),
    ] {
        let server = Loopback::start(move |request| match request.method() {
            "getMe" => get_me(),
            "deleteWebhook" => Reaction::ok(json!(true)),
            _ => Reaction::refusal(409, description),
        });
        let connector = connector(&server.await);
        let error = connector.receive().await.unwrap_err();
        assert_eq!(error.class, FailureClass::Conflict);
        let health = connector.health().borrow().clone();
        let Health::Stopped { reason } = health else {
            panic!("{health:?}")
        };
        assert!(reason.contains(words), "{reason}");
    }
}

#[tokio::test]
async fn a_refused_token_stops_the_connector_and_is_in_no_message() {
    let refusal = format!("Unauthorized {TOKEN}");
    let server = Loopback::start(move |_| Reaction::refusal(401, &refusal)).await;
    let connector = connector(&server);
    let error = connector.receive().await.unwrap_err();
    assert_eq!(error.class, FailureClass::Auth);
    assert!(matches!(
        *connector.health().borrow(),
        Health::Stopped { .. }
    ));
    let error = connector.identity().await.unwrap_err();
    let shown = format!("{error} {error:?} {connector:?}");
    assert!(!shown.contains("AAsecret"), "{shown}");
}

#[tokio::test]
async fn after_a_broken_poll_it_says_so_and_reconnects() {
    let mut polls = 0;
    let server = Loopback::start(move |request| match request.method() {
        "getMe" => get_me(),
        "deleteWebhook" => Reaction::ok(json!(true)),
        _ => {
            polls += 1;
            if polls == 1 {
                Reaction::Cut
            } else {
                Reaction::ok(json!([update(1, "hello")]))
            }
        }
    });
    let connector = connector(&server.await);
    let mut health = connector.health();
    let received = connector.receive();
    let watched = async {
        let state = health
            .wait_for(|state| matches!(state, Health::Degraded { .. }))
            .await;
        state.unwrap().clone()
    };
    let (inbound, degraded) = tokio::join!(received, watched);
    let Health::Degraded { reason } = degraded else {
        panic!("it is degraded")
    };
    assert!(
        !reason.contains(TOKEN) && !reason.contains("http://"),
        "{reason}"
    );
    let InboundBody::Message { text, .. } = inbound.unwrap().body else {
        panic!("a message")
    };
    assert_eq!(text, "hello");
    assert_eq!(*connector.health().borrow(), Health::Up);
}

#[tokio::test]
async fn commands_are_set_when_it_connects() {
    let server = telegram(vec![update(1, "a")]).await;
    let options = TelegramOptions {
        base_url: server.url.clone(),
        commands: vec![BotCommand {
            name: "new".to_owned(),
            description: "Begin anew".to_owned(),
        }],
        ..TelegramOptions::default()
    };
    let connector = TelegramConnector::new(TOKEN, options).unwrap();
    connector.receive().await.unwrap();
    let expected = json!({"commands": [{"command": "new", "description": "Begin anew"}]});
    assert_eq!(server.calls("setMyCommands"), [expected]);
}

#[tokio::test]
async fn numbers_of_updates_that_begin_anew_are_received() {
    let mut polls = 0;
    let server = Loopback::start(move |request| match request.method() {
        "getMe" => get_me(),
        "getUpdates" => {
            polls += 1;
            match polls {
                1 => Reaction::ok(json!([update(900, "a")])),
                2 => Reaction::ok(json!([update(17, "b")])),
                _ => Reaction::Hold,
            }
        }
        _ => Reaction::ok(json!(true)),
    });
    let server = server.await;
    let connector = connector(&server);
    for key in ["900", "17"] {
        let found = connector.receive().await.unwrap();
        assert_eq!(found.key, key);
        connector.acknowledge(key).await.unwrap();
    }
    tokio::select! {
        _ = connector.receive() => panic!("nothing is left"),
        () = server.until("getUpdates", 3) => {}
    }
    assert_eq!(server.calls("getUpdates")[2]["offset"], 18);
}

#[tokio::test]
async fn polling_removes_a_webhook_and_keeps_what_waits_for_it() {
    let server = telegram(vec![update(1, "a")]).await;
    connector(&server).receive().await.unwrap();
    assert_eq!(server.calls("deleteWebhook"), [json!({})]);
}

#[tokio::test]
async fn a_poll_that_hangs_is_ended_and_made_anew() {
    let mut polls = 0;
    let server = Loopback::start(move |request| match request.method() {
        "getMe" => get_me(),
        "getUpdates" => {
            polls += 1;
            if polls == 1 {
                Reaction::Hold
            } else {
                Reaction::ok(json!([update(1, "a")]))
            }
        }
        _ => Reaction::ok(json!(true)),
    });
    let server = server.await;
    let connector = connector(&server);
    let mut health = connector.health();
    let hang = async {
        server.until("getUpdates", 1).await;
        tokio::time::pause();
        let begin = tokio::time::Instant::now();
        let degraded = health.wait_for(|health| matches!(health, Health::Degraded { .. }));
        degraded.await.unwrap();
        tokio::time::resume();
        begin.elapsed()
    };
    let (received, hung) = tokio::join!(connector.receive(), hang);
    assert_eq!(received.unwrap().key, "1");
    assert!(hung < std::time::Duration::from_secs(120));
}
