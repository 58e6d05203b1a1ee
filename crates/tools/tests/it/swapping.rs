//! Somebody puts a link where a directory was, between the judging of a call and its making.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    thread::JoinHandle,
};

use rooftree_protocol::PermissionMode;
use rooftree_tools::PermissionRule;
use rustix::fs::{CWD, Mode, OFlags, RenameFlags, openat, renameat_with};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::desk::Desk;

const SECRET: &str = "TOP-SECRET";

/// A desk whose `dir` can become a link to a directory outside that holds files of the same names.
struct Arena {
    desk: Desk,
    outside: TempDir,
}

impl Arena {
    fn new() -> Self {
        let (mut desk, outside) = (Desk::new(), tempfile::tempdir().unwrap());
        for name in [
            "read.txt",
            "write.txt",
            "edit.txt",
            "delete.txt",
            "tree/a.txt",
        ] {
            desk.put(&format!("dir/{name}"), "inside one\n");
            let other = outside.path().join(name);
            fs::create_dir_all(other.parent().unwrap()).unwrap();
            fs::write(other, format!("{SECRET} one\n")).unwrap();
        }
        fs::write(outside.path().join("canary-name"), SECRET).unwrap();
        std::os::unix::fs::symlink(outside.path(), desk.path("link")).unwrap();
        desk.policy.mode = PermissionMode::AcceptEdits;
        desk.policy
            .allow
            .push(PermissionRule::parse("Delete(dir/**)").unwrap());
        desk.deny(&format!(
            "Read({}/**)",
            fs::canonicalize(outside.path()).unwrap().display()
        ));
        Self { desk, outside }
    }

    fn snapshot(&self) -> Vec<(PathBuf, String)> {
        let mut files = Vec::new();
        collect(self.outside.path(), &mut files);
        files.sort();
        files
    }
}

fn collect(directory: &Path, files: &mut Vec<(PathBuf, String)>) {
    for entry in fs::read_dir(directory).unwrap().flatten() {
        match entry.file_type().unwrap().is_dir() {
            true => collect(&entry.path(), files),
            false => files.push((entry.path(), fs::read_to_string(entry.path()).unwrap())),
        }
    }
}

/// The directory becomes the link and the link the directory, in one step.
fn swap(desk: &Desk) {
    renameat_with(
        CWD,
        desk.path("dir"),
        CWD,
        desk.path("link"),
        RenameFlags::EXCHANGE,
    )
    .unwrap();
}

