//! A web for tests: a server on loopback, names of its own, and tools that know both.

use std::{
    collections::HashMap,
    net::{IpAddr, SocketAddr},
    sync::{Arc, Mutex},
    time::Duration,
};

use rooftree_protocol::CallId;
use rooftree_tools::{
    BackgroundProcesses, SearchService, SemanticSearchTool, ToolOutput, Toolset, WebConfig,
    builtin_with,
    web::{HostResolver, WebBounds},
};
use serde_json::Value;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    task::JoinHandle,
};

use crate::desk::{self, Desk};

/// What a server was asked.
#[derive(Clone, Debug, Default)]
pub struct Asked {
    /// `GET /path`.
    pub line: String,
    /// Names in lower case.
    pub headers: HashMap<String, String>,
    pub body: String,
}

/// What it answers: the whole answer, head and all.
pub type Answering = Arc<dyn Fn(&Asked) -> Vec<u8> + Send + Sync>;

/// A server on loopback that ends with the test.
pub struct Site {
    pub address: SocketAddr,
    asked: Arc<Mutex<Vec<Asked>>>,
    listening: JoinHandle<()>,
}

impl Site {
    pub async fn answering(answer: impl Fn(&Asked) -> Vec<u8> + Send + Sync + 'static) -> Self {
        Self::at("127.0.0.1:0", answer).await
    }

    pub async fn at(
        address: &str,
        answer: impl Fn(&Asked) -> Vec<u8> + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind(address).await.unwrap();
        let address = listener.local_addr().unwrap();
        let asked = Arc::new(Mutex::new(Vec::new()));
        let (seen, answer): (_, Answering) = (asked.clone(), Arc::new(answer));
        let listening = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream, seen.clone(), answer.clone()));
            }
        });
        Self {
            address,
            asked,
            listening,
        }
    }

    pub fn port(&self) -> u16 {
        self.address.port()
    }

    /// A URL on this server, under a name.
    pub fn url(&self, host: &str, path: &str) -> String {
        format!("http://{host}:{}{path}", self.port())
    }

    pub fn asked(&self) -> Vec<Asked> {
        self.asked.lock().unwrap().clone()
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        self.listening.abort();
    }
}

/// An answer that is not whole keeps its connection open, so that its reader has to wait.
const PAUSE: &[u8] = b"<pause>";

async fn serve(mut stream: TcpStream, seen: Arc<Mutex<Vec<Asked>>>, answer: Answering) {
    let Some(asked) = read(&mut stream).await else {
        return;
    };
    seen.lock().unwrap().push(asked.clone());
    let answer = answer(&asked);
    let is_whole = !answer.ends_with(PAUSE);
    let sent = if is_whole {
        answer.as_slice()
    } else {
        &answer[..answer.len() - PAUSE.len()]
    };
    let _ = stream.write_all(sent).await;
    if is_whole {
        let _ = stream.shutdown().await;
    } else {
        // Until the other side gives up.
        let _ = stream.read(&mut [0; 16]).await;
    }
}

async fn read(stream: &mut TcpStream) -> Option<Asked> {
    let mut bytes = Vec::new();
    let head = loop {
        if let Some(at) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            break at;
        }
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    };
    let text = String::from_utf8_lossy(&bytes[..head]).into_owned();
    let mut lines = text.lines();
    let line = lines.next()?.trim_end_matches(" HTTP/1.1").to_owned();
    let headers: HashMap<String, String> = lines
        .filter_map(|line| line.split_once(": "))
        .map(|(name, value)| (name.to_lowercase(), value.to_owned()))
        .collect();
    let length = headers
        .get("content-length")
        .map_or(0, |length| length.parse().unwrap());
    while bytes.len() < head + 4 + length {
        stream.read_buf(&mut bytes).await.ok()?;
    }
    let body = String::from_utf8_lossy(&bytes[head + 4..]).into_owned();
    Some(Asked {
        line,
        headers,
        body,
    })
}

/// A whole answer.
pub fn answer(status: &str, headers: &str, body: impl AsRef<[u8]>) -> Vec<u8> {
    let body = body.as_ref();
    let head = format!(
        "HTTP/1.1 {status}\r\n{headers}content-length: {}\r\n\r\n",
        body.len()
    );
    [head.as_bytes(), body].concat()
}

pub fn html(body: &str) -> Vec<u8> {
    answer("200 OK", "content-type: text/html; charset=utf-8\r\n", body)
}

pub fn moved(location: &str) -> Vec<u8> {
    answer("302 Found", &format!("location: {location}\r\n"), "")
}

/// The start of an answer that never ends.
pub fn unfinished(start: &str) -> Vec<u8> {
    [start.as_bytes(), PAUSE].concat()
}

/// Names and their addresses, in the order in which they are given; the last one stays.
pub fn names(table: &[(&str, &[&str])]) -> HostResolver {
    let table: HashMap<String, Vec<IpAddr>> = table
        .iter()
        .map(|(name, given)| {
            (
                (*name).to_owned(),
                given.iter().map(|text| text.parse().unwrap()).collect(),
            )
        })
        .collect();
    let table = Arc::new(Mutex::new(table));
    Arc::new(move |host| {
        let mut table = table.lock().unwrap();
        let given = table.get_mut(&host).map(|given| {
            if given.len() > 1 {
                given.remove(0)
            } else {
                given[0]
            }
        });
        Box::pin(async move {
            given
                .map(|address| vec![address])
                .ok_or_else(|| std::io::Error::other("no such name"))
        })
    })
}

/// A web in which these hosts are allowed although they are on loopback.
pub fn web(allowed: &[String], resolver: HostResolver) -> WebConfig {
    WebConfig {
        allow_private: allowed.iter().map(|text| text.parse().unwrap()).collect(),
        resolver,
        ..WebConfig::default()
    }
}

/// The same web with a shorter patience.
pub fn hasty(web: WebConfig, time: Duration) -> WebConfig {
    WebConfig {
        bounds: WebBounds { time, ..web.bounds },
        ..web
    }
}

/// Tools on a web of one's own.
pub struct Surfer {
    desk: Desk,
    pub tools: Toolset,
}

impl Surfer {
    pub fn new(web: &WebConfig) -> Self {
        Self::searching(web, None)
    }

    pub fn searching(web: &WebConfig, service: Option<SearchService>) -> Self {
        let desk = Desk::new();
        let processes = Arc::new(BackgroundProcesses::new(|| 1));
        Self {
            tools: builtin_with(processes, SemanticSearchTool::new(None), web, service),
            desk,
        }
    }

    pub fn cancel(&self) {
        self.desk.context.cancel.cancel();
    }

    pub fn call_id(&self) -> CallId {
        self.desk.context.call.clone()
    }

    pub async fn call(&self, name: &str, input: Value) -> ToolOutput {
        desk::call(&self.tools, name, input, self.desk.context.clone()).await
    }

    pub async fn done(&self, name: &str, input: Value) -> String {
        let output = self.call(name, input.clone()).await;
        assert_eq!(output.failure, None, "{name} {input}: {}", output.text());
        output.text()
    }

    pub async fn failed(&self, name: &str, input: Value) -> String {
        let output = self.call(name, input.clone()).await;
        assert!(
            output.failure.is_some(),
            "{name} {input}: {}",
            output.text()
        );
        output.text()
    }
}
