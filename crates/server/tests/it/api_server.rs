//! A runtime with the HTTP API in front of it, and clients with tokens and cookies.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use rooftree_protocol::{AccessScope, AuthorizedCaller, Surface};
use rooftree_runtime::{NewAccessLink, NewAccessToken};
use rooftree_server::{
    ApiOptions, CallbackOutcome, EmptyCatalog, ExposedAgents, HttpServer, HttpServerOptions,
};
use rooftree_testkit::{TestRuntime, TestRuntimeBuilder, scripted::say};
use tokio_util::sync::CancellationToken;

use crate::{
    agent_server::open,
    callback_server::{Said, hear, options, sent},
};

pub const HOST: &str = "host: localhost";

pub struct ApiServer {
    pub runtime: TestRuntime,
    pub address: SocketAddr,
    stop: CancellationToken,
    next: std::cell::Cell<u32>,
}

impl ApiServer {
    pub async fn start() -> Self {
        Self::with(|options| options, |server| server).await
    }

    /// A server that trusts the client as a proxy, so that each request comes from another address.
    pub async fn behind_proxy() -> Self {
        let proxy = "127.0.0.1".parse();
        Self::with(
            |options| options,
            |server| server.with_trusted_proxies(proxy.into_iter().collect()),
        )
        .await
    }

    pub async fn with(
        listen: impl FnOnce(HttpServerOptions) -> HttpServerOptions,
        serve: impl FnOnce(HttpServer) -> HttpServer,
    ) -> Self {
        let plan = TestRuntimeBuilder::new([say("heard").times(999)]);
        let plan = plan.agent(open("helper")).agent(open("other"));
        let definitions = plan.definitions.clone();
        let runtime = plan.build();
        let options = options("127.0.0.1:0", Some("sesame"), CallbackOutcome::Taken).0;
        let server = serve(HttpServer::listen(listen(options)).await.unwrap());
        let (address, stop) = (server.address(), CancellationToken::new());
        let server = server.with_api(ApiOptions {
            handle: runtime.handle.clone(),
            definitions: definitions.clone(),
            clock: runtime.clock.clone(),
            cwd: runtime.path().into(),
            catalog: Arc::new(EmptyCatalog),
        });
        let server = server.with_agents(ExposedAgents {
            handle: runtime.handle.clone(),
            definitions,
            clock: runtime.clock.clone(),
            cwd: runtime.path().into(),
            permission_timeout: Duration::from_secs(60),
            heartbeat: Duration::from_millis(20),
            at_once: 8,
            queue_timeout: Duration::from_secs(2),
        });
        tokio::spawn(server.run(stop.clone()));
        Self {
            runtime,
            address,
            stop,
            next: std::cell::Cell::new(0),
        }
    }

    pub async fn token(&self, scopes: &[AccessScope]) -> String {
        let new = NewAccessToken {
            name: "test".into(),
            person: None,
            scopes: scopes.iter().copied().collect(),
            agents: None,
            expires_at: None,
        };
        self.made(new).await
    }

    pub async fn made(&self, new: NewAccessToken) -> String {
        let made = self.runtime.handle.create_token(&owner(), new).await;
        made.unwrap().secret
    }

    pub async fn link(&self) -> String {
        let new = NewAccessLink::default();
        let made = self.runtime.handle.create_link(&owner(), new).await;
        made.unwrap().secret
    }

    /// A request from an address of its own, as far as the server trusts the client.
    pub async fn ask(&self, line: &str, headers: &[&str], body: &[u8]) -> Said {
        self.next.set(self.next.get() + 1);
        let [_, a, b, c] = self.next.get().to_be_bytes();
        let from = format!("x-forwarded-for: 10.{a}.{b}.{c}");
        let headers: Vec<&str> = headers.iter().copied().chain([from.as_str()]).collect();
        hear(sent(self.address, line, &headers, body).await).await
    }

    /// A cookie of the owner's browser.
    pub async fn cookie(&self) -> String {
        let link = self.link().await;
        let said = self.log_in(&link).await;
        assert_eq!(said.status, 200, "{said:?}");
        let set = said.header("set-cookie");
        format!("cookie: {}", set.split(';').next().unwrap())
    }

    pub async fn log_in(&self, link: &str) -> Said {
        let body = serde_json::json!({"link": link}).to_string();
        let headers = [HOST, "content-type: application/json"];
        self.ask("POST /api/v1/login", &headers, body.as_bytes())
            .await
    }
}

impl Drop for ApiServer {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

/// The owner with all scopes.
pub fn owner() -> AuthorizedCaller {
    AuthorizedCaller::local_owner(Surface::Cli)
}

pub fn bearer(token: &str) -> String {
    format!("authorization: Bearer {token}")
}
