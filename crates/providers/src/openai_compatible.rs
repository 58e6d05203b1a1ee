//! Table of vendors with an OpenAI-compatible Chat Completions API, one row per vendor.
//!
//! Any other server is reached by a base URL from the configuration, with [`ChatDialect::PLAIN`].

mod describe_model;
mod local_model;
mod local_servers;

use std::sync::Arc;

use crate::{
    Model,
    catalog::{ModelOpener, ModelPrice},
    http::{HttpClient, Secret},
    openai::{
        ChatDialect, OpenAiEndpoint,
        chat::{
            self, CallIdFormat, ConversationField, EffortField, MaxOutputField, SchemaField,
            ThinkingField,
        },
    },
};

pub use crate::local_start::start_hint;
pub use describe_model::{describe_local, local_probe};
pub use local_model::LocalModel;
pub use local_servers::{LocalEndpoint, LocalServer, find_local, local_endpoints};

/// One vendor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CompatibleVendor {
    /// The name before the slash.
    pub name: &'static str,
    /// Display name.
    pub title: &'static str,
    /// Base URL with the version.
    pub base_url: &'static str,
    /// Whether it runs remotely or locally.
    pub site: ServerSite,
    /// The environment variables its key may be in, the usual one first.
    pub variables: &'static [&'static str],
    /// Its API dialect.
    pub dialect: ChatDialect,
}

/// Where a vendor's server runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServerSite {
    /// At the vendor: needs a key, costs money.
    Remote,
    /// On the user's own machine: needs no key, costs nothing.
    Local,
}

const PLAIN: ChatDialect = ChatDialect::PLAIN;

