//! What programs inherit: nothing secret, by name or by value, and each runtime's own choice.

use std::process::Command;

use rooftree::{
    Runtime, RuntimeBuilder, SandboxMode,
    testing::{call, say},
};
use serde_json::json;

use crate::fixture::script;

const LOOK: &str = "echo ${ODD_TOKEN:+token} ${ODD_COPY:+copy} ${ODD_URL:+url} ${ODD_PLAIN:+plain}";

/// What a command of this runtime found.
async fn found(builder: RuntimeBuilder) -> String {
    let entries = [
        say("").calls([call("Bash", json!({"command": LOOK}))]),
        say("{{ results[0].text }}"),
    ];
    let runtime = builder
        .provider("scripted", script(entries))
        .allow("Bash")
        .build()
        .await
        .unwrap();
    let session = runtime.session("lead").create().await.unwrap();
    let answer = session.send("Look").await.unwrap().result().await.unwrap();
    runtime.stop().await;
    answer.text.trim().to_owned()
}

/// Variables belong to a process, so this one is started with some of its own.
#[test]
fn two_runtimes_in_one_process_pass_on_different_variables() {
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args([
        "--exact",
        "environments::as_a_child_two_runtimes_look_around",
        "--nocapture",
    ]);
    child
        .env("ODD_TOKEN", "odd-0123456789-value")
        .env("ODD_COPY", "odd-0123456789-value");
    // Put together here: no file of ours holds anything that looks like a secret.
    let address = format!("postgres://me:{}@db.example/x", "correct-horse-7");
    child.env("ODD_URL", address).env("ODD_PLAIN", "plain");
    let output = child.output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && said.contains("looked around"),
        "{said}"
    );
}

#[tokio::test]
async fn as_a_child_two_runtimes_look_around() {
    if std::env::var_os("ODD_TOKEN").is_none() {
        return;
    }
    let bare = || Runtime::builder().sandbox(SandboxMode::Off);
    let (open, usual) = (bare().keep_variable("ODD_TOKEN"), bare());
    let strict = bare().only_usual_variables().keep_variable("ODD_URL");
    let confined = Runtime::builder().keep_variable("ODD_TOKEN");
    let program = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/program.sh");
    let asked = rooftree::query("Who are you?")
        .program("claude-cli", program)
        .model("claude-cli/default");
    let kept = rooftree::query("Who are you?")
        .keep_variable("ODD_TOKEN")
        .program("claude-cli", program);
    // At the same time, so that none can have decided for another.
    let kept = kept.model("claude-cli/default").into_future();
    let (open, usual, strict, confined, asked, kept) = tokio::join!(
        found(open),
        found(usual),
        found(strict),
        found(confined),
        asked.into_future(),
        kept
    );
    assert_eq!(
        open, "token plain",
        "what only holds a secret is withheld too"
    );
    assert_eq!(usual, "plain");
    assert_eq!(strict, "url");
    assert!(
        confined.starts_with("token") && !confined.contains("copy"),
        "{confined}"
    );
    assert_eq!(asked.unwrap().text, "I am a program.");
    assert_eq!(kept.unwrap().text, "I am a program with a token.");
    println!("looked around");
}

#[tokio::test]
async fn a_program_answers_as_a_model() {
    let program = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/program.sh");
    let answer = rooftree::query("Who are you?")
        .program("claude-cli", program)
        .model("claude-cli/default");
    let answer = answer.await.unwrap();
    assert!(answer.text.starts_with("I am a program"), "{answer}");
    assert!((answer.cost_usd() - 0.25).abs() < 1e-9);
    let unknown = rooftree::query("Hi")
        .program("other-cli", program)
        .await
        .unwrap_err();
    assert!(
        unknown
            .to_string()
            .contains("claude-cli, codex-cli, pi-cli"),
        "{unknown}"
    );
}
