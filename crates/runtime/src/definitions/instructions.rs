//! Instruction files: AGENTS.md and CLAUDE.md, from the project's root to where work is done.

use std::{
    borrow::Cow,
    fmt::Write,
    fs,
    path::{Path, PathBuf},
};

use rooftree_protocol::DefinitionLevel;
use rooftree_tools::DeniedPaths;

use super::search_dirs::{INSTRUCTIONS, SearchDirs};

/// Maximum depth of imports.
const HOPS: usize = 4;

/// The combined text of the instruction files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Instructions {
    /// Each file under its path.
    pub text: String,
    /// The files that were read.
    pub files: Vec<PathBuf>,
    /// Files that were to be imported and are not there.
    pub missing: Vec<PathBuf>,
    /// What was left out because of the bound.
    pub cut: Option<String>,
    /// Files that were not read, because a link leads out of the project or a rule denies reading them.
    pub refused: Vec<PathBuf>,
    /// Where they were looked for, and how many bytes were wanted.
    source: Option<(SearchDirs, usize)>,
}

impl Instructions {
    /// The same without what rules deny reading, under the name it is written with or where its links lead.
    ///
    /// Invariant: a file that the agent must not read is no part of its instructions.
    pub fn without(&self, denied: &DeniedPaths) -> Cow<'_, Self> {
        match &self.source {
            Some((places, most)) if !denied.is_empty() => {
                Cow::Owned(read_within(places, *most, denied.clone()))
            }
            _ => Cow::Borrowed(self),
        }
    }
}

/// Reads them, the most general first, up to so many bytes.
pub(super) fn read(places: &SearchDirs, most: usize) -> Instructions {
    read_within(places, most, DeniedPaths::Nothing)
}

fn read_within(places: &SearchDirs, most: usize, denied: DeniedPaths) -> Instructions {
    let mut reading = InstructionReader {
        most,
        denied,
        ..InstructionReader::default()
    };
    reading.done.source = Some((places.clone(), most));
    let user = places.user.iter().map(|place| place.join("AGENTS.md"));
    let claude = places
        .home
        .iter()
        .map(|home| home.join(".claude/CLAUDE.md"));
    user.chain(claude).for_each(|path| reading.file(&path));
    if places.may_use(DefinitionLevel::Project) {
        reading.root = places
            .project
            .first()
            .and_then(|root| root.canonicalize().ok());
        places
            .project
            .iter()
            .for_each(|place| reading.directory(place));
    }
    reading.done
}

/// The instruction files of a project, whether it is trusted or not.
pub(super) fn present(places: &SearchDirs) -> Vec<PathBuf> {
    let all = places
        .project
        .iter()
        .flat_map(|place| INSTRUCTIONS.map(|name| place.join(name)));
    all.filter(|path| path.is_file()).collect()
}

#[derive(Default)]
struct InstructionReader {
    done: Instructions,
    most: usize,
    denied: DeniedPaths,
    /// The project's root, which its files must not leave through links; none for the user's own files.
    root: Option<PathBuf>,
}

impl InstructionReader {
    /// AGENTS.md first. CLAUDE.md besides, unless one of them imports the other.
    fn directory(&mut self, place: &Path) {
        let overriding = place.join("AGENTS.override.md");
        let agents = if overriding.is_file() {
            overriding
        } else {
            place.join("AGENTS.md")
        };
        let own = place.join("CLAUDE.md");
        let claude = if own.is_file() {
            own
        } else {
            place.join(".claude/CLAUDE.md")
        };
        if fs::read_to_string(&claude)
            .is_ok_and(|text| imports(&text).any(|path| path.ends_with("AGENTS.md")))
        {
            self.file(&claude);
        } else {
            self.file(&agents);
            self.file(&claude);
        }
        self.file(&place.join("CLAUDE.local.md"));
    }

    fn file(&mut self, path: &Path) {
        let before = self.done.refused.len();
        let text = self.expanded(path, HOPS);
        if let Some(refused) = self
            .done
            .refused
            .get(before)
            .filter(|refused| *refused == path)
        {
            let _ = write!(self.done.text, "[{} is left out]\n\n", refused.display());
        }
        let Some(text) = text else { return };
        let heading = format!("# {}\n\n", path.display());
        let room = self
            .most
            .saturating_sub(self.done.text.len() + heading.len() + 2);
        let text = text.trim();
        if room < text.len() {
            let kept = text.floor_char_boundary(room);
            let (lines, all) = (text.get(..kept).unwrap_or_default(), text.len());
            let cut = self.done.cut.get_or_insert_default();
            let _ = write!(
                cut,
                "{}{}: {} of {all} bytes",
                if cut.is_empty() { "" } else { "; " },
                path.display(),
                all - lines.len()
            );
            if lines.is_empty() {
                return;
            }
            let _ = write!(self.done.text, "{heading}{lines}\n\n");
        } else {
            let _ = write!(self.done.text, "{heading}{text}\n\n");
        }
    }

