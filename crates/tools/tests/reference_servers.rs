//! The reference servers from the package registry, as they are: everything, filesystem, memory.
//!
//! `cargo xtask test` installs them and says where in ROOFTREE_MCP_SERVERS.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that cannot go on ends"
)]

#[path = "it/desk.rs"]
#[allow(dead_code, reason = "only a part of it is needed here")]
mod desk;

use std::{
    env, fs,
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::Duration,
};

use desk::{Desk, call};
use rooftree_protocol::{Confinement, McpServer, Network, SandboxMode};
use rooftree_tools::{
    SandboxConfig, ToolOutput, Toolset,
    mcp::{McpServerPool, McpServerStatus, McpSetup},
};
use serde_json::{Value, json};

/// A server of the package registry.
fn program(name: &str) -> PathBuf {
    let Some(place) = env::var_os("ROOFTREE_MCP_SERVERS") else {
        panic!("ROOFTREE_MCP_SERVERS does not say where the servers are; cargo xtask test does");
    };
    let program = Path::new(&place).join("node_modules/.bin").join(name);
    assert!(program.exists(), "{} is not installed", program.display());
    program
}

fn server(name: &str, args: &[&str]) -> McpServer {
    let args = args.iter().map(|arg| (*arg).to_owned()).collect();
    McpServer {
        command: Some(program(name).display().to_string()),
        args,
        ..McpServer::default()
    }
}

/// One server at work, confined as it is for people.
struct Stand {
    servers: McpServerPool,
    desk: Desk,
    tools: Toolset,
}

impl Stand {
    async fn of(server: McpServer) -> Self {
        let homes = tempfile::tempdir().unwrap();
        Self::at_home(Desk::new(), server, homes.path()).await
    }

    async fn at_home(desk: Desk, server: McpServer, homes: &Path) -> Self {
        let servers = McpServerPool::new(setup(&desk, homes));
        let found = servers.inspect("s", &server).await;
        let McpServerStatus::Ready(about) = &found.status else {
            panic!("{:?}", found.status)
        };
        assert!(!about.title.is_empty() && !about.protocol.is_empty());
        assert_eq!(found.notices, []);
        Self {
            servers,
            desk,
            tools: Toolset::new(found.tools),
        }
    }

    async fn call(&self, tool: &str, input: Value) -> ToolOutput {
        call(
            &self.tools,
            &format!("mcp__s__{tool}"),
            input,
            self.desk.context.clone(),
        )
        .await
    }

    async fn done(&self, tool: &str, input: Value) -> String {
        let output = self.call(tool, input).await;
        assert_eq!(output.failure, None, "{}", output.text());
        output.text()
    }
}

/// Confined for certain.
fn setup(desk: &Desk, homes: &Path) -> McpSetup {
    let confinement = Confinement {
        mode: SandboxMode::Required,
        ..Confinement::default()
    };
    McpSetup {
        directory: desk.context.cwd.to_path_buf(),
        confining: SandboxConfig {
            confinement,
            ..SandboxConfig::default()
        },
        homes: Some(homes.to_owned()),
        startup: Duration::from_secs(120),
        ..McpSetup::default()
    }
}

#[tokio::test]
async fn everything_over_streams() {
    let stand = Stand::of(server("mcp-server-everything", &["stdio"])).await;
    everything(&stand).await;
    stand.servers.close().await;
}

#[tokio::test]
async fn everything_over_http() {
    let port = std::net::TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .port();
    let mut command = Command::new(program("mcp-server-everything"));
    command
        .arg("streamableHttp")
        .env("PORT", port.to_string())
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    let mut serving = Serving(command.spawn().unwrap());
    let mut said = BufReader::new(serving.0.stderr.take().unwrap()).lines();
    said.find(|line| line.as_ref().unwrap().contains(&port.to_string()))
        .unwrap()
        .unwrap();
    let url = Some(format!("http://127.0.0.1:{port}/mcp"));
    let stand = Stand::of(McpServer {
        url,
        ..McpServer::default()
    })
    .await;
    everything(&stand).await;
    stand.servers.close().await;
}

/// A program that ends with the test.
struct Serving(Child);

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

