//! What a crash leaves behind, put into the journal by hand, and how the next start goes on.

use rooftree_protocol::{Effect, RunStatus};
use rooftree_providers::scripted::{call, say};
use rooftree_testkit::{Plan, Probe};
use rooftree_tools::Toolset;
use serde_json::json;

/// A house whose process dies, as far as the store can tell, while a call is under way.
async fn crashed_during(effect: Effect) -> (Plan, rooftree_testkit::House, rooftree_protocol::SessionId) {
    let script = || [say("").calls([call("Do", json!({"say": "effect"}))]), say("done")];
    let (held, _keeper) = Probe::gated("Do", effect);
    let house = Plan::new(script()).tools(Toolset::new([held])).build();
    let session = house.post("go").await;
    house.saw(&session, "tool.started").await;
    let next = Plan::new(script()).tools(Toolset::new([Probe::open("Do", effect)]));
    (next, house, session)
}

#[tokio::test]
async fn a_call_that_only_looks_is_made_again() {
    let (next, house, session) = crashed_during(Effect::ReadOnly).await;
    let house = house.crash(next).await;
    house.recover().await;
    assert_eq!(house.finished(&session).await.status, RunStatus::Completed);
    assert!(house.story(&session).await.contains("tool     Do done: effect"));
    assert_eq!(house.model.requests().len(), 1, "the stored reply was asked for again");
    house.verify().await;
}

#[tokio::test]
async fn a_call_with_effects_is_not_made_again_and_says_that_nobody_knows() {
    let (next, house, session) = crashed_during(Effect::LocalMutation).await;
    let house = house.crash(next).await;
    house.recover().await;
    assert_eq!(house.finished(&session).await.status, RunStatus::Completed);
    let story = house.story(&session).await;
    assert!(story.contains("tool     Do unknown: unknown: interrupted."), "{story}");
    assert_eq!(story.matches("tool     Do").count(), 1);
    house.verify().await;
}

#[tokio::test]
async fn a_run_that_is_cut_off_again_and_again_is_given_up_and_the_mail_goes_on() {
    let (_, mut house, session) = crashed_during(Effect::ReadOnly).await;
    for _ in 0..6 {
        let (held, keeper) = Probe::gated("Do", Effect::ReadOnly);
        let script = [say("").calls([call("Do", json!({"say": "effect"}))]), say("done")];
        house = house.crash(Plan::new(script).tools(Toolset::new([held]))).await;
        house.recover().await;
        let waited = async {
            while keeper.started() == 0 {
                tokio::time::sleep(std::time::Duration::from_millis(2)).await;
            }
        };
        tokio::select! { () = waited => {}, _ = house.saw(&session, "run.completed") => {} }
    }
    let end = house.finished(&session).await;
    assert_eq!(end.status, RunStatus::Failed);
    assert!(house.story(&session).await.contains("notice   poison"));
    house.verify().await;
    house.post_to(&session, "still there?").await;
    assert_eq!(house.finished_runs(&session, 2).await.status, RunStatus::Completed);
}
