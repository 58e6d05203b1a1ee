//! Models on this machine, driven end to end against loopback servers that speak the formats of the real ones.

use std::{fs, net::TcpListener};

use rooftree_testkit::model_server::{
    ModelServer, ReceivedRequest, ServerAnswer, openai_chat::WIRE, say,
};
use serde_json::{Value, json};

use crate::sessions::fixture::{Done, House};

/// A page of a server's own interface.
fn page(body: &Value) -> ServerAnswer {
    ServerAnswer::Raw {
        status: 200,
        content_type: "application/json",
        body: body.to_string(),
    }
}

fn not_found() -> ServerAnswer {
    ServerAnswer::Raw {
        status: 404,
        content_type: "application/json",
        body: "{}".into(),
    }
}

/// llama.cpp with one model and this window.
async fn llama_cpp(window: u64) -> ModelServer {
    let list = json!({"object": "list", "data": [{"id": "tiny.gguf", "object": "model", "owned_by": "llamacpp",
        "architecture": {"input_modalities": ["text"]}, "meta": {"n_ctx": window, "n_ctx_train": 32768}}]});
    let props = json!({"default_generation_settings": {"n_ctx": window}, "modalities": {"vision": false},
        "chat_template": "{% if tools %}"});
    ModelServer::start_with(WIRE, move |request: &ReceivedRequest| {
        match request.path.as_str() {
            "/v1/models" => page(&list),
            "/props" => page(&props),
            "/v1/chat/completions" => say().text(["Hello."]).into(),
            _ => not_found(),
        }
    })
    .await
}

