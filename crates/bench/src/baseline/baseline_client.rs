//! Minimal HTTP client of a model: the conversation as JSON, events parsed as JSON.

use anyhow::{Context, Result};
use reqwest::Client;
use serde_json::{Value, json};

use super::{DurableTable, SourceFiles};

/// A minimal agent loop's connection to a server.
pub struct BaselineClient {
    client: Client,
    url: String,
}

/// An HTTP client for servers on loopback: it needs no certificates, and reads none.
pub fn loopback_client() -> Result<Client> {
    // Fails if a default provider is already installed, which is fine.
    let _ = rustls::crypto::ring::default_provider().install_default();
    Client::builder()
        .tcp_nodelay(true)
        .tls_certs_only([])
        .build()
        .context("make a client")
}

impl BaselineClient {
    pub fn new(url: String) -> Result<Self> {
        Ok(Self {
            client: loopback_client()?,
            url,
        })
    }

    /// Runs so many turns with a call of Read, each answered with the file, and a final answer. With a table
    /// each turn is a durable commit.
    pub async fn turns(
        &self,
        files: &SourceFiles,
        turns: usize,
        ledger: Option<&DurableTable>,
    ) -> Result<()> {
        let mut messages = vec![json!({"role": "user", "content": "Read some files."})];
        for turn in 0..turns {
            self.ask(&messages).await?;
            messages.push(json!({"role": "assistant", "content": SourceFiles::name(turn)}));
            let file = files.numbered(turn)?;
            if let Some(ledger) = ledger {
                ledger.commit([file.as_str()])?;
            }
            messages.push(json!({"role": "user", "content": file}));
        }
        self.ask(&messages).await?;
        match ledger {
            Some(ledger) => ledger.commit(["Done."]),
            None => Ok(()),
        }
    }

    /// Sends one request; returns the number of events in the answer.
    pub async fn ask(&self, messages: &[Value]) -> Result<usize> {
        let body =
            serde_json::to_vec(&json!({"model": "m", "stream": true, "messages": messages}))?;
        let mut response = self
            .client
            .post(&self.url)
            .body(body)
            .send()
            .await?
            .error_for_status()?;
        let (mut rest, mut events) = (Vec::new(), 0);
        while let Some(piece) = response.chunk().await? {
            rest.extend_from_slice(&piece);
            while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = rest.drain(..=end).collect();
                if let Some(data) = line.strip_prefix(b"data: ")
                    && serde_json::from_slice::<Value>(data.trim_ascii()).is_ok()
                {
                    events += 1;
                }
            }
        }
        Ok(events)
    }
}
