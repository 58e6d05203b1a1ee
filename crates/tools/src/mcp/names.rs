//! Names of remote tools, `mcp__server__tool`: valid for every model provider, and unique.
//!
//! Characters that are not allowed are replaced, and then a piece of the original name's hash is appended, so that two
//! original names never map to one.

use sha2::{Digest, Sha256};

/// What every name of a remote tool begins with.
pub const PREFIX: &str = "mcp__";

/// Models take names of this length.
const LONGEST: usize = 64;

/// What the names of all tools of a server begin with.
pub fn beginning(server: &str) -> String {
    format!("{PREFIX}{}__", of_server(server))
}

/// The name of a tool of a server.
pub(super) fn of_tool(server: &str, tool: &str) -> String {
    let (beginning, fit) = (beginning(server), fitting(tool));
    let whole = format!("{beginning}{fit}");
    if fit == tool && !fit.is_empty() && whole.len() <= LONGEST {
        return whole;
    }
    let mark = mark(&format!("{server}\0{tool}"), 8);
    let room = LONGEST - 1 - mark.len();
    // Only ASCII is left, so that any place is a boundary.
    format!("{}_{mark}", whole.get(..room).unwrap_or(&whole))
}

/// A server's name as part of its tools' names. It has no `__`: that is where the tool's name begins.
fn of_server(name: &str) -> String {
    let mut fit = fitting(name);
    while fit.contains("__") {
        fit = fit.replace("__", "_");
    }
    let fit = fit.trim_matches('_');
    if fit == name && name.len() <= LONGEST / 2 {
        return name.to_owned();
    }
    let kept = fit
        .get(..LONGEST / 2 - 7)
        .unwrap_or(fit)
        .trim_end_matches('_');
    format!("{kept}-{}", mark(name, 6))
}

fn fitting(text: &str) -> String {
    let fit = |letter: char| {
        if letter.is_ascii_alphanumeric() || letter == '-' {
            letter
        } else {
            '_'
        }
    };
    text.chars().map(fit).collect()
}

fn mark(text: &str, letters: usize) -> String {
    let digest = Sha256::digest(text.as_bytes());
    let hex: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    hex.chars().take(letters).collect()
}

/// Whether an entry of a list of tools can mean a tool of this server: it is started only for those
/// who may use it.
pub fn may_name(entry: &str, server: &str) -> bool {
    let (entry, full) = (entry.to_lowercase(), beginning(server).to_lowercase());
    let short = full.strip_prefix(PREFIX).unwrap_or_default();
    let literal = entry
        .split(['*', '?', '[', '{', '\\'])
        .next()
        .unwrap_or_default();
    let is_glob = literal.len() < entry.len();
    [full.as_str(), short].into_iter().any(|beginning| {
        literal.starts_with(beginning)
            || (is_glob && beginning.starts_with(literal))
            || format!("{entry}__") == beginning
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_fit_for_models_and_differ_where_their_originals_do() {
        assert_eq!(
            of_tool("github", "create_issue"),
            "mcp__github__create_issue"
        );
        let odd = [
            "a b",
            "a.b",
            "a/b",
            "a\u{430}",
            "",
            &"x".repeat(80),
            &"x".repeat(81),
        ];
        let mut names: Vec<String> = odd.iter().map(|tool| of_tool("s", tool)).collect();
        names.extend(
            ["a__b", "a_b", "a b", "_a", "", &"y".repeat(99)].map(|server| of_tool(server, "t")),
        );
        for name in &names {
            assert!(name.len() <= 64 && !name.is_empty(), "{name}");
            assert!(
                name.chars()
                    .all(|letter| letter.is_ascii_alphanumeric() || "_-".contains(letter)),
                "{name}"
            );
        }
        let count = names.len();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), count, "{names:?}");
    }

    #[test]
    fn a_server_cannot_speak_in_the_name_of_another() {
        assert!(!of_tool("a", "b__c").eq_ignore_ascii_case(&of_tool("a__b", "c")));
    }

    #[test]
    fn a_server_is_wanted_only_by_those_who_may_use_it() {
        for entry in [
            "*",
            "mcp__*",
            "mcp__git",
            "MCP__git__push",
            "mcp__git__*",
            "m*",
            "git__push",
            "git__*",
        ] {
            assert!(may_name(entry, "git"), "{entry}");
        }
        for entry in [
            "Read",
            "mcp__gitlab__*",
            "mcp__gi",
            "B*",
            "github__push",
            "mcp__gi__x",
        ] {
            assert!(!may_name(entry, "git"), "{entry}");
        }
    }
}
