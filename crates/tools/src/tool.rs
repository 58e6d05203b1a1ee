//! The trait every tool implements, and what a tool is given and gives back.

use std::{
    any::Any,
    collections::HashMap,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use futures::future::BoxFuture;
use rooftree_protocol::{
    AgentDialect, CallId, Effect, ErrorCode, Part, PermissionMode, Question, QuestionReply, Repeat,
    SessionId, Todo, ToolKind, ToolSpec, Usage,
    event::{SkillNote, TaskNote},
    tool_call::FileNote,
};
use rooftree_shell as shell;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::{
    CallReach, SandboxConfig,
    call_socket_env::CallSocketEnv,
    notice::Notice,
    reach::{FileBefore, FileTarget},
    resolved_path::normalize_lexically,
    tool_info::{CallConcurrency, ToolInfo},
    walk,
};

/// An agent that a call would start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlannedAgent {
    /// Its definition.
    pub agent: String,
    /// Its model; none if that is chosen when its run begins.
    pub model: Option<String>,
    /// The tools it gets.
    pub tools: Vec<String>,
    /// The task in a few words.
    pub title: String,
}

/// Something an agent can do.
///
/// Contract: `agent/act.rs` in the runtime is the only caller. For each call it asks, in this
/// order, `normalise`, `effect`, `title` (all pure, no I/O), then the policy, then, if a person
/// must be asked, `preflight` and `preview`, then `run`.
/// `run` never panics and never returns an error type: what went wrong is content for the
/// model, with [`ToolOutput::failed`]. When `context.cancel` fires, `run` stops whatever it
/// started and returns soon with what it has.
///
/// Methods that the declaration answers have a default; a tool overrides those where its arguments matter.
pub trait Tool: Send + Sync {
    /// Its declaration.
    fn info(&self) -> &ToolInfo;

    /// What the model is told. Stable for the life of the tool: it is part of a cached prompt.
    fn spec(&self) -> &ToolSpec;

    /// What a model is told instead that was taught another program's names; it answers to those too.
    fn spec_in(&self, dialect: AgentDialect) -> Option<ToolSpec> {
        crate::dialect_names::renamed(self.spec(), dialect)
    }

    /// Other names it answers to, compared without case.
    fn aliases(&self) -> &'static [&'static str] {
        self.info().aliases
    }

    /// Its family.
    fn kind(&self) -> ToolKind {
        self.info().kind
    }

    /// Its capabilities, which definitions allow or deny: `file.read`, `net`. An empty list counts as `unknown`,
    /// which an allow list must name.
    fn capabilities(&self) -> &'static [&'static str] {
        self.info().capabilities
    }

    /// Whether it must know who calls; only tools of the runtime can tell.
    fn needs_caller(&self) -> bool {
        self.info().needs_caller
    }

    /// Turns what a model wrote, under the name it used, into canonical arguments;
    /// says in words for the model what is wrong with them.
    fn normalise(&self, called_as: &str, input: Value) -> Result<Value, String>;

    /// What this call does to the world.
    fn effect(&self, input: &Value) -> Effect {
        let _ = input;
        self.info().effect
    }

    /// What may be done if its result is lost.
    fn repeat(&self, input: &Value) -> Repeat {
        match (self.info().repeat, self.effect(input)) {
            (Some(repeat), _) => repeat,
            (None, Effect::ReadOnly) => Repeat::Pure,
            (None, _) => Repeat::AtMostOnce,
        }
    }

    /// Whether it may run beside other calls of the same reply.
    fn is_concurrent(&self, input: &Value) -> bool {
        match self.info().concurrency {
            CallConcurrency::ReadOnlyCalls => self.effect(input) == Effect::ReadOnly,
            CallConcurrency::Always => true,
            CallConcurrency::Never => false,
        }
    }

    /// Whether it may reach what another call of the same reply reaches too, so that they take effect in the order of
    /// the calls.
    fn is_ordered(&self, input: &Value) -> bool {
        let _ = input;
        false
    }

    /// This call in a few words for people: the path, the command.
    fn title(&self, input: &Value) -> String {
        self.info().subject.of(input).unwrap_or_default()
    }

    /// The name that rules and hooks know a call by. It is the tool's own, unless the call belongs to another subject
    /// of rules: the MCP server whose resource is read.
    fn ruled_as(&self, input: &Value) -> String {
        let _ = input;
        self.spec().name.clone()
    }

    /// What a rule `Tool(…)` is compared with: the path, the command. None: only `Tool` matches.
    fn subject(&self, input: &Value) -> Option<String> {
        self.info().subject.of(input)
    }

    /// The rule a call asks for, if asking is all it does: then a person is asked whatever else is
    /// allowed, and a yes makes the rule.
    fn wants(&self, input: &Value) -> Option<String> {
        let _ = input;
        None
    }

    /// Pre-flight check. An error here means the user is not asked to approve a call that cannot succeed. May read
    /// files, and changes nothing.
    fn preflight(&self, input: &Value, context: &ToolContext) -> Result<(), String> {
        let _ = (input, context);
        Ok(())
    }

    /// More for the person who is asked: the diff of an edit. May read files.
    fn preview(&self, input: &Value, context: &ToolContext) -> String {
        let _ = (input, context);
        String::new()
    }

    /// The files this call is about to change, as they are now; they are stored before it runs, so that its changes
    /// can be undone. May read files.
    fn file_changes(&self, input: &Value, context: &ToolContext) -> Vec<PlannedFileChange> {
        let _ = (input, context);
        Vec::new()
    }

    /// Does it. `input` is what `normalise` returned.
    fn run(&self, input: Value, context: ToolContext) -> BoxFuture<'static, ToolOutput>;

    /// The agent that the call would start. None for a tool that starts none, and for a call that will fail.
    fn starts(
        &self,
        _input: &Value,
        _context: ToolContext,
    ) -> BoxFuture<'static, Option<PlannedAgent>> {
        Box::pin(std::future::ready(None))
    }
}

