//! Failures: each of its own kind, used up attempt by attempt, then the reply.

use std::time::Duration;

use rooftree_providers::{
    Error, ReplyChunk,
    scripted::{ScriptedFailureKind, ScriptedModel, fail, say},
};

use crate::conversation::{script, text, with};

#[tokio::test]
async fn every_failure_is_typed_by_what_one_can_do() {
    let table = [
        (
            "error = 'rate_limit'\nretry_after = '2s'",
            Error::RateLimited {
                retry_after: Some(Duration::from_secs(2)),
            },
        ),
        (
            "error = 'overloaded'",
            Error::Overloaded { retry_after: None },
        ),
        ("error = 'too_long'", Error::TooLong { limit: Some(8000) }),
        (
            "error = 'too_long'\nlimit = 10",
            Error::TooLong { limit: Some(10) },
        ),
        (
            "error = 'unauthorized'\nmessage = 'no key'",
            Error::Unauthorized("no key".into()),
        ),
        (
            "error = 'refused'\nmessage = 'no'",
            Error::Refused("no".into()),
        ),
        (
            "error = 'broken'\nmessage = 'reset'",
            Error::Broken("reset".into()),
        ),
    ];
    for (entry, error) in table {
        let model = script(&format!("[script]\nwindow = 8000\n[[reply]]\n{entry}"));
        assert_eq!(
            with("lead").user("hi").chunks(&model).await,
            [Err(error)],
            "{entry}"
        );
    }
}

#[tokio::test]
async fn failures_are_used_up_by_attempts_before_the_reply_of_the_same_turn() {
    let model = script(
        "[[reply]]\ntext = 'one'\n[[reply]]\nerror = 'rate_limit'\ntimes = 2\n[[reply]]\nerror = 'broken'\n\
         [[reply]]\ntext = 'two'",
    );
    let talk = with("lead").user("hi").go_on(&model).await.user("more");
    let mut seen = Vec::new();
    for attempt in [0, 1, 2, 3, 0] {
        seen.push(match talk.clone().attempt(attempt).ask(&model).await {
            Ok(reply) => text(&reply),
            Err(error) => error.to_string(),
        });
    }
    let slow = "the provider asks to slow down";
    assert_eq!(
        seen,
        [
            slow,
            slow,
            "the answer broke off: as script test.toml says",
            "two",
            slow
        ]
    );
}

#[tokio::test]
async fn a_failure_on_a_match_is_followed_by_the_usual_reply() {
    let model = ScriptedModel::from_replies([
        say("usual"),
        fail(ScriptedFailureKind::Overloaded).matching("hi"),
    ])
    .unwrap();
    let talk = with("lead").user("hi");
    assert_eq!(
        talk.ask(&model).await,
        Err(Error::Overloaded { retry_after: None })
    );
    assert_eq!(talk.attempt(1).hear(&model).await, "usual");
}

#[tokio::test]
async fn a_cut_stream_ends_in_the_middle_without_a_reply() {
    let pieces = |chunks: Vec<Result<ReplyChunk, Error>>| -> Vec<String> {
        let text = |chunk: Result<ReplyChunk, Error>| match chunk.unwrap() {
            ReplyChunk::Text(text) => text,
            other => panic!("{other:?}"),
        };
        chunks.into_iter().map(text).collect()
    };
    let table = [
        ("cut_after = 5\ntext = 'abcdefgh'", vec!["abc", "de"]),
        ("cut_after = 0\ntext = 'abcdefgh'", vec![]),
        ("text = 'abcdefgh'", vec!["abc", "d"]),
        ("cut_after = 4", vec!["the", " "]),
        ("cut_after = 99", vec!["the", " re", "ply"]),
    ];
    for (entry, expected) in table {
        let text = format!(
            "[script]\nchunk = 3\n[[reply]]\nerror = 'cut'\n{entry}\n[[reply]]\ntext = 'the reply'"
        );
        let model = script(&text);
        let talk = with("lead").user("hi");
        assert_eq!(pieces(talk.chunks(&model).await), expected, "{entry}");
        assert_eq!(talk.attempt(1).hear(&model).await, "the reply");
    }
}