async fn everything(stand: &Stand) {
    assert!(
        stand
            .done("echo", json!({"message": "hello"}))
            .await
            .contains("hello")
    );
    assert!(
        stand
            .done("get-sum", json!({"a": 2, "b": 40}))
            .await
            .contains("42")
    );
    let image = stand.call("get-tiny-image", json!({})).await;
    assert_eq!(
        (image.media.len(), image.media[0].media_type.as_str()),
        (1, "image/png")
    );
    let structured = stand
        .done("get-structured-content", json!({"location": "New York"}))
        .await;
    assert!(structured.contains("temperature"), "{structured}");
    let wrong = stand.call("get-sum", json!({"a": "two", "b": 40})).await;
    assert!(wrong.failure.is_some());
}

#[tokio::test]
async fn filesystem_keeps_to_its_directory() {
    let place = tempfile::tempdir().unwrap();
    let root = fs::canonicalize(place.path()).unwrap();
    fs::write(root.join("notes.txt"), "milk\n").unwrap();
    let one = server("mcp-server-filesystem", &[&root.display().to_string()]);
    let path = |name: &str| root.join(name).display().to_string();
    for writable in [vec![], vec![root.clone()]] {
        let may_write = !writable.is_empty();
        let stand = Stand::of(McpServer {
            writable,
            ..one.clone()
        })
        .await;
        assert!(
            stand
                .done("read_text_file", json!({"path": path("notes.txt")}))
                .await
                .contains("milk")
        );
        let written = stand
            .call(
                "write_file",
                json!({"path": path("new.txt"), "content": "bread"}),
            )
            .await;
        assert_eq!(
            (written.failure.is_none(), root.join("new.txt").exists()),
            (may_write, may_write)
        );
        assert!(
            stand
                .call("read_text_file", json!({"path": "/etc/passwd"}))
                .await
                .failure
                .is_some()
        );
        stand.servers.close().await;
    }
    assert_eq!(fs::read_to_string(root.join("new.txt")).unwrap(), "bread");
}

#[tokio::test]
async fn memory_remembers_where_it_works_and_nowhere_else() {
    let desk = Desk::new();
    let mut one = server("mcp-server-memory", &[]);
    let file = desk.context.cwd.join("memory.jsonl");
    one.env
        .insert("MEMORY_FILE_PATH".into(), file.display().to_string());
    let homes = tempfile::tempdir().unwrap();
    let stand = Stand::at_home(desk, one, homes.path()).await;
    let ada = json!({"name": "Ada", "entityType": "person", "observations": ["likes engines"]});
    stand
        .done("create_entities", json!({"entities": [ada]}))
        .await;
    assert!(
        stand
            .done("search_nodes", json!({"query": "engines"}))
            .await
            .contains("Ada")
    );
    assert!(file.is_file());
    stand.servers.close().await;
}

#[tokio::test]
async fn what_npx_runs_is_fetched_once_and_then_needs_no_network() {
    let (homes, desk) = (tempfile::tempdir().unwrap(), Desk::new());
    desk.put("given/notes.txt", "milk");
    let npx = |network| McpServer {
        command: Some("npx".into()),
        args: [
            "-y",
            "@modelcontextprotocol/server-filesystem@2026.8.31",
            "given",
        ]
        .map(Into::into)
        .into(),
        network,
        ..McpServer::default()
    };
    let offline = McpServerPool::new(setup(&desk, homes.path()));
    let McpServerStatus::Failed(error) =
        offline.inspect("s", &npx(Some(Network::Off))).await.status
    else {
        panic!("it cannot have been fetched");
    };
    let words = error.to_string();
    assert!(
        words.contains("`npx` could not fetch its package, because its `network` is off"),
        "{words}"
    );
    assert!(words.contains("set \"network\": \"on\""), "{words}");
    offline.close().await;
    let notes = desk.path("given/notes.txt").display().to_string();
    let first = Stand::at_home(desk, npx(None), homes.path()).await;
    assert!(
        first
            .done("read_text_file", json!({"path": notes}))
            .await
            .contains("milk")
    );
    first.servers.close().await;
    let again = Stand::at_home(first.desk, npx(Some(Network::Off)), homes.path()).await;
    assert!(
        again
            .done("read_text_file", json!({"path": notes}))
            .await
            .contains("milk")
    );
    again.servers.close().await;
}
