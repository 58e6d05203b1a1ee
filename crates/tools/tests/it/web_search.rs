//! WebSearch against servers on loopback that speak the services' own formats.

use std::{sync::Arc, time::Duration};

use rooftree_protocol::Usage;
use rooftree_tools::{KeyLookup, SearchBackend, SearchService, UsagePricer, WebConfig};
use serde_json::{Value, json};

use crate::web::{Asked, Site, Surfer, answer, hasty, unfinished};

const KEY: &str = "tvly-canary-0123456789";

fn service(backend: SearchBackend, site: &Site) -> Option<SearchService> {
    let base_url = format!("http://127.0.0.1:{}/", site.port());
    let key: KeyLookup = Arc::new(|| Some(KEY.to_owned()));
    Some(SearchService {
        backend,
        base_url,
        model: "m-1".into(),
        key,
        charge: None,
    })
}

fn said(body: Value) -> Vec<u8> {
    answer(
        "200 OK",
        "content-type: application/json\r\n",
        body.to_string(),
    )
}

/// Searches with a service; gives what the model reads and what the service was asked.
async fn searched(backend: SearchBackend, body: Value, input: Value) -> (String, Asked) {
    let site = Site::answering(move |_| said(body.clone())).await;
    let text = Surfer::searching(&WebConfig::default(), service(backend, &site))
        .done("WebSearch", input)
        .await;
    let asked = site.asked();
    assert_eq!(asked.len(), 1);
    assert!(!text.contains(KEY), "{text}");
    (text, asked[0].clone())
}

#[tokio::test]
async fn searxng_is_asked_for_json() {
    let body = json!({
        "query": "tokio", "number_of_results": 0,
        "results": [
            {"url": "https://tokio.rs/", "title": "Tokio", "content": "An asynchronous runtime.", "engine": "duckduckgo",
             "parsed_url": ["https", "tokio.rs", "/", "", "", ""], "engines": ["duckduckgo"], "positions": [1],
             "publishedDate": null, "score": 1.0, "category": "general"},
            {"url": "https://spam.example/", "title": "Spam", "content": "x", "engine": "bing"}
        ],
        "answers": [], "corrections": [], "infoboxes": [], "suggestions": [], "unresponsive_engines": []
    });
    let input = json!({"query": "tokio runtime", "blocked_domains": ["spam.example"]});
    let (text, asked) = searched(SearchBackend::SearXng, body, input).await;
    assert_eq!(
        asked.line,
        "GET /search?q=tokio+runtime+-site%3Aspam.example&format=json"
    );
    assert!(
        text.contains("1. Tokio\n   https://tokio.rs/\n   An asynchronous runtime.")
            && !text.contains("Spam"),
        "{text}"
    );
    assert!(!asked.headers.values().any(|value| value.contains(KEY)));
}

#[tokio::test]
async fn brave_is_asked_with_its_token() {
    let body = json!({
        "type": "search",
        "query": {"original": "serde", "more_results_available": true},
        "web": {"type": "search", "results": [
            {"type": "search_result", "title": "serde - Rust", "url": "https://docs.rs/serde", "age": "March 1, 2026",
             "description": "A framework for serializing.", "profile": {"name": "Docs"}, "language": "en"},
            {"type": "search_result", "title": "Elsewhere", "url": "https://blog.example/", "description": "x"}
        ]}
    });
    let input =
        json!({"query": "serde", "num_results": 5, "allowed_domains": "docs.rs, crates.io"});
    let (text, asked) = searched(SearchBackend::Brave, body, input).await;
    let (path, query) = asked.line.split_once('?').unwrap();
    assert_eq!(path, "GET /res/v1/web/search");
    assert_eq!(
        query,
        "q=serde+%28site%3Adocs.rs+OR+site%3Acrates.io%29&count=5&text_decorations=false"
    );
    assert_eq!(asked.headers["x-subscription-token"], KEY);
    assert!(
        text.contains("March 1, 2026")
            && text.contains("A framework")
            && !text.contains("Elsewhere"),
        "{text}"
    );
    let (nothing, _) = searched(
        SearchBackend::Brave,
        json!({"type": "search"}),
        json!({"query": "zzz"}),
    )
    .await;
    assert!(
        nothing.contains("Brave Search found nothing for: zzz"),
        "{nothing}"
    );
}

