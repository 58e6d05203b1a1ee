//! The catalogue: opening fills in what is known, names are understood, prices are applied.

use std::sync::Arc;

use rooftree_protocol::{ModelChoice, Usage};
use rooftree_providers::{
    ModelCatalog,
    catalog::{KnownModels, ModelTier},
    http::Secret,
    openai::{OpenAiEndpoint, responses},
};
use rooftree_testkit::model_server::{ModelServer, openai_responses::WIRE, say};
use serde_json::Value;

use crate::openai::*;

fn catalog(base_url: &str, known: KnownModels) -> ModelCatalog {
    let known = Arc::new(known);
    let endpoint =
        OpenAiEndpoint::new("openai", base_url).keyed(Secret::fixed("sk-1"), "OPENAI_API_KEY");
    ModelCatalog::default()
        .with(
            "openai",
            responses::opener(client(), endpoint, known.clone()),
        )
        .with_known(known)
}

fn choice(text: &str) -> ModelChoice {
    text.parse().unwrap()
}

#[test]
fn an_opened_model_knows_its_limits_and_its_price() {
    let catalog = catalog("http://127.0.0.1:9", KnownModels::built_in());
    let model = catalog.open(&choice("openai/gpt-6.1-sol:high")).unwrap();
    assert_eq!(
        (model.window, model.output),
        (Some(1_050_000), Some(128_000))
    );
    let usage = Usage {
        input: 100_000,
        cache_read: 90_000,
        output: 1_000,
        ..Usage::default()
    };
    let charged = model.charge(usage);
    assert!(
        charged.cost_complete && (charged.cost_usd - 0.039).abs() < 1e-9,
        "{charged:?}"
    );
    let unknown = catalog.open(&choice("openai/gpt-99")).unwrap();
    assert_eq!((unknown.window, unknown.price.is_none()), (None, true));
    assert_eq!(
        unknown.charge(usage),
        usage,
        "tokens without a price stay tokens"
    );
}

#[test]
fn names_and_tiers_are_understood() {
    let catalog = catalog("http://127.0.0.1:9", KnownModels::built_in());
    let resolved = catalog.resolve("gpt-6-luna:low").unwrap();
    assert_eq!(resolved.choice, choice("openai/gpt-6-luna:low"));
    assert!(resolved.how.unwrap().contains("openai serves it"));
    assert_eq!(
        catalog.resolve("openai:gpt-5").unwrap().choice,
        choice("openai/gpt-5")
    );
    assert!(catalog.resolve("nonsense").is_err());
    assert_eq!(
        catalog
            .known()
            .of_tier("openai", ModelTier::Fast)
            .unwrap()
            .id,
        "openai/gpt-6-luna"
    );
    assert_eq!(catalog.known().of_tier("ollama", ModelTier::Fast), None);
}

#[tokio::test]
async fn a_model_that_does_not_think_is_not_asked_to() {
    let server = ModelServer::start(WIRE, [say(), say(), say()]).await;
    let own = "[[model]]\nid = 'openai/mine'\nthinking = false";
    let catalog = catalog(
        &server.url(),
        KnownModels::built_in().adding("mine.toml", own).unwrap(),
    );
    for name in ["openai/mine", "openai/gpt-4-turbo", "openai/never-heard-of"] {
        let model = catalog.open(&choice(name)).unwrap();
        ask(model.provider.as_ref(), request()).await.1.unwrap();
    }
    let asked = server.requests();
    assert_eq!(asked[0].json()["reasoning"], Value::Null);
    assert_eq!(asked[1].json()["reasoning"], Value::Null);
    assert_ne!(asked[2].json()["reasoning"], Value::Null);
}
