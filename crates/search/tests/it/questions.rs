//! Measures the ranking: natural questions about an earlier state of this repository, and the files that answer them.

use std::{
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::Arc,
};

use rooftree_search::{FileSource, SearchRequest, SemanticSearcher};

/// The state of the repository that the questions are about.
const COMMIT: &str = "fae9945";
const QUESTIONS: &str = include_str!("questions.txt");
/// Results in which the right file has to be, and how many questions have to find it.
const TOP: usize = 5;
const LEAST: usize = 15;

/// The files of the commit; none in a copy without its history.
fn checkout(place: &Path) -> Option<()> {
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut archive = Command::new("git")
        .arg("-C")
        .arg(repository)
        .args(["archive", COMMIT])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .ok()?;
    let unpacked = Command::new("tar")
        .arg("-x")
        .arg("-C")
        .arg(place)
        .stdin(archive.stdout.take()?)
        .status()
        .ok()?;
    (archive.wait().ok()?.success() && unpacked.success()).then_some(())
}

async fn places(searcher: &Arc<SemanticSearcher>, root: &Path, question: &str) -> Vec<String> {
    let answer = searcher
        .clone()
        .search(SearchRequest::new(question, root))
        .await
        .unwrap_or_default();
    let is_place = |line: &&str| !line.starts_with(' ') && line.contains(" (score ");
    let path = |line: &str| line.split(':').next().unwrap_or_default().to_owned();
    answer.lines().filter(is_place).map(path).collect()
}

#[tokio::test]
async fn r1_em16_natural_questions_find_the_right_file_among_the_first_five() {
    let place = tempfile::tempdir().unwrap();
    if checkout(place.path()).is_none() {
        eprintln!("commit {COMMIT} is not in this copy of the repository");
        return;
    }
    let root: PathBuf = place.path().canonicalize().unwrap();
    let source = FileSource {
        walk: |root| ignore::WalkBuilder::new(root),
        open: |path| std::fs::File::open(path),
        shown: |path, cwd| path.strip_prefix(cwd).unwrap_or(path).display().to_string(),
    };
    let searcher = Arc::new(SemanticSearcher::new(source, None, None));
    let (mut right, mut told) = (0, String::new());
    for line in QUESTIONS.lines().filter(|line| !line.starts_with('#')) {
        let (question, accepted) = line.split_once(" | ").unwrap();
        let found = places(&searcher, &root, question).await;
        let is_right = |path: &&String| accepted.split(' ').any(|part| path.contains(part));
        let at = found.iter().position(|path| is_right(&path));
        right += usize::from(at.is_some_and(|at| at < TOP));
        told.push_str(&format!("{at:?} {question}\n"));
        if at.is_none_or(|at| at >= TOP) {
            told.push_str(&format!("    {}\n", found.join(" ")));
        }
    }
    eprintln!("{right} of 19\n{told}");
    assert!(right >= LEAST, "{right} of 19\n{told}");
}
