//! The page folds events as `rooftree-view` does: random stories and the golden ones, after each event byte for byte.
//!
//! The stories are played once. What they tell live is also compared with what a replay of the journals tells.

mod mangled_journal;
mod mutants;
mod node_reducer;
mod played_stories;

use std::{fs, path::PathBuf, process::Command, time::Duration};

use rooftree_view::{RunTreeView, event_from_json};

use self::{
    mangled_journal::mangled,
    mutants::MUTANTS,
    node_reducer::{NodeReducer, page_scripts},
    played_stories::{Journal, Step, played},
};

/// How many stories are played.
const STORIES: u64 = 300;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_page_folds_random_stories_as_the_view_does_and_a_changed_reducer_is_noticed() {
    let stories = tokio::time::timeout(Duration::from_secs(600), played(0..STORIES)).await;
    let mut journals = stories.unwrap();
    assert!(journals.len() >= 300, "{} journals", journals.len());
    assert_varied(&journals);
    let others: Vec<Journal> = (0_u64..)
        .zip(&journals)
        .map(|(seed, one)| mangled(one, seed))
        .collect();
    journals.extend(others);
    journals.extend(golden());
    let compared = tokio::task::spawn_blocking(move || {
        let folder = page_scripts(None);
        let mut reducer = NodeReducer::start(folder.path());
        for journal in &journals {
            reducer.agrees(journal).unwrap();
        }
        assert!(reducer.finish(), "node ended with an error");
        let unnoticed: Vec<&str> = MUTANTS
            .iter()
            .filter(|mutant| {
                let folder = page_scripts(Some(mutant));
                let mut reducer = NodeReducer::start(folder.path());
                journals
                    .iter()
                    .rev()
                    .all(|journal| reducer.agrees(journal).is_ok())
            })
            .map(|mutant| mutant.from)
            .collect();
        assert!(
            unnoticed.is_empty(),
            "no journal notices changes of {unnoticed:#?}"
        );
    });
    compared.await.unwrap();
}

#[test]
fn the_page_diffs_texts_so_that_one_leads_to_the_other() {
    let folder = page_scripts(None);
    let test = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/node/diff_test.js");
    let test_copy = folder.path().join("diff_test.js");
    fs::copy(test, &test_copy).unwrap();
    let ended = Command::new("node")
        .arg(test_copy)
        .arg(folder.path())
        .output()
        .unwrap_or_else(|error| panic!("node cannot be started ({error}): apt-get install nodejs"));
    assert!(
        ended.status.success(),
        "{}",
        String::from_utf8_lossy(&ended.stderr)
    );
}

/// The stories hold what they are there for.
fn assert_varied(journals: &[Journal]) {
    let count = |name: &str| {
        let steps = journals.iter().flat_map(|journal| &journal.steps);
        steps
            .filter(|step| match step {
                Step::Event(event) => event.body.name() == name,
                Step::Snapshot(_) => name == "snapshot",
                Step::Meta(_) => false,
            })
            .count()
    };
    let wanted = [
        "snapshot",
        "message.delta",
        "thinking.delta",
        "permission.requested",
        "permission.resolved",
        "question.requested",
        "question.answered",
        "run.waiting",
        "run.resumed",
        "run.verified",
        "context.compacted",
        "session.cleared",
        "session.updated",
        "permission.mode",
        "todo.updated",
        "inbox.queued",
        "context.usage",
        "notice",
    ];
    let counts: Vec<(&str, usize)> = wanted.iter().map(|name| (*name, count(name))).collect();
    assert!(counts.iter().all(|(_, count)| *count >= 10), "{counts:?}");
}

/// The stories that the tests of the view are held to.
fn golden() -> Vec<Journal> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../view/golden");
    let mut journals = Vec::new();
    for file in fs::read_dir(folder).unwrap() {
        let path = file.unwrap().path();
        if path.extension().is_some_and(|ending| ending == "jsonl") {
            let text = fs::read_to_string(path).unwrap();
            let events: Vec<_> = text.lines().filter_map(event_from_json).collect();
            journals.push(Journal {
                root: events[0].session.clone(),
                steps: events
                    .into_iter()
                    .map(|event| Step::Event(Box::new(event)))
                    .collect(),
            });
        }
    }
    assert!(journals.len() >= 15, "{} golden stories", journals.len());
    journals
}

/// Takes a step of a journal in.
fn apply(tree: &mut RunTreeView, step: &Step) {
    match step {
        Step::Event(event) => drop(tree.apply(event)),
        Step::Snapshot(snapshot) => tree.apply_snapshot(snapshot),
        Step::Meta(meta) => tree.apply_meta(meta),
    }
}
