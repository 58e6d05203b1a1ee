//! Runs a program for one answer and streams its output; retries once if the program has lost its session.

use std::{collections::VecDeque, ffi::OsString, sync::Arc, time::Duration};

use futures::{StreamExt, stream};
use rooftree_process::{
    ExitReason, FinishedProcess, ProcessBounds, ProcessInput, SpawnRequest, StreamedProcess, spawn,
    spawn_streamed,
};
use rooftree_protocol::event::{NoticeLevel, StopReason};
use tokio::time::timeout;

use super::{
    AgentProgram, ProgramOptions,
    errors::{self, ProgramFailure},
    json_lines::JsonLineReader,
    program_start::ProgramStart,
    reply_builder::ProgramReplyBuilder,
    request::{ProgramRequest, SessionReuse, build_prompt, memory_part},
};
use crate::{Error, ModelReply, ModelRequest, ReplyChunk, ReplyStream};

/// Timeout for `--version`.
const VERSION_PATIENCE: Duration = Duration::from_secs(10);

/// Streams a program's answer to a request. Dropping the stream kills the program and its children.
pub(super) fn stream_program(
    program: &'static AgentProgram,
    options: Arc<ProgramOptions>,
    request: ModelRequest,
) -> ReplyStream {
    let play = ProgramStream {
        program,
        options,
        request,
        listening: None,
        pending: VecDeque::new(),
        is_over: false,
    };
    stream::unfold(play, |mut play| async move {
        loop {
            if let Some(item) = play.pending.pop_front() {
                return Some((item, play));
            }
            if play.is_over {
                return None;
            }
            if let Err(error) = play.advance().await {
                play.listening = None;
                play.pending.push_back(Err(error));
                play.is_over = true;
            }
        }
    })
    .boxed()
}

struct ProgramStream {
    program: &'static AgentProgram,
    options: Arc<ProgramOptions>,
    request: ModelRequest,
    listening: Option<RunningProgram>,
    pending: VecDeque<Result<ReplyChunk, Error>>,
    is_over: bool,
}

/// A running program and the reply built from its output so far.
struct RunningProgram {
    running: ProgramGuard,
    lines: JsonLineReader,
    account: ProgramReplyBuilder,
    prompt: ProgramRequest,
}

impl ProgramStream {
    async fn advance(&mut self) -> Result<(), Error> {
        let Some(listening) = &mut self.listening else {
            return self.start(SessionReuse::Use).await;
        };
        let Some(running) = &mut listening.running.0 else {
            return Ok(());
        };
        let Ok(piece) = timeout(self.options.silence, running.read()).await else {
            let error = Error::Broken(format!(
                "{} has said nothing for too long",
                self.program.executable
            ));
            return Err(self.weighed(error));
        };
        let records = match &piece {
            Some(bytes) => listening.lines.push(bytes),
            None => listening.lines.finish().into_iter().collect(),
        };
        for record in records {
            // Output after the final record is not part of the answer.
            if !listening.account.is_final {
                self.program.take(&record, &mut listening.account);
            }
        }
        self.pending.extend(listening.account.chunks().map(Ok));
        if piece.is_none() || listening.account.is_final {
            return self.end().await;
        }
        Ok(())
    }

    async fn start(&mut self, memory: SessionReuse) -> Result<(), Error> {
        let prompt = build_prompt(&self.request, self.program.name, memory);
        let tools: Vec<&str> = self
            .request
            .tools
            .iter()
            .map(|tool| tool.name.as_str())
            .collect();
        let system = Some(self.request.system.as_ref())
            .filter(|system| !prompt.has_system && !system.is_empty());
        let args = self.program.arguments(&ProgramStart {
            request: &self.request,
            system,
            session: prompt.session.as_deref(),
            grant: &self.program.grant(&tools, &self.request.workplace),
        });
        let start = self.spawn(args, ProcessInput::Bytes(prompt.text.clone().into_bytes()));
        let cwd = start.cwd.clone();
        let streamed = match spawn_streamed(start).await {
            Ok(streamed) => streamed,
            Err(error) if !cwd.is_dir() => return Err(Error::Refused(error.to_string())),
            Err(error) => return Err(self.not_started(error)),
        };
        let account = ProgramReplyBuilder::new(self.program.name, prompt.before);
        self.listening = Some(RunningProgram {
            running: ProgramGuard(Some(streamed)),
            lines: JsonLineReader::default(),
            account,
            prompt,
        });
        Ok(())
    }

    fn executable(&self) -> OsString {
        self.options
            .executable
            .clone()
            .unwrap_or_else(|| self.program.executable.into())
    }

    fn spawn(&self, args: Vec<OsString>, input: ProcessInput) -> SpawnRequest {
        let mut environment = self.options.environment.clone();
        environment
            .keep
            .extend(self.program.keys.iter().map(|&key| key.to_owned()));
        // `claude` refuses to start if it believes it runs inside itself.
        environment.set.entry("CLAUDECODE".to_owned()).or_default();
        let directory = &self.request.workplace.directory;
        let is_anywhere = directory.as_os_str().is_empty();
        let cwd = if is_anywhere {
            std::env::temp_dir()
        } else {
            directory.clone()
        };
        SpawnRequest {
            program: self.executable(),
            args,
            cwd,
            environment,
            input,
            sandbox: None,
        }
    }

