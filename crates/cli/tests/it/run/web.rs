//! The web in a run: nobody is fetched from without permission, and a stored key is enough to search.

use std::fs;

use rooftree_testkit::model_server::{ModelServer, ServerAnswer, openai_chat::WIRE};
use serde_json::json;

use super::fixture::Desk;

const KEY: &str = "tvly-canary-0123456789-wxyz";

/// One call, and what came of it.
fn calling(tool: &str, input: &str) -> Desk {
    Desk::new(&format!(
        "[[reply]]\n[[reply.call]]\ntool = \"{tool}\"\ninput = {input}\n\
         [[reply]]\ntext = \"{{{{ results[0].text }}}}\""
    ))
}

async fn serving(content_type: &'static str, body: String) -> ModelServer {
    ModelServer::start_with(WIRE, move |_| ServerAnswer::Raw {
        status: 200,
        content_type,
        body: body.clone(),
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_search_service_is_asked_with_the_stored_key_which_shows_nowhere() {
    let found = json!({"results": [{"title": "Bees", "url": "https://bees.example/", "content": "They dance."}]});
    let server = serving("application/json", found.to_string()).await;
    let desk = calling("web_search", "{ query = \"bees\" }");
    let settings = format!("[search]\nbackend = \"tavily\"\nurl = \"{}\"", server.url());
    fs::write(desk.house.path().join("config.toml"), settings).unwrap();
    let without = desk.run(&["--allow", "WebSearch", "Go"]).well();
    assert!(without.contains("rooftree auth set tavily"), "{without}");
    fs::write(desk.house.path().join("key"), KEY).unwrap();
    let mut set = desk.house.command(&["auth", "set", "tavily", "-"]);
    set.stdin(fs::File::open(desk.house.path().join("key")).unwrap());
    assert!(set.output().unwrap().status.success());
    let said = desk.run(&["--allow", "WebSearch", "Go"]).well();
    assert!(
        said.contains("They dance.") && !said.contains(KEY),
        "{said}"
    );
    let asked = server.requests();
    assert_eq!(asked.len(), 1, "without a key nobody is asked");
    assert_eq!(
        (asked[0].path.as_str(), &asked[0].json()["query"]),
        ("/search", &json!("bees"))
    );
    let list = desk.house.rooftree(&["auth", "list"]).well();
    assert!(list.contains("tavily") && list.contains("…wxyz"), "{list}");
}

#[test]
fn a_page_is_not_fetched_without_a_rule_for_its_host() {
    let desk = calling("WebFetch", "{ url = \"http://127.0.0.1:9/secret\" }");
    fs::write(
        desk.house.path().join("config.toml"),
        "[web]\nallow_private = [\"127.0.0.1:9\"]",
    )
    .unwrap();
    let asked = desk.run(&["Go"]);
    assert!(
        asked.code == 6 && asked.err.contains("WebFetch(domain:127.0.0.1)"),
        "{asked:?}"
    );
    let allowed = desk
        .run(&["--allow", "WebFetch(domain:127.0.0.1)", "Go"])
        .well();
    assert!(allowed.contains("127.0.0.1 did not answer"), "{allowed}");
}

#[test]
fn a_host_of_ones_own_is_refused_before_anybody_is_asked() {
    let desk = calling("WebFetch", "{ url = \"http://localhost:8080/\" }");
    desk.write(
        ".rooftree/config.toml",
        "[web]\nallow_private = [\"localhost\"]",
    );
    let done = desk.run(&["Go"]);
    assert!(
        done.code == 0 && done.out.contains("allow_private = [\"localhost:8080\"]"),
        "{done:?}"
    );
    assert!(
        done.err.contains("web.allow_private in") && done.err.contains("is ignored"),
        "{done:?}"
    );
}
