//! No way into the journal, the inbox, the blobs or the ears of a watcher is without the removal.

use std::{fs, path::Path, sync::Arc};

use futures::future::BoxFuture;
use rooftree_protocol::{Effect, EventBody, ToolKind, ToolSpec};
use rooftree_providers::scripted::{call, say};
use rooftree_runtime::EventFilter;
use rooftree_testkit::{
    TestRuntimeBuilder,
    secret_canaries::{SecretCanary, generate_canaries},
};
use rooftree_tools::{Tool, ToolContext, ToolInfo, ToolOutput, Toolset};
use serde_json::{Value, json};

/// Made-up secrets of every shape.
fn canaries(seed: u64) -> Vec<SecretCanary> {
    let shapes = include_str!("../../../secrets/tests/corpora/secret_shapes.txt");
    generate_canaries(shapes, seed)
}

/// A tool that gives back what nobody should read, as a file, a page or a server may, and says it too.
struct Leaky {
    spec: ToolSpec,
    text: String,
    heard: std::sync::Mutex<Vec<Value>>,
}

impl Leaky {
    fn new(text: String) -> Arc<Self> {
        let spec = ToolSpec {
            name: "Leaky".into(),
            description: String::new(),
            input_schema: json!({}),
        };
        Arc::new(Self {
            spec,
            text,
            heard: std::sync::Mutex::default(),
        })
    }
}

const INFO: ToolInfo = ToolInfo::at_run_time(ToolKind::Other, Effect::ReadOnly);

impl Tool for Leaky {
    fn info(&self) -> &ToolInfo {
        &INFO
    }

    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn normalise(&self, _called_as: &str, input: Value) -> Result<Value, String> {
        Ok(input)
    }

    fn title(&self, _input: &Value) -> String {
        self.text.clone()
    }

    fn run(&self, input: Value, context: ToolContext) -> BoxFuture<'static, ToolOutput> {
        self.heard.lock().unwrap().push(input);
        let text = self.text.clone();
        Box::pin(async move {
            // In two pieces, cut in the middle of something.
            let half = text.floor_char_boundary(text.len() / 2);
            (context.progress)(&text[..half]);
            (context.progress)(&text[half..]);
            ToolOutput {
                diff: Some(text.clone()),
                ..ToolOutput::done(text)
            }
        })
    }
}

/// Every file below a directory, as one text.
fn everything_in(directory: &Path) -> String {
    let mut all = String::new();
    for entry in fs::read_dir(directory).unwrap().flatten() {
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => all += &everything_in(&entry.path()),
            _ => all += &String::from_utf8_lossy(&fs::read(entry.path()).unwrap_or_default()),
        }
    }
    all
}

#[track_caller]
fn assert_silent(what: &str, text: &str, canaries: &[SecretCanary]) {
    for canary in canaries {
        assert_eq!(
            canary.read_in(text),
            None,
            "the {} is in {what}",
            canary.name
        );
    }
}

#[tokio::test]
async fn no_secret_reaches_disk_watchers_or_the_model() {
    let canaries = canaries(11);
    let told: String = canaries
        .iter()
        .map(|canary| format!("{}\n", canary.text))
        .collect();
    let leaky = Leaky::new(told.clone());
    let runtime = TestRuntimeBuilder::new([
        say(told.as_str())
            .thinking(told.as_str())
            .chunk(7)
            .calls([call("Leaky", json!({ "key": told, told.as_str(): 1 }))]),
        say("done").turn(2),
    ])
    .tools(Toolset::new([leaky.clone() as Arc<dyn Tool>]))
    .build();
    let session = runtime.post(&told).await;
    let mut events = runtime.handle.subscribe(
        &rooftree_testkit::owner(),
        EventFilter {
            session: session.clone(),
            after: 0,
        },
    );
    let mut heard = String::new();
    let mut said = String::new();
    let mut shown = String::new();
    loop {
        let event = events.next().await.unwrap();
        heard += &serde_json::to_string(&event).unwrap();
        match &event.body {
            EventBody::MessageDelta { text, .. } => said += text,
            EventBody::ToolOutput { text, .. } => shown += text,
            EventBody::RunCompleted(_) => break,
            _ => {}
        }
    }
    assert!(
        said.contains("[redacted: github token]") && shown.contains("[redacted: github token]")
    );
    assert_silent("what watchers hear", &heard, &canaries);
    assert_silent("what watchers read together", &said, &canaries);
    assert_silent("what a tool says", &shown, &canaries);
    let requests = format!("{:?}", runtime.model.requests());
    assert!(requests.contains("[redacted: github token]"));
    assert_silent("what the model reads", &requests, &canaries);
    let inputs = format!("{:?}", leaky.heard.lock().unwrap());
    assert_silent("what a tool is given", &inputs, &canaries);
    let path = runtime.path().to_owned();
    assert_silent("the files", &everything_in(&path), &canaries);
    let (live, directory) = (runtime.events(&session).await, runtime.path().to_owned());
    assert!(live.len() > 5 && directory.exists());
}

