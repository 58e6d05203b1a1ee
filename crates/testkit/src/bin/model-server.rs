//! The testkit's model server as a program, so that software outside of this repository can be tested with it.
//!
//! `model-server WIRE SCRIPT.json` prints its address on one line, and when its standard input closes one line of
//! JSON for each request it has answered. The script format is described in `model_server/json_script.rs`.
//! With `by-turn` as the last argument, the answer is selected by the number of assistant messages in the
//! request, so that many clients can ask at the same time.

use std::{env, error::Error, fs, io, process::ExitCode, time::Instant};

use rooftree_testkit::model_server::{
    ModelServer, ReceivedRequest, ServerAnswer, ServerWire, anthropic, fail, gemini, openai_chat,
    openai_responses, parse_answers,
};
use serde_json::{Value, json};
use tokio::io::AsyncReadExt;

/// The supported APIs.
const WIRES: &[(&str, ServerWire)] = &[
    ("anthropic", anthropic::WIRE),
    ("gemini", gemini::WIRE),
    ("openai-chat", openai_chat::WIRE),
    ("openai-responses", openai_responses::WIRE),
];

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let served = match arguments.as_slice() {
        [wire, script] => serve(wire, script, AnswerOrder::Asked).await,
        [wire, script, order] if order == "by-turn" => serve(wire, script, AnswerOrder::Turn).await,
        _ => Err("usage: model-server WIRE SCRIPT.json [by-turn]".into()),
    };
    match served {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(2)
        }
    }
}

/// How the answer to a request is selected.
#[derive(Clone, Copy, PartialEq, Eq)]
enum AnswerOrder {
    /// By the order of requests: the next one.
    Asked,
    /// By the turn in the request.
    Turn,
}

async fn serve(wire: &str, script: &str, order: AnswerOrder) -> Result<(), Box<dyn Error>> {
    let Some((_, wire)) = WIRES.iter().find(|(name, _)| *name == wire) else {
        let known: Vec<&str> = WIRES.iter().map(|(name, _)| *name).collect();
        return Err(format!("there is no wire `{wire}`; there is: {}", known.join(", ")).into());
    };
    let text = fs::read_to_string(script).map_err(|error| format!("read {script}: {error}"))?;
    let answers = parse_answers(&text).map_err(|error| format!("understand {script}: {error}"))?;
    let server = match order {
        AnswerOrder::Asked => ModelServer::start(*wire, answers).await,
        AnswerOrder::Turn => {
            ModelServer::start_with(*wire, move |asked| by_turn(&answers, asked)).await
        }
    };
    println!("{}", server.url());
    until_closed().await?;
    let requests = server.requests();
    let first = requests.first().map(|asked| asked.at);
    for asked in &requests {
        println!("{}", told(asked, first.unwrap_or(asked.at)));
    }
    Ok(())
}

fn by_turn(answers: &[ServerAnswer], asked: &ReceivedRequest) -> ServerAnswer {
    let body = asked.json();
    let messages = body.get("messages").and_then(Value::as_array);
    let is_models = |message: &&Value| message.get("role").is_some_and(|role| role == "assistant");
    let turn = messages.map_or(0, |messages| messages.iter().filter(is_models).count());
    let over = || fail(418, "script_over", "the script has no answer for this turn").into();
    answers.get(turn).cloned().unwrap_or_else(over)
}

/// Waits until its standard input closes, also because the parent process has exited.
async fn until_closed() -> io::Result<()> {
    let mut ignored = [0; 64];
    while tokio::io::stdin().read(&mut ignored).await? > 0 {}
    Ok(())
}

/// Formats a request as JSON. Times are seconds since the first request.
fn told(asked: &ReceivedRequest, first: Instant) -> Value {
    let since = |at: Instant| at.saturating_duration_since(first).as_secs_f64();
    json!({
        "path": asked.path,
        "body": asked.json(),
        "at": since(asked.at),
        "answered": asked.answered.map(since),
    })
}
