//! Prompt commands: Markdown files in `commands` directories, typed as `/name arguments` and expanded to a message.

use std::path::{Path, PathBuf};

use rooftree_protocol::{DefinitionLevel, SkillNote};

use super::{
    bounded_read::{markdown_files_below, read_bounded},
    markdown::split,
    search_dirs::SearchDirs,
    skills::{placeholders, rules_of},
    syntax_tree::{SyntaxNode, yaml},
};

/// The text of a command is not longer than this.
const LONGEST: usize = 64 * 1024;
/// How deep directories of commands go.
const DEEPEST: usize = 4;

/// Fields of the frontmatter that have an effect.
const EFFECTIVE: [&str; 6] = [
    "description",
    "argument-hint",
    "model",
    "agent",
    "allowed-tools",
    "disallowed-tools",
];

/// One command, without its text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PromptCommand {
    /// The name of its file; directories below `commands` stand before it: `git:commit`.
    pub name: String,
    /// What it is for.
    pub description: String,
    /// Its arguments, as help shows them.
    pub argument_hint: String,
    /// The model for the message, if it names one.
    pub model: Option<String>,
    /// The agent for a new session, if it names one.
    pub agent: Option<String>,
    /// The only tools to be used while it is followed; all if absent. It never allows a call.
    pub allowed_tools: Option<Vec<String>>,
    /// Tools not to be used while it is followed.
    pub disallowed_tools: Vec<String>,
    /// Its file.
    pub path: PathBuf,
}

impl PromptCommand {
    /// How it narrows the run that follows it; none if it does not.
    pub fn restriction(&self) -> Option<SkillNote> {
        let note = SkillNote {
            name: format!("/{}", self.name),
            allow: self.allowed_tools.clone(),
            deny: self.disallowed_tools.clone(),
        };
        note.narrows().then_some(note)
    }

    /// Its text as it is now, with the arguments filled in.
    pub fn body(&self, arguments: &str) -> Option<String> {
        let text = read_bounded(&self.path, LONGEST)?;
        let directory = self.path.parent().unwrap_or(&self.path).display();
        let body = split(&text).body.trim();
        Some(placeholders::filled(
            body,
            arguments,
            &directory.to_string(),
        ))
    }
}

/// The commands of the user and of a project that is trusted, and what people should know about them. A command of the
/// project replaces one of the user with the same name.
pub(super) fn read(places: &SearchDirs) -> (Vec<PromptCommand>, Vec<String>) {
    let (mut commands, mut remarks): (Vec<PromptCommand>, Vec<String>) = (Vec::new(), Vec::new());
    let directories = places.called("commands").into_iter();
    for (directory, _) in directories.filter(|(_, level)| places.may_use(*level)) {
        for path in markdown_files_below(&directory, DEEPEST) {
            match command(&path, typed_name(&directory, &path)) {
                Ok((command, remark)) => {
                    remarks.extend(remark);
                    commands.retain(|known| !known.name.eq_ignore_ascii_case(&command.name));
                    commands.push(command);
                }
                Err(why) => {
                    remarks.push(format!("command {} is not used: {why}", path.display()));
                }
            }
        }
    }
    commands.sort_by(|one, other| one.name.cmp(&other.name));
    (commands, remarks)
}

/// Directories of commands of a project, trusted or not.
pub(super) fn of_project(places: &SearchDirs) -> Vec<PathBuf> {
    let all = places.called("commands").into_iter();
    all.filter(|(_, level)| *level == DefinitionLevel::Project)
        .map(|(path, _)| path)
        .collect()
}

/// The name under which a file is typed.
fn typed_name(directory: &Path, path: &Path) -> String {
    let inside = path
        .strip_prefix(directory)
        .unwrap_or(path)
        .with_extension("");
    let parts = inside
        .components()
        .map(|part| part.as_os_str().to_string_lossy());
    parts.collect::<Vec<_>>().join(":")
}

