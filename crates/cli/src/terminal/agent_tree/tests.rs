//! Tests of the drawn agent tree, and the made-up events that tests of other files use too.

use rooftree_protocol::{
    ErrorCode, Event, EventBody, MessageId, ParentCall, Problem, RunId, SessionId, Usage,
    event::RunEnd,
};

use super::*;

pub fn event(tail: u128, body: EventBody) -> Event {
    Event {
        v: 1,
        id: None,
        ts: Timestamp(1_000),
        session: SessionId::from_entropy(tail),
        run: Some(RunId::from_entropy(tail)),
        parent_run: None,
        agent: format!("agent{tail}"),
        who: None,
        body,
    }
}

/// A run that another one delegated; 0 is the first one.
pub fn begins(tail: u128, parent: u128, mode: RunMode) -> Event {
    let body = EventBody::RunStarted {
        mode,
        message: MessageId::from_entropy(tail),
        model: "demo/script".into(),
        title: "look".into(),
        depth: 1,
        parent: Some(ParentCall {
            session: SessionId::from_entropy(parent),
            run: RunId::from_entropy(parent),
            call: CallId::from_entropy(tail),
        }),
        policy: None,
        bounds: None,
        surroundings: None,
    };
    event(tail, body)
}

pub fn ends(tail: u128, status: RunStatus, text: &str) -> Event {
    let error =
        (status == RunStatus::Failed).then(|| Problem::new(ErrorCode::Internal, "it broke"));
    let end = RunEnd {
        text: text.into(),
        turns: 2,
        calls: 1,
        usage: Usage {
            input: 900,
            output: 100,
            ..Usage::none()
        },
        duration_ms: 1_200,
        error,
        ..RunEnd::new(status)
    };
    event(tail, EventBody::RunCompleted(end))
}

const CANVAS: TreeLayout = TreeLayout {
    spinner: "◌",
    now: Timestamp(13_000),
    columns: 80,
};

fn drawn(agents: &RunTreeView, call: u128, columns: usize) -> Vec<String> {
    let canvas = TreeLayout { columns, ..CANVAS };
    of_calls(agents, [CallId::from_entropy(call)].iter(), canvas)
        .iter()
        .map(|line| line.paint(false).trim_end().to_owned())
        .collect()
}

fn family() -> RunTreeView {
    let mut agents = RunTreeView::default();
    agents.apply(&begins(1, 0, RunMode::Parallel));
    agents.apply(&begins(2, 1, RunMode::Foreground));
    agents.apply(&begins(3, 1, RunMode::Background));
    agents.apply(&ends(2, RunStatus::Completed, "three issues"));
    agents
}

#[test]
fn those_below_hang_from_the_one_who_asked() {
    assert_eq!(
        drawn(&family(), 1, 80),
        [
            "  └─ ◌ agent1     demo/script  look                             12.0 s",
            "     ├─ ✓ agent2  demo/script  three issues                      1.2 s  1.0k tok",
            "     └─ ◌ agent3  demo/script  bg · look                        12.0 s",
        ]
    );
}

#[test]
fn no_line_is_wider_than_the_terminal_and_the_name_stays() {
    for columns in [20, 30, 40, 60, 120] {
        let canvas = TreeLayout { columns, ..CANVAS };
        for line in of_calls(&family(), [CallId::from_entropy(1)].iter(), canvas) {
            assert!(line.width() <= columns, "{}", line.paint(false));
            assert!(line.paint(false).contains("agent"), "{}", line.paint(false));
        }
    }
    assert!(
        !drawn(&family(), 1, 50)
            .iter()
            .any(|line| line.contains("demo/script")),
        "the model goes first"
    );
}

#[test]
fn each_agent_has_one_line_for_its_beginning_and_one_for_its_end() {
    let mut agents = RunTreeView::default();
    agents.apply(&begins(1, 0, RunMode::Background));
    agents.apply(&ends(1, RunStatus::Failed, ""));
    let agent = &agents.runs()[0];
    assert_eq!(
        began(agent).paint(false),
        "◌ agent1 demo/script  look  (background)"
    );
    assert_eq!(
        ended("", agent).paint(false),
        "✗ agent1 demo/script  failed: it broke · 2 turns · 1 tool · 1.2 s · 1.0k tok"
    );
}

#[test]
fn n_6_a_local_model_reads_so_many_tokens_until_its_first_word() {
    let mut tree = RunTreeView::default();
    tree.apply(&begins(1, 0, RunMode::Foreground));
    let usage = |reading| EventBody::ContextUsage {
        used: 5_000,
        limit: 8_192,
        reading,
    };
    let mut doing_after = |body: EventBody| {
        tree.apply(&event(1, body));
        tree.runs().last().map(doing).unwrap_or_default()
    };
    assert_eq!(doing_after(usage(Some(4_130))), "reading 4.1k tokens");
    assert_eq!(doing_after(usage(None)), "thinking");
    let text = EventBody::MessageDelta {
        text: "a".into(),
        place: None,
    };
    assert_eq!(doing_after(text), "answering");
    assert_eq!(doing_after(usage(None)), "answering");
}
