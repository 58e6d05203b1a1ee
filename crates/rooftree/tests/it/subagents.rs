//! Sub-agents of a query: several at once, in background, on other providers, all in one stream.

use rooftree::{
    Agent, EventBody, RunStatus,
    testing::{ScriptedModel, assert_events, say},
};

use crate::fixture::{Notes, background, helper, script, scripted, task};

#[tokio::test]
async fn a_stream_shows_a_sub_agent_before_its_result_is_told() {
    let entries = [
        say("").calls([task("helper", "Help me")]).agent("lead"),
        say("Done.").agent("lead"),
        say("Here is help.").agent("helper"),
    ];
    let events = scripted("Go", entries)
        .agent(helper())
        .stream()
        .all()
        .await
        .unwrap();
    assert_events!(
        events,
        [
            RunStarted { .. } in "lead",
            RunStarted { .. } in "helper",
            RunCompleted(end) in "helper" if end.text == "Here is help.",
            ToolCompleted(record) in "lead" if record.tool == "Task",
            RunCompleted(end) in "lead" if end.text == "Done.",
        ],
        only RunStarted { .. } | RunCompleted(_) | ToolCompleted(_),
    );
    assert!(
        events
            .iter()
            .all(|event| event.parent_run.is_some() == (event.agent == "helper"))
    );
}

#[tokio::test]
async fn each_sub_agent_is_told_when_it_starts_and_when_it_stops() {
    let entries = [
        say("")
            .calls([task("helper", "One"), task("helper", "Two")])
            .agent("lead"),
        say("Both done.").agent("lead"),
        say("Helped.").agent("helper"),
    ];
    let (notes, starts, stops) = (Notes::default(), Notes::default(), Notes::default());
    let (started, stopped, used) = (starts.clone(), stops.clone(), notes.clone());
    let answer = scripted("Go", entries)
        .agent(helper())
        .on_subagent_start(move |start| {
            let started = started.clone();
            async move { started.take(format!("{}: {}", start.agent, start.title)) }
        })
        .on_subagent_stop(move |stop| {
            let stopped = stopped.clone();
            async move { stopped.take(format!("{}: {}", stop.agent, stop.end.status)) }
        })
        .after_tool(move |tool| {
            let used = used.clone();
            async move { used.take(format!("{} {}", tool.agent, tool.record.tool)) }
        })
        .await
        .unwrap();
    assert_eq!(answer.text, "Both done.");
    let mut started = starts.read();
    started.sort();
    assert_eq!(started, ["helper: One", "helper: Two"]);
    assert_eq!(stops.read(), ["helper: completed", "helper: completed"]);
    assert_eq!(notes.read(), ["lead Task", "lead Task"]);
}

#[tokio::test]
async fn a_query_waits_for_what_it_started_in_background() {
    let entries = [
        say("")
            .calls([background("helper", "Take your time")])
            .agent("lead"),
        say("Still told.").agent("lead").times(9),
        say("Slowly done.").agent("helper"),
    ];
    let mut run = scripted("Go", entries).agent(helper()).stream();
    let mut told = Vec::new();
    while let Some(event) = run.next().await {
        match event.unwrap().body {
            EventBody::RunCompleted(end) => told.push(end.text),
            EventBody::MessageUser { message, .. } => told.push(message.text()),
            _ => {}
        }
    }
    let helped = told.iter().position(|text| text == "Slowly done.").unwrap();
    let news = told
        .iter()
        .position(|text| text.contains("Slowly done.") && text.contains("helper"));
    assert!(
        news.is_some_and(|news| news > helped),
        "the lead was told before the query ended: {told:?}"
    );
    assert_eq!(run.outcome().await.unwrap().status, RunStatus::Completed);
}

#[tokio::test]
async fn each_agent_thinks_with_a_model_of_its_own_provider() {
    let (one, two): (ScriptedModel, ScriptedModel) = (
        script([
            say("").calls([task("second", "Go on"), task("third", "Go on")]),
            say("All said."),
        ]),
        script([say("Second.")]),
    );
    let three = script([say("Third.")]);
    let answer = rooftree::query("Go")
        .provider("first", one.clone())
        .provider("second", two.clone())
        .provider("third", three.clone())
        .model("first/main")
        .agent(
            Agent::new("second")
                .describe("The second.")
                .model("second/small"),
        )
        .agent(
            Agent::new("third")
                .describe("The third.")
                .provider("third")
                .model("tiny"),
        )
        .await
        .unwrap();
    assert_eq!(answer.text, "All said.");
    assert_eq!(
        (
            one.requests().len(),
            two.requests().len(),
            three.requests().len()
        ),
        (2, 1, 1)
    );
    assert_eq!(three.requests().first().unwrap().model, "tiny");
}

#[tokio::test]
async fn agents_are_read_from_files_and_a_wrong_file_is_an_error() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("scribe.md");
    std::fs::write(
        &file,
        "---\ndescription: Writes things down\ntools: [Read]\n---\nYou write.\n",
    )
    .unwrap();
    let entries = || {
        [
            say("").calls([task("scribe", "Note it")]).agent("lead"),
            say("Noted.").agent("lead"),
            say("ok").agent("scribe"),
        ]
    };
    let answer = scripted("Go", entries())
        .agents_dir(directory.path())
        .await
        .unwrap();
    assert_eq!(answer.to_string(), "Noted.");
    std::fs::write(&file, "---\ntools: [Reed]\n---\nx\n").unwrap();
    let error = scripted("Go", entries())
        .agents_dir(directory.path())
        .await
        .unwrap_err();
    assert!(error.to_string().contains("Reed"), "{error}");
    assert!(
        scripted("Go", entries())
            .agents_dir(directory.path().join("none"))
            .await
            .is_err()
    );
}
