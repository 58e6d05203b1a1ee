//! Firing: at its time, once, into the right session, with its event, budget and rights.

use std::time::Duration;

use rooftree_protocol::{EventBody, Origin, ScheduleDraft};
use rooftree_providers::scripted::say;
use rooftree_runtime::Clock;
use rooftree_testkit::{TestRuntimeBuilder, owner};

use super::fixture::{add, draft, history, live, pass, quiet, scheduled, states, wait};

#[tokio::test]
async fn a_schedule_fires_at_its_times_and_each_run_says_so() {
    let runtime = scheduled([say("First."), say("Second.")]).build();
    let added = add(&runtime, &draft("every 10m")).await;
    assert_eq!(added.next.len(), 5);
    let due = added.next_due.unwrap();
    live(&runtime, 1200, 300).await;
    assert_eq!(
        states(&runtime, &added.id).await,
        ["completed", "completed"]
    );
    let first = history(&runtime, &added.id).await.pop().unwrap();
    assert_eq!((first.due, first.answer.as_deref()), (due, Some("First.")));
    let session = first.session.unwrap();
    let events = runtime.events(&session).await;
    let events = &events[1..];
    let names: Vec<&str> = events.iter().map(|event| event.body.name()).collect();
    assert_eq!(
        &names[..3],
        ["run.started", "message.user", "schedule.fired"]
    );
    let EventBody::ScheduleFired {
        schedule,
        due: told,
    } = &events[2].body
    else {
        panic!("the third event says so");
    };
    assert_eq!((schedule, *told), (&added.id, due));
    let EventBody::MessageUser { message, .. } = &events[1].body else {
        panic!("the second event is the message");
    };
    assert!(matches!(&message.origin, Origin::Schedule { schedule, .. } if *schedule == added.id));
    assert!(message.text().starts_with("Look around."));
    runtime.verify().await;
    runtime.close().await;
}

#[tokio::test]
async fn a_one_shot_schedule_fires_once() {
    let runtime = scheduled([say("Done.")]).build();
    let added = add(&runtime, &draft("20m")).await;
    live(&runtime, 7200, 600).await;
    assert_eq!(states(&runtime, &added.id).await, ["completed"]);
    runtime.close().await;
}

#[tokio::test]
async fn runs_share_a_session_if_the_schedule_reuses_it() {
    let runtime = scheduled([say("First."), say("Second.")]).build();
    let reusing = ScheduleDraft {
        session: Some("reuse".into()),
        ..draft("every 10m")
    };
    let added = add(&runtime, &reusing).await;
    live(&runtime, 1200, 600).await;
    let found = history(&runtime, &added.id).await;
    assert_eq!(found.len(), 2);
    assert_eq!(found[0].session, found[1].session);
    assert_ne!(found[0].run, found[1].run);
    runtime.close().await;
}

#[tokio::test]
async fn a_paused_schedule_does_not_fire_and_one_run_by_hand_does() {
    let runtime = scheduled([say("By hand.")]).build();
    let added = add(&runtime, &draft("every 10m")).await;
    let off = ScheduleDraft {
        enabled: Some(false),
        ..ScheduleDraft::default()
    };
    let handle = &runtime.handle;
    handle
        .change_schedule(&owner(), &added.id, &off)
        .await
        .unwrap();
    live(&runtime, 1200, 600).await;
    assert!(history(&runtime, &added.id).await.is_empty());
    assert!(handle.run_schedule(&owner(), &added.id).await.is_err());
    let on = ScheduleDraft {
        enabled: Some(true),
        ..ScheduleDraft::default()
    };
    handle
        .change_schedule(&owner(), "morning", &on)
        .await
        .unwrap();
    handle.run_schedule(&owner(), &added.id).await.unwrap();
    wait(|| async { states(&runtime, &added.id).await == ["completed"] }).await;
    let actions = runtime.store().audit("default", 0, 100).await.unwrap();
    let actions: Vec<String> = actions.into_iter().map(|row| row.entry.action).collect();
    assert_eq!(
        actions,
        [
            "schedule.add",
            "schedule.change",
            "schedule.change",
            "schedule.run"
        ]
    );
    runtime.close().await;
}

#[tokio::test]
async fn what_several_processes_see_is_fired_by_one_of_them() {
    let one = scheduled([say("Done.")]).build();
    let other = one.open_second(scheduled([say("Done.")]));
    let mut ids = Vec::new();
    for number in 0..30 {
        let mut schedule = draft("every 10m");
        schedule.name = Some(format!("task {number}"));
        ids.push(add(&one, &schedule).await.id);
    }
    // Both read all that is due before either has fired it.
    for _ in 0..2 {
        pass(&one, 600);
        quiet(&one).await;
    }
    for id in &ids {
        assert_eq!(states(&one, id).await, ["completed"; 2]);
    }
    let asked = one.model.requests().len() + other.model.requests().len();
    assert_eq!(asked, 60);
    one.verify().await;
    other.close().await;
    one.close().await;
}

#[tokio::test]
async fn a_run_uses_no_more_tokens_than_its_schedule_allows() {
    let runtime = scheduled([say("Never.")]).build();
    let small = ScheduleDraft {
        run_tokens: Some(3),
        ..draft("every 10m")
    };
    let added = add(&runtime, &small).await;
    pass(&runtime, 600);
    quiet(&runtime).await;
    assert_eq!(states(&runtime, &added.id).await, ["failed budget"]);
    assert!(runtime.model.requests().is_empty());
    runtime.close().await;
}

