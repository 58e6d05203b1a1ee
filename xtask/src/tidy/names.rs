//! Refuses file names that say nothing: whatever is put into `util` could be anything.

use anyhow::Result;

use crate::{finding::Finding, repository::Repository};

const REFUSED: &[&str] = &[
    "util", "utils", "helper", "helpers", "common", "misc", "shared", "base", "manager", "handler",
    "types", "impl", "v2", "legacy",
];

/// Refused at the end of a longer name too: `session_manager` is as empty as `manager`.
const REFUSED_ENDINGS: &[&str] = &[
    "_util", "_utils", "_helper", "_helpers", "_manager", "_handler", "_impl", "_v2",
];

/// What counts as source; fixtures and documents may be called anything.
const SOURCES: &[&str] = &["rs", "js", "css", "html", "sql"];

/// Objects to refused names of source files and of the directories they lie in.
pub fn check(repository: &Repository) -> Result<Vec<Finding>> {
    Ok(repository
        .files()
        .filter(|path| is_source(path))
        .filter_map(objection)
        .collect())
}

fn is_source(path: &str) -> bool {
    path.rsplit_once('.')
        .is_some_and(|(_, extension)| SOURCES.contains(&extension))
}

fn objection(path: &str) -> Option<Finding> {
    if path == "mod.rs" || path.ends_with("/mod.rs") {
        let fix =
            "name the file after its module and lay it beside the folder: `agent.rs` + `agent/`";
        return Some(Finding::new(path, "is called mod.rs", fix));
    }
    let refused = path.split('/').map(stem).find(|stem| is_refused(stem))?;
    let fix = "name it after what it is or does, like `inbox.rs` or `decide.rs`; if it is several things, split it";
    Some(Finding::new(
        path,
        format!("`{refused}` says nothing about what is inside"),
        fix,
    ))
}

fn stem(part: &str) -> &str {
    part.rsplit_once('.').map_or(part, |(stem, _)| stem)
}

fn is_refused(stem: &str) -> bool {
    let stem = stem.to_lowercase();
    REFUSED.contains(&stem.as_str()) || REFUSED_ENDINGS.iter().any(|ending| stem.ends_with(ending))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::planted::{Planted, told};

    #[test]
    fn names_that_say_what_is_inside_pass() {
        for good in [
            "crates/store/src/inbox.rs",
            "crates/tools/src/tool_call.rs",
            "docs/types.md",
            "base.json",
        ] {
            let planted = Planted::new().with(good, "");
            assert_eq!(check(&planted.repository()).unwrap(), [], "{good}");
        }
    }

    #[test]
    fn refused_names_are_found_for_files_and_folders() {
        for bad in [
            "crates/store/src/util.rs",
            "crates/store/src/helpers/rows.rs",
            "crates/store/src/v2/rows.rs",
            "crates/runtime/src/session_manager.rs",
            "crates/runtime/src/Types.rs",
            "crates/server/ui/common.js",
        ] {
            let told = told(&check(&Planted::new().with(bad, "").repository()).unwrap());
            assert!(
                told.contains(bad) && told.contains("name it after what it is or does"),
                "{bad}: {told}"
            );
        }
    }

    #[test]
    fn a_mod_file_is_told_how_modules_are_laid_out() {
        let planted = Planted::new().with("crates/runtime/src/agent/mod.rs", "");
        assert!(told(&check(&planted.repository()).unwrap()).contains("`agent.rs` + `agent/`"));
    }
}
