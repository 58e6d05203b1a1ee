//! What `rooftree models` lists and shows, by any name a model has.

use std::fs;

use rooftree_testkit::model_server::{ModelServer, openai_chat, say};

use crate::sessions::fixture::House;

#[test]
fn models_are_listed_with_what_they_can_and_whether_they_can_be_asked() {
    let house = House::new();
    let output = house
        .command(&["models", "list", "--provider", "anthropic", "-o", "json"])
        .env("ANTHROPIC_API_KEY", "k")
        .output()
        .unwrap();
    let rows: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let rows = rows.as_array().unwrap();
    assert!(
        rows.len() > 3
            && rows
                .iter()
                .all(|row| row["usable"] == true && row["window"].is_u64()),
        "{rows:?}"
    );
    let text = house.rooftree(&["models", "list", "sonnet"]).well();
    assert!(
        text.starts_with("MODEL") && text.contains("sonnet") && !text.contains("gpt"),
        "{text}"
    );
}

#[test]
fn one_model_is_shown_by_any_of_its_names_and_ones_own_are_known() {
    let house = House::new();
    let known =
        "[[model]]\nid = 'mine/big'\nwindow = 64_000\nprice = { input = 1.5, output = 2 }\n";
    fs::write(house.path().join("models.toml"), known).unwrap();
    let settings =
        "[providers.mine]\nbase_url = 'http://127.0.0.1:9/v1'\n[aliases]\nbest = 'mine/big:high'\n";
    fs::write(house.path().join("config.toml"), settings).unwrap();
    let done = house.rooftree(&["models", "show", "best"]);
    assert!(
        done.err
            .contains("`best` is mine/big:high: config.toml says so"),
        "{done:?}"
    );
    assert!(
        done.out.contains("window       64k") && done.out.contains("in $1.5 · out $2 per million"),
        "{done:?}"
    );
    assert!(done.out.contains("ready to be used"), "{done:?}");
    let said = house.rooftree(&["models", "show", "sonnet"]).well();
    assert!(said.contains("there is no key for Anthropic"), "{said}");
    assert!(
        house
            .rooftree(&["models", "show", "nowhere/x"])
            .ended(3)
            .contains("there is no provider `nowhere`")
    );
    assert!(
        house
            .rooftree(&["models", "show", "openai/never"])
            .ended(2)
            .contains("models.toml")
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_small_model_gets_a_lean_first_request_and_uses_a_tool_all_the_same() {
    let call = "```json\n{\"tool\": \"Read\", \"input\": {\"file_path\": \"door.txt\"}}\n```";
    let server = ModelServer::start(
        openai_chat::WIRE,
        [say().text([call]), say().text(["It is green."])],
    )
    .await;
    let house = House::new();
    fs::write(
        house.path().join("models.toml"),
        "[[model]]\nid = 'mine/small'\nwindow = 4096\n",
    )
    .unwrap();
    let settings = format!("[providers.mine]\nbase_url = '{}/v1'\n", server.url());
    fs::write(house.path().join("config.toml"), settings).unwrap();
    fs::write(house.path().join("door.txt"), "a green door").unwrap();
    let shown = house.rooftree(&["models", "show", "mine/small"]).well();
    assert!(
        shown.contains("profile      lean: its window is small"),
        "{shown}"
    );
    let done = house.rooftree(&[
        "run",
        "-m",
        "mine/small",
        "Which colour has the door in door.txt?",
    ]);
    assert!(done.out.contains("It is green."), "{done:?}");
    let asked = server.requests();
    assert_eq!(asked.len(), 2, "{done:?}");
    assert!(
        asked[0].body.len() <= 4096,
        "{} bytes: {}",
        asked[0].body.len(),
        asked[0].json()
    );
    assert!(
        asked[1].json().to_string().contains("a green door"),
        "{}",
        asked[1].json()
    );
}

#[test]
fn the_profile_of_a_model_can_be_forced_in_its_entry() {
    let house = House::new();
    let known = "[[model]]\nid = 'mine/a'\nwindow = 4096\nprofile = 'full'\n\
                 [[model]]\nid = 'mine/b'\nprofile = 'lean'\n[[model]]\nid = 'mine/c'\ntools = false\n";
    fs::write(house.path().join("models.toml"), known).unwrap();
    fs::write(
        house.path().join("config.toml"),
        "[providers.mine]\nbase_url = 'http://127.0.0.1:9/v1'\n",
    )
    .unwrap();
    for (model, words) in [
        ("mine/a", "full: its entry says so"),
        ("mine/b", "lean: its entry says so"),
        ("mine/c", "lean: it does not call tools by itself"),
        ("sonnet", "full: all tools, called over the wire"),
    ] {
        let shown = house.rooftree(&["models", "show", model]).well();
        assert!(shown.contains(words), "{shown}");
    }
}
