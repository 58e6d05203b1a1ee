//! Heartbeats: all due tasks of an agent are one message, and nothing to do is nothing to tell.

use std::fs;

use rooftree_protocol::ScheduleDraft;
use rooftree_providers::scripted::say;
use rooftree_runtime::{ProjectContext, definitions::Instructions};
use rooftree_store::{OutboxFilter, SessionFilter};
use rooftree_testkit::owner;

use super::fixture::{
    add, draft, history, live, pass_until, scheduled, states, wait, with_connector,
};

fn beat(name: &str) -> ScheduleDraft {
    ScheduleDraft {
        name: Some(name.into()),
        kind: Some("heartbeat".into()),
        when: None,
        ..draft("")
    }
}

#[tokio::test]
async fn all_due_tasks_of_an_agent_are_one_message_with_the_checklist() {
    let runtime = scheduled([say("All good.")]).build();
    fs::write(runtime.path().join("HEARTBEAT.md"), "- water the plants\n").unwrap();
    let one = add(&runtime, &beat("mail")).await;
    let other = add(&runtime, &beat("disk")).await;
    let closed = ScheduleDraft {
        gate: Some("exit 1".into()),
        ..beat("weather")
    };
    let gated = add(&runtime, &closed).await;
    pass_until(&runtime, 1800, &other.id, 1).await;
    assert_eq!(runtime.model.requests().len(), 1);
    let asked = format!("{:?}", runtime.model.requests()[0].messages);
    for wanted in ["## mail", "## disk", "water the plants"] {
        assert!(asked.contains(wanted), "{wanted}: {asked}");
    }
    assert!(!asked.contains("## weather"));
    assert_eq!(states(&runtime, &gated.id).await, ["skipped gate"]);
    let (one, other) = (
        history(&runtime, &one.id).await.remove(0),
        history(&runtime, &other.id).await.remove(0),
    );
    assert_eq!((&one.run, &one.session), (&other.run, &other.session));
    assert_eq!(one.execution, "completed");
    runtime.close().await;
}

#[tokio::test]
async fn two_days_with_nothing_to_do_tell_nothing_and_stay_within_the_budget() {
    let idle = say("HEARTBEAT_OK").usage(900, 5).times(200);
    let runtime = scheduled([idle]).build();
    with_connector(&runtime, "home").await;
    let told = ScheduleDraft {
        target: Some("home:7".into()),
        ..beat("mail")
    };
    let added = add(&runtime, &told).await;
    live(&runtime, 48 * 3600, 1800).await;
    let filter = OutboxFilter {
        tenant: "default".into(),
        limit: 9,
        ..OutboxFilter::default()
    };
    let sent = runtime.store().outbox(filter).await.unwrap();
    assert!(sent.is_empty(), "{sent:?}");
    let found = history(&runtime, &added.id).await;
    assert_eq!(found.len(), 96);
    assert!(
        found
            .iter()
            .all(|one| one.answer.as_deref() == Some("HEARTBEAT_OK"))
    );
    let tokens: u64 = found.iter().map(|one| one.tokens).sum();
    assert!(tokens <= 2 * 400_000, "{tokens}");
    assert!(found.iter().all(|one| one.tokens <= 20_000));
    let left = runtime
        .store()
        .sessions(SessionFilter::default())
        .await
        .unwrap();
    assert!(
        left.is_empty(),
        "silent heartbeats leave no session in lists"
    );
    runtime.close().await;
}

#[tokio::test]
async fn a_heartbeat_beats_only_in_its_active_hours() {
    let idle = say("HEARTBEAT_OK").times(200);
    let runtime = scheduled([idle]).build();
    let awake = ScheduleDraft {
        active_hours: Some("08:00-22:00".into()),
        when: Some("every 1h".into()),
        ..beat("mail")
    };
    let added = add(&runtime, &awake).await;
    live(&runtime, 24 * 3600, 3600).await;
    let told = states(&runtime, &added.id).await;
    let count = |word: &str| told.iter().filter(|state| *state == word).count();
    assert_eq!(
        (count("completed"), count("skipped inactive_hours")),
        (14, 10)
    );
    runtime.close().await;
}

#[tokio::test]
async fn a_heartbeat_reads_no_instructions_unless_it_is_told_to() {
    for (context, reads) in [(None, false), (Some("light"), false), (Some("full"), true)] {
        let mut plan = scheduled([say("HEARTBEAT_OK"), say("Hello.")]);
        let mut instructions = Instructions::default();
        instructions.text = "Always whistle.".into();
        plan.project_context = ProjectContext {
            instructions,
            ..ProjectContext::default()
        }
        .into();
        let runtime = plan.build();
        let chosen = ScheduleDraft {
            context: context.map(str::to_owned),
            session: Some("reuse".into()),
            ..beat("mail")
        };
        let added = add(&runtime, &chosen).await;
        pass_until(&runtime, 1800, &added.id, 1).await;
        let asked = &runtime.model.requests()[0];
        assert_eq!(asked.system.contains("whistle"), reads, "{context:?}");
        // What a person asks in the same session is read with all there is.
        let session = history(&runtime, &added.id)
            .await
            .remove(0)
            .session
            .unwrap();
        runtime.post_to(&session, "Hello?").await;
        wait(|| async { runtime.model.requests().len() == 2 }).await;
        let asked = runtime.model.requests().pop().unwrap();
        assert!(asked.system.contains("whistle"), "{context:?}");
        runtime.close().await;
    }
}

#[tokio::test]
async fn a_silent_heartbeat_keeps_the_session_that_it_uses_again() {
    let runtime = scheduled([say("HEARTBEAT_OK").times(9)]).build();
    let front = runtime.post("Hello.").await;
    runtime.wait_for_run(&front).await;
    for session in ["reuse".to_owned(), front.to_string()] {
        let reusing = ScheduleDraft {
            session: Some(session.clone()),
            ..beat(&session)
        };
        let added = add(&runtime, &reusing).await;
        for count in 1..=2 {
            pass_until(&runtime, 1800, &added.id, count).await;
        }
        assert_eq!(states(&runtime, &added.id).await, ["completed"; 2]);
        let handle = &runtime.handle;
        handle
            .remove_schedule(&owner(), &added.id, None)
            .await
            .unwrap();
    }
    let left = runtime.store().sessions(SessionFilter::default()).await;
    assert_eq!(left.unwrap().len(), 2);
    runtime.close().await;
}
