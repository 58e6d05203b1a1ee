//! The Unix socket: its modes, whom it serves, and what it refuses.

use std::{
    os::unix::fs::PermissionsExt,
    path::Path,
    sync::{Arc, Mutex},
};

use rooftree_server::LocalSocketOptions;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::UnixStream,
};

use crate::api_server::ApiServer;

async fn ask(path: &Path, request: &str) -> String {
    let mut stream = UnixStream::connect(path).await.unwrap();
    let _ = stream.write_all(request.as_bytes()).await;
    let mut answer = String::new();
    let _ = stream.read_to_string(&mut answer).await;
    answer
}

const ME: &str = "GET /api/v1/me HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n";

#[tokio::test]
async fn the_socket_serves_the_owner_and_refuses_what_its_check_refuses() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("run").join("server.sock");
    let refused = Arc::new(Mutex::new(None::<String>));
    let (options, why) = (path.clone(), refused.clone());
    let seen = Arc::new(Mutex::new(Vec::new()));
    let pids = seen.clone();
    let server = ApiServer::with(
        |options| options,
        move |mut server| {
            let check = Arc::new(move |pid| {
                pids.lock().unwrap().push(pid);
                why.lock().unwrap().clone().map_or(Ok(()), Err)
            });
            let socket = LocalSocketOptions {
                path: options,
                check,
            };
            server.bind_local_socket(socket).unwrap();
            server
        },
    )
    .await;
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&path), mode(path.parent().unwrap())), (0o600, 0o700));
    let answer = ask(&path, &format!("{ME}\r\n")).await;
    assert!(
        answer.contains(" 200 ") && answer.contains(r#""is_owner":true"#),
        "{answer}"
    );
    assert_eq!(
        *seen.lock().unwrap(),
        [std::process::id() as i32],
        "the kernel says who it is"
    );
    // What relays a browser is refused.
    for line in ["origin: http://localhost", "sec-fetch-site: same-origin"] {
        let answer = ask(&path, &format!("{ME}{line}\r\n\r\n")).await;
        assert!(answer.contains(" 403 "), "{answer}");
    }
    *refused.lock().unwrap() = Some("started by an agent".into());
    let answer = ask(&path, &format!("{ME}\r\n")).await;
    assert!(
        answer.contains(" 403 ") && answer.contains("started by an agent"),
        "{answer}"
    );
    drop(server);
}

#[tokio::test]
async fn a_socket_in_use_and_a_foreign_file_are_left_alone() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("run").join("server.sock");
    let bind = |path: &Path| {
        let path = path.to_owned();
        move |mut server: rooftree_server::HttpServer| {
            let check = Arc::new(|_| Ok(()));
            let bound = server.bind_local_socket(LocalSocketOptions { path, check });
            (
                bound.map_err(|error| error.problem().cause.unwrap_or_default()),
                server,
            )
        }
    };
    let mut outcome = Ok(());
    let first = ApiServer::with(
        |options| options,
        |server| {
            let (bound, server) = bind(&path)(server);
            outcome = bound;
            server
        },
    )
    .await;
    assert_eq!(outcome, Ok(()));
    let mut outcome = Ok(());
    let _second = ApiServer::with(
        |options| options,
        |server| {
            let (bound, server) = bind(&path)(server);
            outcome = bound;
            server
        },
    )
    .await;
    assert!(outcome.unwrap_err().contains("another server"));
    assert!(ask(&path, &format!("{ME}\r\n")).await.contains(" 200 "));
    drop(first);
    let file = place.path().join("run").join("file");
    std::fs::write(&file, "mine").unwrap();
    let mut outcome = Ok(());
    let _third = ApiServer::with(
        |options| options,
        |server| {
            let (bound, server) = bind(&file)(server);
            outcome = bound;
            server
        },
    )
    .await;
    assert!(outcome.unwrap_err().contains("no socket"));
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "mine");
}