#[tokio::test]
async fn the_budget_of_a_day_skips_what_would_exceed_it() {
    let runtime = scheduled((0..9).map(|_| say("Many words."))).build();
    let small = ScheduleDraft {
        day_tokens: Some(1),
        ..draft("every 12h")
    };
    let added = add(&runtime, &small).await;
    live(&runtime, 4 * 12 * 3600, 3600).await;
    assert_eq!(
        states(&runtime, &added.id).await,
        ["completed", "skipped budget", "skipped budget", "completed"]
    );
    let row = runtime.store().schedule(&added.id).await.unwrap().unwrap();
    assert_eq!(row.streak, 0, "a budget that is used up is no failure");
    runtime.close().await;
}

#[tokio::test]
async fn an_invited_person_sees_only_his_own_schedules_and_adds_no_commands() {
    let runtime = TestRuntimeBuilder::new([]).build();
    let added = add(&runtime, &draft("every 10m")).await;
    let mut guest = owner();
    guest.person = "ann".into();
    let handle = &runtime.handle;
    assert!(handle.schedules(&guest).await.unwrap().is_empty());
    assert!(handle.schedule(&guest, &added.id).await.is_err());
    assert!(
        handle
            .remove_schedule(&guest, "morning", None)
            .await
            .is_err()
    );
    let defaults = rooftree_runtime::ScheduleDefaults {
        agent: "lead".into(),
        cwd: runtime.path().to_owned(),
        zone: "UTC".into(),
    };
    let command = ScheduleDraft {
        prompt: None,
        command: Some("id".into()),
        ..draft("every 10m")
    };
    let refused = handle.add_schedule(&guest, &command, defaults).await;
    assert!(refused.is_err());
    assert!(added.next_due.unwrap() > runtime.clock.now());
    runtime.close().await;
}

#[tokio::test]
async fn a_schedule_that_waits_for_an_event_fires_when_it_happens() {
    let runtime = scheduled([say("Deployed.")]).build();
    let waiting = ScheduleDraft {
        when: None,
        on: Some("webhook:deploy".into()),
        ..draft("")
    };
    let added = add(&runtime, &waiting).await;
    assert_eq!(added.next_due, None);
    let event = |name: &str| rooftree_store::ScheduleEvent::Webhook { name: name.into() };
    let handle = &runtime.handle;
    assert_eq!(
        handle
            .trigger_schedules(&owner(), &event("other"))
            .await
            .unwrap(),
        0
    );
    assert_eq!(
        handle
            .trigger_schedules(&owner(), &event("deploy"))
            .await
            .unwrap(),
        1
    );
    wait(|| async { states(&runtime, &added.id).await == ["completed"] }).await;
    runtime.close().await;
}

#[tokio::test]
async fn a_schedule_that_waits_for_runs_fires_when_one_ends_and_not_for_its_own() {
    let runtime = scheduled([say("Done.").times(9)]).build();
    let waiting = |name: &str, on: &str| ScheduleDraft {
        name: Some(name.into()),
        when: None,
        on: Some(on.into()),
        ..draft("")
    };
    let any = add(&runtime, &waiting("any", "run-ended:lead")).await;
    assert_eq!(any.words, "when a run of lead ends");
    let failed = add(&runtime, &waiting("failed", "run-ended:*:failed")).await;
    let session = runtime.post("Hello.").await;
    runtime.wait_for_event(&session, "run.completed").await;
    wait(|| async { states(&runtime, &any.id).await == ["completed"] }).await;
    live(&runtime, 600, 60).await;
    assert_eq!(states(&runtime, &any.id).await, ["completed"]);
    assert!(history(&runtime, &failed.id).await.is_empty());
    let handle = &runtime.handle;
    for on in ["run-ended:lead:soon", "run-begun", "webhook:"] {
        let defaults = rooftree_runtime::ScheduleDefaults {
            agent: "lead".into(),
            cwd: runtime.path().to_owned(),
            zone: "UTC".into(),
        };
        let (who, draft) = (owner(), waiting("no", on));
        let refused = handle.add_schedule(&who, &draft, defaults).await;
        assert!(refused.is_err(), "{on}");
    }
    runtime.close().await;
}

#[tokio::test]
async fn what_is_run_by_hand_twice_within_a_moment_runs_twice() {
    let runtime = scheduled([say("Done.").times(9)]).build();
    let added = add(&runtime, &draft("every 10m")).await;
    for count in 1..=3 {
        let handle = &runtime.handle;
        handle.run_schedule(&owner(), &added.id).await.unwrap();
        if count > 1 {
            // The moment itself has its occurrence: it is due at the next one.
            runtime.clock.advance(Duration::from_millis(1));
        }
        wait(|| async { states(&runtime, &added.id).await == vec!["completed"; count] }).await;
        quiet(&runtime).await;
    }
    pass(&runtime, 600);
    quiet(&runtime).await;
    assert_eq!(states(&runtime, &added.id).await, ["completed"; 4]);
    runtime.close().await;
}

#[tokio::test]
async fn a_schedule_keeps_the_model_that_was_the_default_when_it_was_made() {
    let first = scheduled([]).build();
    let added = add(&first, &draft("every 10m")).await;
    let made_with = added.model.unwrap();
    let mut later = scheduled([say("Done.")]);
    later.models.default = Some("scripted/another".parse().unwrap());
    let runtime = first.reopen(later).await;
    pass(&runtime, 600);
    quiet(&runtime).await;
    assert_eq!(states(&runtime, &added.id).await, ["completed"]);
    let asked = &runtime.model.requests()[0];
    assert!(
        made_with.ends_with(&asked.model),
        "{made_with} {}",
        asked.model
    );
    runtime.close().await;
}