/// Whether what a call returns may come from outside, where text is written by strangers. It is told from what the
/// journal keeps of the call, so that runs recorded earlier are judged in the same way.
pub fn returns_outside_text(kind: ToolKind, tool: &str, input: &Value) -> bool {
    let command = || {
        input
            .get("command")
            .and_then(Value::as_str)
            .unwrap_or_default()
    };
    kind == ToolKind::Fetch || (tool == "Bash" && shell::reads_outside(command()))
}

/// What a tool is given besides its arguments. Cheap to clone.
#[derive(Clone)]
pub struct ToolContext {
    /// The session of the call; background processes belong to it.
    pub session: SessionId,
    /// The call being made.
    pub call: CallId,
    /// Relative paths start here.
    pub cwd: Arc<Path>,
    /// The files this call may touch.
    pub reach: CallReach,
    /// Fires when the call should stop.
    pub cancel: CancellationToken,
    /// What the session has seen of files.
    pub views: FileViews,
    /// The session's todo list as it is now.
    pub todos: Arc<[Todo]>,
    /// How what it runs is confined; none: not at all.
    pub sandbox: Option<SandboxConfig>,
    /// Reports progress to subscribers of the session.
    pub progress: ProgressCallback,
    /// Asks the user and waits for the answer; the question survives a restart.
    pub ask: Inquirer,
    /// Reads a blob that an earlier result was spilled to.
    pub blobs: BlobReader,
    /// How commands it starts can call tools of the agent; none: not at all.
    pub way_back: Option<CallSocketEnv>,
    /// The calling agent, for tools that ask other agents; an opaque value of the runtime.
    pub caller: Option<Arc<dyn Any + Send + Sync>>,
}

/// Callback that reports progress of a running call.
pub type ProgressCallback = Arc<dyn Fn(&str) + Send + Sync>;

/// Callback that asks the user during a call. Without a user to ask, the question is declined at once.
pub type Inquirer = Arc<dyn Fn(Vec<Question>) -> BoxFuture<'static, QuestionReply> + Send + Sync>;

/// An inquirer that declines every question.
pub fn no_inquirer() -> Inquirer {
    Arc::new(|_| {
        Box::pin(async {
            QuestionReply::Declined {
                because: Some("no user can be asked".into()),
            }
        })
    })
}

/// Gets stored bytes by their id; none if there are no such bytes.
pub type BlobReader = Arc<dyn Fn(String) -> BoxFuture<'static, Option<Vec<u8>>> + Send + Sync>;

impl ToolContext {
    /// Context for a call outside of any agent: no progress reports, questions are declined, no sandbox.
    pub fn detached(session: SessionId, call: CallId, cwd: &Path) -> Self {
        Self {
            session,
            call,
            cwd: cwd.into(),
            reach: CallReach::default(),
            cancel: CancellationToken::new(),
            views: FileViews::default(),
            todos: Arc::default(),
            sandbox: None,
            progress: Arc::new(|_| {}),
            ask: no_inquirer(),
            blobs: Arc::new(|_| Box::pin(async { None })),
            way_back: None,
            caller: None,
        }
    }

    /// An absolute path for what a model wrote, without `.` and `..`.
    ///
    /// Invariant: what a tool opens is what the policy judged: `link/..` is the directory the
    /// link is in, not the one above its target.
    pub fn resolve(&self, path: &str) -> PathBuf {
        normalize_lexically(&self.cwd.join(path))
    }

