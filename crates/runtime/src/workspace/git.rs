//! Runs git as a program: no shell, no hooks, no prompts, none of the caller's `GIT_*` variables.

use std::{
    ffi::{OsStr, OsString},
    io,
    path::{Path, PathBuf},
    time::Duration,
};

use rooftree_process::{Ending, Environment, Input, Spawn, spawn_streamed};
use rooftree_protocol::Problem;

use super::failure;

/// How often a command is tried that finds another git at work.
const ATTEMPTS: u32 = 40;
const PAUSE: Duration = Duration::from_millis(25);
/// How long git may take to end after its last word.
const PATIENCE: Duration = Duration::from_secs(60);

/// Settings that hold whatever the user's say. Large files are taken as they lie on the disk, so
/// that a missing program for them, or a slow network behind it, breaks nothing.
const SETTINGS: [&str; 17] = [
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.safecrlf=false",
    "core.splitIndex=false",
    "core.pager=cat",
    "commit.gpgSign=false",
    "gc.auto=0",
    "maintenance.auto=false",
    "submodule.recurse=false",
    "diff.renames=true",
    "merge.directoryRenames=false",
    "merge.conflictStyle=merge",
    "advice.addEmbeddedRepo=false",
    "filter.lfs.process=",
    "filter.lfs.smudge=",
    "filter.lfs.clean=",
    "filter.lfs.required=false",
];

/// Whose name is on snapshots; a user without a configured name can have them too.
const WHO: (&str, &str) = ("Rooftree", "rooftree@localhost");

/// One git command.
#[derive(Clone, Debug)]
pub(super) struct Git {
    directory: PathBuf,
    arguments: Vec<OsString>,
    index: Option<PathBuf>,
    input: Input,
}

/// What git answered.
#[derive(Debug)]
pub(super) struct Answer {
    pub code: Option<i32>,
    pub output: Vec<u8>,
    pub errors: String,
}

impl Git {
    /// A command that runs in this directory.
    pub fn at(directory: &Path) -> Self {
        Self { directory: directory.to_owned(), arguments: Vec::new(), index: None, input: Input::Nothing }
    }

    pub fn arg(mut self, argument: impl AsRef<OsStr>) -> Self {
        self.arguments.push(argument.as_ref().to_owned());
        self
    }

