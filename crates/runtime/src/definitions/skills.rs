//! Skills: directories with a `SKILL.md`. Name and description are listed, the body is loaded on demand.

pub(super) mod placeholders;

use std::path::{Path, PathBuf};

use rooftree_protocol::{DefinitionLevel, Scope, event::SkillNote};
use rooftree_stdx::shorten::shorten;
use rooftree_tools::{PermissionRule, Toolset, toolset::is_named};

use super::{
    bounded_read::{entries, read_bounded},
    markdown::split,
    search_dirs::SearchDirs,
    syntax_tree::{SyntaxNode, yaml},
};

/// A skill's text is not longer than this.
const LONGEST: usize = 64 * 1024;
/// Characters of a description that are listed.
const LISTED: usize = 300;

/// One skill, without its body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skill {
    /// The name of its directory.
    pub name: String,
    /// What it is for and when to use it.
    pub description: String,
    /// Its directory, with whatever files it brings.
    pub directory: PathBuf,
    /// The only calls it wants made, as rules, if it says so.
    pub allowed_tools: Option<Vec<String>>,
    /// Calls it wants not to be made, as rules.
    pub disallowed_tools: Vec<String>,
    /// Whether models are told about it and may load it.
    pub is_listed: bool,
    /// Whether people can type it as `/name`.
    pub is_for_people: bool,
    /// Its arguments, as help shows them.
    pub argument_hint: String,
    /// Who wrote it.
    pub level: DefinitionLevel,
}

/// The skills of the user and of a project that is trusted, and what is wrong with others.
pub(super) fn read(places: &SearchDirs) -> (Vec<Skill>, Vec<String>) {
    let (mut skills, mut remarks): (Vec<Skill>, Vec<String>) = (Vec::new(), Vec::new());
    for (directory, level) in places
        .called("skills")
        .into_iter()
        .filter(|(_, level)| places.may_use(*level))
    {
        for place in entries(&directory)
            .into_iter()
            .filter(|place| place.join("SKILL.md").is_file())
        {
            match skill(&place, level) {
                Ok((skill, remark)) => {
                    remarks.extend(
                        remark.map(|remark| format!("skill {}: {remark}", place.display())),
                    );
                    skills.retain(|known| !known.name.eq_ignore_ascii_case(&skill.name));
                    skills.push(skill);
                }
                Err(why) => remarks.push(format!("skill {} is not used: {why}", place.display())),
            }
        }
    }
    skills.sort_by(|one, other| one.name.cmp(&other.name));
    (skills, remarks)
}

/// A skill, and what people should know about it.
fn skill(directory: &Path, level: DefinitionLevel) -> Result<(Skill, Option<String>), String> {
    let name = directory
        .file_name()
        .map(|name| name.to_string_lossy().into_owned())
        .unwrap_or_default();
    let text =
        read_bounded(&directory.join("SKILL.md"), LONGEST).ok_or("SKILL.md cannot be read")?;
    let front = split(&text)
        .front
        .ok_or("SKILL.md has no frontmatter with name and description")?;
    let front = yaml::read(front, 2)
        .map_err(|broken| format!("line {}: {}", broken.at.line, broken.what))?;
    let said = text_of(&front, "description")
        .filter(|text| !text.is_empty())
        .ok_or("it has no description")?;
    let description = match text_of(&front, "when_to_use") {
        Some(when) => format!("{said} {when}"),
        None => said,
    };
    let is_for_models = !flag(&front, "disable-model-invocation")?.unwrap_or(false);
    let is_for_people = flag(&front, "user-invocable")?.unwrap_or(true);
    let remark = without_effect(&front, split(&text).body);
    let skill = Skill {
        name,
        description: description.split_whitespace().collect::<Vec<_>>().join(" "),
        directory: directory.to_owned(),
        allowed_tools: rules_of(&front, "allowed-tools"),
        disallowed_tools: rules_of(&front, "disallowed-tools").unwrap_or_default(),
        is_listed: is_for_models,
        is_for_people,
        argument_hint: text_of(&front, "argument-hint").unwrap_or_default(),
        level,
    };
    Ok((skill, remark))
}

/// Fields that other programs know and that change nothing here.
const WITHOUT_EFFECT: [&str; 5] = ["context", "agent", "model", "hooks", "paths"];

/// A remark about what the file says without effect.
fn without_effect(front: &SyntaxNode, body: &str) -> Option<String> {
    let keys = front
        .entries()
        .into_iter()
        .flatten()
        .map(|entry| &entry.key);
    let mut found: Vec<String> = keys
        .filter(|key| WITHOUT_EFFECT.contains(&key.as_str()))
        .map(|key| format!("`{key}`"))
        .collect();
    if body.contains("!`") {
        found.push("lines with !`…`".into());
    }
    (!found.is_empty()).then(|| format!("without effect: {}", found.join(", ")))
}

