//! The table of compatible vendors, and servers on this machine.

use std::{collections::HashSet, sync::Arc, time::Duration};

use rooftree_protocol::{ErrorCode, ModelChoice};
use rooftree_providers::{
    ModelCatalog,
    catalog::{KnownModels, ModelProbe, ModelProfile},
    http::Secret,
    openai::{ChatDialect, OpenAiEndpoint, chat},
    openai_compatible::{
        LocalEndpoint, LocalModel, LocalServer, ServerSite, VENDORS, describe_local, find_local,
        local_endpoints, vendor,
    },
};
use rooftree_testkit::model_server::{ModelServer, ServerAnswer, openai_chat::WIRE, say};

use crate::openai::*;

fn choice(text: &str) -> ModelChoice {
    text.parse().unwrap()
}

#[test]
fn every_row_of_the_table_holds_together() {
    let names: HashSet<&str> = VENDORS.iter().map(|vendor| vendor.name).collect();
    assert_eq!(names.len(), VENDORS.len(), "a name is used twice");
    for row in VENDORS {
        assert!(!row.name.contains(['/', ':']), "{}", row.name);
        assert!(!row.base_url.ends_with('/'), "{}", row.base_url);
        match row.site {
            ServerSite::Remote => {
                assert!(row.base_url.starts_with("https://") && !row.variables.is_empty())
            }
            ServerSite::Local => assert!(row.base_url.starts_with("http://127.0.0.1:")),
        }
    }
    assert_eq!(local_endpoints().len(), 4);
}

#[tokio::test]
async fn every_vendor_answers_behind_its_name() {
    let server = ModelServer::start_with(WIRE, |_| say().text(["ok"]).into()).await;
    for row in VENDORS {
        let endpoint = row.endpoint(Some(server.url()), Secret::fixed("sk-1"));
        let catalog = ModelCatalog::default().with(row.name, row.opener(client(), endpoint));
        let model = catalog
            .open(&choice(&format!("{}/some/model:7b", row.name)))
            .unwrap();
        let asked = rooftree_providers::ModelRequest {
            model: model.choice.model.clone(),
            ..request()
        };
        let reply = ask(model.provider.as_ref(), asked).await.1.unwrap();
        assert_eq!(reply.parts, [text("ok")], "{}", row.name);
        let last = server.requests().pop().unwrap();
        assert_eq!(
            (last.path.as_str(), last.json()["model"].as_str()),
            ("/chat/completions", Some("some/model:7b"))
        );
        assert_eq!(last.header("authorization"), "Bearer sk-1");
        assert_eq!(
            model.charge(reply.usage).cost_complete,
            row.site == ServerSite::Local,
            "{}",
            row.name
        );
    }
}

#[test]
fn a_remote_vendor_needs_a_key_and_a_local_one_does_not() {
    let open = |name: &str| {
        let row = vendor(name).unwrap();
        let opener = row.opener(client(), row.endpoint(None, Secret::none()));
        ModelCatalog::default()
            .with(name, opener)
            .open(&choice(&format!("{name}/m")))
    };
    let Err(problem) = open("groq") else {
        panic!("there is no key")
    };
    assert_eq!(problem.code, ErrorCode::Unauthorized);
    assert!(problem.cause.unwrap().contains("GROQ_API_KEY"));
    assert!(open("ollama").is_ok());
}

#[tokio::test]
async fn any_base_url_is_a_provider() {
    let server = ModelServer::start(WIRE, [say().text(["ok"])]).await;
    let endpoint =
        OpenAiEndpoint::new("mine", format!("{}/proxy/v1", server.url())).header("x-team", "a");
    let catalog =
        ModelCatalog::default().with("mine", chat::opener(client(), endpoint, ChatDialect::PLAIN));
    let model = catalog.open(&choice("mine/m")).unwrap();
    ask(model.provider.as_ref(), request()).await.1.unwrap();
    let asked = &server.requests()[0];
    assert_eq!(
        (asked.path.as_str(), asked.header("x-team")),
        ("/proxy/v1/chat/completions", "a")
    );
    assert_eq!(asked.header("authorization"), "");
}

