//! Instruction files: AGENTS.md and CLAUDE.md, from the project's root to where work is done.

use std::{
    fmt::Write,
    fs,
    path::{Path, PathBuf},
};

use rooftree_protocol::Level;

use super::places::{INSTRUCTIONS, Places};

/// How many files an import may lead through.
const HOPS: usize = 4;

/// What the instruction files say, together.
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
}

/// Reads them, the most general first, up to so many bytes.
pub(super) fn read(places: &Places, most: usize) -> Instructions {
    let mut reading = Reading { most, ..Reading::default() };
    let user = places.user.iter().map(|place| place.join("AGENTS.md"));
    let claude = places.home.iter().map(|home| home.join(".claude/CLAUDE.md"));
    user.chain(claude).for_each(|path| reading.file(&path));
    if places.may_use(Level::Project) {
        places.project.iter().for_each(|place| reading.directory(place));
    }
    reading.done
}

/// The instruction files of a project, whether it is trusted or not.
pub(super) fn present(places: &Places) -> Vec<PathBuf> {
    let all = places.project.iter().flat_map(|place| INSTRUCTIONS.map(|name| place.join(name)));
    all.filter(|path| path.is_file()).collect()
}

#[derive(Default)]
struct Reading {
    done: Instructions,
    most: usize,
}

impl Reading {
    /// AGENTS.md first. CLAUDE.md besides, unless one of them imports the other.
    fn directory(&mut self, place: &Path) {
        let overriding = place.join("AGENTS.override.md");
        let agents = if overriding.is_file() { overriding } else { place.join("AGENTS.md") };
        let own = place.join("CLAUDE.md");
        let claude = if own.is_file() { own } else { place.join(".claude/CLAUDE.md") };
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
        let Some(text) = self.expanded(path, HOPS) else { return };
        let heading = format!("# {}\n\n", path.display());
        let room = self.most.saturating_sub(self.done.text.len() + heading.len() + 2);
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

    /// A file with what it imports by `@path` in place. None if it cannot be read or was read already.
    fn expanded(&mut self, path: &Path, hops: usize) -> Option<String> {
        let real = path.canonicalize().ok().filter(|path| path.is_file())?;
        if self.done.files.contains(&real) {
            return None;
        }
        let text = super::files::read_bounded(&real, self.most.max(1))?;
        self.done.files.push(real.clone());
        let directory = real.parent().unwrap_or(&real).to_owned();
        let mut expanded = String::new();
        let mut fence = false;
        for line in text.lines() {
            fence ^= line.trim_start().starts_with("```");
            let imported = if fence || hops == 0 { None } else { import(line) };
            let found = imported.and_then(|path| self.imported(&directory.join(path), hops - 1));
            expanded += found.as_deref().unwrap_or(line).trim_end();
            expanded.push('\n');
        }
        Some(expanded)
    }
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
    use crate::definitions::Trust;

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
        read(&Places::around(&cwd, None, None).trusted(Trust::Given), most)
    }

    #[test]
    fn files_are_read_from_the_root_down_and_imports_in_place() {
        let files = [
            ("AGENTS.md", "general\n@more.md\n`@x`\n```\n@not.md\n```\n"),
            ("more.md", "imported\n@AGENTS.md\n"),
            ("a/AGENTS.md", "special"),
        ];
        let told = told(&files, 10_000);
        let place = |word: &str| told.text.find(word).unwrap_or_else(|| panic!("{word}: {}", told.text));
        assert!(place("general") < place("imported") && place("imported") < place("special"));
        assert!(told.text.contains("@not.md"), "code is left alone");
        assert_eq!(told.text.matches("general").count(), 1, "a circle ends");
        assert_eq!(told.cut, None);
    }

    #[test]
    fn claude_files_are_read_besides_unless_they_import_the_others() {
        let both = told(&[("AGENTS.md", "one"), ("CLAUDE.md", "two")], 10_000);
        assert!(both.text.contains("one") && both.text.contains("two"));
        let linked = told(&[("AGENTS.md", "one"), ("CLAUDE.md", "@AGENTS.md\ntwo")], 10_000);
        assert_eq!(linked.text.matches("one").count(), 1, "{}", linked.text);
    }

    #[test]
    fn too_much_is_cut_and_said() {
        let told = told(&[("AGENTS.md", &"x".repeat(5_000)), ("a/AGENTS.md", "y")], 1_000);
        assert!(told.text.len() <= 1_000, "{}", told.text.len());
        assert!(told.cut.unwrap().contains("AGENTS.md"));
    }
}
