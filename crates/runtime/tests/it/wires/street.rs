//! Vendors' servers on loopback, and one catalogue that knows the way to all of them.

use std::sync::Arc;

use rooftree_protocol::{
    Command, ModelChoice, Origin, Part, SessionId,
    command::{Address, CommandReply, Delivery, NewSession},
};
use rooftree_providers::{
    ModelCatalog, anthropic,
    catalog::{KnownModels, ModelOpener},
    gemini,
    http::{HttpClient, HttpTimeouts, Secret},
    openai,
};
use rooftree_testkit::{
    TestRuntime, TestRuntimeBuilder,
    model_server::{self, ModelServer, ServerAnswer},
};
use rooftree_tools::BackgroundProcesses;

/// A wire: what its provider is called, which model is asked, where, and how.
#[derive(Clone, Copy)]
pub struct Wire {
    pub name: &'static str,
    pub model: &'static str,
    pub path: &'static str,
    server: model_server::ServerWire,
    opener: fn(String, HttpClient) -> ModelOpener,
}

pub const ANTHROPIC: Wire = Wire {
    name: "anthropic",
    model: "anthropic/claude-opus-5-5",
    path: "/v1/messages",
    server: model_server::anthropic::WIRE,
    opener: |base_url, client| {
        let options = anthropic::AnthropicOptions::new(client, Secret::fixed("key"));
        anthropic::opener(anthropic::AnthropicOptions {
            base_url,
            ..options
        })
    },
};

pub const RESPONSES: Wire = Wire {
    name: "openai",
    model: "openai/gpt-5.5",
    path: "/v1/responses",
    server: model_server::openai_responses::WIRE,
    opener: |url, client| {
        openai::responses::opener(
            client,
            endpoint("openai", &url),
            KnownModels::built_in().into(),
        )
    },
};

pub const GEMINI: Wire = Wire {
    name: "google",
    model: "google/gemini-3-pro",
    path: "/v1beta/models/gemini-3-pro:streamGenerateContent?alt=sse",
    server: model_server::gemini::WIRE,
    opener: |base_url, client| {
        let options = gemini::GeminiOptions::new(client, Secret::fixed("key"));
        gemini::opener(gemini::GeminiOptions {
            base_url,
            ..options
        })
    },
};

pub const CHAT: Wire = Wire {
    name: "openai-chat",
    model: "openai-chat/gpt-5.5",
    path: "/v1/chat/completions",
    server: model_server::openai_chat::WIRE,
    opener: |url, client| {
        openai::chat::opener(
            client,
            endpoint("openai-chat", &url),
            openai::ChatDialect::OPENAI,
        )
    },
};

fn endpoint(name: &str, url: &str) -> openai::OpenAiEndpoint {
    openai::OpenAiEndpoint::new(name, format!("{url}/v1"))
        .keyed(Secret::fixed("key"), "OPENAI_API_KEY")
}

impl Wire {
    /// Its model, as one chooses it.
    pub fn choice(&self) -> ModelChoice {
        self.model.parse().unwrap()
    }
}

/// Some vendors, each with a server of its own.
#[derive(Default)]
pub struct Street(Vec<(Wire, ModelServer)>);

impl Street {
    /// One more vendor, which answers from this list.
    pub async fn open<A: Into<ServerAnswer>>(
        mut self,
        wire: Wire,
        answers: impl IntoIterator<Item = A>,
    ) -> Self {
        self.0
            .push((wire, ModelServer::start(wire.server, answers).await));
        self
    }

    /// A runtime whose one catalogue knows all of them, with real tools and this vendor's model.
    pub fn plan(&self, wire: Wire) -> TestRuntimeBuilder {
        let client = HttpClient::new(HttpTimeouts::default()).unwrap();
        let with = |catalog: ModelCatalog, (wire, server): &(Wire, ModelServer)| {
            catalog.with(wire.name, (wire.opener)(server.url(), client.clone()))
        };
        let catalog = self.0.iter().fold(
            ModelCatalog::default().with_known(KnownModels::built_in()),
            with,
        );
        let tools = rooftree_tools::builtin(Arc::new(BackgroundProcesses::new(|| 9)));
        let mut plan = TestRuntimeBuilder::new([]).tools(tools);
        (plan.models.catalog, plan.models.default) = (catalog, Some(wire.choice()));
        plan
    }

    /// A vendor's server.
    pub fn server(&self, wire: Wire) -> &ModelServer {
        let found = self.0.iter().find(|(known, _)| known.name == wire.name);
        &found
            .unwrap_or_else(|| panic!("{} has no server", wire.name))
            .1
    }
}

/// Posts to a new session that names this vendor's model.
pub async fn post_on(runtime: &TestRuntime, wire: Wire, text: &str) -> SessionId {
    let model = Some(wire.choice());
    let to = Address::Create(NewSession {
        agent: "lead".into(),
        cwd: runtime.path().into(),
        name: None,
        model,
    });
    let (parts, delivery) = (vec![Part::text(text)], Delivery::Queue);
    match runtime
        .command(Command::Post {
            to,
            parts,
            origin: Origin::User,
            key: None,
            delivery,
            context: None,
        })
        .await
    {
        CommandReply::Accepted { session, .. } => session,
        other => panic!("a post was answered with {other:?}"),
    }
}