    /// What a model wrote as something that can be opened, if that is what the call was judged by.
    pub(crate) fn target(&self, shown: &str) -> Result<FileTarget, String> {
        FileTarget::new(&self.reach, &self.cwd, &self.resolve(shown), shown)
    }

    /// A path as a model should see it: relative where that is shorter, and always one line.
    pub(crate) fn shown(&self, path: &Path) -> String {
        let home = self.reach.pinned().map(|pinned| pinned.home.as_path());
        walk::shown(
            path,
            home.filter(|home| path.starts_with(home))
                .unwrap_or(&self.cwd),
        )
    }
}

/// Which content of which file a session has seen, by hash: an edit of anything else is refused.
#[derive(Clone, Default)]
pub struct FileViews {
    seen: Arc<Mutex<HashMap<PathBuf, String>>>,
    /// Held while a file is checked and changed: calls of one reply run at the same time.
    change: Arc<Mutex<()>>,
}

impl FileViews {
    /// The hash of the content the session knows.
    pub fn seen(&self, path: &Path) -> Option<String> {
        self.seen.lock().ok()?.get(path).cloned()
    }

    /// Takes over what a call says it saw or wrote; a file that is gone is forgotten.
    pub fn note(&self, note: &FileNote) {
        if let Ok(mut views) = self.seen.lock() {
            match &note.hash {
                Some(hash) => views.insert(note.path.clone(), hash.clone()),
                None => views.remove(&note.path),
            };
        }
    }

    /// Keeps other calls of the session from changing files until it is dropped.
    pub(crate) fn changing(&self) -> MutexGuard<'_, ()> {
        self.change.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Forgets everything: the model has forgotten too.
    pub fn clear(&self) {
        if let Ok(mut views) = self.seen.lock() {
            views.clear();
        }
    }
}

/// What a call led to.
#[derive(Clone, Debug, Default)]
pub struct ToolOutput {
    /// What the model reads. Long text is cut by the caller, not by the tool.
    pub content: Vec<Part>,
    /// Why it failed, if it did.
    pub failure: Option<ErrorCode>,
    /// Files it looked at or changed.
    pub files: Vec<FileNote>,
    /// What it changed, as a unified diff.
    pub diff: Option<String>,
    /// The new todo list, if it changed.
    pub todos: Option<Vec<Todo>>,
    /// The task it started or asked about.
    pub task: Option<TaskNote>,
    /// How much may happen without asking from now on, if that changed.
    pub mode: Option<ModeChange>,
    /// The skill it loaded, which the agent follows from now on.
    pub skill: Option<SkillNote>,
    /// What a model that the tool itself asked has cost.
    pub usage: Option<Usage>,
    /// Bytes to keep, e.g. an image that was read: the caller stores them and adds the part.
    pub media: Vec<ToolMedia>,
    /// Notices for the user, not only for the model.
    pub notices: Vec<Notice>,
    /// A file for the chat that the run answers: the caller stores it, has it delivered and says so.
    pub send: Option<FileToSend>,
}

/// A file for a chat.
#[derive(Clone, Debug)]
pub struct FileToSend {
    /// Its name, without folders.
    pub name: String,
    /// Its media type.
    pub media_type: String,
    /// What is said with it.
    pub caption: String,
    /// Where it is.
    pub path: PathBuf,
    /// Its bytes.
    pub bytes: Vec<u8>,
}

/// A file that a call is about to change.
#[derive(Clone, Debug)]
pub struct PlannedFileChange {
    /// Links followed.
    pub path: PathBuf,
    /// What is there before.
    pub before: FileBefore,
    /// Hash of what is there afterwards; none if it is deleted.
    pub after: Option<String>,
}

/// A change of the permission mode of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ModeChange {
    /// The mode from now on; none for the one the session was started with.
    pub mode: Option<PermissionMode>,
    /// Requested by `user` or `agent`. An agent can only narrow.
    pub by: &'static str,
}

/// Bytes a tool wants the model to see.
#[derive(Clone, Debug)]
pub struct ToolMedia {
    /// `image/png` and the like.
    pub media_type: String,
    /// The bytes.
    pub bytes: Vec<u8>,
}

impl ToolOutput {
    /// It worked; this is what the model reads.
    pub fn done(text: impl Into<String>) -> Self {
        Self {
            content: vec![Part::text(text)],
            ..Self::default()
        }
    }

    /// It did not; the text says why and what to try.
    pub fn failed(code: ErrorCode, text: impl Into<String>) -> Self {
        Self {
            content: vec![Part::text(text)],
            failure: Some(code),
            ..Self::default()
        }
    }

    /// The text of it.
    pub fn text(&self) -> String {
        rooftree_protocol::message::text_of(&self.content)
    }
}
