//! Finds the files that deny rules exclude from reading, so that the sandbox hides them from programs too.
//!
//! A tool asks about each path it meets. A program does not ask, so what it must not read has to be
//! found before it starts: plain names where they are, all others by a bounded look.

use std::{
    collections::{BTreeMap, VecDeque},
    env, fs,
    path::{Path, PathBuf},
};

use crate::reach::{DeniedPaths, is_plain};

/// Limits of a scan: entries visited, and paths hidden. Beyond them the result is marked as partial.
const ENTRIES: usize = 40_000;
const PATHS: usize = 1_000;

/// Maximum depth of a scan.
const DEPTH: usize = 24;

/// Directories full of generated files. They are scanned last.
const HEAPS: [&str; 6] = [
    "node_modules",
    "target",
    ".venv",
    "__pycache__",
    "dist",
    "build",
];

/// Result of a scan.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct DeniedFiles {
    pub paths: Vec<PathBuf>,
    /// Whether a limit was reached.
    pub is_partial: bool,
}

/// Start directories of a scan, with its depth.
type ScanRoots = BTreeMap<PathBuf, usize>;

/// Rules that deny reading, as absolute globs, from the places a program can look into.
pub(super) struct DeniedGlobs {
    plain: Vec<PathBuf>,
    globs: Vec<String>,
    places: Vec<PathBuf>,
}

impl DeniedGlobs {
    /// Sorts globs by whether they have to be looked for.
    pub fn new(globs: &[String], places: &[PathBuf]) -> Self {
        let home = env::var_os("HOME")
            .map(PathBuf::from)
            .filter(|home| home.is_absolute());
        let at_home = globs.iter().filter_map(|glob| {
            let home = home.as_ref()?.to_str()?;
            Some(format!(
                "{}/{}",
                globset::escape(home),
                glob.strip_prefix("/**/")?
            ))
        });
        let all: Vec<String> = globs.iter().cloned().chain(at_home).collect();
        let (plain, globs): (Vec<String>, Vec<String>) =
            all.into_iter().partition(|glob| is_plain(glob));
        Self {
            plain: plain.into_iter().map(PathBuf::from).collect(),
            globs,
            places: places.to_vec(),
        }
    }

    /// The denied paths without wildcards that exist. Not cached: the check is cheap.
    pub fn plain(&self) -> Vec<PathBuf> {
        self.plain
            .iter()
            .filter(|path| path.exists())
            .cloned()
            .collect()
    }

    /// Whether anything has to be looked for.
    pub fn has_to_look(&self) -> bool {
        !self.globs.is_empty()
    }

    /// Looks for the rest.
    pub fn look(&self) -> DeniedFiles {
        let (mut found, mut left) = (DeniedFiles::default(), ENTRIES);
        let denied = DeniedPaths::new(self.globs.clone());
        for (start, depth) in self.starts() {
            let mut look = DeniedFileScan {
                denied: &denied,
                start: &start,
                found: &mut found,
                left: &mut left,
            };
            look.go(depth);
        }
        if found.paths.len() > PATHS {
            found.paths.truncate(PATHS);
            found.is_partial = true;
        }
        found
    }

    /// The directories in which something can match: where a glob's fixed beginning leads, but not
    /// further up than the places that can be looked into.
    fn starts(&self) -> ScanRoots {
        let mut starts = ScanRoots::new();
        for glob in &self.globs {
            let parts: Vec<&str> = glob.split('/').filter(|part| !part.is_empty()).collect();
            let fixed: PathBuf = [&"/"]
                .into_iter()
                .chain(parts.iter().take_while(|part| is_plain(part)))
                .collect();
            let rest = parts.iter().skip_while(|part| is_plain(part));
            let depth = if glob.contains("**") {
                DEPTH
            } else {
                rest.count()
            };
            let inside: Vec<&PathBuf> = self
                .places
                .iter()
                .filter(|place| place.starts_with(&fixed))
                .collect();
            let further = |place: &Path| {
                if depth == DEPTH {
                    DEPTH
                } else {
                    depth.saturating_sub(steps(&fixed, place))
                }
            };
            for place in &inside {
                let known = starts.entry((*place).clone()).or_default();
                *known = further(place).max(*known);
            }
            if inside.is_empty() && fixed != Path::new("/") {
                let known = starts.entry(fixed).or_default();
                *known = depth.max(*known);
            }
        }
        starts
    }
}

