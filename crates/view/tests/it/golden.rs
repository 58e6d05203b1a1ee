//! Golden files: stories of the real runtime, and the state that the fold gives at marked points of each.
//!
//! `ROOFTREE_BLESS=1` writes them anew. A client in another language is held to the same files.

use std::{fs, path::PathBuf};

use rooftree_protocol::{EventBody, Outcome, RunStatus};
use rooftree_testkit::stories::STORIES;
use rooftree_view::{RunTreeView, event_from_json};

fn path(name: &str, ending: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(format!("golden/{name}.{ending}"))
}

fn is_blessed() -> bool {
    std::env::var_os("ROOFTREE_BLESS").is_some_and(|bless| bless == "1")
}

/// Compares a text with a file, or writes it there.
fn assert_golden(name: &str, ending: &str, text: &str) {
    let file = path(name, ending);
    if is_blessed() {
        fs::write(&file, text).unwrap();
    }
    let expected = fs::read_to_string(&file).unwrap_or_default();
    for (number, (is, should)) in text.lines().zip(expected.lines()).enumerate() {
        assert_eq!(is, should, "{name}.{ending}, line {}", number + 1);
    }
    assert_eq!(
        text.lines().count(),
        expected.lines().count(),
        "{name}.{ending} has another length; ROOFTREE_BLESS=1 writes it anew"
    );
}

/// Points at which a state is written down: a first piece of text, a wait, an end, a cleared context.
fn is_marked(body: &EventBody, before: &RunTreeView) -> bool {
    match body {
        EventBody::MessageDelta { .. } => before
            .runs()
            .iter()
            .all(|run| run.reply.streamed.is_empty()),
        EventBody::RunWaiting { .. }
        | EventBody::RunCompleted(_)
        | EventBody::RunVerified(_)
        | EventBody::TodoUpdated { .. }
        | EventBody::SessionCleared { .. }
        | EventBody::ToolStarted { .. } => true,
        _ => false,
    }
}

/// The states of a story, as a JSON array of one line each: the number of events before it, and the state.
fn states(story: &str) -> String {
    let mut tree = RunTreeView::default();
    let mut lines = Vec::new();
    let mut deltas = 0;
    for (number, line) in story.lines().enumerate() {
        let event = event_from_json(line).unwrap();
        if number == 0 {
            tree.set_root(&event.session);
        }
        let mut is_marked = is_marked(&event.body, &tree);
        if matches!(event.body, EventBody::MessageDelta { .. }) {
            deltas += usize::from(is_marked);
            is_marked &= deltas == 1;
        }
        tree.apply(&event);
        if is_marked {
            let (after, state) = (number + 1, tree.to_canonical_json());
            lines.push(format!("{{\"after\":{after},\"state\":{state}}}"));
        }
    }
    format!("[\n{}\n]\n", lines.join(",\n"))
}

#[tokio::test]
async fn the_runtime_still_tells_these_stories() {
    for story in STORIES {
        let events = (story.play)().await;
        assert_golden(story.name, "jsonl", &events);
        if is_blessed() {
            assert_golden(story.name, "json", &states(&events));
        }
    }
}

#[test]
fn the_fold_of_each_story_is_as_it_was() {
    if is_blessed() {
        return;
    }
    for story in STORIES {
        let events = fs::read_to_string(path(story.name, "jsonl")).unwrap();
        assert_golden(story.name, "json", &states(&events));
    }
}

/// What a story is there to show is in its last state.
#[test]
fn each_story_shows_what_its_name_says() {
    if is_blessed() {
        return;
    }
    let shown = |name: &str| {
        let events = fs::read_to_string(path(name, "jsonl")).unwrap();
        let mut tree = RunTreeView::default();
        for event in events.lines().filter_map(event_from_json) {
            tree.apply(&event);
        }
        tree
    };
    type Shown = fn(&RunTreeView) -> bool;
    let table: [(&str, Shown); 15] = [
        ("foreground", |tree| tree.runs().len() == 2),
        ("parallel", |tree| tree.runs().len() == 3),
        ("background", |tree| {
            tree.runs_in(&tree.sessions()[0].session).count() == 2
        }),
        ("fork", |tree| tree.sessions()[1].forked_from.is_some()),
        ("permission", |tree| tree.runs()[1].log.waits.len() == 2),
        ("cleared", |tree| tree.sessions()[0].clears == 1),
        ("compacted", |tree| {
            tree.sessions()[0].compactions == 1 && tree.runs()[1].text() == "Teal."
        }),
        ("truncated", |tree| {
            tree.runs()[0].text().starts_with("One, two, three")
        }),
        ("failed", |tree| {
            tree.runs()[1].status() == Some(RunStatus::Failed)
        }),
        ("cancelled", |tree| {
            tree.runs()[1].status() == Some(RunStatus::Cancelled)
        }),
        ("recovered", |tree| {
            tree.runs()[0].log.finished[0].outcome == Some(Outcome::Unknown)
        }),
        ("retried", |tree| tree.runs()[0].log.waits.len() == 1),
        ("steered", |tree| tree.runs().len() == 1),
        ("refuted", |tree| tree.runs()[0].verified() == Some(false)),
        ("todos", |tree| tree.sessions()[0].todos.len() == 2),
    ];
    for (name, is_shown) in table {
        let tree = shown(name);
        assert!(is_shown(&tree), "{name}: {}", tree.to_canonical_json());
        assert!(tree.inquiries().is_empty(), "{name}: all was answered");
        assert!(tree.runs().iter().all(|run| run.has_ended()), "{name}");
    }
}
