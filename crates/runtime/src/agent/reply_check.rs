//! Checks the final reply of a small model: an invented tool result, an announcement without a call, an answer about
//! files that it has not looked at.
//!
//! Only models in the lean profile are checked. The reply goes back with a correction at most twice per run; after that
//! users are told that no tool was used.

use std::path::Path;

use rooftree_protocol::{
    EventBody,
    event::{HookNote, NoticeLevel, ReplyPart},
    message::text_of,
};
use rooftree_providers::{ModelMessage, catalog::ModelProfile, lean};
use serde_json::json;

use super::AgentActor;

/// Corrections per run.
const CORRECTIONS: u32 = 2;

/// Beginnings of sentences that announce a call.
const ANNOUNCEMENTS: [&str; 9] = [
    "i will ",
    "i'll ",
    "i am going to ",
    "i'm going to ",
    "let me ",
    "let's ",
    "first, i ",
    "i need to ",
    "please wait",
];

/// Beginnings that only look like one.
const COURTESIES: [&str; 4] = [
    "let me know",
    "i will be happy",
    "i'll be happy",
    "i will not",
];

/// Languages of code blocks that hold commands.
const COMMANDS: [&str; 4] = ["```bash", "```sh\n", "```shell", "```console"];

/// Words of a request that cannot be fulfilled without a tool.
const WORK: [&str; 22] = [
    "file",
    "files",
    "directory",
    "folder",
    "command",
    "shell",
    "run",
    "list",
    "read",
    "edit",
    "fix",
    "add",
    "append",
    "create",
    "write",
    "delete",
    "count",
    "lines",
    "script",
    "project",
    "repository",
    "tests",
];

/// What is wrong with a reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ReplyFault {
    /// It contained the result of a tool that was not called.
    Invented,
    /// It says what will be done, and nothing was.
    Announced,
    /// It answers without having looked.
    Guessed,
}

/// Sends the final reply back to the model if there is something wrong with it; says whether it did.
pub(super) fn sent_back(agent: &mut AgentActor) -> bool {
    let Some(fault) = fault(agent) else {
        return false;
    };
    let Some(run) = agent.history.run() else {
        return false;
    };
    // A second time only for what cannot be an answer: nothing is known of a guess but that no tool was used.
    let is_left = run.reply.corrections < CORRECTIONS
        && (run.reply.corrections == 0 || fault != ReplyFault::Guessed)
        && run.progress.turns < agent.resolved.limits.max_turns;
    if is_left {
        let messages = agent.history.messages();
        let reply = messages.last().map(|message| reply_text(message));
        let text = correction(agent, fault, &reply.unwrap_or_default());
        agent.note(EventBody::HookSaid(HookNote {
            point: HookNote::REPLY.into(),
            about: None,
            blocks: true,
            text,
        }));
    } else if run.progress.calls == 0 {
        agent.note(EventBody::Notice {
            level: NoticeLevel::Warning,
            code: "no_tool_used".into(),
            message: "no tool was used for this answer; it may be made up".into(),
            hint: None,
        });
    }
    is_left
}

fn fault(agent: &AgentActor) -> Option<ReplyFault> {
    let model = agent.model.chosen.as_ref().ok()?;
    let run = agent.history.run()?;
    if model.profile != ModelProfile::Lean || run.is_directed || agent.model.prompt.specs.is_empty()
    {
        return None;
    }
    let messages = agent.history.messages();
    let reply = messages.last().map(|message| reply_text(message))?;
    if reply.contains(lean::INVENTED_RESULT) {
        return Some(ReplyFault::Invented);
    }
    let is_unused = run.progress.calls == 0;
    if announces(&reply) || (is_unused && shows_command(&reply)) {
        return Some(ReplyFault::Announced);
    }
    let has_looked = messages
        .iter()
        .any(|message| matches!(**message, ModelMessage::Results(_)));
    let request = run
        .work
        .requests
        .last()
        .map(|request| request_text(request));
    let is_work = request.is_some_and(|text| wants_work(&text, &agent.session.cwd));
    (is_unused && !has_looked && is_work).then_some(ReplyFault::Guessed)
}

fn reply_text(message: &ModelMessage) -> String {
    let ModelMessage::Assistant { parts, .. } = message else {
        return String::new();
    };
    let texts = parts.iter().filter_map(|part| match part {
        ReplyPart::Text { text } => Some(text.as_str()),
        _ => None,
    });
    texts.collect()
}