/// All vendors.
pub const VENDORS: &[CompatibleVendor] = &[
    CompatibleVendor {
        name: "openrouter",
        title: "OpenRouter",
        base_url: "https://openrouter.ai/api/v1",
        site: ServerSite::Remote,
        variables: &["OPENROUTER_API_KEY"],
        dialect: ChatDialect {
            effort: EffortField::Reasoning,
            thinking: ThinkingField::Details,
            ..PLAIN
        },
    },
    CompatibleVendor {
        name: "groq",
        title: "Groq",
        base_url: "https://api.groq.com/openai/v1",
        site: ServerSite::Remote,
        variables: &["GROQ_API_KEY"],
        dialect: ChatDialect {
            max_output: MaxOutputField::Completion,
            asks_parallel: true,
            ..PLAIN
        },
    },
    CompatibleVendor {
        name: "mistral",
        title: "Mistral",
        base_url: "https://api.mistral.ai/v1",
        site: ServerSite::Remote,
        variables: &["MISTRAL_API_KEY"],
        // It rejects unknown fields; usage is sent without being requested.
        dialect: ChatDialect {
            effort: EffortField::Absent,
            thinking: ThinkingField::ContentPiece,
            call_ids: CallIdFormat::Nine,
            asks_usage: false,
            ..PLAIN
        },
    },
    CompatibleVendor {
        name: "deepseek",
        title: "DeepSeek",
        base_url: "https://api.deepseek.com",
        site: ServerSite::Remote,
        variables: &["DEEPSEEK_API_KEY"],
        dialect: ChatDialect {
            thinking: ThinkingField::ReasoningContent,
            schema: SchemaField::Object,
            forces_tools: false,
            ..PLAIN
        },
    },
    CompatibleVendor {
        name: "xai",
        title: "xAI",
        base_url: "https://api.x.ai/v1",
        site: ServerSite::Remote,
        variables: &["XAI_API_KEY"],
        dialect: ChatDialect {
            max_output: MaxOutputField::Completion,
            conversation: ConversationField::Header("x-grok-conv-id"),
            ..PLAIN
        },
    },
    CompatibleVendor {
        name: "together",
        title: "Together",
        base_url: "https://api.together.xyz/v1",
        site: ServerSite::Remote,
        variables: &["TOGETHER_API_KEY"],
        dialect: PLAIN,
    },
    CompatibleVendor {
        name: "fireworks",
        title: "Fireworks",
        base_url: "https://api.fireworks.ai/inference/v1",
        site: ServerSite::Remote,
        variables: &["FIREWORKS_API_KEY"],
        dialect: PLAIN,
    },
    CompatibleVendor {
        name: "cerebras",
        title: "Cerebras",
        base_url: "https://api.cerebras.ai/v1",
        site: ServerSite::Remote,
        variables: &["CEREBRAS_API_KEY"],
        dialect: ChatDialect {
            max_output: MaxOutputField::Completion,
            ..PLAIN
        },
    },
    CompatibleVendor {
        name: "moonshot",
        title: "Moonshot",
        base_url: "https://api.moonshot.ai/v1",
        site: ServerSite::Remote,
        variables: &["MOONSHOT_API_KEY", "KIMI_API_KEY"],
        dialect: ChatDialect {
            effort: EffortField::Absent,
            thinking: ThinkingField::ReasoningContent,
            forces_tools: false,
            ..PLAIN
        },
    },
    CompatibleVendor {
        name: "zai",
        title: "Z.ai",
        base_url: "https://api.z.ai/api/paas/v4",
        site: ServerSite::Remote,
        variables: &["ZAI_API_KEY", "Z_AI_API_KEY", "ZHIPU_API_KEY"],
        dialect: ChatDialect {
            thinking: ThinkingField::ReasoningContent,
            schema: SchemaField::Object,
            asks_usage: false,
            forces_tools: false,
            ..PLAIN
        },
    },
    CompatibleVendor {
        name: "ollama",
        title: "Ollama",
        base_url: "http://127.0.0.1:11434/v1",
        site: ServerSite::Local,
        variables: &["OLLAMA_API_KEY"],
        dialect: PLAIN,
    },
    CompatibleVendor {
        name: "lmstudio",
        title: "LM Studio",
        base_url: "http://127.0.0.1:1234/v1",
        site: ServerSite::Local,
        variables: &[],
        dialect: PLAIN,
    },
    CompatibleVendor {
        name: "llamacpp",
        title: "llama.cpp",
        base_url: "http://127.0.0.1:8080/v1",
        site: ServerSite::Local,
        variables: &["LLAMA_API_KEY"],
        // It makes one call at a time unless parallel calls are requested.
        dialect: ChatDialect {
            thinking: ThinkingField::ReasoningContent,
            asks_parallel: true,
            ..PLAIN
        },
    },
    CompatibleVendor {
        name: "vllm",
        title: "vLLM",
        base_url: "http://127.0.0.1:8000/v1",
        site: ServerSite::Local,
        variables: &["VLLM_API_KEY"],
        dialect: PLAIN,
    },
];

/// The vendor of this name.
pub fn vendor(name: &str) -> Option<&'static CompatibleVendor> {
    VENDORS.iter().find(|vendor| vendor.name == name)
}

impl CompatibleVendor {
    /// The endpoint; a base URL from the configuration overrides the default.
    pub fn endpoint(&self, base_url: Option<String>, key: Secret) -> OpenAiEndpoint {
        let base_url = base_url.unwrap_or_else(|| self.base_url.to_owned());
        let endpoint = OpenAiEndpoint::new(self.name, base_url);
        match (self.site, self.variables.first()) {
            (ServerSite::Remote, Some(variable)) => endpoint.keyed(key, *variable),
            _ => OpenAiEndpoint { key, ..endpoint },
        }
    }

    /// Opener for its models.
    pub fn opener(&'static self, client: HttpClient, endpoint: OpenAiEndpoint) -> ModelOpener {
        let open = chat::opener(client, endpoint, self.dialect);
        Arc::new(move |choice| {
            let model = open(choice)?;
            Ok(match self.site {
                ServerSite::Remote => model,
                ServerSite::Local => Model {
                    price: Some(ModelPrice::FREE),
                    is_local: true,
                    ..model
                },
            })
        })
    }
}
