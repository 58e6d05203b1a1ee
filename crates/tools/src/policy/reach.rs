//! Builds the reach of a call: the path it was judged by, minus what deny rules exclude.
//!
//! The policy judges a call by the path it names. A search finds other paths below that one, many thousands of them,
//! so the rules are compiled once and matched against each.

use std::path::{Path, PathBuf};

use globset::escape;

use super::{PermissionRule, Policy, PolicyRequest, path_match, rule::MatchStrictness};
use crate::{
    CallReach, FileScope, declared,
    reach::{DeniedPaths, is_plain},
    resolved_path,
    tool_info::FileUse,
};

impl Policy {
    /// What a call may touch where the file scope has no bounds, before it is judged: the verdict must come
    /// from [`Policy::judge_at`] with this reach.
    pub fn reach(&self, judged: &PolicyRequest<'_>) -> CallReach {
        self.reach_within(judged, FileScope::default())
    }

    /// The same within a file scope.
    pub fn reach_within(&self, judged: &PolicyRequest<'_>, scope: FileScope) -> CallReach {
        let Some(pinned) = judged.pinned() else {
            return CallReach::default();
        };
        // What must not be read must not be found either; what must not be changed must not go
        // with the directory it is in.
        let tool = judged.tool;
        let denied = if declared(tool).file_use == FileUse::Deletes {
            self.denied_paths(&[tool, "Write", "Edit"], judged.cwd)
        } else {
            self.denied_paths(&["Read", tool], judged.cwd)
        };
        CallReach::new(pinned, denied, scope)
    }

    /// Paths that deny rules exclude from reading, as absolute globs over real paths. A sandbox hides them from
    /// programs, which are not checked per path.
    pub fn unreadable(&self, cwd: &Path) -> Vec<String> {
        self.denied_globs(&["Read"], cwd)
    }

    /// The same, to be compared with paths.
    pub fn unreadable_paths(&self, cwd: &Path) -> DeniedPaths {
        self.denied_paths(&["Read"], cwd)
    }

    /// The paths that deny rules for any of these tools name.
    fn denied_paths(&self, tools: &[&str], cwd: &Path) -> DeniedPaths {
        DeniedPaths::new(self.denied_globs(tools, cwd))
    }

    fn denied_globs(&self, tools: &[&str], cwd: &Path) -> Vec<String> {
        let is_meant = |rule: &&PermissionRule| {
            tools
                .iter()
                .any(|tool| rule.concerns(tool, MatchStrictness::Denying))
        };
        let rules = self
            .deny
            .iter()
            .filter(|rule| rule.subject.is_some())
            .filter(is_meant);
        let subjects = rules.filter_map(|rule| rule.subject.as_deref());
        subjects.flat_map(|subject| globs(subject, cwd)).collect()
    }
}

/// A rule as globs over real paths: what is found by walking has no links in its name, but the rule
/// may lead through some.
fn globs(rule: &str, cwd: &Path) -> Vec<String> {
    let written = path_match::absolute_glob(rule, cwd);
    let mut globs = vec![
        path_match::absolute_glob(rule, &resolved_path::real_path(cwd)),
        behind_links(&written),
        written,
    ];
    for glob in &mut globs {
        // A directory whose whole content is denied is denied itself: its names are content too.
        // What is below a denied directory need not be matched.
        if let Some(directory) = glob
            .strip_suffix("/**")
            .filter(|directory| !directory.is_empty())
        {
            *glob = directory.to_owned();
        }
    }
    globs.sort_unstable();
    globs.dedup();
    globs
}

/// A glob whose fixed beginning is followed to where its links lead.
fn behind_links(glob: &str) -> String {
    let parts: Vec<&str> = glob.split('/').collect();
    let fixed: PathBuf = [&"/"]
        .into_iter()
        .chain(parts.iter().take_while(|part| is_plain(part)))
        .collect();
    let real = escape(&resolved_path::real_path(&fixed).to_string_lossy());
    let rest = parts.iter().skip_while(|part| is_plain(part));
    rest.fold(real.trim_end_matches('/').to_owned(), |glob, part| {
        format!("{glob}/{part}")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::PermissionRule;

    fn denied(rules: &[&str], cwd: &Path) -> DeniedPaths {
        let deny = rules
            .iter()
            .map(|rule| PermissionRule::parse(rule).unwrap())
            .collect();
        Policy {
            deny,
            ..Policy::default()
        }
        .denied_paths(&["Read", "Grep"], cwd)
    }

    #[test]
    fn rules_for_reading_and_for_the_tool_itself_hold() {
        let cwd = Path::new("/home/me/project");
        let paths = denied(
            &[
                "Read(.env)",
                "grep(secrets/**)",
                "*(/etc/shadow)",
                "Write(src/**)",
                "Bash",
            ],
            cwd,
        );
        let table = [
            ("/home/me/project/.env", true),
            ("/home/me/project/.env/deep", true),
            ("/home/me/project/sub/.env", false),
            ("/home/me/project/secrets", true),
            ("/home/me/project/secrets/a/b", true),
            ("/etc/shadow", true),
            ("/home/me/project/src/main.rs", false),
            ("/home/me/.env", false),
        ];
        for (path, is_denied) in table {
            assert_eq!(paths.covers(Path::new(path)), is_denied, "{path}");
        }
        assert!(
            denied(&["Write(x)", "Read"], cwd).is_empty(),
            "a rule without a path keeps the tool, not a path"
        );
    }

    #[test]
    fn a_rule_that_leads_through_a_link_names_what_is_behind_it() {
        let root = tempfile::tempdir().unwrap();
        let root = std::fs::canonicalize(root.path()).unwrap();
        std::fs::create_dir_all(root.join("real/keys")).unwrap();
        std::os::unix::fs::symlink("real", root.join("link")).unwrap();
        let paths = denied(&["Read(keys/*.pem)"], &root.join("link"));
        assert!(paths.names(&root.join("real/keys/a.pem")));
        assert!(paths.names(&root.join("link/keys/a.pem")));
        let paths = denied(&["Read(link/keys/**)"], &root);
        assert!(paths.covers(&root.join("real/keys/a.pem")));
        assert!(!paths.covers(&root.join("real/other")));
    }

    #[test]
    fn a_glob_that_cannot_be_read_names_itself() {
        let paths = denied(&["Read(a[b)"], Path::new("/w"));
        assert!(paths.names(Path::new("/w/a[b")));
        assert!(!paths.names(Path::new("/w/ab")));
    }
}
