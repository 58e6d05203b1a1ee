//! Tools of another program by the Model Context Protocol. Started with `serve`, this is that program.

use std::io::{self, BufRead, Write};

use rooftree::{
    McpServer, SandboxMode, query,
    testing::{ScriptedModel, call, say},
};
use serde_json::{Value, json};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    if std::env::args().nth(1).as_deref() == Some("serve") {
        return serve();
    }
    let model = ScriptedModel::from_replies([
        say("").calls([call("mcp__weather__forecast", json!({"city": "Oslo"}))]),
        say("{{ results[0].text }}"),
    ])?;
    let server = McpServer::program(std::env::current_exe()?.display().to_string(), ["serve"]);
    let answer = query("What will the weather be like?")
        .provider("scripted", model)
        // It is ourselves, wherever we lie: there is nothing to confine.
        .mcp(
            "weather",
            McpServer {
                sandbox: Some(SandboxMode::Off),
                ..server
            },
        )
        .allow("mcp__weather__forecast")
        .await?;
    println!("{answer}");
    Ok(())
}

/// Answers one request per line until there are no more.
fn serve() -> Result<(), Box<dyn std::error::Error>> {
    for line in io::stdin().lock().lines() {
        let request: Value = serde_json::from_str(&line?)?;
        let Some(id) = request.get("id") else {
            continue;
        };
        let answer = match result(&request) {
            Some(result) => json!({"jsonrpc": "2.0", "id": id, "result": result}),
            None => {
                let error = json!({"code": -32601, "message": "there is no such method"});
                json!({"jsonrpc": "2.0", "id": id, "error": error})
            }
        };
        writeln!(io::stdout(), "{answer}")?;
    }
    Ok(())
}

fn result(request: &Value) -> Option<Value> {
    match request.get("method")?.as_str()? {
        "initialize" => Some(json!({
            "protocolVersion": request.pointer("/params/protocolVersion"),
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "weather", "version": "1"},
        })),
        "tools/list" => Some(json!({"tools": [{
            "name": "forecast",
            "description": "What the weather will be like.",
            "inputSchema": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
        }]})),
        "tools/call" => {
            let city = request
                .pointer("/params/arguments/city")
                .and_then(Value::as_str)
                .unwrap_or("your place");
            let text = format!("It will be sunny in {city}.");
            Some(json!({"content": [{"type": "text", "text": text}]}))
        }
        _ => None,
    }
}