/// Whether something is so. What is neither is not guessed: it would decide who may use the skill.
fn flag(front: &SyntaxNode, key: &str) -> Result<Option<bool>, String> {
    let Some(entry) = front
        .entries()
        .into_iter()
        .flatten()
        .find(|entry| entry.key == key)
    else {
        return Ok(None);
    };
    match entry.node.flag() {
        Some(flag) => Ok(Some(flag)),
        None => Err(format!("`{key}` must be true or false")),
    }
}

fn text_of(front: &SyntaxNode, key: &str) -> Option<String> {
    let entry = front.entries()?.iter().find(|entry| entry.key == key)?;
    entry.node.text().map(|text| text.trim().to_owned())
}

/// Rules between blanks or commas, or in a list. What is between parentheses belongs together.
pub(super) fn rules_of(front: &SyntaxNode, key: &str) -> Option<Vec<String>> {
    let listed = || super::rules::words(front, key).map(|words| words.join(" "));
    let text = text_of(front, key).or_else(listed)?;
    let mut depth = 0_u32;
    let is_between = |c: char| {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth == 0 && (c.is_whitespace() || c == ',')
    };
    Some(
        text.split(is_between)
            .filter(|word| !word.is_empty())
            .map(str::to_owned)
            .collect(),
    )
}

/// Rules with tools renamed to canonical names. A rule about an unknown tool stays as it is, and matches nothing.
pub(crate) fn resolved_rules(rules: &[String], tools: &Toolset) -> Vec<String> {
    let resolved = |rule: &String| {
        let read = PermissionRule::parse(rule)
            .ok()
            .and_then(|rule| rule.resolved(tools).ok());
        read.map_or_else(|| rule.clone(), |rule| rule.to_string())
    };
    rules.iter().map(resolved).collect()
}

impl Skill {
    /// The restriction of an agent that follows the skill. Tools are renamed to canonical names; a rule about an
    /// unknown tool stays as it is, and matches nothing.
    pub fn note(&self, tools: &Toolset) -> SkillNote {
        let all = |rules: &[String]| resolved_rules(rules, tools);
        SkillNote {
            name: self.name.clone(),
            allow: self.allowed_tools.as_deref().map(all),
            deny: all(&self.disallowed_tools),
        }
    }

    /// The description, short enough for a list.
    pub fn short(&self) -> String {
        shorten(&self.description, LISTED)
    }

    /// The files it brings besides, relative to its directory; at most so many.
    pub fn files(&self, most: usize) -> Vec<String> {
        let inside = entries(&self.directory).into_iter().flat_map(|path| {
            let below = if path.is_dir() {
                entries(&path)
            } else {
                Vec::new()
            };
            std::iter::once(path).chain(below)
        });
        let files = inside.filter(|path| path.is_file() && !path.ends_with("SKILL.md"));
        let relative = files.filter_map(|path| {
            Some(
                path.strip_prefix(&self.directory)
                    .ok()?
                    .display()
                    .to_string(),
            )
        });
        relative.take(most).collect()
    }

    /// Its instructions as they are now, with its directory and the arguments filled in.
    pub fn body(&self, arguments: &str) -> Option<String> {
        let text = read_bounded(&self.directory.join("SKILL.md"), LONGEST)?;
        let directory = self.directory.display().to_string();
        Some(placeholders::filled(
            split(&text).body.trim(),
            arguments,
            &directory,
        ))
    }
}

/// Those of a list that a scope lets through. Globs are compared without case.
pub fn skills_in_scope<'a>(skills: &'a [Skill], scope: &Scope) -> Vec<&'a Skill> {
    skills
        .iter()
        .filter(|skill| is_named(scope, &skill.name))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_may_use_a_skill_is_never_guessed() {
        let place = tempfile::tempdir().unwrap();
        let directory = place.path().join("deploy");
        std::fs::create_dir(&directory).unwrap();
        let read = |lines: &str| {
            let text = format!("---\nname: deploy\ndescription: ships it\n{lines}---\nbody");
            std::fs::write(directory.join("SKILL.md"), text).unwrap();
            skill(&directory, DefinitionLevel::User)
                .map(|(skill, _)| (skill.is_listed, skill.is_for_people))
        };
        assert_eq!(read(""), Ok((true, true)));
        assert_eq!(read("user-invocable: false\n"), Ok((true, false)));
        assert_eq!(read("user-invocable: true\n"), Ok((true, true)));
        assert_eq!(read("disable-model-invocation: true\n"), Ok((false, true)));
        assert_eq!(read("disable-model-invocation: yes\n"), Ok((false, true)));
        for wrong in ["disable-model-invocation: [x]\n", "user-invocable: maybe\n"] {
            let why = read(wrong).unwrap_err();
            assert!(why.contains("must be true or false"), "{why}");
        }
    }
}
