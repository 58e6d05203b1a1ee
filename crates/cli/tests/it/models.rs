//! What `rooftree models` lists and shows, by any name a model has.

use std::fs;

use crate::sessions::house::House;

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
        rows.len() > 3 && rows.iter().all(|row| row["usable"] == true && row["window"].is_u64()),
        "{rows:?}"
    );
    let text = house.rooftree(&["models", "list", "sonnet"]).well();
    assert!(text.starts_with("MODEL") && text.contains("sonnet") && !text.contains("gpt"), "{text}");
}

#[test]
fn one_model_is_shown_by_any_of_its_names_and_ones_own_are_known() {
    let house = House::new();
    let known = "[[model]]\nid = 'mine/big'\nwindow = 64_000\nprice = { input = 1.5, output = 2 }\n";
    fs::write(house.path().join("models.toml"), known).unwrap();
    let settings =
        "[providers.mine]\nbase_url = 'http://127.0.0.1:9/v1'\n[aliases]\nbest = 'mine/big:high'\n";
    fs::write(house.path().join("config.toml"), settings).unwrap();
    let done = house.rooftree(&["models", "show", "best"]);
    assert!(done.err.contains("`best` is mine/big:high: config.toml says so"), "{done:?}");
    assert!(
        done.out.contains("window       64k") && done.out.contains("in $1.5 · out $2 per million"),
        "{done:?}"
    );
    assert!(done.out.contains("ready to be used"), "{done:?}");
    let said = house.rooftree(&["models", "show", "sonnet"]).well();
    assert!(said.contains("there is no key for Anthropic"), "{said}");
    assert!(
        house.rooftree(&["models", "show", "nowhere/x"]).ended(3).contains("there is no provider `nowhere`")
    );
    assert!(house.rooftree(&["models", "show", "openai/never"]).ended(2).contains("models.toml"));
}
