//! Programs are terminated when their stream is dropped, with all child processes.

use std::{fs, time::Duration};

use futures::StreamExt;
use rooftree_process::{ProcessIdentity, is_alive};
use rooftree_providers::{Error, Provider, ReplyChunk, agent_program::CLAUDE};

use super::{
    fake::{Fake, text, user},
    recordings::CLAUDE_RECORDING,
};

const DELTA: &str = r#"echo '{"type":"stream_event","event":{"type":"content_block_delta","delta":{"type":"text_delta","text":"x"}}}'"#;

#[tokio::test]
async fn dropping_the_stream_ends_the_whole_group_even_if_it_ignores_the_polite_signal() {
    let script = format!(
        "trap '' TERM; sleep 600 & echo $$ $! >\"$here/pids\"; {DELTA}; while :; do sleep 1; done"
    );
    let fake = Fake::new(&CLAUDE, &script);
    let mut stream = fake.provider().stream(fake.request([user("hi")]));
    assert_eq!(
        stream.next().await.unwrap().unwrap(),
        ReplyChunk::Text("x".into())
    );
    let pids = fs::read_to_string(fake.path("pids")).unwrap();
    let alive: Vec<ProcessIdentity> = pids
        .split_whitespace()
        .map(|pid| ProcessIdentity::of(pid.parse().unwrap()).unwrap())
        .collect();
    assert_eq!(alive.len(), 2);
    drop(stream);
    for _ in 0..600 {
        if !alive.iter().any(|identity| is_alive(*identity)) {
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("something of the program is left");
}

#[tokio::test]
async fn a_program_that_does_not_end_after_its_answer_is_ended() {
    let script = "cat \"$here/recording\"; exec >/dev/null; sleep 600";
    let mut fake = Fake::new(&CLAUDE, script).with_recording(CLAUDE_RECORDING);
    fake.options.timeout = Duration::from_millis(10);
    let heard = fake.ask("hi").await;
    assert!(text(&heard.reply.unwrap()).ends_with("hi ✓."));
    assert!(
        heard
            .notes
            .iter()
            .any(|(_, _, message)| message.contains("did not end by itself"))
    );
}

#[tokio::test]
async fn a_program_that_says_nothing_is_taken_for_dead() {
    let mut fake = Fake::new(&CLAUDE, "sleep 600");
    fake.options.silence = Duration::from_millis(10);
    assert!(matches!(fake.ask("hi").await.reply, Err(Error::Broken(_))));
}
