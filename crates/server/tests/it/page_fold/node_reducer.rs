//! The page's reducer in a Node process that is asked journal by journal.

use std::{
    fs,
    io::{BufRead, BufReader, Write},
    path::{Path, PathBuf},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
    thread,
};

use rooftree_view::RunTreeView;
use serde_json::json;
use tempfile::TempDir;

use super::{
    apply,
    mutants::Mutant,
    played_stories::{Journal, Step},
};

/// Node with the scripts of the page.
pub struct NodeReducer {
    node: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl NodeReducer {
    /// Starts it with the scripts of a folder.
    pub fn start(scripts: &Path) -> Self {
        let program = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/node/fold.js");
        let started = fs::copy(program, scripts.join("fold.js")).and_then(|_| {
            Command::new("node")
                .arg(scripts.join("fold.js"))
                .arg(scripts)
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .stderr(Stdio::null())
                .spawn()
        });
        let mut node = started.unwrap_or_else(|error| {
            panic!("node cannot be started ({error}); this test runs the page's scripts with Node 18 or newer: apt-get install nodejs")
        });
        Self {
            input: node.stdin.take(),
            output: BufReader::new(node.stdout.take().unwrap()),
            node,
        }
    }

    /// Folds a journal with both reducers; an error tells where they differ.
    pub fn agrees(&mut self, journal: &Journal) -> Result<(), String> {
        let mut lines = vec![json!({ "root": journal.root }).to_string()];
        lines.extend(journal.steps.iter().map(|step| match step {
            Step::Event(event) => json!({ "event": event }).to_string(),
            Step::Snapshot(snapshot) => json!({ "snapshot": snapshot }).to_string(),
            Step::Meta(meta) => json!({ "meta": meta }).to_string(),
        }));
        let Some(mut input) = self.input.take() else {
            return Err("node is gone".to_owned());
        };
        let text = lines.join("\n") + "\n";
        // Node writes while it reads: a writer that does not read at the same time would deadlock.
        let writer = thread::spawn(move || input.write_all(text.as_bytes()).map(|()| input));
        let compared = self.compare(journal, &lines);
        if compared.is_ok() {
            self.input = writer.join().unwrap().ok();
        }
        compared
    }

    fn compare(&mut self, journal: &Journal, lines: &[String]) -> Result<(), String> {
        let mut tree = RunTreeView::of(journal.root.clone());
        let steps = std::iter::once(None).chain(journal.steps.iter().map(Some));
        for (step, line) in steps.zip(lines) {
            if let Some(step) = step {
                apply(&mut tree, step);
            }
            let mut folded = String::new();
            let read = self.output.read_line(&mut folded);
            let (is, should) = (folded.trim_end_matches('\n'), tree.to_canonical_json());
            if read.is_err() || is != should {
                return Err(difference(is, &should, line));
            }
        }
        Ok(())
    }

    /// Ends it; says whether it ended well.
    pub fn finish(mut self) -> bool {
        drop(self.input.take());
        self.node.wait().is_ok_and(|status| status.success())
    }
}

impl Drop for NodeReducer {
    fn drop(&mut self) {
        // It has ended already if it was finished.
        let _ = self.node.kill();
        let _ = self.node.wait();
    }
}

fn difference(is: &str, should: &str, line: &str) -> String {
    let pairs = is.bytes().zip(should.bytes());
    let at = pairs.take_while(|(one, other)| one == other).count();
    let part = |text: &str| {
        let bytes = text.as_bytes();
        let bytes = &bytes[at.saturating_sub(200).min(bytes.len())..(at + 200).min(bytes.len())];
        String::from_utf8_lossy(bytes).into_owned()
    };
    format!(
        "after {line}\nthe page has\n  {}\nthe view has\n  {}",
        part(is),
        part(should)
    )
}

/// The scripts of the page in a folder of their own, one of them changed if there is a mutant.
pub fn page_scripts(mutant: Option<&Mutant>) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    // Older versions of Node take files for modules only if this says so.
    fs::write(folder.path().join("package.json"), r#"{"type":"module"}"#).unwrap();
    let scripts = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("ui/js");
    for file in fs::read_dir(scripts).unwrap() {
        let path = file.unwrap().path();
        if path.is_file() {
            fs::copy(&path, folder.path().join(path.file_name().unwrap())).unwrap();
        }
    }
    if let Some(mutant) = mutant {
        let path = folder.path().join(mutant.file);
        let text = fs::read_to_string(&path).unwrap();
        let found = text.matches(mutant.from).count();
        assert_eq!(found, 1, "`{}` in {}", mutant.from, mutant.file);
        fs::write(path, text.replace(mutant.from, mutant.to)).unwrap();
    }
    folder
}