fn command(path: &Path, name: String) -> Result<(PromptCommand, Option<String>), String> {
    if name.contains(char::is_whitespace) {
        return Err("its name has a space in it, so it cannot be typed".into());
    }
    let text = read_bounded(path, LONGEST).ok_or("it is empty or cannot be read")?;
    let parts = split(&text);
    let front = parts
        .front
        .map(|front| yaml::read(front, 2))
        .transpose()
        .map_err(|broken| format!("line {}: {}", broken.at.line, broken.what))?;
    let value = |key: &str| front.as_ref().and_then(|front| text_of(front, key));
    let mut without_effect = front.as_ref().map(unknown_fields).unwrap_or_default();
    if parts.body.contains("!`") {
        without_effect.push("lines with !`…`".into());
    }
    let remark = (!without_effect.is_empty()).then(|| {
        format!(
            "command {}: without effect: {}",
            path.display(),
            without_effect.join(", ")
        )
    });
    let first = || parts.body.trim().lines().next().map(str::to_owned);
    let rules = |key: &str| front.as_ref().and_then(|front| rules_of(front, key));
    let command = PromptCommand {
        allowed_tools: rules("allowed-tools"),
        disallowed_tools: rules("disallowed-tools").unwrap_or_default(),
        name,
        description: value("description").or_else(first).unwrap_or_default(),
        argument_hint: value("argument-hint").unwrap_or_default(),
        model: value("model"),
        agent: value("agent"),
        path: path.to_owned(),
    };
    Ok((command, remark))
}

fn unknown_fields(front: &SyntaxNode) -> Vec<String> {
    let keys = front
        .entries()
        .into_iter()
        .flatten()
        .map(|entry| &entry.key);
    keys.filter(|key| !EFFECTIVE.contains(&key.as_str()))
        .map(|key| format!("`{key}`"))
        .collect()
}

/// A scalar as text. `argument-hint: [issue]` is a list of one, and is meant as it is written.
fn text_of(front: &SyntaxNode, key: &str) -> Option<String> {
    let entry = front.entries()?.iter().find(|entry| entry.key == key)?;
    let text = entry.node.text().map(|text| text.trim().to_owned());
    let listed = || {
        let words = super::rules::words(front, key)?;
        Some(format!("[{}]", words.join(" ")))
    };
    text.or_else(listed).filter(|text| !text.is_empty())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::{super::ProjectTrust, *};

    fn place(root: &Path, name: &str, text: &str) {
        let path = root.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    #[test]
    fn n_13_commands_are_read_from_a_trusted_project_and_expanded() {
        let root = tempfile::tempdir().unwrap();
        place(
            root.path(),
            ".claude/commands/fix-issue.md",
            "---\ndescription: Fix an issue\nargument-hint: [number]\nmodel: fast\nallowed-tools: Bash(git *), Edit\ncontext: fork\n---\nFix issue $1 now: $ARGUMENTS\n",
        );
        place(
            root.path(),
            ".rooftree/commands/git/commit.md",
            "Commit it.",
        );
        place(
            root.path(),
            ".claude/commands/broken.md",
            "---\n: [\n---\nx",
        );
        let places = SearchDirs::around(root.path(), None, None);
        assert_eq!(read(&places).0, [], "the folder is not trusted");
        let (commands, remarks) = read(&places.trusted(ProjectTrust::Given));
        let names: Vec<&str> = commands.iter().map(|found| found.name.as_str()).collect();
        assert_eq!(names, ["fix-issue", "git:commit"]);
        let fix = &commands[0];
        assert_eq!(
            (fix.description.as_str(), fix.argument_hint.as_str()),
            ("Fix an issue", "[number]")
        );
        assert_eq!(fix.model.as_deref(), Some("fast"));
        assert_eq!(fix.body("12 'a b'").unwrap(), "Fix issue 12 now: 12 'a b'");
        assert_eq!(
            commands[1].body("all").unwrap(),
            "Commit it.\n\nArguments: all"
        );
        assert!(
            remarks
                .iter()
                .any(|remark| remark.contains("without effect: `context`")),
            "{remarks:?}"
        );
        let restriction = fix.restriction().unwrap();
        assert_eq!(restriction.name, "/fix-issue");
        assert_eq!(
            restriction.allow.unwrap(),
            ["Bash(git *)", "Edit"],
            "rules narrow what may be called"
        );
        assert_eq!(commands[1].restriction(), None);
        assert!(
            remarks
                .iter()
                .any(|remark| remark.contains("broken.md is not used")),
            "{remarks:?}"
        );
    }
}