fn run(house: &House, arguments: &[&str], variables: &[(&str, &str)]) -> Done {
    let mut command = house.command(arguments);
    command.envs(variables.iter().copied());
    let output = command.output().unwrap();
    Done {
        code: output.status.code().unwrap(),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

/// The body of the last question to the model.
fn asked(server: &ModelServer) -> Value {
    let mut requests = server.requests().into_iter().rev();
    let found = requests.find(|request| request.path == "/v1/chat/completions");
    found.unwrap().json()
}

fn is_lean(body: &Value) -> bool {
    let system = body["messages"][0]["content"].as_str().unwrap_or_default();
    body.get("tools").is_none() && system.contains("# Tools")
}

#[tokio::test(flavor = "multi_thread")]
async fn n_6_init_keeps_the_address_and_the_window_of_a_local_model_and_runs_need_no_more() {
    let server = llama_cpp(8_192).await;
    let house = House::new();
    let base = format!("{}/v1", server.url());
    let done = run(&house, &["init"], &[("LLAMACPP_BASE_URL", &base)]);
    assert!(
        done.err
            .contains("llamacpp/tiny.gguf · 8192 tokens, lean profile"),
        "{}",
        done.err
    );
    let config = fs::read_to_string(house.path().join("config.toml")).unwrap();
    assert!(
        config.contains("model = \"llamacpp/tiny.gguf\"")
            && config.contains(&format!("[providers.llamacpp]\nbase_url = \"{base}\"")),
        "{config}"
    );
    let models = fs::read_to_string(house.path().join("models.toml")).unwrap();
    assert!(
        models.contains("id = \"llamacpp/tiny.gguf\"\nwindow = 8192\n"),
        "{models}"
    );
    // Another shell, without the variable.
    assert_eq!(run(&house, &["run", "hi"], &[]).well(), "Hello.\n");
    assert!(is_lean(&asked(&server)), "{}", asked(&server));
    let again = run(&house, &["init"], &[]);
    assert!(again.err.contains("stays as it is"), "{}", again.err);
}

#[tokio::test(flavor = "multi_thread")]
async fn n_6_without_init_the_server_is_asked_and_the_profile_follows_its_window() {
    for (window, lean) in [(8_192, true), (32_768, false)] {
        let server = llama_cpp(window).await;
        let house = House::new();
        let base = format!("{}/v1", server.url());
        let variables = [("LLAMACPP_BASE_URL", base.as_str())];
        let done = run(&house, &["run", "hi"], &variables);
        assert_eq!((done.code, done.out.as_str()), (0, "Hello.\n"), "{done:?}");
        assert!(
            done.err
                .contains("no model is set, so llamacpp/tiny.gguf is used"),
            "{}",
            done.err
        );
        assert_eq!(is_lean(&asked(&server)), lean, "{window}");
        let shown = run(
            &house,
            &["models", "show", "llamacpp/tiny.gguf"],
            &variables,
        );
        assert!(
            shown.well().contains(if lean {
                "lean: its window is small"
            } else {
                "full:"
            }),
            "{window}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn n_27_the_prompt_that_is_shown_is_the_one_that_a_small_model_reads() {
    let server = llama_cpp(8_192).await;
    let house = House::new();
    let base = format!("{}/v1", server.url());
    let variables = [
        ("LLAMACPP_BASE_URL", base.as_str()),
        ("ROOFTREE_MODEL", "llamacpp/tiny.gguf"),
    ];
    let shown = run(&house, &["agents", "show", "lead", "--prompt"], &variables).well();
    run(&house, &["run", "hi"], &variables).well();
    let read = asked(&server)["messages"][0]["content"].clone();
    // Only the secret id of the installation differs.
    let without_ids = |text: &str| {
        text.split_whitespace()
            .filter(|word| !word.contains("sys_"))
            .collect::<Vec<_>>()
            .join(" ")
    };
    assert_eq!(without_ids(&shown), without_ids(read.as_str().unwrap()));
    assert!(
        !shown.contains("TodoWrite") && !shown.contains("Task tool"),
        "{shown}"
    );
}

#[test]
fn n_5_a_server_that_is_not_there_fails_at_once_with_its_address_and_how_to_start_it() {
    // A port at which nothing listens any more.
    let port = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .port();
    let house = House::new();
    let host = format!("127.0.0.1:{port}");
    let done = run(
        &house,
        &["run", "-m", "ollama/qwen3:8b", "hi"],
        &[("OLLAMA_HOST", &host)],
    );
    assert_eq!(done.code, 5, "{done:?}");
    assert!(
        done.err.contains(&format!("cannot reach http://{host}")),
        "{}",
        done.err
    );
    assert!(
        done.err.contains("ollama serve") && done.err.contains("OLLAMA_HOST"),
        "{}",
        done.err
    );
    assert!(
        !done.err.contains("asking again") && !done.err.contains("broke off"),
        "{}",
        done.err
    );
    let base = format!("http://{host}/v1");
    fs::write(
        house.path().join("config.toml"),
        format!("model = 'vllm/m'\n[providers.vllm]\nbase_url = '{base}'\n"),
    )
    .unwrap();
    let report = run(&house, &["doctor"], &[]);
    assert_eq!(report.code, 1, "{report:?}");
    assert!(
        report
            .out
            .contains(&format!("vllm/m: nothing answers at {base}"))
            && report.out.contains("vllm serve"),
        "{}",
        report.out
    );
}

#[test]
fn n_41_doctor_fails_where_nothing_can_be_run_and_a_key_is_enough() {
    let house = House::new();
    let none = run(&house, &["doctor"], &[]);
    assert_eq!(none.code, 1, "{none:?}");
    assert!(none.out.contains("nothing can be run"), "{}", none.out);
    let key = ["sk-ant-", "0123456789"].concat();
    let keyed = run(&house, &["doctor"], &[("ANTHROPIC_API_KEY", &key)]);
    assert_eq!(keyed.code, 0, "{keyed:?}");
    assert!(
        keyed.out.contains("✓ default     anthropic/"),
        "{}",
        keyed.out
    );
}

#[test]
fn n_1_init_says_how_to_name_a_server_and_the_error_says_what_to_do() {
    let house = House::new();
    let said = run(&house, &["init"], &[]).err;
    assert!(said.contains("OLLAMA_HOST=127.0.0.1:PORT"), "{said}");
    assert!(said.contains("LLAMACPP_BASE_URL"), "{said}");
    let done = run(&house, &["run", "hi"], &[]);
    assert_eq!(done.code, 4, "{done:?}");
    for words in [
        "rooftree init",
        "rooftree auth login",
        "-m PROVIDER/MODEL",
        "local model server",
    ] {
        assert!(done.err.contains(words), "{words}: {}", done.err);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn n_1_init_auth_and_run_work_in_this_order_without_naming_a_model() {
    use rooftree_testkit::model_server::anthropic;
    let server = ModelServer::start(anthropic::WIRE, [say().text(["Hello."])]).await;
    let house = House::new();
    let address = server.url();
    let variables = [("ANTHROPIC_BASE_URL", address.as_str())];
    run(&house, &["init"], &variables);
    let file = house.path().join("config.toml");
    let before = fs::read_to_string(&file).unwrap();
    assert!(before.contains("\n# model = "), "{before}");
    let key = house.path().join("key.txt");
    fs::write(&key, ["sk-ant-", "0123456789-tail"].concat()).unwrap();
    let mut command = house.command(&["auth", "set", "anthropic", "-"]);
    command.stdin(fs::File::open(&key).unwrap());
    let said = String::from_utf8(command.output().unwrap().stderr).unwrap();
    assert!(said.contains("no model was set"), "{said}");
    let after = fs::read_to_string(&file).unwrap();
    assert!(after.contains("\nmodel = \"anthropic/claude-"), "{after}");
    let done = run(&house, &["run", "hi"], &variables);
    assert_eq!((done.code, done.out.as_str()), (0, "Hello.\n"), "{done:?}");
    assert!(!done.err.contains("no model is set"), "{}", done.err);
}

#[test]
fn n_1_init_adds_a_model_to_a_file_that_sets_none() {
    let house = House::new();
    let file = house.path().join("config.toml");
    fs::write(&file, "# mine\n\n[permission]\nmode = \"plan\"\n").unwrap();
    let key = ["AIza-", "0123456789-zzzz"].concat();
    run(&house, &["init"], &[("GEMINI_API_KEY", &key)]);
    let text = fs::read_to_string(&file).unwrap();
    assert!(
        text.starts_with("# mine\nmodel = \"google/") && text.ends_with("mode = \"plan\"\n"),
        "{text}"
    );
}
