//! Selection of the scripted entry: by agent, turn, opening and last message, and never by stored state.

use rooftree_providers::scripted::{ScriptedModel, call, say};
use serde_json::json;

use crate::conversation::{script, with};

#[tokio::test]
async fn replies_come_in_order_and_depend_only_on_the_request() {
    let text = "[[reply]]\ntext = 'one'\n[[reply]]\ntext = 'two'";
    let model = script(text);
    let second = with("lead").user("go").said("one").user("on");
    assert_eq!(
        second.hear(&model).await,
        "two",
        "a later turn may be asked for first"
    );
    assert_eq!(with("lead").user("go").hear(&model).await, "one");
    assert_eq!(
        with("lead").user("go").hear(&model).await,
        "one",
        "asking again changes nothing"
    );
    let after_restart = script(text);
    assert_eq!(
        second.ask(&after_restart).await.unwrap(),
        second.ask(&model).await.unwrap()
    );
}

#[tokio::test]
async fn an_agent_gets_its_own_entries_before_those_for_anyone() {
    let model = script(
        "[[reply]]\ntext = 'anyone 1'\n[[reply]]\ntext = 'anyone 2'\n[[reply]]\nagent = 'Lead'\ntext = 'lead 1'",
    );
    assert_eq!(with("lead").user("?").hear(&model).await, "lead 1");
    assert_eq!(
        with("lead")
            .user("?")
            .said("lead 1")
            .user("?")
            .hear(&model)
            .await,
        "anyone 2"
    );
    assert_eq!(with("explore").user("?").hear(&model).await, "anyone 1");
}

#[tokio::test]
async fn an_opening_is_answered_as_often_as_it_comes() {
    let model = script(
        r#"
        [[reply]]
        on = "weather"
        text = "looking"
        [[reply.call]]
        tool = "Look"
        [[reply]]
        on = "weather"
        text = "It is {{ last.text }} (turn {{ turn }})."
        [[reply]]
        on = "^bye"
        text = "Bye."
        "#,
    );
    let mut talk = with("lead");
    for weather in ["dry", "wet", "cold"] {
        talk = talk
            .user("How is the weather?")
            .go_on(&model)
            .await
            .results(&[weather]);
        assert_eq!(
            talk.hear(&model).await,
            format!("It is {weather} (turn 2).")
        );
        talk = talk.go_on(&model).await;
    }
    assert_eq!(talk.user("bye").hear(&model).await, "Bye.");
}

#[tokio::test]
async fn a_message_in_between_that_opens_nothing_joins_the_exchange() {
    let model = script(
        r#"
        [[reply]]
        on = "review"
        text = "reading"
        [[reply.call]]
        tool = "Read"
        [[reply]]
        on = "review"
        text = "You said {{ user.text }}."
        "#,
    );
    let talk = with("lead")
        .user("review it")
        .go_on(&model)
        .await
        .results(&["code"])
        .user("be quick");
    assert_eq!(talk.hear(&model).await, "You said be quick.");
}

#[tokio::test]
async fn a_match_on_the_last_message_comes_before_the_order() {
    let model = script(
        r#"
        [[reply]]
        text = "first"
        times = 9
        [[reply]]
        match = "(?i)denied"
        times = 1
        text = "Why not?"
        [[reply]]
        match = "(?i)denied"
        times = 2
        text = "Still not?"
        [[reply]]
        agent = "other"
        match = "."
        text = "not for lead"
        "#,
    );
    let mut talk = with("lead").user("go");
    let mut heard = Vec::new();
    for message in ["denied", "Denied", "DENIED", "denied", "fine"] {
        heard.push(talk.hear(&model).await);
        talk = talk.go_on(&model).await.user(message);
    }
    heard.push(talk.hear(&model).await);
    assert_eq!(
        heard,
        [
            "first",
            "Why not?",
            "Still not?",
            "Still not?",
            "first",
            "first"
        ]
    );
}

#[tokio::test]
async fn a_match_sees_all_results_of_a_turn() {
    let model = script(
        "[[reply]]\n[[reply.call]]\ntool = 'A'\n[[reply.call]]\ntool = 'B'\n\
         [[reply]]\nmatch = 'beta'\ntext = 'seen'\n[[reply]]\nturn = 2\ntext = 'not seen'",
    );
    let asked = with("lead").user("go").go_on(&model).await;
    assert_eq!(
        asked.clone().results(&["alpha", "beta"]).hear(&model).await,
        "seen"
    );
    assert_eq!(
        asked.results(&["alpha", "gamma"]).hear(&model).await,
        "not seen"
    );
}

#[tokio::test]
async fn entries_written_in_rust_play_like_those_of_a_file() {
    let model = ScriptedModel::from_replies([
        say("Let me look.").calls([call(
            "Read",
            json!({"file_path": "{{ user.text }}", "limit": 3}),
        )]),
        say("It says {{ results[0].text }}.").usage(7, 8),
    ])
    .unwrap();
    let talk = with("lead")
        .user("a.txt")
        .go_on(&model)
        .await
        .results(&["hello"]);
    let reply = talk.ask(&model).await.unwrap();
    assert_eq!(crate::conversation::text(&reply), "It says hello.");
    assert_eq!((reply.usage.input, reply.usage.output), (7, 8));
    let seen = model.clone().requests();
    assert_eq!(
        seen.iter()
            .map(|request| request.messages.len())
            .collect::<Vec<_>>(),
        [1, 3]
    );
}