    fn imported(&mut self, path: &Path, hops: usize) -> Option<String> {
        if !path.is_file() {
            self.done.missing.push(path.to_owned());
        }
        self.expanded(path, hops)
    }

    /// Adds the files that a sentence names with `@path` below it. A name without a file is only a name: `@param`,
    /// `@types/node`.
    fn import_inline(&mut self, line: &str, directory: &Path, hops: usize, into: &mut String) {
        for name in inline_imports(line) {
            let path = directory.join(name);
            if !path.is_file() {
                continue;
            }
            let refused = self.done.refused.len();
            match self.expanded(&path, hops) {
                Some(text) => {
                    let _ = write!(into, "\n[@{name}]\n{}\n\n", text.trim_end());
                }
                None if self.done.refused.len() > refused => {
                    let _ = writeln!(into, "[@{name} is left out]");
                }
                None => {}
            }
        }
    }

    /// A file with what it imports by `@path` in place. None if it cannot be read or was read already.
    fn expanded(&mut self, path: &Path, hops: usize) -> Option<String> {
        let real = path.canonicalize().ok().filter(|path| path.is_file())?;
        if self.done.files.contains(&real) {
            return None;
        }
        let leaves = self
            .root
            .as_ref()
            .is_some_and(|root| !real.starts_with(root));
        if leaves || self.denied.covers(path) || self.denied.covers(&real) {
            self.done.refused.push(path.to_owned());
            return None;
        }
        let text = super::bounded_read::read_bounded(&real, self.most.max(1))?;
        self.done.files.push(real.clone());
        let directory = real.parent().unwrap_or(&real).to_owned();
        let mut expanded = String::new();
        let mut fence = false;
        for line in text.lines() {
            fence ^= line.trim_start().starts_with("```");
            let imported = if fence || hops == 0 {
                None
            } else {
                import(line)
            };
            let refused = self.done.refused.len();
            let found = imported.and_then(|path| self.imported(&directory.join(path), hops - 1));
            let is_refused = found.is_none() && self.done.refused.len() > refused;
            expanded += found.as_deref().unwrap_or(line).trim_end();
            expanded += if is_refused { " [left out]" } else { "" };
            expanded.push('\n');
            if !fence && hops > 0 && imported.is_none() {
                self.import_inline(line, &directory, hops - 1, &mut expanded);
            }
        }
        Some(expanded)
    }
}

/// The files that are named inside a sentence: `see @docs/style.md for more`. What is between backticks is code.
fn inline_imports(line: &str) -> Vec<&str> {
    let mut found = Vec::new();
    for (number, part) in line.split('`').enumerate() {
        let words = part.split_whitespace().filter(|_| number % 2 == 0);
        let words = words.map(|word| word.trim_start_matches(['(', '[', '"', '\'']));
        let words = words.map(|word| {
            word.trim_end_matches(|end: char| end.is_ascii_punctuation() && end != '/')
        });
        found.extend(words.filter_map(import));
    }
    found
}

/// The file that a line imports: `@path`, alone on its line. Paths of the user's own directories
/// and above are not followed: instructions come with the project or with the user, not from elsewhere.
fn import(line: &str) -> Option<&str> {
    let path = line.trim().strip_prefix('@')?.trim_end_matches(['.', ',']);
    let is_path = !path.is_empty() && !path.contains(char::is_whitespace);
    let stays = !Path::new(path).is_absolute() && !path.starts_with('~') && !path.contains("..");
    (is_path && stays).then_some(path)
}