    fn not_started(&self, error: rooftree_process::Error) -> Error {
        match error {
            rooftree_process::Error::Start { source, .. }
                if source.kind() == std::io::ErrorKind::NotFound =>
            {
                errors::missing(self.program, &self.executable().to_string_lossy())
            }
            error => Error::Refused(error.to_string()),
        }
    }

    /// Handles the end of the output, or of the answer.
    async fn end(&mut self) -> Result<(), Error> {
        let Some(mut listening) = self.listening.take() else {
            return Ok(());
        };
        let Some(running) = listening.running.0.take() else {
            return Ok(());
        };
        let has_answered = matches!(listening.account.outcome, Some(Ok(_)));
        // A program that has answered gets time to exit; one that has failed might retry for a long time.
        let is_output_over = !listening.account.is_final;
        let timeout = if has_answered || is_output_over {
            self.options.timeout
        } else {
            Duration::ZERO
        };
        let finished = running.finish(timeout).await;
        let outcome = listening.account.outcome.take();
        let has_acted = listening.account.has_acted();
        let failure = match outcome {
            Some(Ok(stop)) => {
                self.reply(listening, stop, &finished);
                return Ok(());
            }
            Some(Err(failure)) => failure,
            None => errors::classify_exit(self.program, &finished, listening.account.understood),
        };
        let error = match failure {
            ProgramFailure::SessionGone if listening.prompt.session.is_some() && !has_acted => {
                let message = format!(
                    "{} has lost its session and starts anew",
                    self.program.executable
                );
                let level = NoticeLevel::Warning;
                self.pending.push_back(Ok(ReplyChunk::Note {
                    level,
                    code: "program_session_lost".into(),
                    message,
                }));
                return self.start(SessionReuse::Ignore).await;
            }
            ProgramFailure::SessionGone => {
                Error::Refused(format!("{} has no such session", self.program.executable))
            }
            ProgramFailure::UnknownVersion(why) => {
                errors::unknown_version(self.program, &self.version().await, &why)
            }
            ProgramFailure::Provider(error) => error,
        };
        Err(if has_acted {
            errors::no_retry_after_tools(self.program, error)
        } else {
            error
        })
    }

    /// Classifies an error in the middle of an answer.
    fn weighed(&self, error: Error) -> Error {
        let has_acted = self
            .listening
            .as_ref()
            .is_some_and(|listening| listening.account.has_acted());
        if has_acted {
            errors::no_retry_after_tools(self.program, error)
        } else {
            error
        }
    }

    fn reply(&mut self, listening: RunningProgram, stop: StopReason, finished: &FinishedProcess) {
        let RunningProgram {
            lines,
            mut account,
            prompt,
            ..
        } = listening;
        let warnings = warnings(self.program, &lines, finished);
        self.pending.extend(warnings.into_iter().map(|message| {
            Ok(ReplyChunk::Note {
                level: NoticeLevel::Warning,
                code: "program_warning".into(),
                message,
            })
        }));
        let usage = account.usage.unwrap_or_default();
        let mut parts = account.parts();
        if let Some(session) = &account.session {
            let mut total = prompt.before;
            total += usage;
            parts.push(memory_part(
                &self.request,
                self.program.name,
                session,
                total,
            ));
        }
        let reply = ModelReply {
            parts,
            stop,
            usage,
            request: account.session,
            dropped: prompt.dropped,
        };
        self.pending.push_back(Ok(ReplyChunk::Reply(reply)));
        self.is_over = true;
    }

    /// The version the program reports.
    async fn version(&self) -> String {
        let start = self.spawn(vec!["--version".into()], ProcessInput::Nothing);
        let Ok(process) = spawn(start).await else {
            return "unknown".to_owned();
        };
        let bounds = ProcessBounds {
            time: Some(VERSION_PATIENCE),
            output: 1000,
        };
        let finished = process.finish(bounds, &Default::default(), |_| {}).await;
        finished
            .output
            .text()
            .lines()
            .next()
            .unwrap_or("unknown")
            .trim()
            .to_owned()
    }
}

/// Warnings about an answer that arrived nevertheless.
fn warnings(
    program: &AgentProgram,
    lines: &JsonLineReader,
    finished: &FinishedProcess,
) -> Vec<String> {
    let mut warnings = Vec::new();
    if lines.strange > 0 {
        let (name, count, sample) = (program.executable, lines.strange, &lines.sample);
        warnings.push(format!(
            "{name} wrote {count} line(s) that are no records, the first: {sample}"
        ));
    }
    if finished.ending != ExitReason::Exited(0) {
        let complaint = finished.output.text();
        let last = complaint.trim().lines().last().unwrap_or_default();
        let how = errors::words_for(finished.ending);
        warnings.push(
            format!("{} {how} after its answer. {last}", program.executable)
                .trim()
                .to_owned(),
        );
    }
    warnings
}

/// Terminates the program gracefully in the background when the stream is dropped.
struct ProgramGuard(Option<StreamedProcess>);

impl Drop for ProgramGuard {
    fn drop(&mut self) {
        // Without a tokio runtime to wait in, dropping the process kills it at once.
        if let (Some(streamed), Ok(runtime)) =
            (self.0.take(), tokio::runtime::Handle::try_current())
        {
            runtime.spawn(streamed.finish(Duration::ZERO));
        }
    }
}
