//! One question: answered, streamed, bounded, and gone afterwards.

use futures::StreamExt;
use rooftree::{
    Agent, ErrorCode, RunStatus,
    testing::{ScriptedFailureKind, assert_events, call, fail, say},
};
use serde_json::json;

use crate::fixture::{script, scripted};

#[tokio::test]
async fn a_query_is_answered_when_it_is_awaited() {
    let answer = scripted("What is 2 + 2?", [say("4").usage(10, 1).cost(0.25)])
        .await
        .unwrap();
    assert_eq!(answer.to_string(), "4");
    assert_eq!((answer.status, answer.turns), (RunStatus::Completed, 1));
    assert!((answer.cost_usd() - 0.25).abs() < 1e-9);
}

#[tokio::test]
async fn a_stream_tells_what_happens_and_then_the_outcome() {
    let reply = say("Let me look.").calls([call("Glob", json!({"pattern": "*.none"}))]);
    let mut run = scripted("Look", [reply, say("Nothing.")]).stream();
    let mut events = Vec::new();
    while let Some(event) = run.next().await {
        events.push(event.unwrap());
    }
    assert_events!(events, [
        SessionOpened { .. },
        RunStarted { .. },
        MessageUser { .. },
        MessageCompleted(_),
        ToolStarted { .. },
        ToolCompleted(_),
        MessageCompleted(_),
        RunCompleted(_),
    ], only _);
    assert!(
        run.next().await.is_none(),
        "a stream that has ended stays so"
    );
    assert_eq!(run.result().await.unwrap().text, "Nothing.");
}

#[tokio::test]
async fn the_text_of_a_stream_comes_in_pieces() {
    let mut most = 0;
    // On a busy machine pieces may have passed by before anybody listens; the text never does.
    for _ in 0..20 {
        let pieces = scripted("Say it", [say("one two three").chunk(4)])
            .stream()
            .text();
        let pieces: Vec<String> = pieces.map(Result::unwrap).collect().await;
        assert_eq!(pieces.concat(), "one two three");
        most = most.max(pieces.len());
        if most > 1 {
            return;
        }
    }
    panic!("it never came in pieces");
}

#[tokio::test]
async fn a_run_that_is_not_completed_is_an_error_that_keeps_what_was_said() {
    let reply = || say("Looking.").calls([call("Glob", json!({"pattern": "*.none"}))]);
    let error = scripted("Look", [reply(), reply(), reply()])
        .max_turns(1)
        .await
        .unwrap_err();
    assert_eq!(error.code(), ErrorCode::LimitReached);
    assert!(
        error
            .partial()
            .is_some_and(|said| said.contains("Looking.")),
        "{error:?}"
    );

    let outcome = scripted("Look", [reply(), reply()])
        .max_turns(1)
        .stream()
        .outcome()
        .await
        .unwrap();
    assert_eq!(outcome.status, RunStatus::MaxTurns);
}

#[tokio::test]
async fn a_refusal_of_the_provider_is_told_with_its_code() {
    let error = scripted("Hi", [fail(ScriptedFailureKind::Unauthorized)])
        .await
        .unwrap_err();
    assert_eq!(error.code(), ErrorCode::Unauthorized);
    assert!(!error.is_retryable());
}

#[tokio::test]
async fn a_definition_can_be_applied_to_the_main_session() {
    let model = script([say("Looks good.").agent("code-reviewer")]);
    let reviewer = Agent::new("code-reviewer")
        .prompt("You review code.")
        .tools(["Read"]);
    let answer = rooftree::query("Review it")
        .provider("scripted", model.clone())
        .agent(reviewer);
    let answer = answer.main_agent("code-reviewer").await.unwrap();
    assert_eq!(answer.text, "Looks good.");
    let requests = model.requests();
    let request = requests.first().unwrap();
    assert!(request.system.contains("You review code."));
    let tools: Vec<&str> = request
        .tools
        .iter()
        .map(|tool| tool.name.as_str())
        .collect();
    assert_eq!(tools, ["Read"]);
}

#[tokio::test]
async fn tools_of_a_query_are_the_only_ones_there_are() {
    let model = script([say("ok")]);
    let asked = rooftree::query("Hi")
        .provider("scripted", model.clone())
        .tools(["Read", "G*"])
        .deny_tools(["Grep"]);
    asked.await.unwrap();
    let requests = model.requests();
    let tools: Vec<&str> = requests
        .first()
        .unwrap()
        .tools
        .iter()
        .map(|tool| tool.name.as_str())
        .collect();
    assert_eq!(tools, ["Read", "Glob"]);
}

#[tokio::test]
async fn futures_and_streams_can_move_between_threads() {
    let answer = tokio::spawn(scripted("Hi", [say("Hello.")]).into_future());
    let streamed = tokio::spawn(async { scripted("Hi", [say("Hello.")]).stream().outcome().await });
    assert_eq!(answer.await.unwrap().unwrap().text, "Hello.");
    assert_eq!(streamed.await.unwrap().unwrap().text, "Hello.");
}

#[tokio::test]
async fn n_25_a_query_takes_a_system_prompt_and_attachments() {
    let model = script([say("Seen.")]);
    let picture = [0x89, b'P', b'N', b'G', 0x0d, 0x0a, 0x1a, 0x0a, 0, 0, 0, 0];
    let directory = tempfile::tempdir().unwrap();
    let log = directory.path().join("app.log");
    std::fs::write(&log, "error 17").unwrap();
    let answer = rooftree::query("What is wrong?")
        .provider("scripted", model.clone())
        .system("You read logs.")
        .attach(log)
        .attach(rooftree::FileAttachment::bytes("chart.png", picture))
        .await
        .unwrap();
    assert_eq!(answer.text, "Seen.");
    let request = model.requests().pop().unwrap();
    let all = format!("{request:?}");
    assert!(
        all.contains("You read logs.") && all.contains("error 17"),
        "{all}"
    );
    assert!(all.contains("image/png"), "{all}");
    let missing = rooftree::query("What is wrong?")
        .provider("scripted", script([say("Seen.")]))
        .attach("no/such/file")
        .await
        .unwrap_err();
    assert_eq!(missing.code(), ErrorCode::InvalidArguments);
    assert!(
        missing.to_string().contains("cannot attach no/such/file"),
        "{missing}"
    );
}

#[tokio::test]
async fn n_25_what_hooks_are_given_is_flat() {
    let notes = crate::fixture::Notes::default();
    let taken = notes.clone();
    scripted(
        "Look",
        [
            say("").calls([call("Glob", json!({"pattern": "*.none"}))]),
            say("Nothing."),
        ],
    )
    .after_tool(move |used| {
        let taken = taken.clone();
        async move { taken.take(format!("{} {} {}", used.tool, used.title, used.is_done())) }
    })
    .await
    .unwrap();
    assert_eq!(notes.read(), ["Glob *.none true"]);
}
