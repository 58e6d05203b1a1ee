//! Expands `/name arguments` to the text of a command file or a skill, for `run` and for a conversation.

use std::path::Path;

use rooftree_protocol::{ErrorCode, Problem, SkillNote, actions};
use rooftree_runtime::{
    ProjectContext,
    definitions::{ProjectTrust, SearchDirs},
};
use rooftree_stdx::edit_distance;

use super::{
    Arguments, PreparedRun,
    user_input::{UserInput, UserMessage},
};
use crate::{environment::Environment, project_agents, trust};

/// Files of a skill that are named with its text.
const NAMED: usize = 50;
/// Letters by which a name may differ from the one that is proposed.
const SLIP: usize = 3;

/// What a command or skill says, with its arguments filled in.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExpandedPrompt {
    pub text: String,
    /// The model it wants.
    pub model: Option<String>,
    /// The agent it wants.
    pub agent: Option<String>,
    /// The tools that its run may use, if it says so.
    pub restriction: Option<SkillNote>,
}

/// Something that can be typed behind a slash.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PromptName {
    pub name: String,
    pub arguments: String,
    pub description: String,
}

/// The name and the arguments of a line that begins with a slash; none if the line is a message, or begins with a path.
pub fn slash_name(text: &str) -> Option<(&str, &str)> {
    let rest = text.strip_prefix('/')?;
    let (name, arguments) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    let is_letter = |letter: char| letter.is_alphanumeric() || "-_:.?".contains(letter);
    let is_name = !name.is_empty() && name.chars().all(is_letter);
    let is_path = || Path::new("/").join(name).exists();
    (is_name && !is_path()).then(|| (name, arguments.trim()))
}

/// All commands and skills that can be typed, by name.
pub fn names(context: &ProjectContext) -> Vec<PromptName> {
    let skills = context.skills.iter().filter(|skill| skill.is_for_people);
    let skills = skills.map(|skill| PromptName {
        name: skill.name.clone(),
        arguments: skill.argument_hint.clone(),
        description: skill.short(),
    });
    let commands = context.commands.iter().map(|command| PromptName {
        name: command.name.clone(),
        arguments: command.argument_hint.clone(),
        description: command.description.clone(),
    });
    let mut names: Vec<PromptName> = commands.chain(skills).collect();
    names.sort_by(|one, other| one.name.cmp(&other.name));
    names.dedup_by(|one, other| one.name == other.name);
    names
}

/// The text of the command or skill with this name; none if there is none. A command goes before a skill.
pub fn expand(name: &str, arguments: &str, context: &ProjectContext) -> Option<ExpandedPrompt> {
    let typed = format!("/{name} {arguments}").trim_end().to_owned();
    let mut commands = context.commands.iter();
    if let Some(command) = commands.find(|known| known.name.eq_ignore_ascii_case(name)) {
        return Some(ExpandedPrompt {
            text: format!("{typed}\n\n{}", command.body(arguments)?),
            model: command.model.clone(),
            agent: command.agent.clone(),
            restriction: command.restriction(),
        });
    }
    let mut skills = context.skills.iter().filter(|skill| skill.is_for_people);
    let skill = skills.find(|known| known.name.eq_ignore_ascii_case(name))?;
    let is_restricted = skill.allowed_tools.is_some() || !skill.disallowed_tools.is_empty();
    if is_restricted && skill.is_listed {
        // The tool that loads it also narrows what may be called.
        let text = format!(
            "{typed}\n\nLoad the skill `{}` with the arguments `{arguments}`, and follow it.",
            skill.name
        );
        return Some(ExpandedPrompt {
            text,
            ..ExpandedPrompt::default()
        });
    }
    let mut text = format!(
        "{typed}\n\nSkill {} in {}\n",
        skill.name,
        skill.directory.display()
    );
    let files = skill.files(NAMED);
    if !files.is_empty() {
        text += &format!("Files it brings: {}\n", files.join(", "));
    }
    Some(ExpandedPrompt {
        text: format!("{text}\n{}", skill.body(arguments)?),
        ..ExpandedPrompt::default()
    })
}

