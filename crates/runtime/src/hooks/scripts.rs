//! The files of a project that a hook's command names: changing them changes what the hook does.
//!
//! What is run counts at every point. At a point where something waits to pass, whatever the command
//! names counts: a list that a guard looks at is a part of the guard. What a script loads by itself is
//! not known here; that is one reason why a project's hooks are confined.

use std::path::{Component, Path, PathBuf};

use rooftree_shell::{NamedFile, NamedFileRole, NamedFiles, PathStart};

use super::HookPoint;

/// A file or directory that a hook's command may mean.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HookScript {
    /// As it is written, which is the same wherever the command runs.
    pub name: String,
    /// Where that would be.
    pub path: PathBuf,
    /// Whether it is run, so that it counts even if it is not there yet.
    pub is_run: bool,
    /// Whether it is a directory of which any file may be meant.
    pub is_directory: bool,
}

/// The files below a project, or below the directory it runs in, that a command with these names may mean.
pub(super) fn scripts(
    names: &NamedFiles,
    point: HookPoint,
    project: &Path,
    cwd: &Path,
) -> Vec<HookScript> {
    let home = std::env::var_os("HOME").map(PathBuf::from);
    let within = ScriptLookup {
        project,
        cwd,
        home: home.as_deref(),
    };
    let mut bases = vec![cwd.to_owned(), project.to_owned()];
    let started: Vec<PathBuf> = names
        .starts
        .iter()
        .flat_map(|start| within.paths(start, &bases))
        .collect();
    bases.extend(started);
    let mut found: Vec<HookScript> = Vec::new();
    for named in counting(names, point) {
        for path in within
            .paths(named, &bases)
            .into_iter()
            .filter(|path| within.holds(path))
        {
            let is_run = named.role == NamedFileRole::Run && !named.is_open;
            let script = HookScript {
                name: shown(named),
                path,
                is_run,
                is_directory: named.is_open,
            };
            if !found.contains(&script) {
                found.push(script);
            }
        }
    }
    found
}

fn counting(names: &NamedFiles, point: HookPoint) -> impl Iterator<Item = &NamedFile> {
    let is_gate = point.is_gate();
    let is_looked_at = |named: &NamedFile| named.role == NamedFileRole::Looked;
    // What a guard goes through as a whole is the work it guards.
    names
        .files
        .iter()
        .filter(move |named| !is_looked_at(named) || (is_gate && !named.is_open))
}

fn shown(named: &NamedFile) -> String {
    let start = match named.start {
        PathStart::Written => "",
        PathStart::Value => "$",
        PathStart::Home => "~",
    };
    format!("{start}{}", named.text)
}

/// Directories in which names are looked up.
struct ScriptLookup<'a> {
    project: &'a Path,
    cwd: &'a Path,
    home: Option<&'a Path>,
}

impl ScriptLookup<'_> {
    /// Candidate paths of a name below these directories.
    fn paths(&self, named: &NamedFile, bases: &[PathBuf]) -> Vec<PathBuf> {
        let text = Path::new(&named.text);
        let below = text.strip_prefix("/").unwrap_or(text);
        let from_home = self.home.map(|home| plain(&home.join(below)));
        match named.start {
            PathStart::Written => bases.iter().map(|base| plain(&base.join(text))).collect(),
            PathStart::Home => from_home.into_iter().collect(),
            PathStart::Value => bases
                .iter()
                .map(|base| plain(&base.join(below)))
                .chain(from_home)
                .collect(),
        }
    }

    /// Whether an agent that works here may be able to change what is at a path.
    fn holds(&self, path: &Path) -> bool {
        let real = path.canonicalize().ok();
        [self.project, self.cwd].into_iter().any(|place| {
            let place = plain(place);
            let is_in = |path: &Path, place: &Path| path.starts_with(place) && path != place;
            let is_really_in = || {
                let place = place.canonicalize().ok()?;
                Some(is_in(real.as_deref()?, &place))
            };
            is_in(path, &place) || is_really_in().unwrap_or_default()
        })
    }
}

/// A path without `.` and `..`, by its letters alone.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                plain.pop();
            }
            part => plain.push(part),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hooks::{ConfiguredHook, HookProgram};

    fn found(point: HookPoint, program: HookProgram, cwd: &str) -> Vec<String> {
        let hook = ConfiguredHook::program(point, program);
        let scripts = hook.scripts(Path::new("/no/project"), Path::new(cwd));
        scripts
            .iter()
            .map(|script| script.path.display().to_string())
            .collect()
    }

    #[test]
    fn names_are_looked_up_in_the_project_and_where_the_command_runs() {
        let shell = |line: &str| {
            found(
                HookPoint::Stop,
                HookProgram::shell(line),
                "/no/project/inner",
            )
        };
        let both = |name: &str| {
            vec![
                format!("/no/project/inner/{name}"),
                format!("/no/project/{name}"),
            ]
        };
        assert_eq!(
            shell(r#"python3 "$CLAUDE_PROJECT_DIR/.claude/check.py""#),
            both(".claude/check.py")
        );
        assert_eq!(shell("./x.sh"), both("x.sh"));
        assert_eq!(shell("../x.sh"), ["/no/project/x.sh"]);
        assert_eq!(
            shell("/usr/bin/python3 /no/project/a/../b.py"),
            ["/no/project/b.py"]
        );
        assert!(shell("cd tools && ./x.sh").contains(&"/no/project/tools/x.sh".to_owned()));
        assert_eq!(shell("echo hello"), Vec::<String>::new());
        let args = ["${CLAUDE_PROJECT_DIR}/x.js".to_owned()];
        assert_eq!(
            found(
                HookPoint::Stop,
                HookProgram::exactly("node", &args),
                "/elsewhere"
            ),
            ["/no/project/x.js"]
        );
    }

    #[test]
    fn what_a_guard_looks_at_is_a_part_of_it() {
        let line = "grep -qf deny.txt";
        assert_eq!(
            found(
                HookPoint::PreToolUse,
                HookProgram::shell(line),
                "/no/project"
            ),
            ["/no/project/deny.txt"]
        );
        assert_eq!(
            found(HookPoint::Stop, HookProgram::shell(line), "/no/project"),
            Vec::<String>::new()
        );
        let whole = "grep -q TODO src/*.rs; [ -e PLAN.md ] || exit 2";
        let found = found(
            HookPoint::PreToolUse,
            HookProgram::shell(whole),
            "/no/project",
        );
        assert_eq!(
            found,
            ["/no/project/TODO"],
            "what it goes through is not, nor what has only to be there"
        );
    }
}
