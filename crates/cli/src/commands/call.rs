//! Calls a tool of the agent that runs this command, through the runtime's call socket.
//!
//! Nothing is decided here: the runtime that issued the token checks permissions and makes the call.

use std::{
    env,
    io::{self, BufRead, BufReader, Write},
    path::Path,
};

use clap::Args;
use rooftree_protocol::{ErrorCode, Outcome, Problem};
use rooftree_runtime::{
    call_socket::{CallSocketReply, CallSocketRequest, FRAME, connect},
    exposure::CommandFlag,
};
use rooftree_tools::call_socket_env::{SOCKET, TOKEN};
use serde_json::Value;

use crate::{exit::Exit, output};

/// Options of `call`.
#[derive(Args, Debug)]
pub struct Arguments {
    /// Which tool: its name, or another name it answers to
    #[arg(value_name = "TOOL")]
    tool: String,
    /// Its arguments: --NAME VALUE or --NAME=VALUE for each, or all as --json OBJECT; --json - reads them from
    /// standard input
    #[arg(
        value_name = "ARGUMENTS",
        trailing_var_arg = true,
        allow_hyphen_values = true
    )]
    words: Vec<String>,
}

/// What was typed after the tool.
#[derive(Debug, Default, PartialEq)]
struct CallInput {
    input: Option<Value>,
    flags: Vec<CommandFlag>,
}

/// Calls it: its output is ours, and so is how it ended.
pub fn execute(arguments: Arguments) -> Result<Exit, Problem> {
    let CallInput { input, flags } = typed(&arguments.words, || io::read_to_string(io::stdin()))?;
    let told = |name: &str| env::var(name).ok().filter(|value| !value.is_empty());
    let (Some(socket), Some(token)) = (told(SOCKET), told(TOKEN)) else {
        return Err(not_inside());
    };
    let reply = ask(
        Path::new(&socket),
        &CallSocketRequest {
            token,
            tool: arguments.tool,
            input,
            flags,
        },
    )?;
    if reply.outcome == Outcome::Done {
        let text = if reply.text.ends_with('\n') {
            reply.text
        } else {
            reply.text + "\n"
        };
        output::print(&text)?;
        return Ok(Exit::DONE);
    }
    eprintln!("{}", reply.text.trim_end());
    Ok(exit(reply.outcome))
}

fn exit(outcome: Outcome) -> Exit {
    match outcome {
        Outcome::Done => Exit::DONE,
        Outcome::Denied | Outcome::Failed(ErrorCode::ToolNotAllowed) => Exit::PERMISSION,
        Outcome::Failed(code) => Exit::for_error(code),
        Outcome::Cancelled => Exit::INTERRUPTED,
        Outcome::Unknown => Exit::FAILED,
    }
}

fn ask(socket: &Path, request: &CallSocketRequest) -> Result<CallSocketReply, Problem> {
    let mut line = serde_json::to_vec(request).map_err(|error| lost(&error.to_string()))?;
    line.push(b'\n');
    if line.len() > FRAME {
        return Err(Problem::new(
            ErrorCode::InvalidArguments,
            "the arguments are longer than 1 MiB",
        )
        .fix("put what is long into a file, and name the file"));
    }
    let mut stream = connect(socket).map_err(|error| unreachable(&error))?;
    stream
        .write_all(&line)
        .map_err(|error| lost(&error.to_string()))?;
    let mut answer = String::new();
    BufReader::new(stream)
        .read_line(&mut answer)
        .map_err(|error| lost(&error.to_string()))?;
    serde_json::from_str(&answer).map_err(|_| lost("it ended without an answer"))
}

fn not_inside() -> Problem {
    Problem::new(ErrorCode::Unauthorized, "this is not a command of an agent that calls tools by commands")
        .cause(format!("{SOCKET} and {TOKEN} are not set"))
        .fix("let an agent with `exposure: skills` or `exposure: mixed` run it with Bash; docs/skills.md tells more")
}

fn unreachable(error: &io::Error) -> Problem {
    Problem::new(
        ErrorCode::Unauthorized,
        "the agent that runs this command cannot be reached",
    )
    .cause(error.to_string())
    .fix("the call this command belongs to has ended, or the command was left in background")
}

fn lost(why: &str) -> Problem {
    Problem::new(
        ErrorCode::ToolInterrupted,
        "what became of the call is not known",
    )
    .cause(why.to_owned())
}

/// Parses flags, or JSON. The value of a flag is validated by the tool.
fn typed(
    words: &[String],
    read: impl FnOnce() -> io::Result<String>,
) -> Result<CallInput, Problem> {
    let wrong = |words: String| {
        Problem::new(ErrorCode::InvalidArguments, words)
            .fix("write --NAME VALUE for each argument, or --json '{…}' for all")
    };
    let mut typed = CallInput::default();
    let mut words = words.iter().peekable();
    let mut json = None;
    while let Some(word) = words.next() {
        let Some(name) = word.strip_prefix("--").filter(|name| !name.is_empty()) else {
            return Err(wrong(format!("`{word}` belongs to no argument")));
        };
        let (name, value) = match name.split_once('=') {
            Some((name, value)) => (name, Some(value.to_owned())),
            // A value may begin with one dash: `--offset -5`.
            None => (name, words.next_if(|next| !next.starts_with("--")).cloned()),
        };
        if name == "json" {
            json = Some(value.ok_or_else(|| wrong("--json needs a value".into()))?);
        } else {
            typed.flags.push(CommandFlag {
                name: name.to_owned(),
                value,
            });
        }
    }
    let Some(json) = json else { return Ok(typed) };
    if !typed.flags.is_empty() {
        return Err(wrong(
            "--json is for all arguments: no others can stand beside it".into(),
        ));
    }
    let text = if json == "-" {
        read().map_err(|error| wrong(format!("standard input cannot be read: {error}")))?
    } else {
        json
    };
    let input = serde_json::from_str(&text);
    typed.input = Some(input.map_err(|error| wrong(format!("--json is no JSON: {error}")))?);
    Ok(typed)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(words: &[&str]) -> Result<CallInput, Problem> {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        typed(&words, || Ok(r#"{"from":"stdin"}"#.to_owned()))
    }

    fn flag(name: &str, value: Option<&str>) -> CommandFlag {
        CommandFlag {
            name: name.to_owned(),
            value: value.map(str::to_owned),
        }
    }

    #[test]
    fn flags_and_json_are_told_apart() {
        let flags = read(&["--url=a=b", "--deep", "--offset", "-5", "--text", ""])
            .unwrap()
            .flags;
        let wanted = [
            flag("url", Some("a=b")),
            flag("deep", None),
            flag("offset", Some("-5")),
            flag("text", Some("")),
        ];
        assert_eq!(flags, wanted);
        assert_eq!(
            read(&["--json", r#"{"a":1}"#]).unwrap().input,
            Some(json!({"a": 1}))
        );
        assert_eq!(
            read(&["--json", "-"]).unwrap().input,
            Some(json!({"from": "stdin"}))
        );
        assert_eq!(read(&[]).unwrap(), CallInput::default());
    }

    #[test]
    fn what_belongs_to_nothing_is_said() {
        for words in [
            &["a"][..],
            &["--json"],
            &["--json", "{"],
            &["--json", "{}", "--a", "b"],
            &["--a", "b", "c"],
            &["--"],
        ] {
            assert_eq!(
                read(words).unwrap_err().code,
                ErrorCode::InvalidArguments,
                "{words:?}"
            );
        }
    }
}
