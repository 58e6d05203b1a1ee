//! The real binary and vendors' wires, over loopback.

use std::{fs, process::Command};

use rooftree_testkit::model_server::{
    ModelServer, anthropic, fail, gemini, openai_chat, openai_responses, say,
};

use crate::sessions::fixture::{Done, House};

const KEY: &str = "sk-test-0123456789-tail";

fn done(mut command: Command) -> Done {
    let output = command.output().unwrap();
    Done {
        code: output.status.code().unwrap(),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

/// Whether a key is anywhere in what a home keeps, its own file apart.
fn is_kept_anywhere(house: &House) -> bool {
    let files = fs::read_dir(house.path())
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let mut others = files.filter(|path| path.is_file() && !path.ends_with("credentials.toml"));
    others.any(|path| {
        fs::read(path)
            .unwrap()
            .windows(KEY.len())
            .any(|window| window == KEY.as_bytes())
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn p_1_the_first_request_with_all_default_tools_is_small() {
    let server = ModelServer::start(anthropic::WIRE, [say().text(["yes"])]).await;
    let house = House::new();
    let mut command = house.command(&["run", "-m", "anthropic/claude-sonnet-4-5", "hi"]);
    command
        .env("ANTHROPIC_API_KEY", KEY)
        .env("ANTHROPIC_BASE_URL", server.url());
    assert_eq!(done(command).code, 0);
    let asked = server.requests()[0].json();
    let tools = asked["tools"].as_array().unwrap().len();
    assert!(tools >= 24, "{tools} tools");
    let bytes = asked.to_string().len();
    assert!(bytes <= 12_000, "{bytes} bytes");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bare_name_is_understood_asked_over_its_wire_and_paid_for() {
    let server = ModelServer::start(anthropic::WIRE, [say().text(["Hel", "lo."])]).await;
    let house = House::new();
    let mut command = house.command(&["run", "-o", "json", "-m", "sonnet", "hi"]);
    command
        .env("ANTHROPIC_API_KEY", KEY)
        .env("ANTHROPIC_BASE_URL", server.url());
    let done = done(command);
    assert_eq!(done.code, 0, "{done:?}");
    assert!(
        done.err.contains("`sonnet` is anthropic/claude-sonnet-"),
        "{}",
        done.err
    );
    let result: serde_json::Value = serde_json::from_str(&done.out).unwrap();
    assert_eq!(result["text"], "Hello.");
    assert!(
        result["usage"]["cost_usd"].as_f64().unwrap() > 0.0
            && result["usage"]["cost_complete"] == true,
        "{result}"
    );
    let asked = &server.requests()[0];
    assert_eq!(
        (asked.path.as_str(), asked.header("x-api-key")),
        ("/v1/messages", KEY)
    );
    assert!(!is_kept_anywhere(&house) && !done.out.contains(KEY) && !done.err.contains(KEY));
}

#[tokio::test(flavor = "multi_thread")]
async fn every_wire_is_reached_by_its_name() {
    let wires = [
        (
            "openai/gpt-x",
            "OPENAI",
            openai_responses::WIRE,
            "/v1/responses",
        ),
        (
            "openai-chat/gpt-x",
            "OPENAI",
            openai_chat::WIRE,
            "/v1/chat/completions",
        ),
        (
            "groq/llama",
            "GROQ",
            openai_chat::WIRE,
            "/v1/chat/completions",
        ),
        (
            "google/gemini-x",
            "GOOGLE_GEMINI",
            gemini::WIRE,
            "/v1beta/models/gemini-x:streamGenerateContent?alt=sse",
        ),
    ];
    for (model, variable, wire, path) in wires {
        let server = ModelServer::start(wire, [say().text(["yes"])]).await;
        let house = House::new();
        let base = if variable == "GOOGLE_GEMINI" {
            server.url()
        } else {
            format!("{}/v1", server.url())
        };
        let mut command = house.command(&["run", "-m", model, "hi"]);
        let key = if variable == "GOOGLE_GEMINI" {
            "GEMINI"
        } else {
            variable
        };
        command
            .env(format!("{variable}_BASE_URL"), base)
            .env(format!("{key}_API_KEY"), KEY);
        assert_eq!(done(command).well(), "yes\n", "{model}");
        assert_eq!(server.requests()[0].path, path, "{model}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_provider_of_ones_own_and_a_fallback_come_from_the_settings() {
    let down = ModelServer::start_with(openai_chat::WIRE, |_| {
        fail(503, "down", "down").header("retry-after", "0").into()
    })
    .await;
    let up = ModelServer::start(openai_responses::WIRE, [say().text(["from the other one"])]).await;
    let house = House::new();
    let settings = format!(
        "model = 'first/x'\nfallbacks = ['second/y']\n[providers.first]\nbase_url = '{}/v1'\nkey_env = 'FIRST_KEY'\n\
         [providers.second]\nbase_url = '{}/v1'\nwire = 'responses'\n",
        down.url(),
        up.url()
    );
    fs::write(house.path().join("config.toml"), settings).unwrap();
    let mut command = house.command(&["run", "hi"]);
    command.env("FIRST_KEY", KEY);
    let finished = done(command);
    assert_eq!(
        (finished.code, finished.out.as_str()),
        (0, "from the other one\n"),
        "{finished:?}"
    );
    assert!(
        finished.err.contains("asking second/y for this turn"),
        "{}",
        finished.err
    );
    assert_eq!(
        down.requests()[0].header("authorization"),
        format!("Bearer {KEY}")
    );
    assert_eq!(up.requests()[0].header("authorization"), "");
    let said = done(house.command(&["run", "hi"])).ended(4);
    assert!(
        said.contains("there is no key for first") && said.contains("FIRST_KEY"),
        "{said}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_ends_before_it_costs_too_much() {
    let server = ModelServer::start(anthropic::WIRE, [say().text(["never"])]).await;
    let house = House::new();
    let mut command = house.command(&[
        "run",
        "-m",
        "anthropic/claude-opus-5",
        "--max-cost",
        "0.000001",
        "hi",
    ]);
    command
        .env("ANTHROPIC_API_KEY", KEY)
        .env("ANTHROPIC_BASE_URL", server.url());
    let done = done(command);
    assert_eq!((done.code, server.requests().len()), (7, 0), "{done:?}");
    assert!(
        done.err.contains("out of money") && done.err.contains("--max-cost"),
        "{}",
        done.err
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn the_doctor_asks_everybody_who_has_a_key_and_says_what_came_of_each() {
    let well = ModelServer::start(anthropic::WIRE, [say().text(["OK"])]).await;
    let ill = ModelServer::start(
        openai_responses::WIRE,
        [fail(401, "invalid_api_key", "Incorrect API key")],
    )
    .await;
    let house = House::new();
    let online = |arguments: &[&str]| {
        let mut command = house.command(arguments);
        command
            .env("ANTHROPIC_API_KEY", KEY)
            .env("ANTHROPIC_BASE_URL", well.url());
        command
            .env("OPENAI_API_KEY", KEY)
            .env("OPENAI_BASE_URL", format!("{}/v1", ill.url()));
        done(command)
    };
    let offline = online(&["doctor"]);
    assert!(
        offline.code == 0 && offline.out.contains("key from ANTHROPIC_API_KEY (…tail)"),
        "{}",
        offline.out
    );
    assert!(
        well.requests().is_empty() && ill.requests().is_empty(),
        "nobody is asked without being told to"
    );
    let report = online(&["doctor", "--online"]);
    assert_eq!(report.code, 1, "{report:?}");
    assert!(
        report
            .out
            .contains("✓ anthropic   anthropic/claude-haiku-5-5 answered in "),
        "{}",
        report.out
    );
    assert!(
        report.out.contains("✗ openai") && report.out.contains("rooftree auth login openai"),
        "{}",
        report.out
    );
    assert!(!report.out.contains(KEY));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pdf_that_goes_along_reaches_the_model_as_a_document() {
    let server = ModelServer::start(anthropic::WIRE, [say().text(["Two pages."])]).await;
    let house = House::new();
    fs::write(house.path().join("a.pdf"), b"%PDF-1.7\n\xff\xfe").unwrap();
    let mut command = house.command(&["run", "-m", "anthropic/m", "How long is it?", "@a.pdf"]);
    command
        .env("ANTHROPIC_API_KEY", KEY)
        .env("ANTHROPIC_BASE_URL", server.url());
    assert_eq!(done(command).well(), "Two pages.\n");
    let messages = server.requests()[0].json()["messages"].clone();
    let told = messages[0]["content"].to_string();
    assert!(
        told.contains("Today is "),
        "the day comes first: {messages}"
    );
    let content = messages[1]["content"].clone();
    assert!(
        content[1]["text"]
            .as_str()
            .unwrap()
            .starts_with("[attached file a.pdf: application/pdf"),
        "{content}"
    );
    assert_eq!(
        (&content[2]["type"], &content[2]["title"]),
        (&"document".into(), &"a.pdf".into()),
        "{content}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn n_1_a_key_is_enough_to_run_and_the_model_that_is_used_is_said() {
    let server = ModelServer::start(anthropic::WIRE, [say().text(["Hello."])]).await;
    let house = House::new();
    let mut command = house.command(&["run", "hi"]);
    command
        .env("ANTHROPIC_API_KEY", KEY)
        .env("ANTHROPIC_BASE_URL", server.url());
    let with_key = done(command);
    assert_eq!(
        (with_key.code, with_key.out.trim()),
        (0, "Hello."),
        "{with_key:?}"
    );
    assert!(
        with_key
            .err
            .contains("no model is set, so anthropic/claude-sonnet"),
        "{with_key:?}"
    );
    let without = done(house.command(&["run", "hi"]));
    assert!(
        without.code == 4 && without.err.contains("rooftree init"),
        "{without:?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn n_42_a_refused_key_says_what_to_do() {
    let server = ModelServer::start(
        anthropic::WIRE,
        [fail(401, "authentication_error", "bad key")],
    )
    .await;
    let house = House::new();
    let mut command = house.command(&["run", "hi", "-m", "sonnet"]);
    command
        .env("ANTHROPIC_API_KEY", KEY)
        .env("ANTHROPIC_BASE_URL", server.url());
    let done = done(command);
    assert!(
        done.code == 4 && done.err.contains("rooftree auth login"),
        "{done:?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn as1_an_agent_that_brings_its_server_along_is_answered_by_it_with_its_key() {
    for place in ["settings", "typed"] {
        let server = ModelServer::start(openai_chat::WIRE, [say().text(["from here"])]).await;
        let house = House::new();
        let agents = serde_json::json!({"agents": [{"agentId": "local", "systemPrompt": "You help.",
            "chat": {"provider": "openai-compatible", "config": {"baseUrl": format!("{}/v1", server.url()),
            "apiKey": "${LOCAL_SERVER_KEY}", "model": "qwen"}}}]});
        let mut line = vec!["run", "-q", "-a", "local"];
        if place == "typed" {
            fs::write(house.path().join("agents.json"), agents.to_string()).unwrap();
            line.extend(["--agents", "agents.json"]);
        } else {
            let table: toml::Table = serde_json::from_value(agents).unwrap();
            fs::write(house.path().join("config.toml"), table.to_string()).unwrap();
        }
        line.push("hi");
        let mut command = house.command(&line);
        command.env("LOCAL_SERVER_KEY", KEY);
        assert_eq!(done(command).well(), "from here\n", "{place}");
        let asked = &server.requests()[0];
        assert_eq!(
            (asked.path.as_str(), asked.header("authorization")),
            ("/v1/chat/completions", format!("Bearer {KEY}").as_str())
        );
        assert!(!is_kept_anywhere(&house));
    }
}
