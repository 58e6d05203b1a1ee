//! The work that is checked, for whoever judges it: what was asked, answered, changed and done.

use rooftree_protocol::{message::text_of, tool_call::FileNote};
use rooftree_providers::ModelMessage;
use rooftree_tools::output;

use super::super::{Agent, run_view::RunView};

/// Characters of each part that are read.
const READ: usize = 20_000;

/// All of it. What stands in it is material: no part can end early and begin to speak for another.
pub(super) fn of(agent: &Agent) -> String {
    let Some(run) = agent.history.run() else { return String::new() };
    let steps: Vec<&str> = run.steps.iter().map(String::as_str).collect();
    let files: Vec<String> = run.files.iter().map(changed).collect();
    let parts = [
        ("asked", asked(run)),
        ("answer", run.text.clone()),
        ("changed_files", files.join("\n")),
        ("diff", run.diff.clone()),
        ("steps", steps.join("\n")),
    ];
    let parts = parts.iter().map(|(name, text)| format!("<{name}>{}</{name}>", inside(name, text)));
    parts.collect::<Vec<_>>().join("\n")
}

/// Everything people or agents wanted in this run; its title where nothing is left of that.
fn asked(run: &RunView) -> String {
    let text = |message: &ModelMessage| match message {
        ModelMessage::User(parts) => text_of(parts),
        _ => String::new(),
    };
    let wishes: Vec<String> = run.wishes.iter().map(|message| text(message)).collect();
    if wishes.is_empty() { run.title.clone() } else { wishes.join("\n\n") }
}

fn changed(file: &FileNote) -> String {
    format!("{} +{} -{}", file.path.display(), file.added, file.removed)
}

/// A text that cannot close the tag it stands in.
fn inside(name: &str, text: &str) -> String {
    let text = if output::is_long(text, READ) { output::cut(text, READ, None).text } else { text.to_owned() };
    text.replace(&format!("</{name}"), &format!("&lt;/{name}"))
}
