//! Agents answer as models do, whole and in pieces.

use proptest::prelude::*;
use rooftree_protocol::Effect;
use rooftree_testkit::{
    ProbeTool, TestRuntimeBuilder, Toolset,
    scripted::{ScriptEntry, ScriptedFailureKind, call, fail, say},
};
use serde_json::{Value, json};

use crate::agent_server::{Reached, joined, open, question, with};

fn look() -> Toolset {
    Toolset::new([ProbeTool::open("Look", Effect::ReadOnly)])
}

fn looking() -> [ScriptEntry; 2] {
    let calls = [call("Look", json!({"say": "door"}))];
    [
        say("Let me look.").calls(calls).usage(100, 20),
        say("It is red.").usage(150, 10),
    ]
}

#[tokio::test]
async fn agents_that_say_so_are_listed_as_models() {
    let reached = Reached::start(TestRuntimeBuilder::new([]).agent(open("Clerk"))).await;
    let listed = reached.get("/v1/models").await.json();
    let names: Vec<&str> = listed["data"]
        .as_array()
        .unwrap()
        .iter()
        .map(|model| model["id"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["agent:Clerk", "agent:helper"]);
    assert_eq!(listed["data"][0]["object"], "model");
    let one = reached.get("/v1/models/agent:helper").await;
    assert_eq!(
        (one.status, &one.json()["owned_by"]),
        (200, &json!("rooftree"))
    );
    assert_eq!(reached.get("/v1/models/agent:lead").await.status, 404);
}

#[tokio::test]
async fn an_answer_has_everything_a_client_expects() {
    let reached = Reached::start(TestRuntimeBuilder::new(looking()).tools(look())).await;
    let body = with(question("Which colour?"), json!({"temperature": 0.1}));
    let said = reached.ask(&body, &[]).await;
    let answer = said.json();
    assert_eq!(
        (said.status, &answer["object"]),
        (200, &json!("chat.completion"))
    );
    assert_eq!(answer["model"], "agent:helper");
    assert!(answer["id"].as_str().unwrap().starts_with("chatcmpl-"));
    let choice = &answer["choices"][0];
    assert_eq!(choice["message"]["content"], "Let me look.\n\nIt is red.");
    assert_eq!(
        (&choice["message"]["role"], &choice["finish_reason"]),
        (&json!("assistant"), &json!("stop"))
    );
    assert_eq!(
        choice["message"].get("reasoning_content"),
        None,
        "nobody asked for it"
    );
    let usage = &answer["usage"];
    assert_eq!(
        (
            &usage["prompt_tokens"],
            &usage["completion_tokens"],
            &usage["total_tokens"]
        ),
        (&json!(250), &json!(30), &json!(280))
    );
    assert_eq!(answer["rooftree"]["status"], "completed");
    assert_eq!(answer["rooftree"]["ignored"], json!(["temperature"]));
    assert_eq!(
        answer["rooftree"]["session"],
        said.header("x-rooftree-session")
    );
}

#[tokio::test]
async fn pieces_have_usage_at_the_end_if_it_is_wanted() {
    let reached = Reached::start(TestRuntimeBuilder::new(looking()).tools(look())).await;
    let wanted = with(
        question("Which?"),
        json!({"stream_options": {"include_usage": true}}),
    );
    let pieces = reached.stream(&wanted, &[]).await.rest().await;
    assert_eq!(
        pieces[0]["choices"][0]["delta"],
        json!({"role": "assistant", "content": ""})
    );
    let [.., end, cost] = pieces.as_slice() else {
        panic!("{pieces:?}")
    };
    assert_eq!(end["choices"][0]["finish_reason"], "stop");
    assert_eq!(
        (&cost["choices"], &cost["usage"]["total_tokens"]),
        (&json!([]), &json!(280))
    );
    assert!(
        pieces
            .iter()
            .all(|piece| piece["object"] == "chat.completion.chunk" && piece["id"] == end["id"])
    );
    let pieces = reached.stream(&question("Which?"), &[]).await.rest().await;
    assert!(pieces.iter().all(|piece| piece.get("usage").is_none()));
}

#[tokio::test]
async fn what_the_agent_does_is_told_as_reasoning_only_if_it_is_wanted() {
    let reached = Reached::start(TestRuntimeBuilder::new(looking()).tools(look())).await;
    let verbose = ["x-rooftree-verbose: 1"];
    let answer = reached.answer(&question("Which?"), &verbose).await;
    assert_eq!(
        answer["choices"][0]["message"]["reasoning_content"],
        "Look door\n"
    );
    let pieces = reached
        .stream(&question("Which?"), &verbose)
        .await
        .rest()
        .await;
    assert_eq!(joined(&pieces, "reasoning_content"), "Look door\n");
    assert_eq!(joined(&pieces, "content"), "Let me look.\n\nIt is red.");
    let pieces = reached
        .stream(&question("Which?"), &["x-rooftree-verbose: 0"])
        .await
        .rest()
        .await;
    assert_eq!(joined(&pieces, "reasoning_content"), "");
}

#[tokio::test]
async fn a_limit_of_the_agent_makes_an_answer_that_is_too_short() {
    let reached = Reached::start(
        TestRuntimeBuilder::new(looking())
            .tools(look())
            .max_turns(1),
    )
    .await;
    let answer = reached.answer(&question("Which?"), &[]).await;
    assert_eq!(answer["choices"][0]["finish_reason"], "length");
    assert_eq!(answer["rooftree"]["status"], "max_turns");
    assert_eq!(answer["choices"][0]["message"]["content"], "Let me look.");
}

#[tokio::test]
async fn a_run_that_fails_says_why_and_is_not_begun_again_by_the_client() {
    let reached = Reached::start(TestRuntimeBuilder::new([fail(
        ScriptedFailureKind::Refused,
    )
    .times(9)]))
    .await;
    let said = reached.ask(&question("Which?"), &[]).await;
    assert_eq!((said.status, said.header("x-should-retry")), (502, "false"));
    assert_eq!(said.json()["error"]["type"], "server_error");
    assert_eq!(said.json()["error"]["code"], "provider_refused");
    let pieces = reached.stream(&question("Which?"), &[]).await.rest().await;
    assert_eq!(pieces.last().unwrap()["error"]["code"], "provider_refused");
    let too_long = Reached::start(TestRuntimeBuilder::new([fail(
        ScriptedFailureKind::TooLong,
    )
    .times(99)]))
    .await;
    let said = too_long.ask(&question("Which?"), &[]).await;
    assert_eq!(
        (said.status, &said.json()["error"]["code"]),
        (400, &json!("context_length_exceeded"))
    );
}

#[tokio::test]
async fn a_client_that_gives_no_name_leaves_no_session_in_the_lists() {
    let reached = Reached::start(TestRuntimeBuilder::new([say("Hello.").times(9)])).await;
    let said = reached.ask(&question("hi"), &[]).await;
    let session = said.header("x-rooftree-session").to_owned();
    assert!(
        reached
            .is_put_away(&rooftree_protocol::SessionId::parse(&session).unwrap())
            .await
    );
    let pieces = reached.stream(&question("hi"), &[]).await;
    let session = pieces.session().clone();
    pieces.rest().await;
    assert!(reached.is_put_away(&session).await);
    reached.runtime.verify().await;
}

/// Replies, each in pieces of some size; all but the last call a tool.
fn replies() -> impl Strategy<Value = Vec<(String, usize)>> {
    let text = "[a-z äß€🙂<>&\"\n]{0,40}";
    proptest::collection::vec((text, 1_usize..7), 1..5)
}

fn scripted(replies: &[(String, usize)]) -> Vec<ScriptEntry> {
    let last = replies.len() - 1;
    let entry = |(number, (text, chunk)): (usize, &(String, usize))| {
        let calls = [call("Look", json!({"say": number}))];
        if number == last {
            say(format!("{text}.")).chunk(*chunk)
        } else {
            say(text).chunk(*chunk).calls(calls)
        }
    };
    replies.iter().enumerate().map(entry).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(24) })]

    #[test]
    fn the_pieces_of_a_stream_are_the_whole_answer(replies in replies()) {
        let entries = scripted(&replies);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let (whole, pieces): (Value, Vec<Value>) = runtime.block_on(async {
            let reached = Reached::start(TestRuntimeBuilder::new(entries).tools(look())).await;
            let verbose = ["x-rooftree-verbose: 1"];
            let whole = reached.answer(&question("go"), &verbose).await;
            (whole, reached.stream(&question("go"), &verbose).await.rest().await)
        });
        let message = &whole["choices"][0]["message"];
        prop_assert_eq!(message["content"].as_str().unwrap(), joined(&pieces, "content"));
        let reasoning = message["reasoning_content"].as_str().unwrap_or_default();
        prop_assert_eq!(reasoning, joined(&pieces, "reasoning_content"));
    }
}
