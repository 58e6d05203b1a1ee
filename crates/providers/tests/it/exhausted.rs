//! A script that runs out says so loudly and says what would have helped.

use rooftree_protocol::ErrorCode;
use rooftree_providers::Error;

use crate::conversation::{script, with};

#[tokio::test]
async fn a_script_without_an_answer_names_everything_needed_to_add_one() {
    let model = script(
        "[[reply]]\nagent = 'lead'\ntext = 'one'\n[[reply]]\nagent = 'lead'\non = 'hi'\ntext = 'two'",
    );
    let talk = with("lead")
        .user("Good day.")
        .go_on(&model)
        .await
        .user("What is \"next\"?");
    let error = talk.ask(&model).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "script test.toml has no reply for agent `lead` at turn 2\n\
         last message (user message): \"What is \\\"next\\\"?\"\n\
         its replies end at turn 1; none of 1 with `on` or `match` fits\n\
         this entry would answer:\n\
         \n\
         [[reply]]\n\
         agent = \"lead\"\n\
         turn = 2\n\
         text = \"…\""
    );
    assert!(!error.is_retryable());
    assert_eq!(error.problem().code, ErrorCode::ScriptExhausted);
}

#[tokio::test]
async fn the_message_fits_what_the_script_lacks() {
    let table = [
        (
            "[[reply]]\nagent = 'lead'\ntext = 'one'",
            0,
            "the script has replies only for: lead",
        ),
        (
            "[[reply]]\nmatch = 'x'\ntext = 'one'",
            0,
            "none of its 1 replies with `on` or `match` fits",
        ),
        (
            "[[reply]]\nerror = 'broken'",
            1,
            "at turn 1, after 1 failed attempts",
        ),
        (
            "[[reply]]\nerror = 'broken'",
            1,
            "the script has no replies",
        ),
    ];
    for (text, attempt, message) in table {
        let talk = with("explore").user(&"long ".repeat(100)).attempt(attempt);
        let Err(Error::Exhausted(said)) = talk.ask(&script(text)).await else {
            panic!("{text}")
        };
        assert!(said.contains(message), "{text}\n{said}");
        assert!(
            said.lines().all(|line| line.chars().count() < 200),
            "the message is cut: {said}"
        );
    }
}

#[tokio::test]
async fn the_proposed_entry_answers_the_request() {
    let text = "[[reply]]\ntext = 'one'";
    let talk = with("lead").user("a").said("one").user("b");
    let Err(Error::Exhausted(said)) = talk.ask(&script(text)).await else {
        panic!("it has an answer")
    };
    let (_, entry) = said.split_once("\n\n").unwrap();
    assert_eq!(talk.hear(&script(&format!("{text}\n{entry}"))).await, "…");
}
