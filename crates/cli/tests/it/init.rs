//! `rooftree init`: finds what there is, asks nothing, overwrites nothing.

use std::fs;

use rooftree_testkit::model_server::{ModelServer, ServerAnswer, openai_chat::WIRE};

use crate::sessions::fixture::House;

#[test]
fn a_first_file_is_written_and_a_second_one_is_not() {
    let house = House::new();
    let output = house
        .command(&["init"])
        .env("GEMINI_API_KEY", "AIza-0123456789-zzzz")
        .output()
        .unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(
        output.status.success()
            && said.contains("found a key for Google Gemini: GEMINI_API_KEY (…zzzz)"),
        "{said}"
    );
    let file = house.path().join("config.toml");
    let text = fs::read_to_string(&file).unwrap();
    assert!(
        text.contains("\nmodel = \"google/") && text.contains("\nfast = \"google/"),
        "{text}"
    );
    assert!(!text.contains("zzzz"));
    assert!(house.rooftree(&["doctor"]).out.contains("✓ settings"));

    fs::write(&file, "# mine\n").unwrap();
    assert!(house.rooftree(&["init"]).err.contains("stays as it is"));
    assert_eq!(fs::read_to_string(&file).unwrap(), "# mine\n");

    fs::write(&file, "model = \"scripted/a.toml\"\n").unwrap();
    let asked = house.rooftree(&["init", "-m", "scripted/b.toml"]);
    assert!(
        asked
            .err
            .contains("-m changes no model that is set; rooftree config set model"),
        "{asked:?}"
    );
}

#[test]
fn what_is_written_can_be_read_whatever_was_found() {
    let house = House::new();
    let text = house
        .rooftree(&["init", "--print", "-m", "scripted/x.toml"])
        .well();
    assert!(!house.path().join("config.toml").exists());
    // With everything that is only shown as an example.
    let shown: String = text
        .lines()
        .map(|line| {
            line.strip_prefix("# ")
                .filter(|line| line.contains(['=', '[']))
                .unwrap_or(line)
                .to_owned()
                + "\n"
        })
        .collect();
    let kept: String = shown
        .lines()
        .filter(|line| !line.ends_with('.') && !line.contains("Keys do not"))
        .map(|line| format!("{line}\n"))
        .collect();
    fs::write(house.path().join("config.toml"), &kept).unwrap();
    let report = house.rooftree(&["doctor"]);
    assert!(report.out.contains("✓ settings"), "{kept}\n{}", report.out);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_on_this_machine_is_found() {
    let list = r#"{"data":[{"id":"qwen3:8b","owned_by":"library"}]}"#;
    let answer = || ServerAnswer::Raw {
        status: 200,
        content_type: "application/json",
        body: list.into(),
    };
    let server = ModelServer::start_with(WIRE, move |_| answer()).await;
    let house = House::new();
    let host = server.url().replace("http://", "");
    let output = house
        .command(&["init"])
        .env("OLLAMA_HOST", &host)
        .output()
        .unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(
        said.contains(&format!("found ollama at http://{host}/v1 with 1 model")),
        "{said}"
    );
    let text = fs::read_to_string(house.path().join("config.toml")).unwrap();
    assert!(text.contains("model = \"ollama/qwen3:8b\""), "{text}");
    assert_eq!(server.requests()[0].path, "/v1/models");
}
