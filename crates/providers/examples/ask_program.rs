//! Asks a program that answers as a model, and prints what comes: `ask_program PROVIDER [EXECUTABLE]`.
//!
//! The messages are read from standard input, one per line; each line is one turn of the same
//! session. `docs/programs-as-models.md` shows how to try the real programs with it.

use std::{env, io, sync::Arc};

use futures::StreamExt;
use rooftree_protocol::{Part, PermissionMode, SessionId, ToolSpec};
use rooftree_providers::{
    MediaBytes, ModelMessage, ModelRequest, Provider, ReplyChunk, ToolChoice, Workplace,
    agent_program::{CLAUDE, CODEX, PI, ProgramOptions, ProgramProvider},
};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = env::args().skip(1);
    let name = arguments.next().unwrap_or_default();
    let program = [&CLAUDE, &CODEX, &PI]
        .into_iter()
        .find(|program| program.name == name);
    let program = program.ok_or("usage: ask_program claude-cli|codex-cli|pi-cli [EXECUTABLE]")?;
    let executable = arguments.next().map(Into::into);
    let external = ProgramProvider::new(
        program,
        ProgramOptions {
            executable,
            ..ProgramOptions::default()
        },
    );
    let mut messages = Vec::new();
    for line in io::stdin().lines() {
        messages.push(Arc::new(ModelMessage::User(vec![Part::text(line?)])));
        let mut stream = external.stream(request(messages.clone())?);
        while let Some(chunk) = stream.next().await {
            let chunk = chunk.map_err(|error| format!("{:#?}", error.problem()))?;
            println!("{chunk:?}");
            if let ReplyChunk::Reply(reply) = chunk {
                let model = format!("{name}/default");
                messages.push(Arc::new(ModelMessage::Assistant {
                    model,
                    parts: reply.parts,
                }));
            }
        }
    }
    Ok(())
}

fn request(messages: Vec<Arc<ModelMessage>>) -> io::Result<ModelRequest> {
    let tool = |name: &str| ToolSpec {
        name: name.to_owned(),
        description: String::new(),
        input_schema: serde_json::Value::Null,
    };
    Ok(ModelRequest {
        model: env::var("ASK_MODEL").unwrap_or_else(|_| "default".to_owned()),
        effort: None,
        agent: "main".into(),
        system: "Be terse.".into(),
        messages: messages.into(),
        tools: ["Read", "Bash"].map(tool).into(),
        tool_choice: ToolChoice::Auto,
        schema: None,
        max_output: None,
        media: MediaBytes::default(),
        session: SessionId::from_entropy(1),
        attempt: 0,
        workplace: Arc::new(Workplace {
            directory: env::current_dir()?,
            mode: PermissionMode::Auto,
            ..Workplace::default()
        }),
    })
}
