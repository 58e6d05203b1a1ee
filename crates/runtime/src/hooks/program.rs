//! A hook that is a program: JSON in, JSON out, exit code 2 for no.

use std::{ffi::OsString, path::Path, time::Duration};

use rooftree_process::{ChildEnvironment, ExitReason, ProcessInput, SpawnRequest, spawn_streamed};
use rooftree_protocol::DefinitionLevel;
use rooftree_shell::NamedFiles;

use super::{HookAnswer, HookError, HookPayload, HookRunContext, launch::started};

/// Bytes a hook may print.
const LONGEST: usize = 1024 * 1024;
/// Upper bound only: the timeout of a program is measured by the caller.
const FAR_AWAY: Duration = Duration::from_secs(24 * 60 * 60);
/// Exit codes of a shell that cannot run the command.
const NOT_RUN: [i32; 2] = [126, 127];

/// The command of a program hook.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HookProgram {
    /// A path, or a name looked up in PATH.
    program: OsString,
    args: Vec<OsString>,
    /// As it is written, for people.
    pub(super) shown: String,
    is_shell: bool,
}

impl HookProgram {
    /// A line for the shell.
    pub fn shell(line: &str) -> Self {
        Self {
            program: "bash".into(),
            args: vec!["-c".into(), line.into()],
            shown: line.into(),
            is_shell: true,
        }
    }

    /// A program and its arguments, without a shell.
    pub fn exactly(program: &str, args: &[String]) -> Self {
        let shown = std::iter::once(program)
            .chain(args.iter().map(String::as_str))
            .collect::<Vec<_>>();
        let shown = shown.join(" ");
        let args = args.iter().map(Into::into).collect();
        Self {
            program: program.into(),
            args,
            shown,
            is_shell: false,
        }
    }

    /// Files that the command names, with the project's root filled in where no shell does that.
    pub(super) fn names(&self, project: &Path) -> NamedFiles {
        let project = project.display().to_string();
        let words = std::iter::once(&self.program).chain(&self.args);
        let mut words =
            words.map(|word| self.placed(word, &project).to_string_lossy().into_owned());
        if self.is_shell {
            return words
                .next_back()
                .map(|line| NamedFiles::of(&line))
                .unwrap_or_default();
        }
        NamedFiles::of_program(&words.collect::<Vec<_>>())
    }

    /// Starts it and waits for what it says. Dropping the wait kills it and all it started.
    pub(super) async fn ask(
        &self,
        payload: &HookPayload,
        run_context: &HookRunContext,
        level: DefinitionLevel,
    ) -> Result<HookAnswer, HookError> {
        let spawn = self.spawn(payload, run_context);
        let (mut process, remark) = if run_context.confines(level) {
            started(spawn, payload, run_context).await?
        } else {
            let free = spawn_streamed(spawn).await;
            (
                free.map_err(|error| HookError::NotStarted(error.to_string()))?,
                None,
            )
        };
        let mut printed = Vec::new();
        while let Some(bytes) = process.read().await {
            printed.extend_from_slice(&bytes);
            if printed.len() > LONGEST {
                return Err(HookError::TooMuch);
            }
        }
        let finished = process.finish(FAR_AWAY).await;
        let errors = finished.output.text();
        let mut answer = match finished.ending {
            ExitReason::Exited(0) => {
                HookAnswer::printed(payload.point, &String::from_utf8_lossy(&printed))
                    .map_err(HookError::NotUnderstood)
            }
            ExitReason::Exited(2) => Ok(HookAnswer::blocked(&errors)),
            ExitReason::Exited(code) if NOT_RUN.contains(&code) => {
                Err(HookError::NotStarted(errors))
            }
            // How a shell tells that what it ran was ended by a signal.
            ExitReason::Exited(code @ 129..=192) => {
                Err(HookError::Crashed(format!("signal {}", code - 128)))
            }
            ExitReason::Exited(code) => Err(HookError::Error {
                code,
                words: errors,
            }),
            ExitReason::Signalled(signal) => Err(HookError::Crashed(format!("signal {signal}"))),
            ExitReason::TimedOut | ExitReason::Cancelled => Err(HookError::OutOfTime),
        }?;
        answer.notices.extend(remark);
        Ok(answer)
    }

    fn spawn(&self, payload: &HookPayload, run_context: &HookRunContext) -> SpawnRequest {
        let project = &run_context.root(payload).display().to_string();
        let environment = ChildEnvironment::inheriting(run_context.inheritance.clone())
            .with("CLAUDE_PROJECT_DIR", project)
            .with("ROOFTREE_PROJECT_DIR", project)
            .with("ROOFTREE_SESSION_ID", payload.session.as_str())
            // What is compiled beside a script would be a change of what was pinned.
            .with("PYTHONDONTWRITEBYTECODE", "1");
        SpawnRequest {
            program: self.placed(&self.program, project),
            args: self
                .args
                .iter()
                .map(|arg| self.placed(arg, project))
                .collect(),
            cwd: payload.cwd.clone(),
            environment,
            input: ProcessInput::Bytes(format!("{}\n", payload.input()).into_bytes()),
            sandbox: None,
        }
    }

    /// The project's root where its variable is written. A shell does that by itself, and does it well.
    fn placed(&self, text: &OsString, project: &str) -> OsString {
        match text.to_str() {
            Some(text) if !self.is_shell => text
                .replace("${CLAUDE_PROJECT_DIR}", project)
                .replace("${ROOFTREE_PROJECT_DIR}", project)
                .into(),
            _ => text.clone(),
        }
    }
}