#[tokio::test]
async fn servers_on_this_machine_are_found_by_what_they_serve() {
    let listing = |body: &str| {
        let body = body.to_owned();
        ModelServer::start_with(WIRE, move |_| ServerAnswer::Raw {
            status: 200,
            content_type: "application/json",
            body: body.clone(),
        })
    };
    let plain = listing(r#"{"object":"list","data":[{"id":"qwen3:8b","object":"model"}]}"#).await;
    let other =
        listing(r#"{"data":[{"id":"a.gguf","owned_by":"llamacpp"},{"id":"b.gguf"}]}"#).await;
    let page = listing("<html>something else</html>").await;
    let silent = ModelServer::start_with(WIRE, |_| ServerAnswer::Silence).await;
    let place = |vendor: &str, server: &ModelServer| LocalEndpoint::new(vendor, server.url());
    let mut places = vec![
        place("ollama", &plain),
        place("vllm", &other),
        place("lmstudio", &page),
        place("llamacpp", &silent),
    ];
    // No server listens on this port any more.
    let gone = ModelServer::start_with(WIRE, |_| ServerAnswer::Silence).await;
    places.push(place("vllm", &gone));
    drop(gone);
    let found = find_local(&client(), &places, Duration::from_millis(500)).await;
    let models = |names: &[&str]| names.iter().copied().map(LocalModel::named).collect();
    assert_eq!(
        found,
        [
            LocalServer {
                vendor: "ollama".into(),
                base_url: plain.url(),
                models: models(&["qwen3:8b"])
            },
            LocalServer {
                vendor: "llamacpp".into(),
                base_url: other.url(),
                models: models(&["a.gguf", "b.gguf"])
            },
        ]
    );
    assert_eq!(plain.requests()[0].path, "/models");
}

/// A server that answers these paths with these bodies.
async fn pages(pages: &'static [(&'static str, &'static str)]) -> ModelServer {
    ModelServer::start_with(WIRE, move |request| {
        let found = pages.iter().find(|(path, _)| *path == request.path);
        ServerAnswer::Raw {
            status: if found.is_some() { 200 } else { 404 },
            content_type: "application/json",
            body: found.map_or("{}", |(_, body)| body).to_owned(),
        }
    })
    .await
}

#[tokio::test]
async fn n_6_window_and_abilities_are_read_in_the_format_of_each_server() {
    let llama = r#"{"object":"list","data":[{"id":"/m/q.gguf","object":"model","owned_by":"llamacpp",
        "architecture":{"input_modalities":["text","image"]},"meta":{"n_ctx":8192,"n_ctx_train":32768}}]}"#;
    let older = r#"{"object":"list","data":[{"id":"q","object":"model","owned_by":"llamacpp","meta":{"n_ctx_train":32768}}]}"#;
    let props = r#"{"default_generation_settings":{"n_ctx":4096},"total_slots":1,"modalities":{"vision":false},
        "chat_template":"{%- if messages %}"}"#;
    let vllm = r#"{"object":"list","data":[{"id":"org/m","object":"model","owned_by":"vllm","root":"org/m","max_model_len":16384}]}"#;
    let listed = r#"{"object":"list","data":[{"id":"q","object":"model","owned_by":"library"}]}"#;
    let shown = r#"{"capabilities":["completion","tools","vision"],"parameters":"stop \"x\"\nnum_ctx 16384",
        "model_info":{"general.architecture":"qwen2","qwen2.context_length":32768}}"#;
    let plain = r#"{"capabilities":["completion"],"model_info":{"llama.context_length":131072}}"#;
    let running = r#"{"models":[{"name":"q","context_length":65536}]}"#;
    let studio =
        r#"{"object":"list","data":[{"id":"q","object":"model","owned_by":"organization_owner"}]}"#;
    let loaded = r#"{"data":[{"id":"q","type":"vlm","state":"loaded","max_context_length":131072,
        "loaded_context_length":20000,"capabilities":["tool_use"]}]}"#;
    let unloaded = r#"{"data":[{"id":"q","type":"embeddings","state":"not-loaded","max_context_length":2048}]}"#;
    type Told = (Option<u64>, Option<bool>, Option<bool>, Option<bool>);
    type Case = (
        &'static str,
        &'static str,
        &'static [(&'static str, &'static str)],
        Told,
    );
    let table: Vec<Case> = vec![
        (
            "llamacpp",
            "any name",
            vec![("/v1/models", llama)].leak(),
            (Some(8_192), None, Some(true), None),
        ),
        (
            "llamacpp",
            "q",
            vec![("/v1/models", older), ("/props", props)].leak(),
            (Some(4_096), Some(false), Some(false), None),
        ),
        (
            "vllm",
            "org/m",
            vec![("/v1/models", vllm)].leak(),
            (Some(16_384), None, None, None),
        ),
        (
            "ollama",
            "q",
            vec![("/v1/models", listed), ("/api/show", shown)].leak(),
            (Some(16_384), Some(true), Some(true), Some(true)),
        ),
        (
            "ollama",
            "q",
            vec![("/v1/models", listed), ("/api/show", plain)].leak(),
            (Some(4_096), Some(false), Some(false), Some(true)),
        ),
        (
            "ollama",
            "q",
            vec![
                ("/v1/models", listed),
                ("/api/show", plain),
                ("/api/ps", running),
            ]
            .leak(),
            (Some(65_536), Some(false), Some(false), Some(true)),
        ),
        (
            "lmstudio",
            "q",
            vec![("/v1/models", studio), ("/api/v0/models", loaded)].leak(),
            (Some(20_000), Some(true), Some(true), Some(true)),
        ),
        (
            "lmstudio",
            "q",
            vec![("/v1/models", studio), ("/api/v0/models", unloaded)].leak(),
            (Some(2_048), None, Some(false), Some(false)),
        ),
    ];
    for (vendor, name, answers, expected) in table {
        let server = pages(answers).await;
        let place = LocalEndpoint::new(vendor, format!("{}/v1", server.url()));
        let told = describe_local(&client(), &place, name, Duration::from_secs(5)).await;
        let told = told.unwrap();
        assert_eq!(told.name, name);
        assert_eq!(
            (told.window, told.tools, told.images, told.chats),
            expected,
            "{vendor} {answers:?}"
        );
    }
}