fn changes() -> [(&'static str, Value); 7] {
    [
        (
            "Write",
            json!({"file_path": "dir/write.txt", "content": "harm", "overwrite": true}),
        ),
        (
            "Write",
            json!({"file_path": "dir/write.txt", "content": "harm", "append": true}),
        ),
        (
            "Write",
            json!({"file_path": "dir/new/deep.txt", "content": "harm"}),
        ),
        (
            "Edit",
            json!({"file_path": "dir/edit.txt", "old_string": "one", "new_string": "two"}),
        ),
        (
            "ApplyDiff",
            json!({"file_path": "dir/edit.txt", "diff": "<<<<<<< SEARCH\ninside one\n=======\nx\n>>>>>>> REPLACE\n"}),
        ),
        ("Delete", json!({"file_path": "dir/delete.txt"})),
        (
            "Delete",
            json!({"file_path": "dir/tree", "recursive": true}),
        ),
    ]
}

fn looks() -> [(&'static str, Value); 6] {
    [
        ("Read", json!({"file_path": "dir/read.txt"})),
        ("Grep", json!({"pattern": "one", "path": "dir/read.txt"})),
        ("List", json!({"path": "dir"})),
        ("Glob", json!({"pattern": "**", "path": "dir"})),
        ("Grep", json!({"pattern": "one|SECRET", "path": "dir"})),
        ("SemanticSearch", json!({"query": "one", "path": "dir"})),
    ]
}

#[tokio::test]
async fn what_became_a_link_after_it_was_judged_is_not_touched() {
    let arena = Arena::new();
    let before = arena.snapshot();
    arena
        .desk
        .done("Read", json!({"file_path": "dir/edit.txt"}))
        .await;
    for (name, input) in changes() {
        let Ok((tool, input, context)) = arena.desk.prepared(name, input) else {
            panic!("{name} is refused")
        };
        swap(&arena.desk);
        let output = tool.run(input.clone(), context).await;
        swap(&arena.desk);
        assert!(
            output.text().contains("through a link"),
            "{name} {input}: {}",
            output.text()
        );
        assert!(
            output.failure.is_some() && output.diff.is_none(),
            "{name} {input}"
        );
    }
    assert_eq!(arena.snapshot(), before);
    for (name, input) in looks() {
        let Ok((tool, input, context)) = arena.desk.prepared(name, input) else {
            panic!("{name} is refused")
        };
        swap(&arena.desk);
        let text = tool.run(input.clone(), context).await.text();
        swap(&arena.desk);
        assert!(
            !text.contains(SECRET) && !text.contains("canary-name"),
            "{name} {input}: {text}"
        );
    }
}

#[tokio::test]
async fn what_was_a_link_when_it_was_judged_is_judged_by_where_it_leads() {
    let arena = Arena::new();
    swap(&arena.desk);
    for (name, input) in changes().into_iter().chain(looks()) {
        let text = arena.desk.failed(name, input).await;
        assert!(
            text.contains("denied") || text.contains("A rule denies"),
            "{name}: {text}"
        );
        assert!(
            !text.contains(SECRET) && !text.contains("canary-name"),
            "{name}: {text}"
        );
    }
}

#[tokio::test]
async fn a_call_that_was_judged_by_one_path_touches_no_other() {
    let desk = Desk::new();
    desk.put("a.txt", "one\n");
    desk.put("b.txt", "two\n");
    let Ok((tool, _, context)) = desk.prepared("Read", json!({"file_path": "a.txt"})) else {
        panic!()
    };
    let text = tool
        .run(json!({"file_path": "b.txt"}), context.clone())
        .await
        .text();
    assert_eq!(
        text,
        "b.txt is not what this call was allowed to touch, so nothing was done."
    );
    assert!(
        tool.run(json!({"file_path": "a.txt"}), context)
            .await
            .text()
            .contains("one")
    );
}

/// How often each of the quick calls is made; there are eight of them.
const ROUNDS: usize = 2600;

#[tokio::test]
async fn twenty_thousand_calls_while_a_link_is_swapped_never_reach_what_is_outside() {
    let arena = Arena::new();
    let before = arena.snapshot();
    let swapper = Swapper::start(&arena.desk);
    let calls = harass(&arena.desk, &swapper.calls).await;
    swapper.stop();
    assert!(calls >= 8 * ROUNDS, "{calls} calls");
    assert_eq!(arena.snapshot(), before);
}

/// Swaps once in each call, at a moment of its own.
struct Swapper {
    /// How many calls have begun.
    calls: Arc<AtomicUsize>,
    thread: JoinHandle<()>,
}

impl Swapper {
    const STOP: usize = usize::MAX;

    fn start(desk: &Desk) -> Self {
        let calls = Arc::new(AtomicUsize::new(0));
        let (one, other, begun) = (desk.path("dir"), desk.path("link"), calls.clone());
        let thread = std::thread::spawn(move || {
            let mut seen = 0;
            while seen != Self::STOP {
                let call = begun.load(Ordering::Acquire);
                if call == seen {
                    std::thread::yield_now();
                    continue;
                }
                seen = call;
                // Spread over the whole call: following links, judging, opening, saving.
                for _ in 0..call.wrapping_mul(7919) % 4000 {
                    std::hint::spin_loop();
                }
                renameat_with(CWD, &one, CWD, &other, RenameFlags::EXCHANGE).unwrap();
            }
        });
        Self { calls, thread }
    }

    fn stop(self) {
        self.calls.store(Self::STOP, Ordering::Release);
        self.thread.join().unwrap();
    }
}

async fn harass(desk: &Desk, begun: &AtomicUsize) -> usize {
    let mut calls = 0;
    for round in 0..ROUNDS {
        let quick = changes().into_iter().chain(looks().into_iter().take(1));
        // Searches are slower, and more happens in each.
        let slow = looks().into_iter().skip(1).filter(|_| round % 25 == 0);
        for (name, input) in quick.chain(slow) {
            calls += 1;
            begun.store(calls, Ordering::Release);
            let output = desk.call(name, input.clone()).await;
            let all = format!("{} {}", output.text(), output.diff.unwrap_or_default());
            assert!(
                !all.contains(SECRET) && !all.contains("canary-name"),
                "{name} {input}: {all}"
            );
        }
        restore(desk);
    }
    calls
}

/// Puts back what was deleted, wherever the directory is now, without going through the link.
fn restore(desk: &Desk) {
    for home in ["dir", "link"] {
        let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW;
        let Ok(held) = openat(CWD, desk.path(home), flags, Mode::empty()) else {
            continue;
        };
        let flags = OFlags::CREATE | OFlags::WRONLY | OFlags::NOFOLLOW;
        let _ = openat(&held, "delete.txt", flags, Mode::from_raw_mode(0o644));
    }
}