/// The error for a name that nothing has, with the nearest one that there is.
pub fn unknown(name: &str, known: &[&str]) -> Problem {
    // A third of the letters: `/foo` is not a slip of `/cost`.
    let slip = SLIP.min(name.chars().count().div_ceil(3));
    let nearest = edit_distance::nearest(name, known.iter().copied(), slip);
    let problem = Problem::new(
        ErrorCode::InvalidArguments,
        format!("there is no command or skill `/{name}`"),
    );
    let as_it_is = "to say it to the agent, put a word before the slash";
    match nearest {
        Some(nearest) => problem.fix(format!("did you mean `/{nearest}`? {as_it_is}")),
        None => problem.fix(as_it_is),
    }
}

/// What `rooftree run` was told, with the text of a command or skill in place of its name.
pub fn expand_typed(
    said: UserInput,
    arguments: &mut Arguments,
    prepared: &PreparedRun,
    environment: &Environment,
) -> Result<UserInput, Problem> {
    let UserInput::Message(message) = said else {
        return Ok(said);
    };
    let context = prepared.project.project_context.now();
    let Some((name, words)) = slash_name(message.text()) else {
        return Ok(UserInput::Message(message));
    };
    if let Some(expanded) = expand(name, words, &context) {
        arguments.model = arguments.model.take().or(expanded.model);
        if arguments.session.is_none() && !arguments.latest {
            arguments.agent = arguments.agent.take().or(expanded.agent);
        }
        let message = UserMessage::with_text(expanded.text, message);
        return Ok(UserInput::Message(message.narrowed(expanded.restriction)));
    }
    if let Some(action) = actions::action(name) {
        let message = format!("`/{}` is a command of a conversation", action.name);
        return Err(Problem::new(ErrorCode::InvalidArguments, message)
            .fix(format!("rooftree, then type {}", action.typed())));
    }
    let names = names(&context);
    let names: Vec<&str> = names.iter().map(|known| known.name.as_str()).collect();
    let problem = unknown(name, &names);
    Err(match untrusted(environment) {
        Some(cause) => problem.cause(cause),
        None => problem,
    })
}

/// Why commands of this folder are not there, if that is so.
fn untrusted(environment: &Environment) -> Option<&'static str> {
    let places: SearchDirs = project_agents::places(environment);
    let is_trusted = trust::of(environment, &places) == ProjectTrust::Given;
    let mut brought = trust::content::brought(&places).into_iter();
    let has_any = brought.any(|path| path.ends_with("commands") || path.ends_with("skills"));
    (!is_trusted && has_any).then_some(
        "commands and skills of this folder are not used, because it is not trusted (rooftree trust)",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_proposed_only_for_a_slip() {
        let fix = |name: &str| unknown(name, &["cost", "switch"]).fix.unwrap_or_default();
        assert!(fix("swich").starts_with("did you mean `/switch`?"));
        assert!(!fix("foo").contains("did you mean"));
    }

    #[test]
    fn n_13_a_slash_begins_a_name_unless_it_begins_a_path() {
        let table = [
            ("/fix-issue 12 now", Some(("fix-issue", "12 now"))),
            ("/git:commit", Some(("git:commit", ""))),
            ("/etc/hosts is wrong", None),
            ("/tmp is full", None),
            ("/", None),
            ("/ what", None),
            ("say /fix", None),
            ("//comment", None),
        ];
        for (text, expected) in table {
            assert_eq!(slash_name(text), expected, "{text}");
        }
    }

    #[test]
    fn n_13_an_unknown_name_is_answered_with_the_nearest() {
        let problem = unknown("fix-isue", &["fix-issue", "release"]);
        assert!(problem.fix.unwrap().contains("did you mean `/fix-issue`?"));
        assert!(
            !unknown("zzzzzzzz", &["a"])
                .fix
                .unwrap()
                .contains("did you mean")
        );
    }
}