#[tokio::test]
async fn tavily_is_asked_with_a_bearer_token() {
    let body = json!({
        "query": "bees", "answer": null, "images": [], "follow_up_questions": null, "response_time": 0.9,
        "results": [{"title": "Bees", "url": "https://bees.example/a", "content": "They dance.", "score": 0.98, "raw_content": null}]
    });
    let input = json!({"query": "bees", "count": 99, "include_domains": ["bees.example"]});
    let (text, asked) = searched(SearchBackend::Tavily, body, input).await;
    assert_eq!(
        (asked.line.as_str(), asked.headers["authorization"].as_str()),
        ("POST /search", &*format!("Bearer {KEY}"))
    );
    let body: Value = serde_json::from_str(&asked.body).unwrap();
    assert_eq!(
        body,
        json!({"query": "bees", "max_results": 20, "include_domains": ["bees.example"]})
    );
    assert!(text.contains("They dance."), "{text}");
}

#[tokio::test]
async fn exa_is_asked_for_highlights() {
    let body = json!({
        "requestId": "r", "resolvedSearchType": "neural",
        "results": [{"id": "https://a.example/", "title": "A", "url": "https://a.example/", "publishedDate": "2026-01-02T00:00:00.000Z",
                     "author": null, "score": 0.2, "highlights": ["one part", "another part"], "highlightScores": [0.5, 0.4]}],
        "costDollars": {"total": 0.005}
    });
    let (text, asked) = searched(
        SearchBackend::Exa,
        body,
        json!({"query": "a", "count": 3, "blocked_domains": ["b.example"]}),
    )
    .await;
    assert_eq!(
        (asked.line.as_str(), asked.headers["x-api-key"].as_str()),
        ("POST /search", KEY)
    );
    let body: Value = serde_json::from_str(&asked.body).unwrap();
    let expected = json!({"query": "a", "numResults": 3, "contents": {"highlights": true}, "excludeDomains": ["b.example"]});
    assert_eq!(body, expected);
    assert!(
        text.contains("one part … another part") && text.contains("2026-01-02"),
        "{text}"
    );
}

#[tokio::test]
async fn a_model_of_anthropic_searches_with_their_tool() {
    let body = json!({
        "id": "msg_1", "type": "message", "role": "assistant", "model": "m-1", "stop_reason": "end_turn",
        "content": [
            {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "bees"}},
            {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": [
                {"type": "web_search_result", "url": "https://bees.example/", "title": "Bees",
                 "encrypted_content": "x", "page_age": "April 30, 2026"}]},
            {"type": "text", "text": "They dance.", "citations": [
                {"type": "web_search_result_location", "url": "https://bees.example/", "title": "Bees",
                 "encrypted_index": "x", "cited_text": "Bees dance to tell the way."}]}
        ],
        "usage": {"input_tokens": 1, "output_tokens": 1, "server_tool_use": {"web_search_requests": 1}}
    });
    let input = json!({"query": "bees", "allowed_domains": ["bees.example"], "blocked_domains": ["a.example"]});
    let (text, asked) = searched(SearchBackend::Anthropic, body, input).await;
    assert_eq!(
        (asked.line.as_str(), asked.headers["x-api-key"].as_str()),
        ("POST /v1/messages", KEY)
    );
    assert_eq!(asked.headers["anthropic-version"], "2023-06-01");
    let sent: Value = serde_json::from_str(&asked.body).unwrap();
    let tool = json!({"type": "web_search_20250305", "name": "web_search", "max_uses": 1, "allowed_domains": ["bees.example"]});
    assert_eq!(
        (&sent["model"], &sent["tools"]),
        (&json!("m-1"), &json!([tool]))
    );
    assert!(
        text.contains(
            "1. Bees\n   https://bees.example/\n   April 30, 2026\n   Bees dance to tell"
        ),
        "{text}"
    );
}

