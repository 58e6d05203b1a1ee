//! A scripted HTTP server on loopback: answers requests in order, holds them open, or cuts the connection.

use std::{
    pin::Pin,
    sync::{Arc, Mutex},
};

use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    sync::Notify,
};

/// What the server does with a request.
pub enum Reaction {
    /// Answers with a status and a body.
    Answer(u16, Vec<u8>),
    /// Closes the connection without an answer.
    Cut,
    /// Never answers.
    Hold,
}

impl Reaction {
    /// `{"ok": true, "result": …}`
    pub fn ok(result: Value) -> Self {
        Self::json(200, json!({"ok": true, "result": result}))
    }

    pub fn json(status: u16, body: Value) -> Self {
        Self::Answer(status, body.to_string().into_bytes())
    }

    /// An answer of the Bot API that refuses.
    pub fn refusal(code: u16, description: &str) -> Self {
        Self::json(
            code,
            json!({"ok": false, "error_code": code, "description": description}),
        )
    }
}

/// A request that arrived.
#[derive(Clone, Debug)]
pub struct Arrived {
    pub verb: String,
    pub path: String,
    /// Names in small letters.
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Arrived {
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        let mut found = self.headers.iter().filter(|(other, _)| other == name);
        found.next().map(|(_, value)| value.as_str())
    }

    /// The last segment of the path: the method of the Bot API.
    pub fn method(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or_default()
    }
}

type Script = Box<dyn FnMut(&Arrived) -> BoxedReaction + Send>;
type BoxedReaction = Pin<Box<dyn Future<Output = Reaction> + Send>>;

/// The server. It ends with the test's runtime.
pub struct Loopback {
    pub url: String,
    arrived: Arc<Mutex<Vec<Arrived>>>,
    notify: Arc<Notify>,
}

impl Loopback {
    /// Starts a server that asks the script what to do with each request.
    pub async fn start(mut script: impl FnMut(&Arrived) -> Reaction + Send + 'static) -> Self {
        let ready = move |request: &Arrived| -> BoxedReaction {
            let reaction = script(request);
            Box::pin(async { reaction })
        };
        Self::start_slow(ready).await
    }

    /// The same with a script that takes its time.
    pub async fn start_slow(
        script: impl FnMut(&Arrived) -> BoxedReaction + Send + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let script: Arc<Mutex<Script>> = Arc::new(Mutex::new(Box::new(script)));
        let server = Self {
            url,
            arrived: Arc::default(),
            notify: Arc::default(),
        };
        let (arrived, notify) = (server.arrived.clone(), server.notify.clone());
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (script, arrived, notify) = (script.clone(), arrived.clone(), notify.clone());
                tokio::spawn(serve(stream, script, arrived, notify));
            }
        });
        server
    }

    pub fn arrived(&self) -> Vec<Arrived> {
        self.arrived.lock().unwrap().clone()
    }

    /// Requests of a method.
    pub fn calls(&self, method: &str) -> Vec<Value> {
        let arrived = self.arrived();
        let calls = arrived.iter().filter(|request| request.method() == method);
        calls.map(Arrived::json).collect()
    }

    /// Waits until so many requests of a method arrived.
    pub async fn until(&self, method: &str, count: usize) {
        loop {
            let notified = self.notify.notified();
            if self.calls(method).len() >= count {
                return;
            }
            notified.await;
        }
    }
}

async fn serve(
    mut stream: TcpStream,
    script: Arc<Mutex<Script>>,
    arrived: Arc<Mutex<Vec<Arrived>>>,
    notify: Arc<Notify>,
) {
    while let Some(request) = read_request(&mut stream).await {
        arrived.lock().unwrap().push(request.clone());
        notify.notify_waiters();
        let reaction = (script.lock().unwrap())(&request);
        match reaction.await {
            Reaction::Answer(status, body) => {
                let head = format!(
                    "HTTP/1.1 {status} X\r\ncontent-length: {}\r\n\r\n",
                    body.len()
                );
                let _ = stream.write_all(head.as_bytes()).await;
                let _ = stream.write_all(&body).await;
            }
            Reaction::Cut => return,
            Reaction::Hold => {
                // Until the client gives up.
                let _ = stream.read_u8().await;
                return;
            }
        }
    }
}

async fn read_request(stream: &mut TcpStream) -> Option<Arrived> {
    let mut bytes = Vec::new();
    let end = loop {
        if let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            break end + 4;
        }
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    };
    let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
    let mut words = head.split(' ').map(str::to_owned);
    let (verb, path) = (words.next()?, words.next()?);
    let headers = head
        .lines()
        .skip(1)
        .filter_map(|line| line.split_once(": "));
    let headers = headers.map(|(name, value)| (name.to_lowercase(), value.to_owned()));
    let headers: Vec<(String, String)> = headers.collect();
    let length = headers.iter().find(|(name, _)| name == "content-length");
    let length: usize = length.map_or(0, |(_, length)| length.parse().unwrap());
    let mut body = bytes.split_off(end);
    while body.len() < length {
        if stream.read_buf(&mut body).await.ok()? == 0 {
            return None;
        }
    }
    Some(Arrived {
        verb,
        path,
        headers,
        body,
    })
}
