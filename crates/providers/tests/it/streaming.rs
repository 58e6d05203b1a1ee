//! Streaming of scripted answers: in pieces, with pauses, and never after the stream is dropped.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use futures::{FutureExt, StreamExt};
use rooftree_protocol::event::{ReplyPart, StopReason};
use rooftree_providers::{
    Provider, ReplyChunk,
    scripted::{ScriptedModel, SleepFn},
};

use crate::conversation::{script, with};

/// Writes down every pause and lets it be over at once.
fn noting() -> (SleepFn, Arc<Mutex<Vec<u128>>>) {
    let pauses: Arc<Mutex<Vec<u128>>> = Arc::default();
    let noted = Arc::clone(&pauses);
    let sleeper: SleepFn = Arc::new(move |pause: Duration| {
        noted.lock().unwrap().push(pause.as_millis());
        Box::pin(std::future::ready(()))
    });
    (sleeper, pauses)
}

#[tokio::test]
async fn deltas_add_up_to_the_reply_that_ends_the_stream() {
    let model = script(
        r#"
        [script]
        chunk = 4
        [[reply]]
        thinking = "hm, hm"
        signature = "sig"
        text = "Grüße, 木木! 🏠"
        [[reply.call]]
        tool = "Read"
        input = { file_path = "a" }
        [[reply.call]]
        tool = "Read"
        input = { file_path = "b" }
        "#,
    );
    let chunks: Vec<ReplyChunk> = with("lead")
        .user("hi")
        .chunks(&model)
        .await
        .into_iter()
        .map(|chunk| chunk.unwrap())
        .collect();
    let (mut text, mut thinking) = (Vec::new(), Vec::new());
    for chunk in &chunks {
        match chunk {
            ReplyChunk::Text(piece) => text.push(piece.as_str()),
            ReplyChunk::Thinking(piece) => thinking.push(piece.as_str()),
            ReplyChunk::ToolInput { .. } | ReplyChunk::Note { .. } | ReplyChunk::Reply(_) => {}
        }
    }
    assert_eq!(thinking, ["hm, ", "hm"]);
    assert_eq!(text, ["Grüß", "e, 木", "木! 🏠"]);
    let Some(ReplyChunk::Reply(reply)) = chunks.last() else {
        panic!("no reply at the end")
    };
    assert_eq!(reply.stop, StopReason::Calls);
    assert_eq!(reply.request.as_deref(), Some("test.toml:4:9"));
    let [
        ReplyPart::Thinking { signature, .. },
        ReplyPart::Text { .. },
        ReplyPart::Call(a),
        ReplyPart::Call(b),
    ] = reply.parts.as_slice()
    else {
        panic!("{:?}", reply.parts)
    };
    assert_eq!(signature.as_deref(), Some("sig"));
    assert_ne!(a.id, b.id);
}

#[tokio::test]
async fn pauses_come_before_the_first_delta_and_between_deltas() {
    let (sleeper, pauses) = noting();
    let text = "[script]\nchunk = 2\npace = '15ms'\n[[reply]]\ndelay = '2s'\ntext = 'abcdef'\n\
                [[reply]]\npace = '0s'\ntext = 'abcdef'";
    let model = ScriptedModel::from_text("test.toml", text, sleeper).unwrap();
    let first = with("lead").user("hi");
    assert_eq!(first.chunks(&model).await.len(), 4);
    assert_eq!(*pauses.lock().unwrap(), [2000, 15, 15]);
    first.said("abcdef").user("again").chunks(&model).await;
    assert_eq!(
        pauses.lock().unwrap().len(),
        3,
        "a pause of no length is none"
    );
}

#[test]
fn a_reply_without_pauses_is_there_at_once() {
    let model = script("[script]\nchunk = 1\n[[reply]]\ntext = 'no timer, no executor'");
    let chunks = with("lead").user("hi").chunks(&model).now_or_never();
    assert_eq!(chunks.map(|chunks| chunks.len()), Some(22));
}

#[tokio::test]
async fn a_dropped_stream_drops_its_pause() {
    let pending = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&pending);
    let sleeper: SleepFn = Arc::new(move |_| {
        count.fetch_add(1, Ordering::SeqCst);
        let guard = Guard(Arc::clone(&count));
        Box::pin(async move {
            let _guard = guard;
            std::future::pending::<()>().await;
        })
    });
    let text = "[script]\nchunk = 1\npace = '1h'\n[[reply]]\ntext = 'abc'";
    let model = ScriptedModel::from_text("test.toml", text, sleeper).unwrap();
    let mut stream = model.stream(with("lead").user("hi").request());
    assert_eq!(stream.next().await, Some(Ok(ReplyChunk::Text("a".into()))));
    assert!(stream.next().now_or_never().is_none(), "it waits");
    assert_eq!(pending.load(Ordering::SeqCst), 1);
    drop(stream);
    assert_eq!(pending.load(Ordering::SeqCst), 0);
}

struct Guard(Arc<AtomicUsize>);

impl Drop for Guard {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

#[tokio::test]
async fn usage_is_what_the_script_says_and_else_estimated() {
    let model = script(
        "[script]\nusage = { cache_read = 5 }\n[[reply]]\nthinking = '12345678'\ntext = 'abcd'\n\
         [[reply]]\ntext = 'x'\nstop = 'max_output'\nusage = { input = 900, cost_usd = 0.5 }",
    );
    let talk = with("lead").user("a question of 24 letters");
    let estimated = talk.ask(&model).await.unwrap().usage;
    let words = "You are a test.".len() + "a question of 24 letters".len();
    assert_eq!(estimated.input, words.div_ceil(4) as u64);
    assert_eq!(
        (estimated.output, estimated.reasoning, estimated.cache_read),
        (3, 2, 5)
    );
    assert!(estimated.cost_complete && estimated.cost_usd == 0.0);
    let given = talk.said("abcd").user("more").ask(&model).await.unwrap();
    assert_eq!(
        (given.usage.input, given.usage.output, given.stop),
        (900, 1, StopReason::MaxOutput)
    );
    assert!(given.usage.cost_usd > 0.4);
}