#[tokio::test]
async fn a_model_of_openai_searches_with_their_tool() {
    let said = "Bees dance. They turn left (bees.example)";
    let body = json!({
        "id": "resp_1", "object": "response", "status": "completed",
        "output": [
            {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"type": "search", "query": "bees",
             "sources": [{"type": "url", "url": "https://bees.example/"}, {"type": "url", "url": "https://more.example/x"}]}},
            {"type": "message", "id": "msg_1", "role": "assistant", "content": [{"type": "output_text", "text": said,
             "annotations": [{"type": "url_citation", "start_index": 28, "end_index": 41, "url": "https://bees.example/", "title": "Bees"}]}]}
        ]
    });
    let (text, asked) = searched(SearchBackend::OpenAi, body, json!({"query": "bees"})).await;
    assert_eq!(
        (asked.line.as_str(), asked.headers["authorization"].as_str()),
        ("POST /v1/responses", &*format!("Bearer {KEY}"))
    );
    let sent: Value = serde_json::from_str(&asked.body).unwrap();
    assert_eq!(
        (&sent["tools"], &sent["store"]),
        (&json!([{"type": "web_search"}]), &json!(false))
    );
    assert!(
        text.contains("1. Bees\n   https://bees.example/\n   Bees dance. They turn left"),
        "{text}"
    );
    assert!(
        text.contains("2. more.example\n   https://more.example/x"),
        "{text}"
    );
}

#[tokio::test]
async fn a_model_of_google_is_grounded_in_its_search() {
    let redirect = "https://vertexaisearch.cloud.google.com/grounding-api-redirect/abc";
    let body = json!({"candidates": [{
        "content": {"role": "model", "parts": [{"text": "Bees dance."}]},
        "groundingMetadata": {
            "webSearchQueries": ["bees"], "searchEntryPoint": {"renderedContent": "<div></div>"},
            "groundingChunks": [{"web": {"uri": redirect, "title": "bees.example"}}, {"web": {"uri": redirect, "title": "spam.example"}}],
            "groundingSupports": [{"segment": {"startIndex": 0, "endIndex": 11, "text": "Bees dance."}, "groundingChunkIndices": [0]}]
        }
    }]});
    let (text, asked) = searched(
        SearchBackend::Google,
        body,
        json!({"query": "bees", "blocked_domains": ["spam.example"]}),
    )
    .await;
    assert_eq!(
        (
            asked.line.as_str(),
            asked.headers["x-goog-api-key"].as_str()
        ),
        ("POST /v1beta/models/m-1:generateContent", KEY)
    );
    assert!(
        asked.body.contains("google_search") && asked.body.contains("-site:spam.example"),
        "{}",
        asked.body
    );
    assert!(
        text.contains(&format!("1. bees.example\n   {redirect}\n   Bees dance."))
            && !text.contains("spam.example\n"),
        "{text}"
    );
}

#[tokio::test]
async fn without_a_service_it_says_what_to_set_up() {
    let surfer = Surfer::new(&WebConfig::default());
    let text = surfer.failed("web_search", json!({"query": "x"})).await;
    for word in [
        "SEARXNG_URL",
        "BRAVE_API_KEY",
        "TAVILY_API_KEY",
        "EXA_API_KEY",
        "[search]",
        "rooftree auth set",
    ] {
        assert!(text.contains(word), "{word} in {text}");
    }
    for input in [
        json!({"query": " "}),
        json!({"query": "x", "allowed_domains": ["a b"]}),
        json!({}),
    ] {
        surfer.failed("WebSearch", input).await;
    }
}

#[tokio::test]
async fn what_a_service_complains_about_is_told_without_the_key() {
    let table = [
        (
            SearchBackend::Tavily,
            "401 Unauthorized",
            format!("{{\"detail\":{{\"error\":\"Unauthorized: bad key {KEY}\"}}}}"),
            "is its key right?",
        ),
        (
            SearchBackend::SearXng,
            "403 Forbidden",
            "Forbidden".to_owned(),
            "search.formats",
        ),
        (
            SearchBackend::Brave,
            "429 Too Many Requests",
            "{\"type\":\"ErrorResponse\"}".to_owned(),
            "its limit is reached",
        ),
        (
            SearchBackend::Exa,
            "200 OK",
            "<html>".to_owned(),
            "its answer is not JSON",
        ),
        (
            SearchBackend::Exa,
            "200 OK",
            "{}".to_owned(),
            "no list of results",
        ),
    ];
    for (backend, status, body, words) in table {
        let site = Site::answering(move |_| answer(status, "", &body)).await;
        let text = Surfer::searching(&WebConfig::default(), service(backend, &site))
            .failed("WebSearch", json!({"query": "x"}))
            .await;
        assert!(text.contains(words) && !text.contains("canary"), "{text}");
    }
}

