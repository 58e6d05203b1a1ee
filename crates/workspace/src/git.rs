//! Runs git as a program: no shell, no hooks, no prompts, none of the caller's `GIT_*` variables, and
//! confined wherever that works.

mod sandbox;
mod settings;

use std::{
    ffi::{OsStr, OsString},
    io,
    path::{Path, PathBuf},
    time::Duration,
};

use rooftree_process::{
    ChildEnvironment, Error, ExitReason, ProcessInput, Sandbox, SpawnRequest, spawn_streamed,
};
use rooftree_protocol::Problem;

use super::errors;
use sandbox::GitAccess;
use settings::GitSettings;

/// Maximum retries of a command while another git holds the lock.
const ATTEMPTS: u32 = 40;
const PAUSE: Duration = Duration::from_millis(25);
/// Timeout for git to exit after its last output.
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

/// What git inherits besides what every program needs: where settings and libraries are. It runs what
/// repositories name (filters, merge drivers), so nothing else is theirs to read.
const INHERITED: [&str; 5] = [
    "TMPDIR",
    "XDG_*",
    "LD_LIBRARY_PATH",
    "NIX_*",
    "DEVELOPER_DIR",
];

/// Author of snapshots; used also if the user has no configured name.
const WHO: (&str, &str) = ("Rooftree", "rooftree@localhost");

/// One git command.
#[derive(Clone, Debug)]
pub(super) struct GitCommand {
    directory: PathBuf,
    arguments: Vec<OsString>,
    index: Option<PathBuf>,
    input: ProcessInput,
    needs: GitAccess,
    /// Whether it only reads names and settings.
    is_look: bool,
}

/// Output of a git command.
#[derive(Debug)]
pub(super) struct GitOutput {
    pub code: Option<i32>,
    pub output: Vec<u8>,
    pub errors: String,
}

impl GitCommand {
    /// A command that runs in this directory.
    pub fn at(directory: &Path) -> Self {
        Self {
            directory: directory.to_owned(),
            arguments: Vec::new(),
            index: None,
            input: ProcessInput::Nothing,
            needs: GitAccess::default(),
            is_look: false,
        }
    }

    /// `git rev-parse`: it reads names, no objects and no files, and runs nothing whatever settings say.
    pub fn rev_parse(directory: &Path) -> Self {
        Self {
            is_look: true,
            ..Self::at(directory).arg("rev-parse")
        }
    }

    /// `git config`, to ask: it reads settings and runs nothing whatever they say.
    pub fn config(directory: &Path) -> Self {
        Self {
            is_look: true,
            ..Self::at(directory).arg("config")
        }
    }

    /// Writes to this directory too.
    pub fn touching(mut self, directory: &Path) -> Self {
        self.needs.writable.push(directory.to_owned());
        self
    }

    /// Takes away what the repository knows of a place to work.
    pub fn removing_worktree(mut self) -> Self {
        self.needs.removes_worktree = true;
        self
    }

    pub fn arg(mut self, argument: impl AsRef<OsStr>) -> Self {
        self.arguments.push(argument.as_ref().to_owned());
        self
    }

