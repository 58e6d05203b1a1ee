//! A runtime whose API is asked over a socket, with a token for each scope.

use std::{net::SocketAddr, sync::Arc};

use rooftree_protocol::{AccessScope, AuthorizedCaller, SessionId, Surface};
use rooftree_runtime::{Definitions, NewAccessToken};
use rooftree_server::{ApiOptions, CallbackOutcome, EmptyCatalog, HttpServer};
use rooftree_testkit::{TestRuntime, TestRuntimeBuilder};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::{
    agent_server::JSON,
    callback_server::{Said, hear, options, sent},
};

/// A runtime with the API in front of it.
pub struct ApiScene {
    pub runtime: TestRuntime,
    pub address: SocketAddr,
    pub stop: CancellationToken,
    tokens: Vec<(AccessScope, String)>,
}

/// A token of a scope, of the owner or of a person who is invited.
pub async fn token(runtime: &TestRuntime, scope: AccessScope, person: Option<&str>) -> String {
    let owner = AuthorizedCaller::local_owner(Surface::Http);
    let mut invited = None;
    if let Some(name) = person {
        let made = runtime.handle.invite_person(&owner, name).await;
        invited = Some(made.unwrap().person.account.person);
    }
    let new = NewAccessToken {
        name: scope.to_string(),
        person: invited,
        scopes: [scope].into_iter().collect(),
        agents: None,
        expires_at: None,
    };
    runtime
        .handle
        .create_token(&owner, new)
        .await
        .unwrap()
        .secret
}

impl ApiScene {
    pub async fn start(plan: TestRuntimeBuilder) -> Self {
        let definitions = plan.definitions.clone();
        Self::before(plan.build(), definitions).await
    }

    /// The API of a runtime that is there.
    pub async fn before(runtime: TestRuntime, definitions: Definitions) -> Self {
        let (options, _) = options("127.0.0.1:0", None, CallbackOutcome::Taken);
        let server = HttpServer::listen(options).await.unwrap();
        let (address, stop) = (server.address(), CancellationToken::new());
        let server = server.with_api(ApiOptions {
            handle: runtime.handle.clone(),
            definitions,
            clock: runtime.clock.clone(),
            cwd: runtime.path().into(),
            catalog: Arc::new(EmptyCatalog),
        });
        let mut tokens = Vec::new();
        for scope in AccessScope::ALL {
            tokens.push((scope, token(&runtime, scope, None).await));
        }
        tokio::spawn(server.run(stop.clone()));
        Self {
            runtime,
            address,
            stop,
            tokens,
        }
    }

    /// The token of a scope.
    pub fn token(&self, scope: AccessScope) -> &str {
        let found = self.tokens.iter().find(|(known, _)| *known == scope);
        &found.unwrap().1
    }

    /// A request with this token and these headers.
    pub async fn send(&self, token: &str, line: &str, headers: &[&str], body: &[u8]) -> Said {
        let (method, path) = line.split_once(' ').unwrap();
        let line = format!("{method} /api/v1{path}");
        let bearer = format!("Authorization: Bearer {token}");
        let usual = ["host: localhost", &bearer];
        let headers: Vec<&str> = usual.iter().chain(headers).copied().collect();
        hear(sent(self.address, &line, &headers, body).await).await
    }

    /// A request with the scope `admin`, and a JSON body if there is one.
    pub async fn ask(&self, line: &str, body: Option<Value>) -> Said {
        self.ask_as(AccessScope::Admin, line, body).await
    }

    pub async fn ask_as(&self, scope: AccessScope, line: &str, body: Option<Value>) -> Said {
        let bytes = body.as_ref().map(Value::to_string).unwrap_or_default();
        let headers: &[&str] = if body.is_some() { &[JSON] } else { &[] };
        self.send(self.token(scope), line, headers, bytes.as_bytes())
            .await
    }

    /// The same, which must be answered so.
    pub async fn told(&self, status: u16, line: &str, body: Option<Value>) -> Value {
        let said = self.ask(line, body).await;
        assert_eq!(said.status, status, "{line}: {said:?}");
        if said.body.is_empty() {
            Value::Null
        } else {
            said.json()
        }
    }

    /// A session that the API opened.
    pub async fn opened(&self) -> SessionId {
        let body = serde_json::json!({"agent": "lead"});
        let session = self.told(201, "POST /sessions", Some(body)).await;
        SessionId::parse(session["id"].as_str().unwrap()).unwrap()
    }
}
