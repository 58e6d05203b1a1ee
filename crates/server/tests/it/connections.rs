//! Many connections that ask nothing, over loopback: whoever has the token is answered all the same.

use std::time::Duration;

use rooftree_server::{CallbackOutcome, ConnectionLimits, HttpServer};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};
use tokio_util::sync::CancellationToken;

use crate::callback_server::options;

const HELLO: &[u8] = b"GET /nothing HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer t\r\n\r\n";

/// The first line of an answer on a connection that stays open.
async fn status(stream: &mut TcpStream, request: &[u8]) -> String {
    stream.write_all(request).await.unwrap();
    first_line(stream).await
}

async fn first_line(stream: &mut TcpStream) -> String {
    let mut answer = vec![0; 4096];
    let length = stream.read(&mut answer).await.unwrap();
    String::from_utf8_lossy(&answer[..length])
        .lines()
        .next()
        .unwrap_or_default()
        .to_owned()
}

#[tokio::test]
async fn s_b8_half_open_connections_do_not_keep_an_authorised_client_out() {
    let (options, _) = options("127.0.0.1:0", Some("t"), CallbackOutcome::Taken);
    let hour = Duration::from_secs(3600);
    let limits = ConnectionLimits {
        waiting: 32,
        per_address: 16,
        authorised: 4,
        authorised_in_all: 4,
        head: hour,
        answer: hour,
        write: hour,
    };
    let server = HttpServer::listen(options)
        .await
        .unwrap()
        .with_limits(limits);
    let (address, stop) = (server.address(), CancellationToken::new());
    let task = tokio::spawn(server.run(stop.clone()));
    let mut early = TcpStream::connect(address).await.unwrap();
    assert!(
        status(&mut early, HELLO).await.contains("404"),
        "it has a connection"
    );
    let mut half = Vec::new();
    for _ in 0..200 {
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(b"GET /v1/mod").await.unwrap();
        half.push(stream);
    }
    let mut late = TcpStream::connect(address).await.unwrap();
    assert!(
        status(&mut late, HELLO).await.contains("404"),
        "a new client is answered"
    );
    assert!(
        status(&mut early, HELLO).await.contains("404"),
        "and so is the one that was there"
    );
    for stream in half.iter_mut().take(150) {
        let mut rest = Vec::new();
        // Closed, in order or not, to make room.
        let _ = stream.read_to_end(&mut rest).await;
    }
    drop((half, early, late));
    stop.cancel();
    task.await.unwrap().unwrap();
}

#[tokio::test]
async fn s_b8_a_request_whose_head_does_not_come_is_given_up() {
    let (options, _) = options("127.0.0.1:0", Some("t"), CallbackOutcome::Taken);
    let limits = ConnectionLimits {
        head: Duration::from_millis(20),
        ..ConnectionLimits::default()
    };
    let server = HttpServer::listen(options)
        .await
        .unwrap()
        .with_limits(limits);
    let (address, stop) = (server.address(), CancellationToken::new());
    let task = tokio::spawn(server.run(stop.clone()));
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream
        .write_all(b"GET /v1/models HTTP/1.1\r\nHost:")
        .await
        .unwrap();
    let mut rest = Vec::new();
    let _ = stream.read_to_end(&mut rest).await;
    assert!(rest.is_empty(), "{}", String::from_utf8_lossy(&rest));
    stop.cancel();
    task.await.unwrap().unwrap();
}

#[tokio::test]
async fn a_burst_of_clients_above_the_limit_is_answered_and_not_cut_off() {
    let (options, _) = options("127.0.0.1:0", Some("t"), CallbackOutcome::Taken);
    let limits = ConnectionLimits {
        waiting: 8,
        per_address: 4,
        authorised: 512,
        authorised_in_all: 512,
        ..ConnectionLimits::default()
    };
    let server = HttpServer::listen(options)
        .await
        .unwrap()
        .with_limits(limits);
    let (address, stop) = (server.address(), CancellationToken::new());
    let task = tokio::spawn(server.run(stop.clone()));
    let mut burst = Vec::new();
    for _ in 0..64 {
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(HELLO).await.unwrap();
        burst.push(stream);
    }
    for stream in &mut burst {
        assert!(first_line(stream).await.contains("404"));
    }
    drop(burst);
    stop.cancel();
    task.await.unwrap().unwrap();
}
