//! Reads lines from the terminal: a line editor (`rustyline`) with history, completion and several lines, or plain lines
//! where the cursor must not move.
//!
//! The editor blocks, so it has a thread of its own. Text that comes while a line is edited is printed above it.

use std::{
    borrow::Cow,
    io::{self, Write},
    sync::{Arc, Mutex, PoisonError, mpsc},
};

use futures::FutureExt;
use rustyline::{
    Cmd, ColorMode, CompletionType, ConditionalEventHandler, Config, Context, Editor, Event,
    EventContext, EventHandler, ExternalPrinter, Helper, KeyCode, KeyEvent, Modifiers, RepeatCount,
    completion::Completer,
    error::ReadlineError,
    highlight::Highlighter,
    hint::Hinter,
    history::{History, MemHistory},
    validate::{ValidationContext, ValidationResult, Validator},
};
use tokio::{
    signal::unix::{Signal, SignalKind, signal},
    sync::mpsc as async_mpsc,
};

use rooftree_protocol::{ErrorCode, Problem};

use super::{completion::CompletionSources, draft};
use crate::{
    exit::Exit,
    terminal::{
        keys::{KeyboardInput, KeyboardMode},
        line::{StyledLine, TextStyle},
    },
};

/// What the person did at the prompt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LineRead {
    Line(String),
    /// Ctrl-C; with what was typed so far.
    Interrupted(String),
    /// Ctrl-D on an empty line, or the terminal is gone.
    End,
    /// The program is told to end.
    Leave(Exit),
}

/// A reader of lines.
pub struct LineEditor {
    rich: Option<RichEditor>,
    signals: PromptSignals,
    interrupt: Signal,
    colours: bool,
    /// The terminal as it was found.
    terminal: KeyboardInput,
    /// What was typed ahead of a plain line.
    ahead: String,
}

/// How lines are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EditorMode {
    /// With a cursor that moves.
    Rich,
    /// Whole lines, as the terminal hands them over.
    Plain,
}

struct RichEditor {
    requests: mpsc::Sender<EditorRequest>,
    replies: async_mpsc::UnboundedReceiver<LineRead>,
    sources: Arc<Mutex<CompletionSources>>,
    /// Prints above the line that is edited.
    printer: Option<mpsc::Sender<String>>,
}

enum EditorRequest {
    Read { raw: String, styled: String },
    Remember(String),
}

/// Signals that end the program.
struct PromptSignals {
    terminate: Signal,
    hang_up: Signal,
}

impl LineEditor {
    /// Opens it with what was typed in earlier conversations.
    pub fn open(mode: EditorMode, history: &[String], colours: bool) -> Result<Self, Problem> {
        let rich = (mode == EditorMode::Rich).then(|| RichEditor::start(history.to_vec(), colours));
        Ok(Self {
            rich: rich.flatten(),
            signals: PromptSignals {
                terminate: listen(SignalKind::terminate())?,
                hang_up: listen(SignalKind::hangup())?,
            },
            interrupt: listen(SignalKind::interrupt())?,
            colours,
            terminal: KeyboardInput::new(),
            ahead: String::new(),
        })
    }

    /// What can be completed from now on.
    pub fn complete_with(&self, sources: CompletionSources) {
        if let Some(rich) = &self.rich {
            *rich.sources.lock().unwrap_or_else(PoisonError::into_inner) = sources;
        }
    }

    /// Adds an entry to the history.
    pub fn remember(&self, entry: &str) {
        if let Some(rich) = &self.rich {
            // A thread that has ended has no history.
            let _ = rich
                .requests
                .send(EditorRequest::Remember(entry.to_owned()));
        }
    }

    /// Prints text above the line that is edited; none if that must wait until the line is read.
    pub fn printer(&self) -> Option<mpsc::Sender<String>> {
        self.rich.as_ref()?.printer.clone()
    }

