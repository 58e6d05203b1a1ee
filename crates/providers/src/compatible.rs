//! Endpoints that speak OpenAI's Chat Completions: a table, one row per vendor.
//!
//! Whoever is not in it is reached by a base URL from the configuration, with [`Dialect::PLAIN`].

mod local;

use std::sync::Arc;

use crate::{
    Model,
    catalog::{Opener, Price},
    http::{Client, Secret},
    openai::{
        Dialect, Endpoint,
        chat::{self, CallIds, ConversationField, EffortField, MaxOutput, SchemaField, ThinkingField},
    },
};

pub use local::{Found, Place, find_local, local_places};

/// One vendor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Vendor {
    /// What stands before the slash.
    pub name: &'static str,
    /// What it calls itself.
    pub title: &'static str,
    /// Where it is, with the version.
    pub base_url: &'static str,
    /// Where it runs.
    pub site: Site,
    /// The variables its key may be in, the usual one first.
    pub variables: &'static [&'static str],
    /// How it speaks.
    pub dialect: Dialect,
}

/// Where a vendor's server runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Site {
    /// With the vendor: needs a key, costs money.
    Remote,
    /// On one's own machine: needs no key, costs nothing.
    Local,
}

const PLAIN: Dialect = Dialect::PLAIN;

/// All vendors.
pub const VENDORS: &[Vendor] = &[
    Vendor {
        name: "openrouter",
        title: "OpenRouter",
        base_url: "https://openrouter.ai/api/v1",
        site: Site::Remote,
        variables: &["OPENROUTER_API_KEY"],
        dialect: Dialect { effort: EffortField::Reasoning, thinking: ThinkingField::Details, ..PLAIN },
    },
    Vendor {
        name: "groq",
        title: "Groq",
        base_url: "https://api.groq.com/openai/v1",
        site: Site::Remote,
        variables: &["GROQ_API_KEY"],
        dialect: Dialect { max_output: MaxOutput::Completion, asks_parallel: true, ..PLAIN },
    },
    Vendor {
        name: "mistral",
        title: "Mistral",
        base_url: "https://api.mistral.ai/v1",
        site: Site::Remote,
        variables: &["MISTRAL_API_KEY"],
        // Unknown fields are an error there; usage comes unasked.
        dialect: Dialect {
            effort: EffortField::Absent,
            thinking: ThinkingField::ContentPiece,
            call_ids: CallIds::Nine,
            asks_usage: false,
            ..PLAIN
        },
    },
    Vendor {
        name: "deepseek",
        title: "DeepSeek",
        base_url: "https://api.deepseek.com",
        site: Site::Remote,
        variables: &["DEEPSEEK_API_KEY"],
        dialect: Dialect {
            thinking: ThinkingField::ReasoningContent,
            schema: SchemaField::Object,
            forces_tools: false,
            ..PLAIN
        },
    },
    Vendor {
        name: "xai",
        title: "xAI",
        base_url: "https://api.x.ai/v1",
        site: Site::Remote,
        variables: &["XAI_API_KEY"],
        dialect: Dialect {
            max_output: MaxOutput::Completion,
            conversation: ConversationField::Header("x-grok-conv-id"),
            ..PLAIN
        },
    },
    Vendor {
        name: "together",
        title: "Together",
        base_url: "https://api.together.xyz/v1",
        site: Site::Remote,
        variables: &["TOGETHER_API_KEY"],
        dialect: PLAIN,
    },
    Vendor {
        name: "fireworks",
        title: "Fireworks",
        base_url: "https://api.fireworks.ai/inference/v1",
        site: Site::Remote,
        variables: &["FIREWORKS_API_KEY"],
        dialect: PLAIN,
    },
    Vendor {
        name: "cerebras",
        title: "Cerebras",
        base_url: "https://api.cerebras.ai/v1",
        site: Site::Remote,
        variables: &["CEREBRAS_API_KEY"],
        dialect: Dialect { max_output: MaxOutput::Completion, ..PLAIN },
    },
    Vendor {
        name: "moonshot",
        title: "Moonshot",
        base_url: "https://api.moonshot.ai/v1",
        site: Site::Remote,
        variables: &["MOONSHOT_API_KEY", "KIMI_API_KEY"],
        dialect: Dialect {
            effort: EffortField::Absent,
            thinking: ThinkingField::ReasoningContent,
            forces_tools: false,
            ..PLAIN
        },
    },
    Vendor {
        name: "zai",
        title: "Z.ai",
        base_url: "https://api.z.ai/api/paas/v4",
        site: Site::Remote,
        variables: &["ZAI_API_KEY", "Z_AI_API_KEY", "ZHIPU_API_KEY"],
        dialect: Dialect {
            thinking: ThinkingField::ReasoningContent,
            schema: SchemaField::Object,
            asks_usage: false,
            forces_tools: false,
            ..PLAIN
        },
    },
    Vendor {
        name: "ollama",
        title: "Ollama",
        base_url: "http://127.0.0.1:11434/v1",
        site: Site::Local,
        variables: &["OLLAMA_API_KEY"],
        dialect: PLAIN,
    },
    Vendor {
        name: "lmstudio",
        title: "LM Studio",
        base_url: "http://127.0.0.1:1234/v1",
        site: Site::Local,
        variables: &[],
        dialect: PLAIN,
    },
    Vendor {
        name: "llamacpp",
        title: "llama.cpp",
        base_url: "http://127.0.0.1:8080/v1",
        site: Site::Local,
        variables: &["LLAMA_API_KEY"],
        // Makes one call at a time unless it is asked for more.
        dialect: Dialect { thinking: ThinkingField::ReasoningContent, asks_parallel: true, ..PLAIN },
    },
    Vendor {
        name: "vllm",
        title: "vLLM",
        base_url: "http://127.0.0.1:8000/v1",
        site: Site::Local,
        variables: &["VLLM_API_KEY"],
        dialect: PLAIN,
    },
];

/// The vendor of this name.
pub fn vendor(name: &str) -> Option<&'static Vendor> {
    VENDORS.iter().find(|vendor| vendor.name == name)
}

impl Vendor {
    /// Where to ask and as whom; another base URL if the configuration has one.
    pub fn endpoint(&self, base_url: Option<String>, key: Secret) -> Endpoint {
        let base_url = base_url.unwrap_or_else(|| self.base_url.to_owned());
        let endpoint = Endpoint::new(self.name, base_url);
        match (self.site, self.variables.first()) {
            (Site::Remote, Some(variable)) => endpoint.keyed(key, *variable),
            _ => Endpoint { key, ..endpoint },
        }
    }

    /// How the catalog finds its models.
    pub fn opener(&'static self, client: Client, endpoint: Endpoint) -> Opener {
        let open = chat::opener(client, endpoint, self.dialect);
        Arc::new(move |choice| {
            let model = open(choice)?;
            Ok(match self.site {
                Site::Remote => model,
                Site::Local => Model { price: Some(Price::FREE), ..model },
            })
        })
    }
}