    pub fn args<'a>(mut self, arguments: impl IntoIterator<Item = &'a str>) -> Self {
        self.arguments
            .extend(arguments.into_iter().map(OsString::from));
        self
    }

    /// Works on this index instead of the user's.
    pub fn index(mut self, index: &Path) -> Self {
        self.index = Some(index.to_owned());
        self
    }

    pub fn input(mut self, bytes: Vec<u8>) -> Self {
        self.input = ProcessInput::Bytes(bytes);
        self
    }

    /// Runs it and expects success; what it wrote.
    pub async fn succeed(self) -> Result<Vec<u8>, Problem> {
        self.answer_within(&[0]).await.map(|answer| answer.output)
    }

    /// Runs it and expects one line of text.
    pub async fn line(self) -> Result<String, Problem> {
        let output = self.succeed().await?;
        Ok(String::from_utf8_lossy(&output)
            .trim_end_matches('\n')
            .to_owned())
    }

    /// Runs it and expects one of these codes.
    pub async fn answer_within(self, codes: &[i32]) -> Result<GitOutput, Problem> {
        let said = self.said();
        let answer = self.answer().await?;
        if answer.code.is_some_and(|code| codes.contains(&code)) {
            return Ok(answer);
        }
        Err(errors::failed(format!("`git {said}` failed")).cause(words(&answer)))
    }

    /// Runs it, again if another git holds a lock.
    pub async fn answer(self) -> Result<GitOutput, Problem> {
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
    /// command that an agent ran. They are emptied; and since that command may change them meanwhile, git
    /// is confined as it was, wherever anything can confine it.
    pub async fn start(self) -> Result<GitOutput, Error> {
        if self.is_look {
            return run(self.spawn(&[], None)).await;
        }
        let asked = Self::at(&self.directory)
            .args(settings::ASKED)
            .spawn(&[], None);
        let GitSettings { programs, files } =
            GitSettings::of(&run(asked).await?.output, settings::home().as_deref());
        let (directory, needs) = (self.directory.clone(), self.needs.clone());
        let sandbox =
            tokio::task::spawn_blocking(move || sandbox::around(&directory, &needs, files)).await;
        let sandbox = sandbox.map_err(|_| Error::Gone)?;
        match run(self.clone().spawn(&programs, Some(sandbox))).await {
            Err(Error::Unconfined { .. }) => run(self.spawn(&programs, None)).await,
            ran => ran,
        }
    }

    fn spawn(self, emptied: &[String], sandbox: Option<Sandbox>) -> SpawnRequest {
        let settings = SETTINGS.iter().map(|setting| (*setting).to_owned());
        let settings = settings.chain(emptied.iter().map(|name| format!("{name}=")));
        let settings = settings.flat_map(|setting| ["-c".into(), OsString::from(setting)]);
        SpawnRequest {
            program: "git".into(),
            args: settings.chain(self.arguments).collect(),
            cwd: self.directory,
            environment: environment(self.index.as_deref()),
            input: self.input,
            sandbox: sandbox.map(Into::into),
        }
    }

    /// The command's first words, for messages.
    fn said(&self) -> String {
        let words = self
            .arguments
            .iter()
            .take(2)
            .map(|word| word.to_string_lossy());
        words.collect::<Vec<_>>().join(" ")
    }
}

async fn run(spawn: SpawnRequest) -> Result<GitOutput, Error> {
    let mut program = spawn_streamed(spawn).await?;
    let mut output = Vec::new();
    while let Some(bytes) = program.read().await {
        output.extend(bytes);
    }
    let finished = program.finish(PATIENCE).await;
    let code = match finished.ending {
        ExitReason::Exited(code) => Some(code),
        _ => None,
    };
    Ok(GitOutput {
        code,
        output,
        errors: finished.output.text(),
    })
}

/// Whether the error says that the program is not there.
pub(super) fn is_missing(error: &Error) -> bool {
    matches!(error, Error::Start { source, .. } if source.kind() == io::ErrorKind::NotFound)
}

pub(super) fn not_started(error: Error) -> Problem {
    errors::failed("start git")
        .cause(error.to_string())
        .fix("install git, or see that it is on the PATH")
}

/// Git's error message, on one line.
pub(super) fn words(answer: &GitOutput) -> String {
    let lines: Vec<&str> = answer
        .errors
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .collect();
    match (lines.is_empty(), answer.code) {
        (false, _) => lines.join("; "),
        (true, Some(code)) => format!("git ended with code {code}"),
        (true, None) => "git was killed".to_owned(),
    }
}

fn is_locked(answer: &GitOutput) -> bool {
    const SIGNS: [&str; 4] = [
        ".lock': File exists",
        "cannot lock ref",
        "could not lock",
        "Unable to create lock",
    ];
    answer.code != Some(0) && SIGNS.iter().any(|sign| answer.errors.contains(sign))
}

fn environment(index: Option<&Path>) -> ChildEnvironment {
    let environment = ChildEnvironment::plain(&INHERITED)
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
