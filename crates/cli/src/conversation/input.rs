//! Parses a typed line: a slash command, the name of a prompt command or skill, or a message.

use rooftree_protocol::{
    Problem,
    actions::{self, ActionArgument, ActionInfo},
};

use crate::commands::run::slash_prompt::{self, PromptName};

/// What a line means.
#[derive(Debug)]
pub enum TypedLine {
    /// Nothing was typed.
    Empty,
    /// A slash command and the words behind it.
    Action(&'static ActionInfo, String),
    /// A command file or skill, and its arguments.
    Prompt(String, String),
    /// What is said to the agent.
    Message(String),
    /// A slash command that does not exist.
    Unknown(Problem),
}

/// Parses a line. A line that begins with a space or with a path is a message.
pub fn parse(line: &str, prompts: &[PromptName]) -> TypedLine {
    let text = line.trim_end();
    if text.trim().is_empty() {
        return TypedLine::Empty;
    }
    let Some((name, arguments)) = slash_prompt::slash_name(text) else {
        return TypedLine::Message(text.trim().to_owned());
    };
    if name.starts_with("mcp__") {
        return TypedLine::Message(text.to_owned());
    }
    if let Some(action) = actions::action(name) {
        return match surplus(action, arguments) {
            Some(problem) => TypedLine::Unknown(problem),
            None => TypedLine::Action(action, arguments.to_owned()),
        };
    }
    let mut known = prompts.iter();
    if let Some(prompt) = known.find(|prompt| prompt.name.eq_ignore_ascii_case(name)) {
        return TypedLine::Prompt(prompt.name.clone(), arguments.to_owned());
    }
    let actions = actions::ACTIONS.iter().map(|action| action.name);
    let prompts = prompts.iter().map(|prompt| prompt.name.as_str());
    let names: Vec<&str> = actions.chain(prompts).collect();
    let problem = slash_prompt::unknown(name, &names);
    TypedLine::Unknown(match problem.fix.clone() {
        Some(fix) => problem.fix(format!("{fix}; /help lists the commands")),
        None => problem,
    })
}

/// The error for words behind a command that takes none.
fn surplus(action: &ActionInfo, arguments: &str) -> Option<Problem> {
    let takes_none = action.argument == ActionArgument::None;
    (takes_none && !arguments.is_empty()).then(|| {
        Problem::new(
            rooftree_protocol::ErrorCode::InvalidArguments,
            format!("/{} takes no words", action.name),
        )
        .fix(format!("type /{} alone", action.name))
    })
}

#[cfg(test)]
mod tests {
    use rooftree_protocol::actions::UserAction;

    use super::*;

    fn prompts() -> Vec<PromptName> {
        vec![PromptName {
            name: "fix-issue".into(),
            arguments: "[number]".into(),
            description: String::new(),
        }]
    }

    #[test]
    fn a_line_is_a_command_a_prompt_or_a_message() {
        let is = |line: &str| parse(line, &prompts());
        assert!(matches!(is("  "), TypedLine::Empty));
        assert!(matches!(
            is("/model openai/x"),
            TypedLine::Action(action, words) if action.action == UserAction::Model && words == "openai/x"
        ));
        assert!(matches!(
            is("/EXIT"),
            TypedLine::Action(action, _) if action.action == UserAction::Quit
        ));
        assert!(matches!(
            is("/fix-issue 12"),
            TypedLine::Prompt(name, words) if name == "fix-issue" && words == "12"
        ));
        for message in ["hello", "/etc/hosts is wrong", " /model x", "/mcp__s__p x"] {
            assert!(matches!(is(message), TypedLine::Message(_)), "{message}");
        }
    }

    #[test]
    fn a_wrong_command_is_answered_with_the_nearest() {
        let fix = |line: &str| match parse(line, &prompts()) {
            TypedLine::Unknown(problem) => problem.fix.unwrap(),
            other => panic!("{other:?}"),
        };
        assert!(fix("/swich x").contains("did you mean `/switch`?"));
        assert!(fix("/fix-isue").contains("did you mean `/fix-issue`?"));
        assert!(fix("/quit now").contains("type /quit alone"));
    }
}