    pub fn args<'a>(mut self, arguments: impl IntoIterator<Item = &'a str>) -> Self {
        self.arguments.extend(arguments.into_iter().map(OsString::from));
        self
    }

    /// Works on this index instead of the user's.
    pub fn index(mut self, index: &Path) -> Self {
        self.index = Some(index.to_owned());
        self
    }

    pub fn input(mut self, bytes: Vec<u8>) -> Self {
        self.input = Input::Bytes(bytes);
        self
    }

    /// Runs it and expects success; what it wrote.
    pub async fn succeed(self) -> Result<Vec<u8>, Problem> {
        self.answer_within(&[0]).await.map(|answer| answer.output)
    }

    /// Runs it and expects one line of text.
    pub async fn line(self) -> Result<String, Problem> {
        let output = self.succeed().await?;
        Ok(String::from_utf8_lossy(&output).trim_end_matches('\n').to_owned())
    }

    /// Runs it and expects one of these codes.
    pub async fn answer_within(self, codes: &[i32]) -> Result<Answer, Problem> {
        let said = self.said();
        let answer = self.answer().await?;
        if answer.code.is_some_and(|code| codes.contains(&code)) {
            return Ok(answer);
        }
        Err(failure::failed(format!("`git {said}` failed")).cause(words(&answer)))
    }

    /// Runs it, again if another git holds a lock.
    pub async fn answer(self) -> Result<Answer, Problem> {
        let mut attempt = 1;
        loop {
            let answer = self.clone().start().await.map_err(not_started)?;
            if !is_locked(&answer) || attempt == ATTEMPTS {
                return Ok(answer);
            }
            attempt += 1;
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// Runs it once. An error means that there is no git.
    ///
    /// Invariant: it runs no program that the settings of the repository name. Those may be the work of a
    /// command that an agent ran, and that was confined while this is not.
    pub async fn start(self) -> Result<Answer, rooftree_process::Error> {
        let naming = ["config", "--null", "--name-only", "--get-regexp", NAMING].map(OsString::from);
        let named = run(&self.directory, naming.to_vec(), None, Input::Nothing).await?;
        let named = String::from_utf8_lossy(&named.output).into_owned();
        let emptied = named.split('\0').filter(|name| !name.is_empty()).map(|name| format!("{name}="));
        let settings = SETTINGS.iter().map(|setting| (*setting).to_owned()).chain(emptied);
        let settings = settings.flat_map(|setting| ["-c".into(), OsString::from(setting)]);
        let arguments = settings.chain(self.arguments).collect();
        run(&self.directory, arguments, self.index.as_deref(), self.input).await
    }

    /// The command's first words, for messages.
    fn said(&self) -> String {
        let words = self.arguments.iter().take(2).map(|word| word.to_string_lossy());
        words.collect::<Vec<_>>().join(" ")
    }
}

/// Settings that name programs which git runs for files and merges.
const NAMING: &str = r"^(filter\..*\.(clean|smudge|process|required)|merge\..*\.driver)$";

async fn run(
    directory: &Path,
    arguments: Vec<OsString>,
    index: Option<&Path>,
    input: Input,
) -> Result<Answer, rooftree_process::Error> {
    let spawn = Spawn {
        program: "git".into(),
        args: arguments,
        cwd: directory.to_owned(),
        environment: environment(index),
        input,
        sandbox: None,
    };
    let mut program = spawn_streamed(spawn).await?;
    let mut output = Vec::new();
    while let Some(bytes) = program.read().await {
        output.extend(bytes);
    }
    let finished = program.finish(PATIENCE).await;
    let code = match finished.ending {
        Ending::Exited(code) => Some(code),
        _ => None,
    };
    Ok(Answer { code, output, errors: finished.output.text() })
}

/// Whether the error says that the program is not there.
pub(super) fn is_missing(error: &rooftree_process::Error) -> bool {
    matches!(error, rooftree_process::Error::Start { source, .. } if source.kind() == io::ErrorKind::NotFound)
}

pub(super) fn not_started(error: rooftree_process::Error) -> Problem {
    failure::failed("start git").cause(error.to_string()).fix("install git, or see that it is on the PATH")
}

/// What git said of its failure, on one line.
pub(super) fn words(answer: &Answer) -> String {
    let lines: Vec<&str> = answer.errors.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    match (lines.is_empty(), answer.code) {
        (false, _) => lines.join("; "),
        (true, Some(code)) => format!("git ended with code {code}"),
        (true, None) => "git was killed".to_owned(),
    }
}

fn is_locked(answer: &Answer) -> bool {
    const SIGNS: [&str; 4] =
        [".lock': File exists", "cannot lock ref", "could not lock", "Unable to create lock"];
    answer.code != Some(0) && SIGNS.iter().any(|sign| answer.errors.contains(sign))
}

fn environment(index: Option<&Path>) -> Environment {
    let environment = Environment { without: vec!["GIT_".to_owned()], ..Environment::default() };
    let environment = environment
        .with("LC_ALL", "C")
        .with("GIT_TERMINAL_PROMPT", "0")
        .with("GIT_OPTIONAL_LOCKS", "0")
        .with("GIT_LITERAL_PATHSPECS", "1")
        .with("GIT_AUTHOR_NAME", WHO.0)
        .with("GIT_AUTHOR_EMAIL", WHO.1)
        .with("GIT_COMMITTER_NAME", WHO.0)
        .with("GIT_COMMITTER_EMAIL", WHO.1);
    match index {
        Some(index) => environment.with("GIT_INDEX_FILE", &index.to_string_lossy()),
        None => environment,
    }
}
