//! Every path of a corpus with every file tool: nothing outside changes, and nothing outside is shown.

use std::{
    fs,
    os::unix::{fs::symlink, net::UnixListener},
    path::{Path, PathBuf},
};

use rooftree_protocol::PermissionMode;
use rooftree_tools::{
    PermissionRule,
    resolved_path::{LastLink, ResolvedPath},
};
use rustix::fs::{CWD, Mode, mkfifoat};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::desk::Desk;

const CORPUS: &str = include_str!("../corpora/paths.txt");
const SECRET: &str = "TOP-SECRET";
const CANARY: &str = "canary-name";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Expected {
    Works,
    Makes,
    Lists,
    Inside,
    Refused,
}

fn corpus() -> Vec<(Expected, &'static str)> {
    let lines = CORPUS
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines
        .map(|line| {
            let (expected, path) = line
                .split_once('\t')
                .unwrap_or_else(|| panic!("no tab in {line:?}"));
            let expected = match expected {
                "works" => Expected::Works,
                "makes" => Expected::Makes,
                "lists" => Expected::Lists,
                "inside" => Expected::Inside,
                "refused" => Expected::Refused,
                other => panic!("nothing is {other:?}"),
            };
            (expected, path)
        })
        .collect()
}

/// The tree that the corpus describes.
struct World {
    base: TempDir,
    desk: Desk,
}

impl World {
    fn new() -> Self {
        let base = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(base.path()).unwrap();
        let (workspace, outside) = (root.join("ws"), root.join("outside"));
        for directory in ["ws/dir/deep", "ws/.git/hooks", "outside/dir"] {
            fs::create_dir_all(root.join(directory)).unwrap();
        }
        for file in [
            "a.txt",
            "dir/b.txt",
            "dir/deep/c.txt",
            ".git/config",
            ".git/hooks/pre-commit",
        ] {
            fs::write(workspace.join(file), "inside\n").unwrap();
        }
        for file in ["secret.txt", "dir/inner.txt", CANARY] {
            fs::write(outside.join(file), format!("{SECRET} inside\n")).unwrap();
        }
        fs::write(outside.join("shared.txt"), "inside\n").unwrap();
        fs::hard_link(outside.join("shared.txt"), workspace.join("hard")).unwrap();
        links(&workspace, &outside);
        mkfifoat(CWD, workspace.join("fifo"), Mode::from_raw_mode(0o600)).unwrap();
        UnixListener::bind(workspace.join("socket")).unwrap();
        let mut desk = Desk::new();
        desk.context.cwd = workspace.into();
        desk.policy.mode = PermissionMode::AcceptEdits;
        desk.policy
            .allow
            .push(PermissionRule::parse("Delete(**)").unwrap());
        for rule in [
            format!("Read({}/**)", outside.display()),
            "Read(/etc/**)".into(),
        ] {
            desk.deny(&rule);
        }
        Self { base, desk }
    }

    fn real(&self, path: &str) -> PathBuf {
        fs::canonicalize(self.base.path()).unwrap().join(path)
    }

    /// A path of the corpus as a model would write it.
    fn path(&self, written: &str) -> String {
        let written = written
            .replace("{ws}", &self.real("ws").to_string_lossy())
            .replace("{outside}", &self.real("outside").to_string_lossy());
        unescaped(&repeated(&written))
    }

    /// All that is outside: names, contents and modes.
    fn outside(&self) -> Vec<(PathBuf, String)> {
        use std::os::unix::fs::MetadataExt;
        let mut found = Vec::new();
        let mut directories = vec![self.real("outside")];
        while let Some(directory) = directories.pop() {
            for entry in fs::read_dir(directory).unwrap().flatten() {
                let metadata = entry.metadata().unwrap();
                let content = fs::read_to_string(entry.path()).unwrap_or_default();
                found.push((
                    entry.path(),
                    format!("{} {:o} {content}", metadata.ino(), metadata.mode()),
                ));
                directories.extend(metadata.is_dir().then(|| entry.path()));
            }
        }
        found.extend(
            fs::read_dir(self.base.path())
                .unwrap()
                .flatten()
                .map(|entry| (entry.path(), "".into())),
        );
        found.sort();
        found
    }
}

fn links(workspace: &Path, outside: &Path) {
    let absolute =
        |directory: &Path, name: &str| directory.join(name).to_string_lossy().into_owned();
    let (inside_file, outside_file) = (
        absolute(workspace, "a.txt"),
        absolute(outside, "secret.txt"),
    );
    let table = [
        ("link-file", "a.txt"),
        ("link-dir", "dir"),
        ("link-abs", &inside_file),
        ("chain-1", "chain-2"),
        ("chain-2", "chain-3"),
        ("chain-3", "a.txt"),
        ("dir/up-link", "../a.txt"),
        ("link-out", "../outside/secret.txt"),
        ("abs-out", &outside_file),
        ("dir-out", "../outside"),
        ("dir/out", "../../outside"),
        ("chain-out", "chain-mid"),
        ("chain-mid", "dir-out"),
        ("via-in", "dir-out/secret.txt"),
        ("dangling-in", "later.txt"),
        ("dangling-out", "../outside/new.txt"),
        ("dangling-dir", "../outside/new"),
        ("dangling-up", "none/../../outside/new.txt"),
        ("dangling-deep", "none/later.txt"),
        ("loop", "loop"),
        ("loop-a", "loop-b"),
        ("loop-b", "loop-a"),
        ("parent", ".."),
        ("root", "/"),
        ("self", "/proc/self"),
        ("fds", "/proc/self/fd"),
        ("null", "/dev/null"),
        ("fifo-link", "fifo"),
    ];
    for (name, target) in table {
        symlink(target, workspace.join(name)).unwrap();
    }
}

