//! Replies as HTML: on pages of events and in streams, whole and while they are written; attacks stay text.

use std::collections::{BTreeMap, HashMap};

use rooftree_markdown::{HtmlStream, to_html};
use rooftree_protocol::{AccessScope, EventBody, MessageId};
use rooftree_testkit::{TestRuntimeBuilder, scripted::say};
use rooftree_view::{ReplyBlock, StreamFrame};
use serde_json::{Value, json};

use crate::{
    agent_server::JSON,
    api_scene::ApiScene,
    callback_server::{hear, sent},
};

/// What a model could write to get something into a page. `{` begins a template in scripts.
fn attacks() -> Vec<String> {
    let text = include_str!("../../../markdown/tests/attacks.json");
    let all: Vec<String> = serde_json::from_str(text).unwrap();
    let all = all.into_iter().filter(|attack| !attack.contains('{'));
    all.map(|attack| format!("{attack}\n\nThe **end** is open"))
        .collect()
}

/// The frames of a response in chunks.
pub fn frames(body: &str) -> Vec<StreamFrame> {
    let mut frames = Vec::new();
    let (mut name, mut id) = ("", "");
    for line in body.lines() {
        match line.split_once(": ") {
            Some(("event", text)) => (name, id) = (text, ""),
            Some(("id", text)) => id = text,
            Some(("data", text)) => frames.extend(StreamFrame::parse(name, id, text)),
            _ => {}
        }
    }
    frames
}

async fn streamed(texts: &[String], html: bool) -> (ApiScene, Vec<StreamFrame>, String) {
    let entries = texts.iter().map(|text| say(text.as_str()).chunk(3));
    let scene = ApiScene::start(TestRuntimeBuilder::new(entries)).await;
    let session = scene.opened().await;
    let request = json!({"sessions": {session.as_str(): {"after": 0, "tree": true}}, "html": html})
        .to_string();
    let bearer = format!("Authorization: Bearer {}", scene.token(AccessScope::Read));
    let headers = ["host: localhost", &bearer, JSON];
    let open = sent(
        scene.address,
        "POST /api/v1/stream",
        &headers,
        request.as_bytes(),
    )
    .await;
    let reading = tokio::spawn(hear(open));
    for number in 0..texts.len() {
        scene.runtime.post_to(&session, "go").await;
        scene.runtime.wait_for_nth_run(&session, number + 1).await;
    }
    let page = scene
        .told(
            200,
            &format!("GET /sessions/{session}/events?limit=1000&html=true"),
            None,
        )
        .await;
    scene.stop.cancel();
    let said = reading.await.unwrap();
    assert_eq!(said.status, 200, "{said:?}");
    (scene, frames(&said.body), page["html"].to_string())
}

#[tokio::test]
async fn attacks_on_the_page_stay_text_in_pages_streams_and_running_replies() {
    let texts = attacks();
    let (_scene, frames, page) = streamed(&texts, true).await;
    let rendered: Vec<String> = texts.iter().map(|text| to_html(text)).collect();
    let page: BTreeMap<u64, String> = serde_json::from_str(&page).unwrap();
    assert_eq!(page.into_values().collect::<Vec<_>>(), rendered);
    let whole = frames.iter().filter_map(|frame| match frame {
        StreamFrame::Html(html) => Some(html.html.clone()),
        _ => None,
    });
    assert_eq!(whole.collect::<Vec<_>>(), rendered);
    let blocks = frames.iter().filter_map(|frame| match frame {
        StreamFrame::Block(block) => Some(block.as_ref()),
        _ => None,
    });
    let replies: HashMap<_, _> = frames.iter().filter_map(reply).collect();
    let blocks = last_blocks(blocks);
    assert!(
        blocks.len() + 3 > texts.len(),
        "{} of {}",
        blocks.len(),
        texts.len()
    );
    for block in blocks {
        let text = replies[&block.message];
        let mut stream = HtmlStream::default();
        assert_eq!(block.html, stream.push(text), "{text}");
        assert!(
            stream.open_text().starts_with(&block.open),
            "{}",
            block.open
        );
    }
}

/// The name and the text of a whole reply.
fn reply(frame: &StreamFrame) -> Option<(MessageId, &str)> {
    match frame {
        StreamFrame::Event(event) => match &event.body {
            EventBody::MessageCompleted(reply) => {
                Some((reply.message.clone()?, reply.text.as_str()))
            }
            _ => None,
        },
        _ => None,
    }
}

/// The blocks of each reply, joined.
fn last_blocks<'a>(blocks: impl Iterator<Item = &'a ReplyBlock>) -> Vec<ReplyBlock> {
    let mut replies: Vec<ReplyBlock> = Vec::new();
    for block in blocks {
        match replies
            .last_mut()
            .filter(|reply| reply.message == block.message)
        {
            Some(reply) if block.index > 0 => {
                reply.html.push_str(&block.html);
                reply.open.clone_from(&block.open);
            }
            Some(reply) => *reply = block.clone(),
            None => replies.push(block.clone()),
        }
    }
    replies
}

#[tokio::test]
async fn a_stream_that_does_not_ask_for_html_gets_none() {
    let (scene, frames, _) = streamed(&["*one*\n\ntwo".to_owned()], false).await;
    let has_html =
        |frame: &StreamFrame| matches!(frame, StreamFrame::Html(_) | StreamFrame::Block(_));
    assert!(
        frames.len() > 3 && !frames.iter().any(has_html),
        "{frames:?}"
    );
    drop(scene);
}

#[tokio::test]
async fn a_page_of_events_has_html_only_if_it_was_asked_for() {
    let scene = ApiScene::start(TestRuntimeBuilder::new([say("*one*")])).await;
    let session = scene.opened().await;
    let page = scene
        .told(200, &format!("GET /sessions/{session}/events"), None)
        .await;
    assert_eq!(page.get("html"), None);
    let page = scene
        .told(
            200,
            &format!("GET /sessions/{session}/events?html=true"),
            None,
        )
        .await;
    assert_eq!(page["html"], Value::Object(serde_json::Map::new()));
}
