//! A program that answers as a model: what it does by itself is told and kept, and never done again.

use std::{fs, path::Path, sync::Arc};

use rooftree_process::ChildEnvironment;
use rooftree_protocol::{AgentDefinition, EventBody, RunStatus};
use rooftree_providers::agent_program::{CLAUDE, ProgramOptions, ProgramProvider};
use rooftree_testkit::TestRuntimeBuilder;

fn plan(directory: &Path) -> TestRuntimeBuilder {
    let options = ProgramOptions {
        executable: Some(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/program.sh").into()),
        environment: ChildEnvironment::default()
            .with("FAKE_PROGRAM", &directory.display().to_string()),
        ..ProgramOptions::default()
    };
    let external = Arc::new(ProgramProvider::new(&CLAUDE, options));
    TestRuntimeBuilder {
        provider: Some(Box::new(|_| external)),
        window: Some(2_000_000),
        ..TestRuntimeBuilder::new([])
    }
}

#[tokio::test]
async fn its_tools_are_told_its_cost_is_counted_and_it_is_resumed_after_a_restart() {
    let directory = tempfile::tempdir().unwrap();
    let runtime = plan(directory.path()).build();
    let session = runtime.post("Build it.").await;
    let end = runtime.wait_for_run(&session).await;
    assert_eq!(
        (end.status, end.text.as_str(), end.calls),
        (RunStatus::Completed, "It failed.", 1)
    );
    assert!((end.usage.cost_usd - 0.25).abs() < 1e-9);
    let notices: Vec<String> = runtime
        .events(&session)
        .await
        .into_iter()
        .filter_map(|event| {
            if let EventBody::Notice { message, .. } = event.body {
                Some(message)
            } else {
                None
            }
        })
        .collect();
    assert_eq!(
        notices,
        ["claude-cli uses Bash: make", "claude-cli: Bash make failed"]
    );
    let runtime = runtime.reopen(plan(directory.path())).await;
    runtime.post_to(&session, "Try again.").await;
    runtime.wait_for_nth_run(&session, 2).await;
    assert_eq!(
        fs::read_to_string(directory.path().join("input")).unwrap(),
        "Build it.Try again."
    );
    let arguments = fs::read_to_string(directory.path().join("arguments")).unwrap();
    assert_eq!(arguments.matches("--resume=s-1").count(), 1, "{arguments}");
    runtime.verify().await;
    runtime.close().await;
}

#[tokio::test]
async fn as12_the_tools_a_program_used_by_itself_are_counted_and_named() {
    let directory = tempfile::tempdir().unwrap();
    let runtime = plan(directory.path()).build();
    let session = runtime.post("Build it.").await;
    let end = runtime.wait_for_run(&session).await;
    assert_eq!(
        (end.calls, end.tools.as_slice()),
        (1, &["Bash".to_owned()][..])
    );
    assert_eq!(end.steps, ["Bash make"]);
}

#[tokio::test]
async fn r2_d22_a_program_reads_no_sections_about_tools_that_it_lacks() {
    let directory = tempfile::tempdir().unwrap();
    let tools = rooftree_tools::builtin(Arc::new(rooftree_tools::BackgroundProcesses::new(|| 7)));
    let told = |provider: bool| {
        let mut plan = plan(directory.path()).with_delegation(tools.clone());
        if !provider {
            plan.provider = None;
            plan.entries = vec![rooftree_providers::scripted::say("hi")];
        }
        plan
    };
    let runtime = told(true).build();
    let session = runtime.post("Build it.").await;
    runtime.wait_for_run(&session).await;
    let arguments = fs::read_to_string(directory.path().join("arguments")).unwrap();
    assert!(arguments.contains("# Environment"), "{arguments}");
    for section in ["## Agents", "## Todo list"] {
        assert!(!arguments.contains(section), "{section}: {arguments}");
    }
    // A model that is asked over a wire reads them.
    let runtime = told(false).build();
    let session = runtime.post("Build it.").await;
    runtime.wait_for_run(&session).await;
    let system = runtime.model.requests()[0].system.clone();
    assert!(
        system.contains("## Agents") && system.contains("## Todo list"),
        "{system}"
    );
}

#[tokio::test]
async fn r2_d9_the_emergency_limit_leaves_the_context_of_a_program_to_the_program() {
    let directory = tempfile::tempdir().unwrap();
    let mut lead = AgentDefinition::new("lead");
    lead.limits.emergency_context = 1;
    let runtime = plan(directory.path()).agent(lead).build();
    let session = runtime.post("Build it.").await;
    runtime.wait_for_run(&session).await;
    runtime.post_to(&session, "Try again.").await;
    runtime.wait_for_nth_run(&session, 2).await;
    let input = fs::read_to_string(directory.path().join("input")).unwrap();
    assert_eq!(input, "Build it.Try again.");
}
