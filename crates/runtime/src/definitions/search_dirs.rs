//! Search directories of definitions, rules, skills and instructions: the user's and the project's.

use std::path::{Path, PathBuf};

use rooftree_protocol::{AgentDialect, DefinitionLevel};

use super::bounded_read::{entries, markdown_files, markdown_files_below};

/// Whether what a project brings along may be used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ProjectTrust {
    /// The person said so.
    Given,
    /// Not given (default): a folder that was merely downloaded must not decide what agents do.
    #[default]
    Missing,
}

/// The directories to look in.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SearchDirs {
    /// Directories of the project, from its root to where work is done.
    pub project: Vec<PathBuf>,
    /// The user's own directory, with `agents`, `rules` and `skills` in it.
    pub user: Option<PathBuf>,
    /// The home directory, for what other programs keep there.
    pub home: Option<PathBuf>,
    /// Whether the project is trusted.
    pub trust: ProjectTrust,
}

/// A directory of definitions, and how they are written there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct DefinitionDir {
    pub(super) path: PathBuf,
    pub(super) level: DefinitionLevel,
    pub(super) dialect: AgentDialect,
    pub(super) holds: DirFormats,
}

/// Kinds of files in a directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DirFormats {
    /// Markdown and JSON, in directories below it too.
    Both,
    /// Only JSON, and only right here.
    Json,
}

/// Directories of agents, the weakest first: what is written for us goes before what is not.
const AGENTS: [(&str, AgentDialect, DirFormats); 5] = [
    ("agents", AgentDialect::Koda, DirFormats::Json),
    (".emdash/agents", AgentDialect::Emdash, DirFormats::Both),
    (".agents/agents", AgentDialect::Fourmis, DirFormats::Both),
    (".claude/agents", AgentDialect::Fourmis, DirFormats::Both),
    (".rooftree/agents", AgentDialect::Rooftree, DirFormats::Both),
];
/// The same for what a user has besides the own directory.
const AT_HOME: [(&str, AgentDialect, DirFormats); 3] = [
    (".config/koda/agents", AgentDialect::Koda, DirFormats::Json),
    (".agents/agents", AgentDialect::Fourmis, DirFormats::Both),
    (".claude/agents", AgentDialect::Fourmis, DirFormats::Both),
];
/// Programs whose directories we read, the weakest first.
const PROGRAMS: [&str; 4] = [".emdash", ".agents", ".claude", ".rooftree"];

/// Files with instructions, by where they lie in each directory of a project.
pub(super) const INSTRUCTIONS: [&str; 5] = [
    "AGENTS.override.md",
    "AGENTS.md",
    "CLAUDE.md",
    ".claude/CLAUDE.md",
    "CLAUDE.local.md",
];

impl SearchDirs {
    /// Those around a directory: up to the root of its repository, or it alone if it is in none.
    pub fn around(cwd: &Path, user: Option<PathBuf>, home: Option<PathBuf>) -> Self {
        let root = cwd
            .ancestors()
            .find(|place| place.join(".git").exists())
            .unwrap_or(cwd);
        let mut project: Vec<PathBuf> = cwd
            .ancestors()
            .take_while(|place| place.starts_with(root))
            .map(Path::to_owned)
            .collect();
        // What lies at home is the user's, not a project's.
        project.retain(|place| home.as_deref() != Some(place) && user.as_deref() != Some(place));
        project.reverse();
        Self {
            project,
            user,
            home,
            trust: ProjectTrust::Missing,
        }
    }

    /// The same, trusted or not.
    pub fn trusted(self, trust: ProjectTrust) -> Self {
        Self { trust, ..self }
    }

    /// The project's root, if there is a project.
    pub fn root(&self) -> Option<&Path> {
        self.project.first().map(PathBuf::as_path)
    }

