//! Where the server listens, who may come in, and how it stops.

use rooftree_protocol::ErrorCode;
use rooftree_server::{CallbackOutcome, Error, HttpServer, HttpServerOptions};
use tokio::io::AsyncWriteExt;

use crate::callback_server::{Served, head, hear, options};

#[tokio::test]
async fn everybody_may_ask_whether_it_lives_and_is_told_nothing_else() {
    let served = Served::start(Some("sesame"), CallbackOutcome::Taken).await;
    let said = served.ask("GET /healthz", &[], b"").await;
    assert_eq!((said.status, said.body.as_str()), (200, "ok\n"));
}

#[tokio::test]
async fn everything_else_needs_the_token_and_without_one_is_closed() {
    let served = Served::start(Some("sesame"), CallbackOutcome::Taken).await;
    for path in ["GET /", "GET /sessions", "POST /healthz/x"] {
        assert_eq!(served.ask(path, &[], b"").await.status, 401);
        assert_eq!(
            served
                .ask(path, &["Authorization: Bearer wrong"], b"")
                .await
                .status,
            401
        );
        assert_eq!(
            served
                .ask(
                    path,
                    &["Host: localhost", "Authorization: Bearer sesame"],
                    b""
                )
                .await
                .status,
            404
        );
    }
    let closed = Served::start(None, CallbackOutcome::Taken).await;
    assert_eq!(
        closed
            .ask("GET /", &["Authorization: Bearer "], b"")
            .await
            .status,
        401
    );
}

#[tokio::test]
async fn other_machines_are_only_let_near_with_a_public_url() {
    let public = |address: &str, url: Option<&str>| HttpServerOptions {
        public_url: url.map(str::to_owned),
        ..options(address, Some("sesame"), CallbackOutcome::Taken).0
    };
    for address in ["0.0.0.0:0", "[::]:0", "[::ffff:0.0.0.0]:0"] {
        for url in [None, Some(""), Some(" ")] {
            let refused = HttpServer::listen(public(address, url))
                .await
                .err()
                .unwrap();
            assert!(
                matches!(refused, Error::Exposed(_)),
                "{address} {url:?}: {refused}"
            );
            assert_eq!(refused.problem().code, ErrorCode::InvalidConfig);
        }
    }
    let open = public("0.0.0.0:0", Some("https://roof.test"));
    assert!(HttpServer::listen(open).await.is_ok());
}

#[tokio::test]
async fn a_port_that_is_taken_is_said_to_be() {
    let served = Served::start(None, CallbackOutcome::Taken).await;
    let taken =
        HttpServer::listen(options(&served.address.to_string(), None, CallbackOutcome::Taken).0)
            .await
            .err()
            .unwrap();
    assert!(
        matches!(taken, Error::Taken(address) if address == served.address),
        "{taken}"
    );
    assert_eq!(taken.problem().code, ErrorCode::SessionBusy);
}

#[tokio::test]
async fn a_callback_under_way_is_heard_before_the_server_stops() {
    let served = Served::start(None, CallbackOutcome::Taken).await;
    let mut stream = served.open().await;
    stream
        .write_all(head("POST /callbacks/t", &["expect: 100-continue"], 5).as_bytes())
        .await
        .unwrap();
    // The server says so when it has begun to read the body.
    let mut invited = [0; 25];
    tokio::io::AsyncReadExt::read_exact(&mut stream, &mut invited)
        .await
        .unwrap();
    assert!(invited.starts_with(b"HTTP/1.1 100"));
    served.stop.cancel();
    stream.write_all(b"hello").await.unwrap();
    assert_eq!(hear(stream).await.status, 200);
    assert!(served.task.await.unwrap().is_ok());
    assert_eq!(served.callbacks.lock().unwrap()[0].body, b"hello");
}
