//! What a crash leaves behind, put into the journal by hand, and how the next start goes on.

use rooftree_protocol::{Effect, RunStatus, SessionId};
use rooftree_providers::scripted::{call, say};
use rooftree_store::{Owner, TaskRow, TaskStatus};
use rooftree_testkit::{ProbeTool, TestRuntime, TestRuntimeBuilder};
use rooftree_tools::Toolset;
use serde_json::json;

/// A runtime whose process dies, as far as the store can tell, while a call is under way.
async fn crashed_during(
    effect: Effect,
) -> (
    TestRuntimeBuilder,
    rooftree_testkit::TestRuntime,
    rooftree_protocol::SessionId,
) {
    let script = || {
        [
            say("").calls([call("Do", json!({"say": "effect"}))]),
            say("done"),
        ]
    };
    let (held, _keeper) = ProbeTool::gated("Do", effect);
    let runtime = TestRuntimeBuilder::new(script())
        .tools(Toolset::new([held]))
        .build();
    let session = runtime.post("go").await;
    runtime.wait_for_event(&session, "tool.started").await;
    let next =
        TestRuntimeBuilder::new(script()).tools(Toolset::new([ProbeTool::open("Do", effect)]));
    (next, runtime, session)
}

#[tokio::test]
async fn a_call_that_only_looks_is_made_again() {
    let (next, runtime, session) = crashed_during(Effect::ReadOnly).await;
    let runtime = runtime.crash(next).await;
    runtime.recover().await;
    assert_eq!(
        runtime.wait_for_run(&session).await.status,
        RunStatus::Completed
    );
    assert!(
        runtime
            .transcript(&session)
            .await
            .contains("tool     Do done: effect")
    );
    assert_eq!(
        runtime.model.requests().len(),
        1,
        "the stored reply was asked for again"
    );
    runtime.verify().await;
}

#[tokio::test]
async fn a_call_with_effects_is_not_made_again_and_says_that_nobody_knows() {
    let (next, runtime, session) = crashed_during(Effect::LocalMutation).await;
    let runtime = runtime.crash(next).await;
    runtime.recover().await;
    assert_eq!(
        runtime.wait_for_run(&session).await.status,
        RunStatus::Completed
    );
    let story = runtime.transcript(&session).await;
    assert!(
        story.contains("tool     Do unknown: unknown: interrupted."),
        "{story}"
    );
    assert_eq!(story.matches("tool     Do").count(), 1);
    runtime.verify().await;
}

#[tokio::test]
async fn a_run_that_is_cut_off_again_and_again_is_given_up_and_the_mail_goes_on() {
    let (_, mut runtime, session) = crashed_during(Effect::ReadOnly).await;
    for _ in 0..6 {
        let (held, keeper) = ProbeTool::gated("Do", Effect::ReadOnly);
        let script = [
            say("").calls([call("Do", json!({"say": "effect"}))]),
            say("done"),
        ];
        runtime = runtime
            .crash(TestRuntimeBuilder::new(script).tools(Toolset::new([held])))
            .await;
        runtime.recover().await;
        let waited = async {
            while keeper.started() == 0 {
                tokio::time::sleep(std::time::Duration::from_millis(2)).await;
            }
        };
        tokio::select! { () = waited => {}, _ = runtime.wait_for_event(&session, "run.completed") => {} }
    }
    let end = runtime.wait_for_run(&session).await;
    assert_eq!(end.status, RunStatus::Failed);
    assert!(
        runtime
            .transcript(&session)
            .await
            .contains("notice   poison")
    );
    runtime.verify().await;
    runtime.post_to(&session, "still there?").await;
    assert_eq!(
        runtime.wait_for_nth_run(&session, 2).await.status,
        RunStatus::Completed
    );
}

/// The row of a background program whose process was killed after its run had ended.
async fn left_running(runtime: &TestRuntime, session: &SessionId, owner: Option<Owner>) -> String {
    let id = format!("prc_left{}", owner.is_some());
    let mut data = serde_json::Map::new();
    if let Some(owner) = owner {
        data.insert("owner".into(), serde_json::to_value(owner).unwrap());
    }
    let task = TaskRow {
        id: id.clone(),
        session: session.clone(),
        kind: "process".into(),
        title: "sleep 600".into(),
        status: TaskStatus::Running,
        process_group: Some((i32::MAX, 1)),
        detail: String::new(),
        started_at: rooftree_protocol::Timestamp(1),
        ended_at: None,
        child: None,
        data,
    };
    runtime.store().put_task(task).await.unwrap();
    id
}

fn dead() -> Owner {
    Owner {
        pid: u32::MAX,
        ..Owner::this_process()
    }
}

async fn task(runtime: &TestRuntime, id: &str) -> TaskRow {
    runtime.store().task(id).await.unwrap().unwrap()
}

#[tokio::test]
async fn s_b3_a_program_whose_process_was_killed_is_settled_when_its_session_goes_on_and_told_once()
{
    let runtime =
        TestRuntimeBuilder::new([say("one"), say("two").turn(2), say("three").turn(3)]).build();
    let session = runtime.post("go").await;
    runtime.wait_for_run(&session).await;
    let left = left_running(&runtime, &session, Some(dead())).await;
    let alive = left_running(&runtime, &session, None).await;
    let alive_row = TaskRow {
        data: serde_json::Map::from_iter([(
            "owner".to_owned(),
            serde_json::to_value(Owner::this_process()).unwrap(),
        )]),
        ..task(&runtime, &alive).await
    };
    runtime.store().put_task(alive_row).await.unwrap();
    runtime.post_to(&session, "go on").await;
    runtime.wait_for_nth_run(&session, 2).await;
    runtime.post_to(&session, "and on").await;
    runtime.wait_for_nth_run(&session, 3).await;
    let row = task(&runtime, &left).await;
    assert_eq!(row.status, TaskStatus::Failed);
    assert!(
        row.ended_at.is_some() && row.detail.starts_with("outcome unknown"),
        "{}",
        row.detail
    );
    assert_eq!(
        task(&runtime, &alive).await.status,
        TaskStatus::Running,
        "its process is alive"
    );
    let told = runtime.events(&session).await;
    let told = told.iter().filter(|event| {
        serde_json::to_string(event)
            .unwrap()
            .contains("how it ended is not known")
    });
    assert_eq!(told.count(), 1);
    let requests = format!("{:?}", runtime.model.requests());
    assert!(
        requests.contains(&format!("The background program {left}")),
        "the model reads it"
    );
    runtime.verify().await;
}

#[tokio::test]
async fn s_b3_whoever_starts_or_looks_settles_all_programs_whose_process_was_killed() {
    let runtime = TestRuntimeBuilder::new([say("one")]).build();
    let session = runtime.post("go").await;
    runtime.wait_for_run(&session).await;
    for owner in [Some(dead()), None] {
        let left = left_running(&runtime, &session, owner).await;
        if left.ends_with("true") {
            runtime.recover().await;
        } else {
            let store = runtime.store();
            let now = rooftree_protocol::Timestamp(5);
            assert_eq!(
                rooftree_runtime::settle_orphaned_programs(&**store, None, now)
                    .await
                    .unwrap(),
                1
            );
            assert_eq!(
                rooftree_runtime::settle_orphaned_programs(&**store, None, now)
                    .await
                    .unwrap(),
                0
            );
        }
        assert_eq!(task(&runtime, &left).await.status, TaskStatus::Failed);
    }
    assert!(
        !runtime
            .store()
            .unfinished()
            .await
            .unwrap()
            .contains(&session),
        "the notice wakes nobody"
    );
    runtime.verify().await;
}
