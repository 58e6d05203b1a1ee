//! Writes the output of a run to standard output: text, JSON or a stream of JSON lines, and nothing else.

use std::{
    fs,
    io::{IsTerminal, stdout},
    path::PathBuf,
};

use rooftree_protocol::{ErrorCode, Event, EventBody, Problem};
use rustix::event::{PollFd, PollFlags, poll};
use serde_json::Value;

use super::{
    Arguments, OutputFormat,
    output_schema::OutputSchema,
    result_json::{self, RunResult},
};
use crate::{
    output::{self, StdoutReader},
    terminal::{self, answer_text::AnswerFormat, sanitize::sanitised},
};

/// Standard output during a run.
pub struct StdoutReport {
    format: OutputFormat,
    with_deltas: bool,
    last_message: Option<PathBuf>,
    /// The reader has closed the pipe, or nothing more can be written.
    closed: bool,
    /// Why nothing can be written, if that is not the reader's wish.
    failure: Option<Problem>,
    /// Events before `session.opened`, buffered because programs are promised that as the first line.
    early: Option<Vec<String>>,
    done: bool,
    /// How an answer is shown if standard output is a terminal.
    on_terminal: AnswerFormat,
    /// What the answer must fit.
    schema: Option<OutputSchema>,
    /// What to say to the model because its answer did not fit.
    mend: Option<String>,
}

impl StdoutReport {
    /// Writes what the arguments say.
    pub fn new(arguments: &Arguments) -> Self {
        Self {
            format: arguments.output_format,
            with_deltas: arguments.include_deltas,
            last_message: arguments.last_message.clone(),
            closed: false,
            failure: None,
            early: Some(Vec::new()),
            done: false,
            schema: None,
            mend: None,
            on_terminal: AnswerFormat::Source,
        }
    }

    /// The same; on a terminal the answer is shown in this format.
    pub fn shown_as(self, on_terminal: AnswerFormat) -> Self {
        Self {
            on_terminal,
            ..self
        }
    }

    /// Writes only the answer.
    pub fn of_text() -> Self {
        Self {
            format: OutputFormat::Text,
            with_deltas: false,
            last_message: None,
            closed: false,
            failure: None,
            early: Some(Vec::new()),
            done: false,
            on_terminal: AnswerFormat::Source,
            schema: None,
            mend: None,
        }
    }

    /// From now on the answer must fit this.
    pub fn expect(&mut self, schema: Option<OutputSchema>) {
        self.schema = schema;
    }

    /// What to say to the model because its answer does not fit the schema; nothing was written then.
    pub fn take_mend(&mut self) -> Option<String> {
        self.mend.take()
    }

    /// Whether events were written already.
    pub fn has_begun(&self) -> bool {
        self.early.is_none()
    }

    /// Whether the reader has closed standard output.
    pub fn is_closed(&self) -> bool {
        self.closed
    }

    /// Why the answer could not be written, for example because the disk is full.
    pub fn take_failure(&mut self) -> Option<Problem> {
        self.failure.take()
    }

    /// Looks whether a reader of events is still there, also while there is nothing to write.
    pub fn check_reader(&mut self) {
        if self.format == OutputFormat::StreamJson && !self.closed {
            let out = rustix::stdio::stdout();
            let mut watched = [PollFd::new(&out, PollFlags::empty())];
            let now = rustix::event::Timespec::default();
            self.closed = poll(&mut watched, Some(&now)).is_ok_and(|found| found > 0);
        }
    }

    /// Something happened.
    pub fn event(&mut self, event: &Event) {
        let is_delta = matches!(
            event.body,
            EventBody::MessageDelta { .. }
                | EventBody::ThinkingDelta { .. }
                | EventBody::ToolOutput { .. }
        );
        if self.format == OutputFormat::StreamJson && (self.with_deltas || !is_delta) {
            match serde_json::to_string(event) {
                Ok(line) => self.in_order(output::escape_control_chars(&line), &event.body),
                Err(_) => self.closed = true,
            }
        }
    }

    fn in_order(&mut self, line: String, body: &EventBody) {
        match &mut self.early {
            Some(early) if !matches!(body, EventBody::SessionOpened { .. }) => early.push(line),
            _ => {
                self.line(&line);
                self.catch_up();
            }
        }
    }

    fn catch_up(&mut self) {
        for line in self.early.take().unwrap_or_default() {
            self.line(&line);
        }
    }

    /// The run is over. The answer is not printed twice on one terminal.
    pub fn result(&mut self, outcome: &mut RunResult, has_been_shown: bool) -> Result<(), Problem> {
        self.mend = self
            .schema
            .as_mut()
            .and_then(|schema| schema.apply(outcome));
        if self.mend.is_some() {
            return Ok(());
        }
        self.done = true;
        if let Some(path) = &self.last_message {
            fs::write(path, &outcome.end.text).map_err(|error| {
                Problem::new(
                    ErrorCode::InvalidArguments,
                    format!("cannot write {}", path.display()),
                )
                .cause(error.to_string())
            })?;
        }
        match self.format {
            // A program that reads JSON is not given anything else.
            OutputFormat::Text if self.schema.is_some() && outcome.structured.is_none() => {}
            OutputFormat::Text => self.answer(&outcome.end.text, has_been_shown),
            OutputFormat::Json | OutputFormat::StreamJson => self.object(&outcome.to_json()),
        }
        Ok(())
    }

    /// A run answered, and another one follows: people read both, programs the last one.
    pub fn answered(&mut self, text: &str, has_been_shown: bool) {
        if self.format == OutputFormat::Text && self.schema.is_none() {
            self.answer(text, has_been_shown);
        }
    }

    /// It failed before there was a result: programs get an object all the same.
    pub fn failed(&mut self, problem: &Problem) {
        if !self.done && self.format != OutputFormat::Text {
            self.object(&result_json::failed(problem));
        }
    }

    fn answer(&mut self, text: &str, has_been_shown: bool) {
        let is_terminal = stdout().is_terminal();
        if text.is_empty() || (is_terminal && has_been_shown) {
            return;
        }
        let text = text.trim_end_matches('\n');
        match (output::is_raw(), is_terminal) {
            (true, _) => self.line(text),
            (false, true) => self.line(&self.on_terminal.whole(text, terminal::width())),
            (false, false) => self.line(&sanitised(text)),
        }
    }

    fn object(&mut self, object: &Value) {
        self.catch_up();
        self.line(&output::escape_control_chars(&object.to_string()));
    }

    /// One line, or one text, and a line end; in one write.
    fn line(&mut self, text: &str) {
        if self.closed {
            return;
        }
        match output::write(&format!("{text}\n")) {
            Ok(StdoutReader::There) => {}
            Ok(StdoutReader::Gone) => self.closed = true,
            Err(problem) => {
                self.closed = true;
                self.failure = Some(problem);
            }
        }
    }
}
