//! Source of an export: a session of the database of this machine, or of a server.

use std::collections::HashMap;

use base64::{Engine, engine::general_purpose::STANDARD};
use rooftree_client::RuntimeClient;
use rooftree_protocol::{BlobId, ErrorCode, Event, Problem, Session};
use rooftree_runtime::Queries;
use rooftree_store::RuleRow;

use super::{
    existing,
    find::{self, LookupScope},
    in_words, journal,
};
use crate::{environment::Environment, server_connection::ServerConnection};

/// Where a session comes from: the database of this machine, or a server.
pub enum ExportSource {
    Own(Queries),
    Server {
        rules: Vec<RuleRow>,
        blobs: HashMap<BlobId, Option<String>>,
    },
}

impl ExportSource {
    /// The session that was typed, and its events.
    pub async fn open(
        typed: &str,
        environment: &Environment,
    ) -> Result<(Self, Session, Vec<Event>), Problem> {
        let Some(server) = ServerConnection::of(environment)? else {
            let store = existing(environment)?;
            let session = find::session(&store, typed, LookupScope::Live).await?;
            let events = journal::whole(&store, &session).await?;
            return Ok((Self::Own(store), session, events));
        };
        let client: &dyn RuntimeClient = &server.client;
        let session = find::session(client, typed, LookupScope::Live).await?;
        let rules = client.rules().await?;
        let export = server.client.export(&session.id).await?;
        let blobs = export.blobs.into_iter();
        let blobs = blobs.map(|blob| (blob.blob, blob.base64)).collect();
        Ok((Self::Server { rules, blobs }, export.session, export.events))
    }

    /// The bytes a blob's name stands for; none if the store has lost them.
    pub async fn bytes_of(&self, id: &BlobId) -> Result<Option<Vec<u8>>, Problem> {
        match self {
            Self::Own(store) => store.blob(id).await.map_err(in_words),
            Self::Server { blobs, .. } => {
                let text = blobs.get(id).and_then(Option::as_ref);
                let bytes = text.map(|text| STANDARD.decode(text)).transpose();
                bytes.map_err(|error| {
                    Problem::new(
                        ErrorCode::Internal,
                        format!("the server's {id} is not base64"),
                    )
                    .cause(error.to_string())
                })
            }
        }
    }

    /// Saved permission rules.
    pub async fn rules(&self) -> Result<Vec<RuleRow>, Problem> {
        match self {
            Self::Own(store) => store.rules().await.map_err(in_words),
            Self::Server { rules, .. } => Ok(rules.clone()),
        }
    }
}