#[tokio::test]
async fn long_output_is_spilled_without_its_secrets_under_the_right_name() {
    let canaries = canaries(12);
    let told: String = canaries
        .iter()
        .map(|canary| format!("{}\n", canary.text))
        .collect();
    let long = format!(
        "{}\n{told}{}",
        "line\n".repeat(30_000),
        "line\n".repeat(30_000)
    );
    let tools = Toolset::new([Leaky::new(long) as Arc<dyn Tool>]);
    let runtime = TestRuntimeBuilder::new([say("").calls([call("Leaky", json!({}))]), say("done")])
        .tools(tools)
        .build();
    let session = runtime.post("go").await;
    runtime.wait_for_run(&session).await;
    let events = runtime.events(&session).await;
    let full = events.iter().find_map(|event| match &event.body {
        EventBody::ToolCompleted(record) => record.full.clone(),
        _ => None,
    });
    let blob = runtime.store().blob(&full.unwrap()).await.unwrap().unwrap();
    let blob = String::from_utf8(blob).unwrap();
    assert!(
        blob.contains("[redacted: github token]"),
        "the blob is there, under the name the event gives it"
    );
    assert_silent("the blob", &blob, &canaries);
    assert_silent("the files", &everything_in(runtime.path()), &canaries);
}

#[tokio::test]
async fn what_waits_in_an_inbox_has_no_secrets_either() {
    let canaries = canaries(13);
    let told: String = canaries
        .iter()
        .map(|canary| format!("{}\n", canary.text))
        .collect();
    let (slow, keeper) = rooftree_testkit::ProbeTool::gated("Slow", Effect::ReadOnly);
    let runtime = TestRuntimeBuilder::new([
        say("").calls([call("Slow", json!({}))]),
        say("one"),
        say("two"),
    ])
    .tools(Toolset::new([slow]))
    .build();
    let session = runtime.post("go").await;
    runtime.wait_for_event(&session, "tool.started").await;
    runtime.post_to(&session, &told).await;
    assert_silent("the files", &everything_in(runtime.path()), &canaries);
    keeper.open(1);
    runtime.wait_for_nth_run(&session, 2).await;
}

#[tokio::test]
async fn what_is_replayed_after_a_restart_is_what_was_live() {
    let canary = &canaries(14)
        .into_iter()
        .find(|canary| canary.name == "npm token")
        .unwrap();
    let runtime = TestRuntimeBuilder::new([say(format!("I keep {}", canary.text))]).build();
    let session = runtime.post(&format!("keep {}", canary.text)).await;
    runtime.wait_for_run(&session).await;
    let runtime = runtime
        .reopen(TestRuntimeBuilder::new([say("again").turn(2)]))
        .await;
    runtime.post_to(&session, "what did I say?").await;
    runtime.wait_for_nth_run(&session, 2).await;
    let requests = format!("{:?}", runtime.model.requests());
    assert!(
        requests.contains("keep [redacted: npm token]"),
        "{requests}"
    );
    assert_silent(
        "what the model reads",
        &requests,
        std::slice::from_ref(canary),
    );
}