    /// Reads a line behind this prompt.
    pub async fn read(&mut self, prompt: &str) -> LineRead {
        let styled = StyledLine::of(TextStyle::Accent, prompt).paint(self.colours);
        match &mut self.rich {
            Some(rich) => {
                let raw = prompt.to_owned();
                let asked = rich.requests.send(EditorRequest::Read { raw, styled });
                if asked.is_err() {
                    return LineRead::End;
                }
                tokio::select! {
                    read = rich.replies.recv() => read.unwrap_or(LineRead::End),
                    exit = self.signals.leaving() => {
                        // The editor still waits for a key.
                        self.terminal.reset();
                        LineRead::Leave(exit)
                    }
                }
            }
            None => {
                let mut keys = KeyboardInput::new();
                keys.begin(KeyboardMode::Lines);
                let read = self.read_plain(&styled, &mut keys).await;
                self.ahead.push_str(&keys.finish());
                read
            }
        }
    }

    /// Reads whole lines from the terminal, until one does not end with a backslash.
    async fn read_plain(&mut self, prompt: &str, keys: &mut KeyboardInput) -> LineRead {
        show(prompt);
        // A Ctrl-C that stopped a run before is not meant for this line.
        let _ = self.interrupt.recv().now_or_never();
        let mut typed = String::new();
        loop {
            let key = if self.ahead.is_empty() {
                tokio::select! {
                    biased;
                    exit = self.signals.leaving() => return LineRead::Leave(exit),
                    _ = self.interrupt.recv() => {
                        show("\n");
                        return LineRead::Interrupted(typed);
                    }
                    key = keys.next_or_end() => key,
                }
            } else {
                Some(self.ahead.remove(0))
            };
            match key {
                None if typed.is_empty() => {
                    show("\n");
                    return LineRead::End;
                }
                Some('\n') if draft::is_incomplete(&typed) => {
                    typed.push('\n');
                    show("… ");
                }
                None | Some('\n') => return LineRead::Line(draft::finished(&typed)),
                Some(key) => typed.push(key),
            }
        }
    }
}

fn show(text: &str) {
    // A terminal that is gone is noticed when it is read.
    let _ = io::stdout()
        .write_all(text.as_bytes())
        .and_then(|()| io::stdout().flush());
}

fn listen(kind: SignalKind) -> Result<Signal, Problem> {
    signal(kind).map_err(|error| {
        Problem::new(ErrorCode::Internal, "cannot listen for signals").cause(error.to_string())
    })
}

impl PromptSignals {
    async fn leaving(&mut self) -> Exit {
        tokio::select! {
            _ = self.terminate.recv() => Exit::TERMINATED,
            _ = self.hang_up.recv() => Exit::HUNG_UP,
        }
    }
}

impl RichEditor {
    /// Starts the thread; none if the terminal is not one that can be edited on.
    fn start(history: Vec<String>, colours: bool) -> Option<Self> {
        let sources: Arc<Mutex<CompletionSources>> = Arc::default();
        let (requests, asked) = mpsc::channel();
        let (answers, replies) = async_mpsc::unbounded_channel();
        let (ready, opened) = mpsc::channel();
        let helper = EditorHelper {
            sources: sources.clone(),
            colours,
        };
        std::thread::spawn(move || {
            let interrupted: Arc<Mutex<String>> = Arc::default();
            let Ok(mut editor) = open(helper, history, interrupted.clone()) else {
                return;
            };
            let _ = ready.send(editor.create_external_printer().ok().map(print_above));
            serve(&mut editor, &asked, &answers, &interrupted);
        });
        let printer = opened.recv().ok()?;
        Some(Self {
            requests,
            replies,
            sources,
            printer,
        })
    }
}

/// A thread that prints above the edited line: the printer blocks while the editor does not look.
fn print_above(mut printer: impl ExternalPrinter + Send + 'static) -> mpsc::Sender<String> {
    let (tx, rx) = mpsc::channel::<String>();
    std::thread::spawn(move || {
        for text in rx {
            if printer.print(text).is_err() {
                return;
            }
        }
    });
    tx
}

type ConversationEditor = Editor<EditorHelper, MemHistory>;

