//! Wires under one runtime: many vendors at once, from one to the other, and the same bytes from turn to turn.

mod street;
mod switching;

use rooftree_protocol::{RunStatus, event::RunEnd};
use rooftree_testkit::model_server::{StreamedAnswer, say};

use street::{ANTHROPIC, CHAT, GEMINI, RESPONSES, Street, Wire};

const FILE: &str = "door.txt";

/// Thinks, says a word and reads the file.
fn reads(signature: &str) -> StreamedAnswer {
    let call = ["{\"file_path\":", " \"door.txt\"}"];
    say()
        .thinking(["Which ", "door?"], signature)
        .text(["Looking. "])
        .call("vendor_1", "Read", call)
}

fn assert_completed(end: &RunEnd, text: &str, turns: u32) {
    assert_eq!(
        (end.status, end.text.as_str(), end.turns),
        (RunStatus::Completed, text, turns),
        "{end:?}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn three_sessions_on_three_wires_of_one_catalogue_all_use_a_tool_and_complete() {
    let wires = [ANTHROPIC, RESPONSES, GEMINI];
    let mut street = Street::default();
    for wire in wires {
        street = street
            .open(
                wire,
                [reads("c2ln"), say().text(["The door ", "is green."])],
            )
            .await;
    }
    let runtime = street.plan(ANTHROPIC).build();
    std::fs::write(runtime.path().join(FILE), "a green door").unwrap();
    let mut sessions = Vec::new();
    for wire in wires {
        sessions.push(street::post_on(&runtime, wire, "Which colour is the door?").await);
    }
    for (wire, session) in wires.into_iter().zip(&sessions) {
        assert_completed(
            &runtime.wait_for_run(session).await,
            "The door is green.",
            2,
        );
        let story = runtime.transcript(session).await;
        assert!(
            story.contains("tool     Read done") && !story.contains("notice"),
            "{}:\n{story}",
            wire.name
        );
        let asked = street.server(wire).requests();
        assert_eq!(asked.len(), 2, "{}", wire.name);
        assert!(
            asked.iter().all(|asked| asked.path == wire.path),
            "{}: {}",
            wire.name,
            asked[0].path
        );
        let second = asked[1].json().to_string();
        assert!(
            second.contains("a green door") && second.contains("c2ln"),
            "{}: {second}",
            wire.name
        );
    }
    runtime.verify().await;
    runtime.close().await;
}

#[tokio::test]
async fn each_body_begins_with_the_one_before_it_on_every_wire() {
    for wire in [ANTHROPIC, RESPONSES, GEMINI, CHAT] {
        let script = [
            reads("YQ=="),
            say().text(["Green."]),
            reads("Yg=="),
            say().text(["Still green."]),
        ];
        let street = Street::default().open(wire, script).await;
        let runtime = street.plan(wire).build();
        std::fs::write(runtime.path().join(FILE), "a green door").unwrap();
        let session = runtime.post("Which colour is the door?").await;
        assert_completed(&runtime.wait_for_run(&session).await, "Green.", 2);
        runtime.post_to(&session, "Look again.").await;
        assert_completed(
            &runtime.wait_for_nth_run(&session, 2).await,
            "Still green.",
            2,
        );
        assert_grows(wire, &street);
        runtime.close().await;
    }
}

/// Asserts that every body goes on where the one before it closes its messages.
fn assert_grows(wire: Wire, street: &Street) {
    let bodies: Vec<_> = street
        .server(wire)
        .requests()
        .into_iter()
        .map(|asked| asked.body)
        .collect();
    assert_eq!(bodies.len(), 4, "{}", wire.name);
    for pair in bodies.windows(2) {
        let (shorter, longer) = (
            String::from_utf8_lossy(&pair[0]),
            String::from_utf8_lossy(&pair[1]),
        );
        let shared = shorter
            .strip_suffix("]}")
            .unwrap_or_else(|| panic!("{}: {shorter}", wire.name));
        assert!(
            longer.starts_with(shared),
            "{}:\n{longer}\ndoes not begin with\n{shared}",
            wire.name
        );
        assert!(longer.len() > shorter.len(), "{}", wire.name);
    }
}