fn steps(from: &Path, to: &Path) -> usize {
    to.components()
        .count()
        .saturating_sub(from.components().count())
}

/// One look through one directory and what is below it.
struct DeniedFileScan<'a> {
    denied: &'a DeniedPaths,
    start: &'a Path,
    found: &'a mut DeniedFiles,
    left: &'a mut usize,
}

impl DeniedFileScan<'_> {
    /// Breadth first, with large directories last: if the scan has to stop early, it has seen what matters.
    fn go(&mut self, depth: usize) {
        let mut next = VecDeque::from([(self.start.to_owned(), depth)]);
        let mut heaps = VecDeque::new();
        while let Some((place, depth)) = next.pop_front().or_else(|| heaps.pop_front()) {
            for entry in fs::read_dir(&place).into_iter().flatten().flatten() {
                let Some(left) = self.left.checked_sub(1) else {
                    self.found.is_partial = true;
                    return;
                };
                *self.left = left;
                let (path, kind) = (entry.path(), entry.file_type());
                if self.denied.names(&path) {
                    self.found
                        .paths
                        .extend(Some(path).filter(|path| self.is_here(path)));
                } else if depth > 1 && kind.is_ok_and(|kind| kind.is_dir()) {
                    let name = entry.file_name();
                    let is_heap = HEAPS.iter().any(|heap| name == *heap);
                    match name.to_str() {
                        // What git keeps there has other names.
                        Some(".git") => {}
                        _ if is_heap => heaps.push_back((path, depth - 1)),
                        _ => next.push_back((path, depth - 1)),
                    }
                }
            }
        }
    }

    /// A link that a program left must not make something elsewhere vanish.
    fn is_here(&self, path: &Path) -> bool {
        let is_link = fs::symlink_metadata(path).is_ok_and(|found| found.is_symlink());
        !is_link || fs::canonicalize(path).is_ok_and(|real| real.starts_with(self.start))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_globs_name_is_found_wherever_it_is_and_heaps_come_last() {
        let place = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(place.path()).unwrap();
        for name in [
            ".env",
            ".env.local",
            "a/.env.local",
            "a/b/c.pem",
            "node_modules/x/d.pem",
            ".git/e.pem",
        ] {
            fs::create_dir_all(root.join(name).parent().unwrap()).unwrap();
            fs::write(root.join(name), "").unwrap();
        }
        std::os::unix::fs::symlink("/etc", root.join("far.pem")).unwrap();
        std::os::unix::fs::symlink("a/b", root.join("near.pem")).unwrap();
        let found = |globs: &[&str]| {
            let globs: Vec<String> = globs
                .iter()
                .map(|glob| format!("{}/{glob}", root.display()))
                .collect();
            let hiding = DeniedGlobs::new(&globs, std::slice::from_ref(&root));
            let mut found: Vec<String> = hiding
                .plain()
                .into_iter()
                .chain(hiding.look().paths)
                .map(|path| path.strip_prefix(&root).unwrap().display().to_string())
                .collect();
            found.sort();
            found
        };
        assert_eq!(found(&[".env", "none"]), [".env"]);
        assert_eq!(found(&[".env*"]), [".env", ".env.local"]);
        assert_eq!(found(&["*/.env*"]), ["a/.env.local"]);
        assert_eq!(
            found(&["**/*.pem"]),
            ["a/b/c.pem", "near.pem", "node_modules/x/d.pem"]
        );
        assert_eq!(found(&["b/**/*.pem"]), Vec::<String>::new());
    }

    #[test]
    fn a_look_begins_where_something_can_match_and_never_at_the_root() {
        let starts = |glob: &str| {
            let hiding = DeniedGlobs::new(&[glob.to_owned()], &["/srv/desk".into()]);
            let starts: Vec<(String, usize)> = hiding
                .starts()
                .into_iter()
                .map(|(path, depth)| (path.display().to_string(), depth))
                .collect();
            starts
        };
        assert_eq!(starts("/srv/desk/*.pem"), [("/srv/desk".to_owned(), 1)]);
        assert_eq!(starts("/srv/*/*.pem"), [("/srv/desk".to_owned(), 1)]);
        assert_eq!(starts("/srv/desk/a/*.pem"), [("/srv/desk/a".to_owned(), 1)]);
        assert_eq!(starts("/data/**/*.pem"), [("/data".to_owned(), DEPTH)]);
        assert_eq!(
            starts("/*/x"),
            [("/srv/desk".to_owned(), 0)],
            "nothing in there can"
        );
    }
}