fn request_text(message: &ModelMessage) -> String {
    match message {
        ModelMessage::User(parts) => text_of(parts),
        _ => String::new(),
    }
}

/// Whether a text says what its author is about to do.
fn announces(text: &str) -> bool {
    let text = text.to_lowercase().replace('\u{2019}', "'");
    let begins =
        |sentence: &str, with: &[&str]| with.iter().any(|words| sentence.starts_with(words));
    text.split(['.', '\n', '!', ':'])
        .map(str::trim)
        .any(|sentence| begins(sentence, &ANNOUNCEMENTS) && !begins(sentence, &COURTESIES))
}

/// Whether a text shows a command in a code block instead of having it run.
fn shows_command(text: &str) -> bool {
    COMMANDS.iter().any(|fence| text.contains(fence))
}

/// Whether a request is about files or commands: by its words, or because it names a file that exists.
fn wants_work(text: &str, cwd: &Path) -> bool {
    let lower = text.to_lowercase();
    let mut words = lower.split(|letter: char| !letter.is_alphanumeric());
    words.any(|word| WORK.contains(&word)) || named_file(text, cwd).is_some()
}

/// The first file of the working directory that a text names.
fn named_file<'a>(text: &'a str, cwd: &Path) -> Option<&'a str> {
    let trim = |word: &'a str| {
        word.trim_matches(|letter: char| !letter.is_alphanumeric() && !"./_-".contains(letter))
            .trim_end_matches('.')
    };
    text.split_whitespace()
        .map(trim)
        .filter(|word| word.contains(['.', '/']) && word.chars().any(char::is_alphanumeric))
        .find(|word| cwd.join(word).is_file())
}

/// What the model is told, with an example of a call that it has a tool for.
fn correction(agent: &AgentActor, fault: ReplyFault, reply: &str) -> String {
    let mode = agent.rights.policy.mode;
    let offered = lean::offered_tools(&agent.model.prompt.specs, mode);
    let request = agent
        .history
        .run()
        .and_then(|run| run.work.requests.last())
        .map(|request| request_text(request))
        .unwrap_or_default();
    // The model does not see the reply that is sent back, so these words are true without it.
    let fault = match fault {
        ReplyFault::Invented => "Do not write the result of a tool yourself.",
        ReplyFault::Announced => {
            "Do not only say what you will do: nothing is done without a tool."
        }
        ReplyFault::Guessed => "Do not answer without looking.",
    };
    let file = named_file(&request, &agent.session.cwd);
    let example = example(&offered, file, named_command(reply, &request));
    format!("{fault} {}\n\n```json\n{example}\n```", lean::CALL_NOW)
}

/// The command that a reply quotes from the request.
fn named_command<'a>(reply: &'a str, request: &str) -> Option<&'a str> {
    let quoted = reply.split('`').skip(1).step_by(2).map(str::trim);
    quoted
        .filter(|words| words.len() > 1 && !words.contains('\n'))
        .find(|words| request.contains(words))
}

/// A call that may help; a small model often writes just this one.
fn example(offered: &[&str], file: Option<&str>, command: Option<&str>) -> serde_json::Value {
    let has = |name: &str| offered.contains(&name);
    match (file, command) {
        (Some(file), _) if has("Read") => json!({"tool": "Read", "input": {"file_path": file}}),
        (_, Some(command)) if has("Bash") => json!({"tool": "Bash", "input": {"command": command}}),
        _ if has("List") => json!({"tool": "List", "input": {"path": "."}}),
        _ => json!({"tool": offered.first(), "input": {}}),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn n_7_announcements_are_told_from_answers() {
        for text in [
            "I will run the command `./x.sh`.",
            "To do this:\nLet me read the file.",
            "Sure. I\u{2019}ll list them",
        ] {
            assert!(announces(text), "{text}");
        }
        for text in [
            "It has 12 lines.",
            "Done. Let me know if you need more.",
            "The file says: \"I will\" is short.",
            "",
        ] {
            assert!(!announces(text), "{text}");
        }
    }

    #[test]
    fn n_7_a_request_about_files_is_told_from_small_talk() {
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        for text in ["List them", "what does Cargo.toml say?", "Run ./a.sh"] {
            assert!(wants_work(text, here), "{text}");
        }
        for text in ["What is 2+2?", "Say hello.", "Is Rust fast?"] {
            assert!(!wants_work(text, here), "{text}");
        }
    }
}