fn open(
    helper: EditorHelper,
    history: Vec<String>,
    interrupted: Arc<Mutex<String>>,
) -> rustyline::Result<ConversationEditor> {
    let colours = if helper.colours {
        ColorMode::Enabled
    } else {
        ColorMode::Disabled
    };
    let config = Config::builder()
        .completion_type(CompletionType::List)
        .completion_show_all_if_ambiguous(true)
        .color_mode(colours)
        .bracketed_paste(true)
        .build();
    let memory = MemHistory::with_config(&config);
    let mut editor = Editor::with_history(config, memory)?;
    editor.set_helper(Some(helper));
    for entry in history {
        editor.history_mut().add_owned(entry)?;
    }
    // Ctrl-J stays Enter: that is how the terminal hands over an Enter that was typed while a run worked.
    editor.bind_sequence(KeyEvent(KeyCode::Enter, Modifiers::ALT), Cmd::Newline);
    editor.bind_sequence(
        KeyEvent(KeyCode::Char('C'), Modifiers::CTRL),
        EventHandler::Conditional(Box::new(KeepDraft(interrupted))),
    );
    Ok(editor)
}

/// Reads lines as they are asked for, until nothing more is asked.
fn serve(
    editor: &mut ConversationEditor,
    asked: &mpsc::Receiver<EditorRequest>,
    answers: &async_mpsc::UnboundedSender<LineRead>,
    interrupted: &Mutex<String>,
) {
    for request in asked {
        let read = match request {
            EditorRequest::Remember(entry) => {
                let _ = editor.history_mut().add_owned(entry);
                continue;
            }
            EditorRequest::Read { raw, styled } => editor.readline(&(raw, styled)),
        };
        let read = match read {
            Ok(line) => LineRead::Line(draft::finished(&line)),
            Err(ReadlineError::Interrupted) => {
                let mut draft = interrupted.lock().unwrap_or_else(PoisonError::into_inner);
                LineRead::Interrupted(std::mem::take(&mut *draft))
            }
            Err(_) => LineRead::End,
        };
        if answers.send(read).is_err() {
            return;
        }
    }
}

/// Remembers what was typed when Ctrl-C is pressed.
struct KeepDraft(Arc<Mutex<String>>);

impl ConditionalEventHandler for KeepDraft {
    fn handle(&self, _: &Event, _: RepeatCount, _: bool, context: &EventContext) -> Option<Cmd> {
        let mut draft = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        context.line().clone_into(&mut draft);
        Some(Cmd::Interrupt)
    }
}

/// What the editor asks while a line is typed.
struct EditorHelper {
    sources: Arc<Mutex<CompletionSources>>,
    colours: bool,
}

impl Helper for EditorHelper {}

impl Completer for EditorHelper {
    type Candidate = String;

    fn complete(
        &self,
        line: &str,
        cursor: usize,
        _: &Context<'_>,
    ) -> rustyline::Result<(usize, Vec<String>)> {
        let sources = self.sources.lock().unwrap_or_else(PoisonError::into_inner);
        let found = sources.complete(line, cursor);
        Ok((found.start, found.words))
    }
}

impl Hinter for EditorHelper {
    type Hint = String;

    fn hint(&self, line: &str, cursor: usize, _: &Context<'_>) -> Option<String> {
        let sources = self.sources.lock().unwrap_or_else(PoisonError::into_inner);
        (cursor == line.len()).then(|| sources.hint(line))?
    }
}

impl Highlighter for EditorHelper {
    fn highlight_hint<'h>(&self, hint: &'h str) -> Cow<'h, str> {
        Cow::Owned(StyledLine::of(TextStyle::Dim, hint).paint(self.colours))
    }
}

impl Validator for EditorHelper {
    fn validate(&self, context: &mut ValidationContext) -> rustyline::Result<ValidationResult> {
        Ok(if draft::is_incomplete(context.input()) {
            ValidationResult::Incomplete
        } else {
            ValidationResult::Valid(None)
        })
    }
}
