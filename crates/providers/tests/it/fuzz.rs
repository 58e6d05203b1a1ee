//! Mangled streams at every decoder: never a panic, never a hang, and the same however the bytes arrive.

use std::sync::{Arc, Mutex};

use rooftree_providers::sse::SseDecoder;
use rooftree_testkit::{
    fuzz,
    model_server::{AnswerBlock, ModelServer, say},
};

use crate::asking::{WIRES, ask, question};

const WORDS: [&str; 14] = [
    "data: ",
    "event: ",
    "\n\n",
    "\r\n\r\n",
    "data: [DONE]\n\n",
    "id: 1\n",
    ": ping\n\n",
    "retry: 1\n",
    "{\"type\":\"error\"}",
    "\"index\":4294967296",
    "\"delta\":null",
    "\"content\":[]",
    "1e999",
    "\\ud800",
];

fn said() -> Vec<Vec<u8>> {
    let answer = say()
        .thinking(["Hm…"], "c2ln")
        .text(["Grüße, ", "木🏠"])
        .call("t1", "Read", ["{\"path\":\"ä\"}"]);
    WIRES
        .iter()
        .map(|wire| (wire.server.frames)(&answer).concat().into_bytes())
        .collect()
}

#[test]
fn fuzz_the_sse_decoder() {
    let seeds = said();
    let seeds: Vec<&[u8]> = seeds.iter().map(Vec::as_slice).collect();
    fuzz::run(&seeds, &WORDS, |input| {
        let mut whole = SseDecoder::with_limit(8 * 1024);
        let at_once = whole.push(input);
        let mut bytewise = SseDecoder::with_limit(8 * 1024);
        let one_by_one: Result<Vec<_>, _> =
            input.iter().map(|byte| bytewise.push(&[*byte])).collect();
        if let (Ok(at_once), Ok(one_by_one)) = (at_once, one_by_one) {
            let one_by_one: Vec<_> = one_by_one.into_iter().flatten().collect();
            assert_eq!(format!("{at_once:?}"), format!("{one_by_one:?}"));
        }
    });
}

#[test]
fn fuzz_the_streams_of_every_wire() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let next = Arc::new(Mutex::new(String::new()));
    let servers: Vec<_> = WIRES
        .iter()
        .map(|wire| {
            let next = next.clone();
            let answer = move |_: &_| {
                say()
                    .block(AnswerBlock::Frame(next.lock().unwrap().clone()))
                    .without_end()
                    .into()
            };
            let server = runtime.block_on(ModelServer::start_with(wire.server, answer));
            let model = wire.model(&server.url());
            (server, model)
        })
        .collect();
    let seeds = said();
    let seeds: Vec<&[u8]> = seeds.iter().map(Vec::as_slice).collect();
    fuzz::run(&seeds, &WORDS, |input| {
        *next.lock().unwrap() = String::from_utf8_lossy(input).into_owned();
        for (_, model) in &servers {
            let _ = runtime.block_on(ask(model, question("hi")));
        }
    });
}
