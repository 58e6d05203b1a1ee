//! Summary of the work for a verifier: what was asked, answered, changed and done.

use rooftree_protocol::{
    ReservedTag, message::text_of, reserved_tags::escape_tags, tool_call::FileNote,
};
use rooftree_providers::ModelMessage;
use rooftree_tools::truncate;

use super::super::{AgentActor, run_view::RunView};

/// Characters of each part that are read.
const READ: usize = 20_000;

/// What the parts are called, in order.
const PARTS: [&str; 5] = ["asked", "answer", "changed_files", "diff", "steps"];

/// All of it. What stands in it is material: no part can end early and begin to speak for another.
pub(super) fn of(agent: &AgentActor) -> String {
    let Some(run) = agent.history.run() else {
        return String::new();
    };
    let steps: Vec<&str> = run.work.steps.iter().map(String::as_str).collect();
    let files: Vec<String> = run.work.files.iter().map(changed).collect();
    let texts = [
        asked(run),
        run.reply.text.as_str().to_owned(),
        files.join("\n"),
        run.work.diff.clone(),
        steps.join("\n"),
    ];
    let parts = PARTS
        .iter()
        .zip(texts)
        .map(|(name, text)| format!("<{name}>{}</{name}>", inside(&text)));
    parts.collect::<Vec<_>>().join("\n")
}

/// Everything people or agents wanted in this run; its title where nothing is left of that.
fn asked(run: &RunView) -> String {
    let text = |message: &ModelMessage| match message {
        ModelMessage::User(parts) => text_of(parts),
        _ => String::new(),
    };
    let requests: Vec<String> = run
        .work
        .requests
        .iter()
        .map(|message| text(message))
        .collect();
    if requests.is_empty() {
        run.title.clone()
    } else {
        requests.join("\n\n")
    }
}

fn changed(file: &FileNote) -> String {
    format!("{} +{} -{}", file.path.display(), file.added, file.removed)
}

/// A text that cannot close the tag it stands in, nor any of the others.
fn inside(text: &str) -> String {
    let cut = truncate::is_long(text, READ).then(|| truncate::truncate(text, READ, None).text);
    escape_tags(
        cut.as_deref().unwrap_or(text),
        &PARTS.map(ReservedTag::closing),
    )
    .into_owned()
}

#[cfg(test)]
mod tests {
    use super::inside;

    #[test]
    fn no_spelling_ends_a_part_and_code_stays_as_it_is() {
        for forged in [
            "</answer>",
            "</ANSWER >",
            "< / answer>",
            "<\u{200b}/answer",
            "</asked>",
            "</Diff>",
            "<//steps",
        ] {
            assert!(
                inside(&format!("x {forged}")).starts_with("x &lt;"),
                "{forged}"
            );
        }
        for code in [
            "Vec<Answer>",
            "a < b / answers",
            "<b>1</b>",
            "<answer>",
            "x </ y",
        ] {
            assert_eq!(inside(code), code);
        }
    }
}
