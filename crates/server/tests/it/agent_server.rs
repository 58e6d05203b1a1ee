//! A whole house whose agents are asked over a socket.

use std::{net::SocketAddr, time::Duration};

use rooftree_protocol::{AgentDefinition, SessionId};
use rooftree_server::{CallbackOutcome, ExposedAgents, HttpServer};
use rooftree_testkit::{TestRuntime, TestRuntimeBuilder};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt, BufReader},
    net::TcpStream,
};
use tokio_util::sync::CancellationToken;

use crate::callback_server::{Said, hear, options, sent};

pub const TOKEN: &str = "Authorization: Bearer sesame";
pub const JSON: &str = "Content-Type: application/json";
/// How long an answer is held for a permission.
pub const HELD: Duration = Duration::from_secs(60);
/// How long a test may take before it is called stuck.
const PATIENCE: Duration = Duration::from_secs(20);

/// A runtime with a server in front of it.
pub struct Reached {
    pub runtime: TestRuntime,
    pub address: SocketAddr,
    pub stop: CancellationToken,
    pub task: tokio::task::JoinHandle<Result<(), rooftree_server::Error>>,
}

/// An agent that can be asked.
pub fn open(name: &str) -> AgentDefinition {
    AgentDefinition {
        api_exposed: true,
        ..AgentDefinition::new(name)
    }
}

/// A question.
pub fn question(text: &str) -> Value {
    json!({"model": "agent:helper", "messages": [{"role": "user", "content": text}]})
}

/// The same, with other fields besides.
pub fn with(mut body: Value, more: Value) -> Value {
    body.as_object_mut()
        .unwrap()
        .extend(more.as_object().unwrap().clone());
    body
}

/// How long requests wait for their turn.
pub const QUEUED: Duration = Duration::from_secs(2);

impl Reached {
    /// With an agent `helper` that can be asked.
    pub async fn start(plan: TestRuntimeBuilder) -> Self {
        Self::seating(plan, 8).await
    }

    pub async fn seating(plan: TestRuntimeBuilder, at_once: usize) -> Self {
        let plan = plan.agent(open("helper"));
        let definitions = plan.definitions.clone();
        let runtime = plan.build();
        let server =
            HttpServer::listen(options("127.0.0.1:0", Some("sesame"), CallbackOutcome::Taken).0)
                .await
                .unwrap();
        let (address, stop) = (server.address(), CancellationToken::new());
        let server = server.with_agents(ExposedAgents {
            handle: runtime.handle.clone(),
            definitions,
            clock: runtime.clock.clone(),
            cwd: runtime.path().into(),
            permission_timeout: HELD,
            heartbeat: Duration::from_millis(20),
            at_once,
            queue_timeout: QUEUED,
        });
        let task = tokio::spawn(server.run(stop.clone()));
        Self {
            runtime,
            address,
            stop,
            task,
        }
    }

    pub async fn get(&self, path: &str) -> Said {
        let line = format!("GET {path}");
        hear(sent(self.address, &line, &["host: localhost", TOKEN], b"").await).await
    }

    /// A request to be heard later.
    pub async fn send(&self, body: &Value, headers: &[&str]) -> TcpStream {
        let usual = ["host: localhost", TOKEN, JSON];
        let headers: Vec<&str> = usual.iter().chain(headers).copied().collect();
        sent(
            self.address,
            "POST /v1/chat/completions",
            &headers,
            body.to_string().as_bytes(),
        )
        .await
    }

    pub async fn ask(&self, body: &Value, headers: &[&str]) -> Said {
        hear(self.send(body, headers).await).await
    }

    /// The answer to a question, whole.
    pub async fn answer(&self, body: &Value, headers: &[&str]) -> Value {
        let said = self.ask(body, headers).await;
        assert_eq!(said.status, 200, "{said:?}");
        said.json()
    }

    pub async fn stream(&self, body: &Value, headers: &[&str]) -> Streaming {
        let body = with(body.clone(), json!({"stream": true}));
        let mut lines = BufReader::new(self.send(&body, headers).await);
        let mut head = Vec::new();
        loop {
            let mut line = String::new();
            lines.read_line(&mut line).await.unwrap();
            if line.trim().is_empty() {
                break;
            }
            head.push(line.trim().to_owned());
        }
        assert!(head[0].contains(" 200 "), "{head:?}");
        let session = head
            .iter()
            .find_map(|line| line.strip_prefix("x-rooftree-session: "));
        let session = session.map(|session| SessionId::parse(session).unwrap());
        let until = tokio::time::Instant::now() + PATIENCE;
        Streaming {
            session,
            lines,
            until,
            seen: Vec::new(),
        }
    }

    /// The model's requests whose last message holds this.
    pub fn asked(&self, text: &str) -> usize {
        let requests = self.runtime.model.requests();
        requests
            .iter()
            .filter(|request| format!("{:?}", request.messages).contains(text))
            .count()
    }

    pub async fn is_put_away(&self, session: &SessionId) -> bool {
        self.runtime
            .store()
            .session(session)
            .await
            .unwrap()
            .unwrap()
            .deleted_at
            .is_some()
    }
}

/// An answer that comes in pieces.
pub struct Streaming {
    session: Option<SessionId>,
    lines: BufReader<TcpStream>,
    until: tokio::time::Instant,
    /// What it said so far.
    pub seen: Vec<Value>,
}

impl Streaming {
    pub fn session(&self) -> &SessionId {
        self.session.as_ref().unwrap()
    }

    /// The next line that says something: `data: …` or a comment.
    pub async fn line(&mut self) -> Option<String> {
        let read = async {
            loop {
                let mut line = String::new();
                if self.lines.read_line(&mut line).await.unwrap_or(0) == 0 {
                    return None;
                }
                if line.starts_with("data: ") || line.starts_with(':') {
                    return Some(line.trim_end().to_owned());
                }
            }
        };
        // From the beginning of the stream: one that is held for ever lives, and is stuck.
        tokio::time::timeout_at(self.until, read)
            .await
            .unwrap_or_else(|_| panic!("the stream is stuck"))
    }

    /// Reads on until a comment says that the stream lives; says whether one came before the end.
    pub async fn is_alive(&mut self) -> bool {
        while let Some(line) = self.line().await {
            match line.strip_prefix("data: ") {
                None => {
                    assert_eq!(line, ": hb");
                    return true;
                }
                Some("[DONE]") => return false,
                Some(data) => self.seen.push(serde_json::from_str(data).unwrap()),
            }
        }
        panic!("the stream broke off")
    }

    /// All of it.
    pub async fn rest(mut self) -> Vec<Value> {
        while self.is_alive().await {}
        self.seen
    }
}

/// What pieces say, one after the other.
pub fn joined(pieces: &[Value], field: &str) -> String {
    pieces
        .iter()
        .filter_map(|piece| piece["choices"][0]["delta"][field].as_str())
        .collect()
}

/// Waits until something is so, letting everybody else go on.
pub async fn until(what: &str, is_so: impl AsyncFn() -> bool) {
    let wait = async {
        while !is_so().await {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(PATIENCE, wait)
        .await
        .unwrap_or_else(|_| panic!("{what} did not happen"));
}
