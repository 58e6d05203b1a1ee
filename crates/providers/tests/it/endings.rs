//! Why an answer ends, on every wire.

use rooftree_protocol::event::StopReason;
use rooftree_testkit::model_server::{AnswerStop, ModelServer, say};

use crate::asking::{WIRES, ask, question};

#[tokio::test]
async fn an_answer_says_why_it_ends() {
    let table = [
        (say().text(["a"]), StopReason::End),
        (
            say().text(["a"]).stop(AnswerStop::MaxOutput),
            StopReason::MaxOutput,
        ),
        (
            say().text(["a"]).stop(AnswerStop::Refused),
            StopReason::Refused,
        ),
        (say().call("t", "Read", ["{}"]), StopReason::Calls),
    ];
    for wire in WIRES {
        let server = ModelServer::start(wire.server, table.clone().map(|(answer, _)| answer)).await;
        let model = wire.model(&server.url());
        for (_, stop) in &table {
            let reply = ask(&model, question("hi")).await.1.unwrap();
            assert_eq!(reply.stop, *stop, "{}", wire.name);
        }
    }
}
