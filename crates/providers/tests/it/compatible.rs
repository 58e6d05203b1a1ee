//! The table of compatible vendors, and servers on this machine.

use std::{collections::HashSet, time::Duration};

use rooftree_protocol::{ErrorCode, ModelChoice};
use rooftree_providers::{
    ModelCatalog,
    http::Secret,
    openai::{ChatDialect, OpenAiEndpoint, chat},
    openai_compatible::{
        LocalEndpoint, LocalServer, ServerSite, VENDORS, find_local, local_endpoints, vendor,
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
    let place = |vendor: &str, server: &ModelServer| LocalEndpoint {
        vendor: vendor.into(),
        base_url: server.url(),
    };
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
    let models = |names: &[&str]| names.iter().map(ToString::to_string).collect();
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
