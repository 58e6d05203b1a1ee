//! Asks a local model server for a model's context window and capabilities.
//!
//! llama.cpp and vLLM tell them in `/v1/models`, older llama.cpp in `/props`, LM Studio in `/api/v0/models`, Ollama in
//! `/api/show` and `/api/ps`. What a server does not tell stays unknown.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use serde::Deserialize;
use serde_json::{Value, json};

use super::{LocalEndpoint, LocalModel, local_servers::listed};
use crate::{catalog::ModelProbe, http::HttpClient};

/// The context length with which Ollama and LM Studio load a model unless the user sets another. Ollama cuts a prompt
/// beyond it without an error, so a larger guess would lose the beginning of the prompt.
const LOADED_WINDOW: u64 = 4_096;

/// Asks the server about one model; none if it does not answer in time or does not have the model.
pub async fn describe_local(
    client: &HttpClient,
    place: &LocalEndpoint,
    name: &str,
    timeout: Duration,
) -> Option<LocalModel> {
    let list = listed(client, place, timeout).await?;
    let is_only = list.len() == 1 && place.vendor == "llamacpp";
    let is_meant = |id: &str| id == name || id == format!("{name}:latest");
    // llama.cpp serves its one model under any name.
    let entry = list
        .into_iter()
        .find(|entry| is_meant(&entry.id) || is_only)?;
    let said = LocalModel {
        name: name.to_owned(),
        ..entry.described()
    };
    let server = ModelServerApi {
        client,
        place,
        timeout,
    };
    let more = match place.vendor.as_str() {
        "ollama" => server.ollama(name).await,
        "lmstudio" => server.lm_studio(name).await,
        "llamacpp" => server.llama_cpp().await,
        _ => None,
    };
    Some(said.or(more.unwrap_or_default()))
}

/// How the catalog asks a local server about its models. Connections are set up when it is asked.
pub fn local_probe(
    place: LocalEndpoint,
    timeout: Duration,
    client: impl Fn() -> Option<HttpClient> + Send + Sync + 'static,
) -> ModelProbe {
    Arc::new(move |choice| {
        let (place, name, client) = (place.clone(), choice.model.clone(), client());
        Box::pin(async move {
            let told = describe_local(&client?, &place, &name, timeout).await?;
            Some(told.info(&place.vendor))
        })
    })
}

/// The interfaces of a server beside OpenAI's.
struct ModelServerApi<'a> {
    client: &'a HttpClient,
    place: &'a LocalEndpoint,
    timeout: Duration,
}

impl ModelServerApi<'_> {
    /// A URL of the server's own interface, which is beside `/v1`.
    fn url(&self, path: &str) -> String {
        let base = self.place.base_url.trim().trim_end_matches('/');
        format!("{}{path}", base.strip_suffix("/v1").unwrap_or(base))
    }

    async fn get<T: serde::de::DeserializeOwned>(&self, path: &str) -> Option<T> {
        let (url, key) = (self.url(path), &self.place.key);
        self.client.get_json(&url, key, self.timeout).await
    }

    async fn llama_cpp(&self) -> Option<LocalModel> {
        let props: LlamaProps = self.get("/props").await?;
        let template = props.chat_template.map(|text| text.contains("tools"));
        let capable = props.chat_template_caps.and_then(|caps| {
            let told = ["supports_tools", "supports_tool_calls"];
            told.iter().find_map(|key| caps.get(*key)?.as_bool())
        });
        Some(LocalModel {
            window: props.default_generation_settings.and_then(|set| set.n_ctx),
            tools: capable.or(template),
            images: props.modalities.map(|kinds| kinds.vision),
            ..LocalModel::default()
        })
    }

    async fn lm_studio(&self, name: &str) -> Option<LocalModel> {
        let list: StudioModels = self.get("/api/v0/models").await?;
        let model = list.data.into_iter().find(|model| model.id == name)?;
        let most = model.max_context_length;
        let usual = most.map(|most| most.min(LOADED_WINDOW));
        Some(LocalModel {
            window: model.loaded_context_length.or(usual),
            tools: model
                .capabilities
                .map(|all| all.iter().any(|one| one == "tool_use")),
            images: Some(model.kind == "vlm"),
            chats: Some(model.kind != "embeddings"),
            ..LocalModel::default()
        })
    }

    async fn ollama(&self, name: &str) -> Option<LocalModel> {
        let body = json!({ "model": name });
        let url = self.url("/api/show");
        let key = &self.place.key;
        let shown: OllamaModel = self
            .client
            .post_json(&url, &body, (key, self.timeout))
            .await?;
        let running: Option<OllamaRunning> = self.get("/api/ps").await;
        let loaded = running.and_then(|running| {
            let mut models = running.models.into_iter();
            models.find(|model| model.name == name)?.context_length
        });
        let can = |what: &str| shown.capabilities.iter().any(|known| known == what);
        let is_told = !shown.capabilities.is_empty();
        Some(LocalModel {
            window: Some(loaded.unwrap_or_else(|| shown.window())),
            tools: is_told.then(|| can("tools")),
            images: is_told.then(|| can("vision")),
            chats: is_told.then(|| can("completion")),
            ..LocalModel::default()
        })
    }
}

#[derive(Deserialize)]
struct LlamaProps {
    #[serde(default)]
    default_generation_settings: Option<LlamaGeneration>,
    #[serde(default)]
    modalities: Option<LlamaModalities>,
    #[serde(default)]
    chat_template: Option<String>,
    #[serde(default)]
    chat_template_caps: Option<BTreeMap<String, Value>>,
}

#[derive(Deserialize)]
struct LlamaGeneration {
    #[serde(default)]
    n_ctx: Option<u64>,
}

#[derive(Deserialize)]
struct LlamaModalities {
    #[serde(default)]
    vision: bool,
}

#[derive(Deserialize)]
struct StudioModels {
    data: Vec<StudioModel>,
}

#[derive(Deserialize)]
struct StudioModel {
    id: String,
    #[serde(default, rename = "type")]
    kind: String,
    #[serde(default)]
    max_context_length: Option<u64>,
    #[serde(default)]
    loaded_context_length: Option<u64>,
    #[serde(default)]
    capabilities: Option<Vec<String>>,
}

#[derive(Deserialize)]
struct OllamaModel {
    #[serde(default)]
    capabilities: Vec<String>,
    /// Lines such as `num_ctx 8192`.
    #[serde(default)]
    parameters: Option<String>,
    /// Values such as `qwen2.context_length`.
    #[serde(default)]
    model_info: BTreeMap<String, Value>,
}

impl OllamaModel {
    /// The window it will be loaded with: the model's own setting, else Ollama's default.
    fn window(&self) -> u64 {
        let lines = self.parameters.iter().flat_map(|text| text.lines());
        let mut set =
            lines.filter_map(|line| line.trim().strip_prefix("num_ctx")?.trim().parse().ok());
        let trained = self
            .model_info
            .iter()
            .find(|(key, _)| key.ends_with(".context_length"))
            .and_then(|(_, value)| value.as_u64());
        let most = trained.unwrap_or(u64::MAX);
        set.next().unwrap_or(LOADED_WINDOW).min(most)
    }
}

#[derive(Deserialize)]
struct OllamaRunning {
    #[serde(default)]
    models: Vec<OllamaRunningModel>,
}

#[derive(Deserialize)]
struct OllamaRunningModel {
    name: String,
    #[serde(default)]
    context_length: Option<u64>,
}
