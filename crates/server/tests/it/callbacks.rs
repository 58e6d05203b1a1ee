//! Callbacks: what is taken in, what is turned away, and that neither says more than it must.

use rooftree_server::{BODY_BYTES, CallbackOutcome};
use tokio::io::AsyncWriteExt;

use crate::callback_server::{Served, head, hear};

#[tokio::test]
async fn a_callback_is_handed_on_byte_for_byte_with_its_token_and_name() {
    let served = Served::start(None, CallbackOutcome::Taken).await;
    let said = served
        .ask(
            "POST /callbacks/ses_a.q.p",
            &["Idempotency-Key: m1"],
            b"{\"text\": \"hi\"}",
        )
        .await;
    assert_eq!(
        (said.status, said.body.as_str()),
        (200, r#"{"status":"taken"}"#)
    );
    let callbacks = served.callbacks.lock().unwrap();
    assert_eq!(callbacks.len(), 1);
    assert_eq!(callbacks[0].token, "ses_a.q.p");
    assert_eq!(callbacks[0].message.as_deref(), Some("m1"));
    assert_eq!(callbacks[0].body, b"{\"text\": \"hi\"}");
}

#[tokio::test]
async fn every_receipt_has_its_status_and_repeats_nothing_of_the_body() {
    for (receipt, status) in [
        (CallbackOutcome::Taken, 200),
        (CallbackOutcome::Repeated, 200),
        (CallbackOutcome::Over, 410),
        (CallbackOutcome::Unknown, 404),
        (CallbackOutcome::TooLarge, 413),
        (CallbackOutcome::Unreadable, 400),
    ] {
        let served = Served::start(Some("sesame"), receipt).await;
        let said = served
            .ask("POST /callbacks/ses_token", &[], b"private words")
            .await;
        assert_eq!(said.status, status, "{receipt:?}");
        assert!(
            !said.body.contains("private") && !said.body.contains("ses_token"),
            "{said:?}"
        );
        assert_eq!(said.body.is_empty(), status != 200);
    }
}

#[tokio::test]
async fn a_callback_that_is_too_large_is_turned_away_announced_or_not() {
    let served = Served::start(None, CallbackOutcome::Taken).await;
    let body = vec![b'x'; BODY_BYTES + 1];
    // Not a byte of the body is needed to say no to it.
    let mut announced = served.open().await;
    announced
        .write_all(head("POST /callbacks/t", &[], body.len()).as_bytes())
        .await
        .unwrap();
    assert_eq!(hear(announced).await.status, 413);
    let mut surprising = served.open().await;
    let chunked = head("POST /callbacks/t", &["transfer-encoding: chunked"], 0);
    let chunked = chunked.replace("content-length: 0\r\n", "");
    let size = format!("{:x}\r\n", body.len());
    surprising
        .write_all(&[chunked.as_bytes(), size.as_bytes(), &body].concat())
        .await
        .unwrap();
    assert_eq!(hear(surprising).await.status, 413);
    assert!(
        served.callbacks.lock().unwrap().is_empty(),
        "neither was handed on"
    );
    assert_eq!(
        served
            .ask("POST /callbacks/t", &[], &body[1..])
            .await
            .status,
        200,
        "just not too large"
    );
}

#[tokio::test]
async fn a_callback_has_a_token_and_is_posted() {
    let served = Served::start(None, CallbackOutcome::Taken).await;
    for (line, status) in [
        ("GET /callbacks/t", 405),
        ("POST /callbacks/", 401),
        ("POST /callbacks", 401),
        ("POST /callbacks/t/more", 401),
    ] {
        assert_eq!(served.ask(line, &[], b"").await.status, status, "{line}");
    }
    assert!(served.callbacks.lock().unwrap().is_empty());
}