#[tokio::test]
async fn a_missing_key_and_a_silent_service_are_told() {
    let site = Site::answering(|_| unfinished("HTTP/1.1 200 OK\r\n")).await;
    let keyless = SearchService {
        key: Arc::new(|| None),
        ..service(SearchBackend::Exa, &site).unwrap()
    };
    let text = Surfer::searching(&WebConfig::default(), Some(keyless))
        .failed("WebSearch", json!({"query": "x"}))
        .await;
    assert!(
        text.contains("EXA_API_KEY")
            && text.contains("rooftree auth set exa")
            && site.asked().is_empty(),
        "{text}"
    );
    let web = hasty(WebConfig::default(), Duration::from_millis(300));
    let text = Surfer::searching(&web, service(SearchBackend::Exa, &site))
        .failed("WebSearch", json!({"query": "x"}))
        .await;
    assert!(
        text.contains("Exa did not answer within 0.3 seconds"),
        "{text}"
    );
}

#[tokio::test]
async fn a_service_is_never_a_metadata_service() {
    let service = SearchService {
        backend: SearchBackend::SearXng,
        base_url: "http://169.254.169.254".into(),
        model: String::new(),
        key: Arc::new(|| None),
        charge: None,
    };
    let text = Surfer::searching(&WebConfig::default(), Some(service))
        .failed("WebSearch", json!({"query": "x"}))
        .await;
    assert!(text.contains("never reached"), "{text}");
}

#[test]
fn a_service_is_found_in_variables() {
    let found = |set: &'static [&str]| {
        SearchService::from_variables(move |name| {
            set.contains(&name).then(|| format!("value of {name}"))
        })
    };
    assert_eq!(
        found(&["EXA_API_KEY", "BRAVE_API_KEY"]).unwrap().backend,
        SearchBackend::Brave
    );
    let own = found(&["EXA_API_KEY", "SEARXNG_URL"]).unwrap();
    assert_eq!(
        (own.backend, own.base_url.as_str()),
        (SearchBackend::SearXng, "value of SEARXNG_URL")
    );
    assert_eq!(
        (found(&["TAVILY_API_KEY"]).unwrap().key)().unwrap(),
        "value of TAVILY_API_KEY"
    );
    assert!(found(&[]).is_none());
    assert!(!format!("{:?}", found(&["TAVILY_API_KEY"])).contains("value of TAVILY"));
}

#[tokio::test]
async fn what_a_model_used_up_is_counted_with_its_searches() {
    let anthropic = json!({"content": [], "usage": {"input_tokens": 10, "cache_read_input_tokens": 5,
        "output_tokens": 7, "server_tool_use": {"web_search_requests": 2}}});
    let openai = json!({"output": [{"type": "web_search_call"}, {"type": "web_search_call"}, {"type": "message"}],
        "usage": {"input_tokens": 15, "input_tokens_details": {"cached_tokens": 5}, "output_tokens": 7}});
    let google = json!({"candidates": [{"groundingMetadata": {"webSearchQueries": ["a", "b"]}}],
        "usageMetadata": {"promptTokenCount": 10, "toolUsePromptTokenCount": 5, "cachedContentTokenCount": 5,
        "candidatesTokenCount": 7}});
    let table = [
        (SearchBackend::Anthropic, anthropic),
        (SearchBackend::OpenAi, openai),
        (SearchBackend::Google, google),
    ];
    for (backend, body) in table {
        let site = Site::answering(move |_| said(body.clone())).await;
        let charge: UsagePricer = Arc::new(|usage| Usage {
            cost_usd: usage.searches as f64,
            ..usage
        });
        let service = SearchService {
            charge: Some(charge),
            ..service(backend, &site).unwrap()
        };
        let found = Surfer::searching(&WebConfig::default(), Some(service));
        let usage = found
            .call("WebSearch", json!({"query": "x"}))
            .await
            .usage
            .unwrap();
        let counted = (
            usage.input,
            usage.output,
            usage.cache_read,
            usage.searches,
            usage.cost_usd,
        );
        assert_eq!(counted, (15, 7, 5, 2, 2.0), "{backend:?}");
    }
    let body = json!({"type": "search"});
    let site = Site::answering(move |_| said(body.clone())).await;
    let found = Surfer::searching(&WebConfig::default(), service(SearchBackend::Brave, &site));
    assert_eq!(
        found.call("WebSearch", json!({"query": "x"})).await.usage,
        None,
        "no model, nothing to count"
    );
}
