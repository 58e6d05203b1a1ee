//! A Bash for stories: its commands are functions, which find the way back as a program would.

use std::{future::Future, sync::Arc};

use futures::future::BoxFuture;
use rooftree_protocol::{Effect, Outcome, ToolKind, ToolSpec};
use rooftree_runtime::call_socket::{CallSocketReply, connect};
use rooftree_tools::{CallSocketEnv, Tool, ToolContext, ToolInfo, ToolOutput};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader},
    net::UnixStream,
};

type Script = Arc<dyn Fn(Option<CallSocketEnv>, Value) -> BoxFuture<'static, String> + Send + Sync>;

pub struct Shell {
    spec: ToolSpec,
    script: Script,
}

impl Shell {
    /// One whose commands are let in.
    pub fn new<F: Future<Output = String> + Send + 'static>(
        script: impl Fn(CallSocketEnv) -> F + Send + Sync + 'static,
    ) -> Self {
        Self::maybe(move |way| script(way.unwrap()))
    }

    /// One whose commands may not be.
    pub fn maybe<F: Future<Output = String> + Send + 'static>(
        script: impl Fn(Option<CallSocketEnv>) -> F + Send + Sync + 'static,
    ) -> Self {
        Self::given(move |way, _| script(way))
    }

    /// One whose commands are told what the call says.
    pub fn given<F: Future<Output = String> + Send + 'static>(
        script: impl Fn(Option<CallSocketEnv>, Value) -> F + Send + Sync + 'static,
    ) -> Self {
        let spec = ToolSpec {
            name: "Bash".into(),
            description: "Runs.".into(),
            input_schema: json!({"type": "object"}),
        };
        Self {
            spec,
            script: Arc::new(move |way, input| Box::pin(script(way, input))),
        }
    }

    pub fn tool(self) -> Arc<dyn Tool> {
        Arc::new(self)
    }
}

const INFO: ToolInfo = ToolInfo {
    aliases: &["shell"],
    // Like a line that calls tools: it only looks by itself.
    repeat: Some(rooftree_protocol::Repeat::AtMostOnce),
    ..ToolInfo::at_run_time(ToolKind::Execute, Effect::ReadOnly)
};

impl Tool for Shell {
    fn info(&self) -> &ToolInfo {
        &INFO
    }

    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn normalise(&self, _called_as: &str, input: Value) -> Result<Value, String> {
        Ok(input)
    }

    fn title(&self, _input: &Value) -> String {
        "a script".into()
    }

    fn run(&self, input: Value, context: ToolContext) -> BoxFuture<'static, ToolOutput> {
        let work = (self.script)(context.way_back, input);
        Box::pin(async move {
            tokio::select! {
                said = work => ToolOutput::done(said),
                () = context.cancel.cancelled() => ToolOutput::done("stopped"),
            }
        })
    }
}

pub async fn stream(way: &CallSocketEnv) -> UnixStream {
    let stream = connect(&way.socket).unwrap();
    stream.set_nonblocking(true).unwrap();
    UnixStream::from_std(stream).unwrap()
}

/// Says these bytes at the door; what is answered.
pub async fn say_raw(way: &CallSocketEnv, bytes: &[u8]) -> Option<CallSocketReply> {
    let mut stream = stream(way).await;
    // Whoever hears enough need not hear all.
    let _ = stream.write_all(bytes).await;
    let mut line = String::new();
    BufReader::new(stream).read_line(&mut line).await.ok()?;
    serde_json::from_str(&line).ok()
}

/// Asks for something.
pub async fn ask(way: &CallSocketEnv, request: &Value) -> CallSocketReply {
    say_raw(way, format!("{request}\n").as_bytes())
        .await
        .unwrap()
}

/// Calls a tool; how it went, in words.
pub async fn called(way: &CallSocketEnv, tool: &str, input: Value) -> String {
    told(
        &ask(
            way,
            &json!({"token": way.token, "tool": tool, "input": input}),
        )
        .await,
    )
}

/// An answer in words.
pub fn told(reply: &CallSocketReply) -> String {
    match reply.outcome {
        Outcome::Failed(code) => format!("{code:?}: {}", reply.text),
        other => format!("{other:?}: {}", reply.text),
    }
}