    /// Directories with definitions, the weakest first, whether they are trusted or not.
    pub(super) fn agents(&self) -> Vec<DefinitionDir> {
        let below =
            |base: &Path, level: DefinitionLevel, table: &[(&str, AgentDialect, DirFormats)]| {
                let directory =
                    |(path, dialect, holds): &(&str, AgentDialect, DirFormats)| DefinitionDir {
                        path: base.join(path),
                        level,
                        dialect: *dialect,
                        holds: *holds,
                    };
                table.iter().map(directory).collect::<Vec<_>>()
            };
        let mut found = Vec::new();
        if let Some(home) = &self.home {
            found.extend(below(home, DefinitionLevel::User, &AT_HOME));
        }
        if let Some(user) = &self.user {
            found.extend(below(
                user,
                DefinitionLevel::User,
                &[("agents", AgentDialect::Rooftree, DirFormats::Both)],
            ));
        }
        for place in &self.project {
            found.extend(below(place, DefinitionLevel::Project, &AGENTS));
        }
        found
    }

    /// Directories called `name` (`rules`, `skills`), the weakest first.
    pub(super) fn called(&self, name: &str) -> Vec<(PathBuf, DefinitionLevel)> {
        let mut found = Vec::new();
        for program in self
            .home
            .iter()
            .flat_map(|home| PROGRAMS.map(|program| home.join(program)))
        {
            found.push((program.join(name), DefinitionLevel::User));
        }
        found.extend(
            self.user
                .iter()
                .map(|user| (user.join(name), DefinitionLevel::User)),
        );
        for program in self
            .project
            .iter()
            .flat_map(|place| PROGRAMS.map(|program| place.join(program)))
        {
            found.push((program.join(name), DefinitionLevel::Project));
        }
        found.retain(|(path, _)| path.is_dir());
        found
    }

    /// Every file and directory that rules, skills, verifiers and instructions are in or would be in,
    /// trusted or not. What would be in a directory that is not there needs no look of its own.
    pub(super) fn project_context(&self) -> Vec<PathBuf> {
        let mut found = Vec::new();
        let mut owner = |owner: &Path| {
            if !owner.is_dir() {
                return found.push(owner.to_owned());
            }
            found.push(owner.join("verifiers.json"));
            let (rules, skills) = (owner.join("rules"), owner.join("skills"));
            found.extend(markdown_files(&rules));
            found.extend(
                entries(&skills)
                    .into_iter()
                    .map(|skill| skill.join("SKILL.md")),
            );
            let commands = owner.join("commands");
            found.extend(markdown_files_below(&commands, 1));
            found.extend([rules, skills, commands]);
        };
        let bases = self.home.iter().chain(&self.project);
        bases
            .flat_map(|base| PROGRAMS.map(|program| base.join(program)))
            .for_each(|path| owner(&path));
        self.user.iter().for_each(|user| owner(user));
        found.extend(self.user.iter().map(|user| user.join("AGENTS.md")));
        found.extend(self.home.iter().map(|home| home.join(".claude/CLAUDE.md")));
        found.extend(
            self.project
                .iter()
                .flat_map(|place| INSTRUCTIONS.map(|name| place.join(name))),
        );
        found
    }

    /// Whether things of this level may be used.
    pub(super) fn may_use(&self, level: DefinitionLevel) -> bool {
        level != DefinitionLevel::Project || self.trust == ProjectTrust::Given
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_project_reaches_up_to_the_root_of_its_repository() {
        let root = tempfile::tempdir().unwrap();
        let inner = root.path().join("repo/a/b");
        std::fs::create_dir_all(&inner).unwrap();
        std::fs::create_dir(root.path().join("repo/.git")).unwrap();
        let places = SearchDirs::around(&inner, None, None);
        let repo = root.path().join("repo");
        assert_eq!(
            places.project,
            [repo.clone(), repo.join("a"), repo.join("a/b")]
        );
        assert_eq!(
            SearchDirs::around(root.path(), None, None).project,
            [root.path()]
        );
        assert!(
            SearchDirs::around(root.path(), None, Some(root.path().into()))
                .project
                .is_empty()
        );
        let last = places.agents().pop().unwrap();
        assert_eq!(
            (last.path, last.level),
            (repo.join("a/b/.rooftree/agents"), DefinitionLevel::Project)
        );
    }
}
