//! A program that is not the real one: it notes what it was given and plays what it is told to.

use std::{fs, path::PathBuf, sync::Arc, time::Duration};

use futures::StreamExt;
use rooftree_process::ChildEnvironment;
use rooftree_protocol::{
    Part, PermissionMode, SessionId, ToolSpec,
    event::{NoticeLevel, ReplyPart},
};
use rooftree_providers::{
    Error, MediaBytes, ModelMessage, ModelReply, ModelRequest, Provider, ReplyChunk, ToolChoice,
    Workplace,
    agent_program::{AgentProgram, ProgramOptions, ProgramProvider},
};
use tempfile::TempDir;

/// One fake program in its own directory.
pub struct Fake {
    pub directory: TempDir,
    program: &'static AgentProgram,
    pub options: ProgramOptions,
}

/// What an answer consisted of.
pub struct Heard {
    pub text: String,
    pub notes: Vec<(NoticeLevel, std::borrow::Cow<'static, str>, String)>,
    pub reply: Result<ModelReply, Error>,
}

impl Fake {
    /// Plays a shell script; `$here` is its directory. Its input and arguments are noted first.
    pub fn new(program: &'static AgentProgram, script: &str) -> Self {
        let directory = tempfile::tempdir().unwrap();
        fs::write(directory.path().join("script"), script).unwrap();
        let here = directory.path().display().to_string();
        // The program itself is never written by a test: one that is open for writing cannot be started.
        let executable = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/external/program.sh");
        let options = ProgramOptions {
            executable: Some(executable.into()),
            environment: ChildEnvironment::default().with("FAKE_PROGRAM", &here),
            timeout: Duration::from_secs(20),
            ..ProgramOptions::default()
        };
        Self {
            directory,
            program,
            options,
        }
    }

    /// Plays a recording as it is.
    pub fn replaying(program: &'static AgentProgram, recording: &str) -> Self {
        Self::new(program, "cat \"$here/recording\"").with_recording(recording)
    }

    pub fn with_recording(self, recording: &str) -> Self {
        fs::write(self.path("recording"), recording).unwrap();
        self
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// What it read from its standard input.
    pub fn input(&self) -> String {
        fs::read_to_string(self.path("input")).unwrap()
    }

    /// What it was started with.
    pub fn arguments(&self) -> Vec<String> {
        fs::read_to_string(self.path("arguments"))
            .unwrap()
            .lines()
            .map(str::to_owned)
            .collect()
    }

    pub fn provider(&self) -> ProgramProvider {
        ProgramProvider::new(self.program, self.options.clone())
    }

    /// A question in this directory.
    pub fn request(&self, messages: impl IntoIterator<Item = ModelMessage>) -> ModelRequest {
        ModelRequest {
            model: "default".into(),
            effort: None,
            agent: "main".into(),
            system: "Be terse.".into(),
            messages: Arc::new(messages.into_iter().map(Arc::new).collect()),
            tools: Arc::new([]),
            tool_choice: ToolChoice::Auto,
            schema: None,
            max_output: None,
            media: MediaBytes::default(),
            session: SessionId::from_entropy(1),
            attempt: 0,
            workplace: Arc::new(Workplace {
                directory: self.directory.path().to_owned(),
                mode: PermissionMode::Ask,
                ..Workplace::default()
            }),
        }
    }

    /// Asks and listens to the end.
    pub async fn ask(&self, text: &str) -> Heard {
        self.answer(self.request([user(text)])).await
    }

    /// Asks this and listens to the end.
    pub async fn answer(&self, request: ModelRequest) -> Heard {
        let mut stream = self.provider().stream(request);
        let mut heard = Heard {
            text: String::new(),
            notes: Vec::new(),
            reply: Err(Error::Broken("no reply".into())),
        };
        while let Some(chunk) = stream.next().await {
            match chunk {
                Ok(ReplyChunk::Text(text)) => heard.text.push_str(&text),
                Ok(ReplyChunk::Note {
                    level,
                    code,
                    message,
                }) => heard.notes.push((level, code, message)),
                Ok(ReplyChunk::Reply(reply)) => heard.reply = Ok(reply),
                Ok(_) => {}
                Err(error) => heard.reply = Err(error),
            }
        }
        heard
    }
}

/// A user's message.
pub fn user(text: &str) -> ModelMessage {
    ModelMessage::User(vec![Part::text(text)])
}

/// A program's message.
pub fn assistant(program: &AgentProgram, parts: Vec<ReplyPart>) -> ModelMessage {
    ModelMessage::Assistant {
        model: format!("{}/default", program.name),
        parts,
    }
}

/// A tool of the agent's scope.
pub fn tool(name: &str) -> ToolSpec {
    ToolSpec {
        name: name.into(),
        description: String::new(),
        input_schema: serde_json::json!({}),
    }
}

/// The text of a reply.
pub fn text(reply: &ModelReply) -> String {
    crate::conversation::text(reply)
}