#[tokio::test]
async fn n_6_a_model_is_asked_about_once_and_its_own_entry_goes_first() {
    let list = r#"{"data":[{"id":"q","owned_by":"vllm","max_model_len":8192}]}"#;
    let server = pages(vec![("/v1/models", list)].leak()).await;
    let place = LocalEndpoint::new("vllm", format!("{}/v1", server.url()));
    let probe: ModelProbe = Arc::new(move |choice| {
        let (place, name) = (place.clone(), choice.model.clone());
        Box::pin(async move {
            let told = describe_local(&client(), &place, &name, Duration::from_secs(5)).await;
            Some(told?.info("vllm"))
        })
    });
    let endpoint = OpenAiEndpoint::new("vllm", server.url());
    let catalog = ModelCatalog::default()
        .with("vllm", chat::opener(client(), endpoint, ChatDialect::PLAIN))
        .with_probe("vllm", probe);
    for _ in 0..3 {
        catalog.prepare(&choice("vllm/q")).await;
    }
    assert_eq!(server.requests().len(), 1);
    let model = catalog.open(&choice("vllm/q")).unwrap();
    assert_eq!(
        (model.window, model.profile),
        (Some(8_192), ModelProfile::Lean)
    );
    let entry = "[[model]]\nid = 'vllm/q'\nwindow = 64000\n";
    let known = KnownModels::default().adding("models.toml", entry).unwrap();
    let catalog = catalog.with_known(known);
    catalog.prepare(&choice("vllm/q")).await;
    let model = catalog.open(&choice("vllm/q")).unwrap();
    assert_eq!(
        (model.window, model.profile),
        (Some(64_000), ModelProfile::Full)
    );
}