fn imports(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter_map(import)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::definitions::ProjectTrust;

    fn told(files: &[(&str, &str)], most: usize) -> Instructions {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir(root.path().join(".git")).unwrap();
        for (name, text) in files {
            let path = root.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let cwd = root.path().join("a");
        fs::create_dir_all(&cwd).unwrap();
        read(
            &SearchDirs::around(&cwd, None, None).trusted(ProjectTrust::Given),
            most,
        )
    }

    #[test]
    fn files_are_read_from_the_root_down_and_imports_in_place() {
        let files = [
            ("AGENTS.md", "general\n@more.md\n`@x`\n```\n@not.md\n```\n"),
            ("more.md", "imported\n@AGENTS.md\n"),
            ("a/AGENTS.md", "special"),
        ];
        let told = told(&files, 10_000);
        let place = |word: &str| {
            told.text
                .find(word)
                .unwrap_or_else(|| panic!("{word}: {}", told.text))
        };
        assert!(place("general") < place("imported") && place("imported") < place("special"));
        assert!(told.text.contains("@not.md"), "code is left alone");
        assert_eq!(told.text.matches("general").count(), 1, "a circle ends");
        assert_eq!(told.cut, None);
    }

    #[test]
    fn n_13_a_file_named_inside_a_sentence_is_brought_in() {
        let files = [
            (
                "CLAUDE.md",
                "Follow (@docs/style.md), write to me@x.org, use @types/node and `@code.md`.\n",
            ),
            ("docs/style.md", "two spaces\n"),
            ("code.md", "not me"),
        ];
        let told = told(&files, 10_000);
        assert!(
            told.text.contains("Follow (@docs/style.md)"),
            "{}",
            told.text
        );
        assert!(
            told.text.contains("[@docs/style.md]\ntwo spaces"),
            "{}",
            told.text
        );
        assert!(!told.text.contains("not me"), "{}", told.text);
        assert!(told.missing.is_empty(), "{:?}", told.missing);
    }

    #[test]
    fn claude_files_are_read_besides_unless_they_import_the_others() {
        let both = told(&[("AGENTS.md", "one"), ("CLAUDE.md", "two")], 10_000);
        assert!(both.text.contains("one") && both.text.contains("two"));
        let linked = told(
            &[("AGENTS.md", "one"), ("CLAUDE.md", "@AGENTS.md\ntwo")],
            10_000,
        );
        assert_eq!(linked.text.matches("one").count(), 1, "{}", linked.text);
    }

    #[test]
    fn s_b1_instructions_do_not_leave_the_project_through_links() {
        let (root, elsewhere) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let secret = elsewhere.path().join("secret.txt");
        fs::write(&secret, "hunter2").unwrap();
        let at = |name: &str| root.path().join(name);
        fs::create_dir_all(at(".git")).unwrap();
        fs::create_dir_all(at("a")).unwrap();
        fs::write(
            at("AGENTS.md"),
            "general\n@notes.md\n@inside.md\n@dir/secret.txt\n",
        )
        .unwrap();
        fs::write(at("real.md"), "inner").unwrap();
        std::os::unix::fs::symlink(&secret, at("notes.md")).unwrap();
        std::os::unix::fs::symlink("real.md", at("inside.md")).unwrap();
        std::os::unix::fs::symlink(elsewhere.path(), at("dir")).unwrap();
        std::os::unix::fs::symlink(&secret, at("a/AGENTS.md")).unwrap();
        let told = read(
            &SearchDirs::around(&at("a"), None, None).trusted(ProjectTrust::Given),
            10_000,
        );
        assert!(
            told.text.contains("general") && told.text.contains("inner"),
            "{}",
            told.text
        );
        assert!(!told.text.contains("hunter2"), "{}", told.text);
        let refused = [at("notes.md"), at("dir/secret.txt"), at("a/AGENTS.md")];
        let names = |paths: &[PathBuf]| -> Vec<String> {
            paths
                .iter()
                .map(|path| path.file_name().unwrap().display().to_string())
                .collect()
        };
        assert_eq!(names(&told.refused), names(&refused));
        assert!(told.text.contains("@notes.md [left out]"), "{}", told.text);
        assert!(
            told.text.contains("AGENTS.md is left out]"),
            "{}",
            told.text
        );
    }

    #[test]
    fn s_b1_instructions_obey_deny_rules() {
        let root = tempfile::tempdir().unwrap();
        let at = |name: &str| root.path().canonicalize().unwrap().join(name);
        fs::create_dir(at(".git")).unwrap();
        fs::write(at("AGENTS.md"), "general\n@.env\n@link.md\n").unwrap();
        fs::write(at(".env"), "hunter2").unwrap();
        std::os::unix::fs::symlink(".env", at("link.md")).unwrap();
        let whole = read(
            &SearchDirs::around(&at(""), None, None).trusted(ProjectTrust::Given),
            10_000,
        );
        assert!(
            whole.text.contains("hunter2"),
            "without a rule it is imported"
        );
        let deny = vec![rooftree_tools::PermissionRule::parse("Read(.env)").unwrap()];
        let policy = rooftree_tools::Policy {
            deny,
            ..rooftree_tools::Policy::default()
        };
        let told = whole.without(&policy.unreadable_paths(&at("")));
        assert!(
            told.text.contains("general") && !told.text.contains("hunter2"),
            "{}",
            told.text
        );
        assert!(told.text.contains("@.env [left out]"), "{}", told.text);
        assert_eq!(told.refused.len(), 2);
    }

    #[test]
    fn too_much_is_cut_and_said() {
        let told = told(
            &[("AGENTS.md", &"x".repeat(5_000)), ("a/AGENTS.md", "y")],
            1_000,
        );
        assert!(told.text.len() <= 1_000, "{}", told.text.len());
        assert!(told.cut.unwrap().contains("AGENTS.md"));
    }
}