/// `{x*3}` as `xxx`.
fn repeated(text: &str) -> String {
    let Some((before, rest)) = text.split_once('{') else {
        return text.to_owned();
    };
    let counted = rest.split_once('}').and_then(|(inner, after)| {
        let (piece, count) = inner.split_once('*')?;
        Some((piece.repeat(count.parse().ok()?), after))
    });
    match counted {
        Some((many, after)) => format!("{before}{many}{}", repeated(after)),
        None => format!("{before}{{{}", repeated(rest)),
    }
}

fn unescaped(text: &str) -> String {
    let (mut plain, mut rest) = (String::new(), text.chars());
    while let Some(c) = rest.next() {
        if c != '\\' {
            plain.push(c);
            continue;
        }
        plain.push(match rest.next() {
            Some('n') => '\n',
            Some('t') => '\t',
            Some('r') => '\r',
            Some('e') => '\u{1b}',
            Some('0') => '\0',
            Some('u') => {
                let digits: String = rest.by_ref().take(4).collect();
                char::from_u32(u32::from_str_radix(&digits, 16).unwrap()).unwrap()
            }
            Some('\\') => '\\',
            other => panic!("no escape is {other:?} in {text:?}"),
        });
    }
    plain
}

/// One line of the corpus, with what came of each tool.
struct Attempt<'a> {
    world: &'a World,
    expected: Expected,
    path: String,
}

impl Attempt<'_> {
    /// Makes a call as the runtime does; gives whether it worked and what it said.
    async fn call(&self, name: &str, more: Value) -> (bool, String) {
        let key = if matches!(name, "List" | "Glob" | "Grep" | "SemanticSearch") {
            "path"
        } else {
            "file_path"
        };
        let mut input = json!({key: self.path});
        input
            .as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        let prepared = self.world.desk.prepared(name, input);
        let output = match prepared {
            Err(refusal) => *refusal,
            Ok((tool, input, context)) => {
                let place = context.reach.pinned().unwrap().real.clone();
                let is_ours = place.starts_with(self.world.real("ws"));
                let is_near = place.starts_with(self.world.real(""));
                // A policy that lets this through would have the test harm the machine it runs on.
                assert!(
                    is_ours || !matches!(name, "Write" | "Edit" | "ApplyDiff" | "Delete"),
                    "{name} {place:?}"
                );
                // The whole machine is not searched; one file of it may be looked at.
                if !is_near && name != "Read" {
                    return (false, String::new());
                }
                tool.run(input, context).await
            }
        };
        let said = format!("{}{}", output.text(), output.diff.unwrap_or_default());
        assert!(
            !said.contains(SECRET) && !said.contains(CANARY),
            "{name} {:?}: {said}",
            self.path
        );
        (output.failure.is_none(), said)
    }

    async fn run(&self) {
        let before = self.world.outside();
        let (read, said) = self.call("Read", json!({})).await;
        let list = self.call("List", json!({"all": true})).await;
        let glob = self.call("Glob", json!({"pattern": "**"})).await;
        let grep = self.call("Grep", json!({"pattern": "inside|SECRET"})).await;
        self.call("SemanticSearch", json!({"query": "inside secret"}))
            .await;
        let edit = self
            .call(
                "Edit",
                json!({"old_string": "inside", "new_string": "edited"}),
            )
            .await;
        let diff = "<<<<<<< SEARCH\nedited\n=======\ndiffed\n>>>>>>> REPLACE\n";
        let diff = self.call("ApplyDiff", json!({"diff": diff})).await;
        let write = self
            .call("Write", json!({"content": "written\n", "overwrite": true}))
            .await;
        let (again, shown) = self.call("Read", json!({})).await;
        let gone = self.call("Delete", json!({"recursive": true})).await;
        let what = format!(
            "{:?} {:?}: {said} {edit:?} {diff:?} {write:?} {gone:?}",
            self.expected, self.path
        );
        match self.expected {
            Expected::Works => {
                assert!(
                    read && said.contains("inside") && grep.0 && grep.1.contains("inside"),
                    "{what}"
                );
                assert!(
                    edit.0 && diff.0 && write.0 && again && shown.contains("written") && gone.0,
                    "{what}"
                );
            }
            Expected::Makes => assert!(
                !read && write.0 && shown.contains("written") && gone.0,
                "{what}"
            ),
            Expected::Lists => assert!(!read && list.0 && glob.0 && grep.0 && !write.0, "{what}"),
            Expected::Refused => assert!(!read && !edit.0 && !diff.0 && !write.0, "{what}"),
            Expected::Inside => {}
        }
        assert_eq!(self.world.outside(), before, "{what}");
    }
}

#[tokio::test]
async fn no_path_leads_out_and_the_good_ones_work() {
    for (expected, written) in corpus() {
        let world = World::new();
        let path = world.path(written);
        let place = ResolvedPath::of(
            Path::new(&path),
            &world.desk.context.cwd,
            LastLink::Followed,
        )
        .real;
        if expected == Expected::Works && !place.exists() {
            fs::write(place, "inside\n").unwrap();
        }
        Attempt {
            world: &world,
            expected,
            path,
        }
        .run()
        .await;
    }
}

#[test]
fn the_corpus_is_large_and_a_fifth_of_it_is_good() {
    let corpus = corpus();
    let is_good = |(expected, _): &&(Expected, &str)| {
        !matches!(expected, Expected::Refused | Expected::Inside)
    };
    let good = corpus.iter().filter(is_good).count();
    assert!(
        corpus.len() >= 200 && good * 5 >= corpus.len(),
        "{good} of {}",
        corpus.len()
    );
    let bad = corpus.len() - good;
    assert!(bad >= 100, "{bad} bad ones");
}
