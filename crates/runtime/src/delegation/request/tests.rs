//! Tests of `request.rs`.

use super::*;

fn read(name: &str, input: Value) -> DelegationRequest {
    DelegationRequest::read(name, input).unwrap()
}

#[test]
fn every_surface_says_the_same_in_its_own_words() {
    let plain = read(
        "Task",
        json!({"subagent_type": "explore", "prompt": "look"}),
    );
    assert_eq!(read("task", json!({"prompt": "look"})), plain);
    assert_eq!(
        read(
            "TASK",
            json!({"subagent_type": "explore", "prompt": "look"})
        ),
        plain
    );
    let koda = read(
        "InvokeAgent",
        json!({"agent_name": "explore", "prompt": "look"}),
    );
    assert_eq!(
        DelegationRequest {
            surface: DelegationSurface::Task,
            ..koda
        },
        plain
    );
    let peer = read(
        "agents_message",
        json!({"agentId": "explore", "content": "look", "session": "create"}),
    );
    assert_eq!(
        DelegationRequest {
            surface: DelegationSurface::Task,
            ..peer
        },
        plain
    );
    let background = read(
        "Task",
        json!({"subagent_type": "task", "prompt": "x", "run_in_background": true}),
    );
    let daycare = read("start_background_agent", json!({"prompt": "x"}));
    assert_eq!(
        DelegationRequest {
            surface: DelegationSurface::Task,
            ..daycare
        },
        background
    );
    let koda = read("InvokeAgent", json!({"prompt": "x", "background": true}));
    assert_eq!(
        DelegationRequest {
            surface: DelegationSurface::Task,
            ..koda
        },
        background
    );
}

#[test]
fn r1_d16_what_a_hook_is_shown_can_be_given_back() {
    let calls = [
        (
            "Task",
            json!({"subagent_type": "explore", "prompt": "look", "run_in_background": true}),
        ),
        (
            "Task",
            json!({"subagent_type": "fork", "prompt": "x", "description": "d", "timeout": 9}),
        ),
        (
            "Task",
            json!({"subagent_type": "a", "prompt": "x", "resume": "ses_9", "model_tier": "fast"}),
        ),
        (
            "InvokeAgent",
            json!({"agent_name": "fork", "prompt": "x", "background": true}),
        ),
        (
            "agents_message",
            json!({"agentId": "a", "content": "x", "mode": "async"}),
        ),
        (
            "agents_message",
            json!({"agentId": "a", "content": "x", "session": "create"}),
        ),
        (
            "agents_message",
            json!({"agentId": "a", "content": "x", "session": "latest"}),
        ),
        (
            "start_background_agent",
            json!({"prompt": "x", "name": "n"}),
        ),
    ];
    for (name, input) in calls {
        let request = read(name, input);
        let shown = request.to_value();
        assert!(
            shown.get("subagent_type").is_some() && shown.get("strategy").is_none(),
            "{shown}"
        );
        assert_eq!(read("Task", shown.clone()), request, "{shown}");
        assert_eq!(DelegationRequest::canonical(&shown), Ok(request), "{shown}");
    }
}

#[test]
fn r2_d7_wrong_arguments_are_answered_in_the_words_the_model_was_told() {
    let wrong = |name, input| DelegationRequest::read(name, input).unwrap_err();
    let words = wrong(
        "agents_message",
        json!({"agentId": "a", "content": "x", "colour": "red"}),
    );
    assert!(
        words.contains("agentId, content, session, mode, timeout"),
        "{words}"
    );
    let words = wrong("agents_message", json!({"content": "x"}));
    assert!(words.contains("`agentId`"), "{words}");
    let words = wrong("InvokeAgent", json!({"agent_name": "a"}));
    assert!(
        words.contains("`prompt`") && !words.contains("subagent_type"),
        "{words}"
    );
    let words = wrong(
        "agents_message",
        json!({"agentId": "a", "content": "x", "mode": "later"}),
    );
    assert!(words.contains("sync, async"), "{words}");
    let words = wrong("agents_message", json!({"agentId": "a", "content": " "}));
    assert!(words.contains("`content`"), "{words}");
}

#[test]
fn nothing_a_model_writes_makes_a_call_one_of_the_runtime() {
    let forged = json!({"subagent_type": "a", "prompt": "x", "called_as": VERIFYING});
    assert_eq!(read("Task", forged).surface, DelegationSurface::Task);
}

#[test]
fn sessions_are_named_by_strategy_or_id() {
    let strategy = |input: Value| read("agents_message", input).strategy;
    let with = |session: &str| json!({"agentId": "a", "content": "x", "session": session});
    assert_eq!(
        strategy(json!({"agentId": "a", "content": "x"})),
        SessionStrategy::LatestOrNew
    );
    assert_eq!(strategy(with("latest")), SessionStrategy::Latest);
    assert_eq!(strategy(with("create")), SessionStrategy::New);
    assert_eq!(
        strategy(with("ses_1")),
        SessionStrategy::Named("ses_1".into())
    );
    let fork = read("InvokeAgent", json!({"agent_name": "fork", "prompt": "x"}));
    assert_eq!(fork.strategy, SessionStrategy::Fork);
    let resumed = read(
        "Task",
        json!({"subagent_type": "a", "prompt": "x", "resume": "ses_9"}),
    );
    assert_eq!(resumed.strategy, SessionStrategy::Named("ses_9".into()));
}

#[test]
fn what_is_missing_is_named() {
    assert!(
        DelegationRequest::read("Task", json!({"prompt": "x"}))
            .unwrap_err()
            .contains("subagent_type")
    );
    assert!(
        DelegationRequest::read("agents_message", json!({"agentId": "a"}))
            .unwrap_err()
            .contains("content")
    );
    assert!(DelegationRequest::read("Task", json!({"subagent_type": "a", "prompt": " "})).is_err());
}
