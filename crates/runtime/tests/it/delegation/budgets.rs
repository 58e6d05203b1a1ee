//! Money over a whole tree of delegations.

use rooftree_protocol::{AgentDefinition, Limits, RunStatus};
use rooftree_providers::{catalog::ModelPrice, scripted::say};

use super::{agent, plan, task};

#[tokio::test]
async fn what_children_cost_is_counted_and_a_tree_never_costs_more_than_its_root_may() {
    let ask = || {
        say("")
            .agent("lead")
            .calls([task("helper", "a"), task("scout", "b")])
    };
    let mut plan = plan([
        ask().usage(1_000, 100),
        say("enough").agent("lead").usage(1_000, 100),
        say("from helper")
            .agent("helper")
            .usage(100_000, 10)
            .cost(0.40),
        say("from scout")
            .agent("scout")
            .usage(100_000, 10)
            .cost(0.40),
    ]);
    plan.limits.max_cost_usd = Some(1.0);
    let runtime = plan.build();
    let session = runtime.post("go").await;
    let end = runtime.wait_for_run(&session).await;
    assert_eq!(end.status, RunStatus::Completed);
    assert!(
        (end.delegated.cost_usd - 0.8).abs() < 1e-9,
        "{:?}",
        end.delegated
    );
    for child in runtime.children(&session).await {
        let events = runtime.events(&child.id).await;
        let share = events.iter().find_map(|event| match &event.body {
            rooftree_protocol::EventBody::MessageUser { message, .. } => {
                message.mandate.as_ref()?.max_cost_usd
            }
            _ => None,
        });
        assert_eq!(share, Some(0.5), "half of what was left for each of two");
    }
}

#[tokio::test]
async fn a_child_that_would_cost_more_than_its_share_ends_with_its_own_status() {
    let mut plan = plan([
        say("").agent("lead").calls([task("helper", "a")]),
        say("{{ results[0].text | first_line }}").agent("lead"),
        say("unaffordable").agent("helper"),
    ]);
    plan.price = Some(ModelPrice {
        input: 10.0,
        output: 10.0,
        cache_read: None,
        cache_write: None,
        long: None,
        search: None,
    });
    let limits = Limits {
        max_cost_usd: Some(0.000_001),
        ..Limits::default()
    };
    let runtime = plan
        .agent(AgentDefinition {
            limits,
            ..agent("helper")
        })
        .build();
    let session = runtime.post("go").await;
    let end = runtime.wait_for_run(&session).await;
    assert!(
        end.text
            .starts_with("[ERROR: sub-agent 'helper' used up its money"),
        "{}",
        end.text
    );
    let child = runtime.children(&session).await.remove(0);
    assert_eq!(
        runtime.wait_for_run(&child.id).await.status,
        RunStatus::Budget
    );
}
