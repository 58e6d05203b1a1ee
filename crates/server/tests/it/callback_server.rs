//! A server on loopback that keeps its callbacks, and a client that speaks plain HTTP.

use std::{
    net::SocketAddr,
    sync::{Arc, Mutex},
};

use rooftree_server::{CallbackOutcome, Error, HttpServer, HttpServerOptions, IncomingCallback};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    task::JoinHandle,
};
use tokio_util::sync::CancellationToken;

pub struct Served {
    pub address: SocketAddr,
    pub stop: CancellationToken,
    pub callbacks: Arc<Mutex<Vec<IncomingCallback>>>,
    pub task: JoinHandle<Result<(), Error>>,
}

/// What a server says.
#[derive(Debug)]
pub struct Said {
    pub status: u16,
    head: String,
    pub body: String,
}

impl Said {
    /// A header of the answer; empty if it has none of that name.
    pub fn header(&self, name: &str) -> &str {
        let lines = self.head.lines().filter_map(|line| line.split_once(':'));
        lines
            .filter(|(known, _)| known.eq_ignore_ascii_case(name))
            .map(|(_, value)| value.trim())
            .next()
            .unwrap_or("")
    }

    pub fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }
}

/// Options of a server that receives callbacks this way.
pub fn options(
    address: &str,
    token: Option<&str>,
    receipt: CallbackOutcome,
) -> (HttpServerOptions, Arc<Mutex<Vec<IncomingCallback>>>) {
    let callbacks = Arc::new(Mutex::new(Vec::new()));
    let kept = callbacks.clone();
    let deliver = Arc::new(move |callback| {
        kept.lock().unwrap().push(callback);
        receipt
    });
    let hosts = vec!["roof.test".to_owned()];
    (
        HttpServerOptions {
            address: address.parse().unwrap(),
            token: token.map(str::to_owned),
            hosts,
            public_url: None,
            deliver,
        },
        callbacks,
    )
}

impl Served {
    pub async fn start(token: Option<&str>, receipt: CallbackOutcome) -> Self {
        let (options, callbacks) = options("127.0.0.1:0", token, receipt);
        let server = HttpServer::listen(options).await.unwrap();
        let (address, stop) = (server.address(), CancellationToken::new());
        let task = tokio::spawn(server.run(stop.clone()));
        Self {
            address,
            stop,
            callbacks,
            task,
        }
    }

    pub async fn open(&self) -> TcpStream {
        TcpStream::connect(self.address).await.unwrap()
    }

    /// One request: its first line, further header lines, its body.
    pub async fn ask(&self, line: &str, headers: &[&str], body: &[u8]) -> Said {
        hear(sent(self.address, line, headers, body).await).await
    }
}

/// A request on its way.
pub async fn sent(address: SocketAddr, line: &str, headers: &[&str], body: &[u8]) -> TcpStream {
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream
        .write_all(head(line, headers, body.len()).as_bytes())
        .await
        .unwrap();
    // A server that has said no may not read on.
    let _ = stream.write_all(body).await;
    stream
}

pub fn head(line: &str, headers: &[&str], length: usize) -> String {
    let more: String = headers
        .iter()
        .map(|header| format!("{header}\r\n"))
        .collect();
    let host = if more.to_lowercase().contains("host:") {
        ""
    } else {
        "host: us\r\n"
    };
    format!("{line} HTTP/1.1\r\n{host}connection: close\r\ncontent-length: {length}\r\n{more}\r\n")
}

pub async fn hear(mut stream: TcpStream) -> Said {
    let mut bytes = Vec::new();
    // The connection may be reset behind the answer.
    let _ = stream.read_to_end(&mut bytes).await;
    let text = String::from_utf8(bytes).unwrap();
    let (head, body) = text
        .split_once("\r\n\r\n")
        .unwrap_or_else(|| panic!("no answer: {text:?}"));
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    Said {
        status,
        head: head.to_owned(),
        body: body.to_owned(),
    }
}
