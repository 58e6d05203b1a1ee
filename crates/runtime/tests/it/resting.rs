//! Sessions at rest: what their agents knew is kept in memory, and used only where nothing has changed since.

use rooftree_providers::scripted::say;
use rooftree_testkit::TestRuntimeBuilder;

#[tokio::test]
async fn p_4c_a_message_to_a_session_at_rest_reads_no_journal() {
    let runtime = TestRuntimeBuilder::new([say("ok").times(9)]).build();
    let session = runtime.post("first").await;
    runtime.wait_for_run(&session).await;
    for number in 2..=6 {
        runtime
            .post_to(&session, &format!("message {number}"))
            .await;
        runtime.wait_for_nth_run(&session, number).await;
    }
    assert_eq!(runtime.folded_events(), 0);
    let last = runtime.model.requests().pop().unwrap();
    assert_eq!(
        last.messages.len(),
        11,
        "the model reads everything said before"
    );

    // Another process folds the journal once, and works from what it knows then.
    let second = runtime.open_second(TestRuntimeBuilder::new([say("there").times(9)]));
    let known = second.events(&session).await.len();
    second.post_to(&session, "from elsewhere").await;
    second.wait_for_nth_run(&session, 7).await;
    second.post_to(&session, "from elsewhere again").await;
    second.wait_for_nth_run(&session, 8).await;
    assert_eq!(second.folded_events(), u64::try_from(known).unwrap());

    // Its agent may still be awake and would take the next message.
    second.close().await;

    // What was known here is stale now, and is not used.
    runtime.post_to(&session, "and here").await;
    runtime.wait_for_nth_run(&session, 9).await;
    assert!(runtime.folded_events() > 0);
    let last = runtime.model.requests().pop().unwrap();
    assert_eq!(last.messages.len(), 17);
    runtime.verify().await;
}
