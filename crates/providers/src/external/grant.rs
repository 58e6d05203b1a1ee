//! Which of its own tools a program gets: the agent's scope and mode, in the program's words.
//!
//! Invariant: a program cannot ask us, so what we would have to ask about it does not get.

use std::ffi::OsString;

use rooftree_protocol::{Effect, PermissionMode};

/// What a program gets, and what nobody can promise about it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Grant {
    /// The program's names of the tools it gets.
    pub tools: Vec<&'static str>,
    /// The flags that say so.
    pub flags: Vec<OsString>,
    /// What the program may do beyond the scope, in words for people. A strict agent refuses to start for any.
    pub unenforced: Vec<String>,
    /// Tools of the scope it does not get: it has none like it, or the mode would ask first.
    pub withheld: Vec<String>,
}

/// A canonical tool and what a program calls its own.
pub(super) struct Counterpart {
    pub(super) canonical: &'static str,
    pub(super) own: &'static str,
    /// What the program's one can do, which may be more than ours can.
    pub(super) effect: Effect,
}

/// One row of a program's table.
pub(super) const fn row(canonical: &'static str, own: &'static str, effect: Effect) -> Counterpart {
    Counterpart { canonical, own, effect }
}

/// The tools of the scope the program gets in this mode, and those it does not.
pub(super) fn choose(table: &'static [Counterpart], tools: &[&str], mode: PermissionMode) -> Grant {
    let mut grant = Grant::default();
    for tool in tools {
        match table.iter().find(|row| row.canonical == *tool) {
            None => grant.withheld.push(format!("{tool}: the program has no such tool")),
            Some(row) if !mode.permits(row.effect) => {
                grant.withheld.push(format!("{tool}: it would have to ask first, and a program cannot"));
            }
            Some(row) => grant.tools.push(row.own),
        }
    }
    grant
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::external::{CLAUDE, CODEX, PI, Program};

    const ALL: [&str; 9] = ["Read", "Grep", "Glob", "List", "Write", "Edit", "Bash", "WebFetch", "WebSearch"];
    const MODES: [PermissionMode; 5] = [
        PermissionMode::Plan,
        PermissionMode::Ask,
        PermissionMode::AcceptEdits,
        PermissionMode::Auto,
        PermissionMode::Bypass,
    ];

    fn flags(program: &Program, tools: &[&str], mode: PermissionMode) -> String {
        let flags: Vec<String> =
            program.grant(tools, mode).flags.iter().map(|flag| flag.to_string_lossy().into_owned()).collect();
        flags.join(" ")
    }

    #[test]
    fn scope_and_mode_become_flags() {
        use PermissionMode::{AcceptEdits, Ask, Auto, Bypass};
        let table: [(&Program, &[&str], PermissionMode, &str); 12] = [
            (&CLAUDE, &[], Bypass, "--tools= --strict-mcp-config"),
            (&CLAUDE, &["Read", "Bash"], Ask, "--tools=Read --strict-mcp-config --allowedTools=Read"),
            (
                &CLAUDE,
                &["Read", "Edit", "Bash"],
                AcceptEdits,
                "--tools=Read,Edit --strict-mcp-config --allowedTools=Read --permission-mode=acceptEdits",
            ),
            (
                &CLAUDE,
                &["Edit", "Bash"],
                Auto,
                "--tools=Edit,Bash --strict-mcp-config --allowedTools=Edit,Bash",
            ),
            (&CODEX, &[], Auto, "--sandbox read-only --disable shell_tool -c web_search=\"disabled\""),
            (&CODEX, &["Read", "Bash"], Ask, "--sandbox read-only -c web_search=\"disabled\""),
            (&CODEX, &["Edit"], AcceptEdits, "--sandbox workspace-write -c web_search=\"disabled\""),
            (&CODEX, &["Bash"], Auto, "--sandbox workspace-write -c web_search=\"disabled\""),
            (&CODEX, &["Bash", "WebSearch"], Bypass, "--sandbox danger-full-access -c web_search=\"live\""),
            (&PI, &[], Bypass, "--no-tools"),
            (&PI, &["Read", "Glob", "Write"], AcceptEdits, "--tools read,find"),
            (&PI, &["Read", "Write", "Bash"], Auto, "--tools read,write,bash"),
        ];
        for (program, tools, mode, expected) in table {
            assert_eq!(flags(program, tools, mode), expected, "{} {tools:?} {mode:?}", program.name);
        }
    }

    #[test]
    fn a_stricter_mode_or_scope_never_gives_more() {
        for program in [&CLAUDE, &CODEX, &PI] {
            for pair in MODES.windows(2) {
                let [less, more] = [pair[0], pair[1]].map(|mode| program.grant(&ALL, mode).tools);
                let more: BTreeSet<_> = more.into_iter().collect();
                assert!(less.iter().all(|tool| more.contains(tool)), "{} {pair:?}", program.name);
            }
            for mode in MODES {
                assert!(program.grant(&[], mode).tools.is_empty(), "{}", program.name);
            }
        }
    }

    #[test]
    fn what_cannot_be_enforced_is_said() {
        let says = |program: &Program, tools: &[&str]| program.grant(tools, PermissionMode::Auto).unenforced;
        assert!(says(&CODEX, &["Read"]).iter().any(|line| line.contains("shell")));
        assert!(says(&PI, &["Write"]).iter().any(|line| line.contains("sandbox")));
        assert!(says(&PI, &[]).is_empty());
        assert!(says(&CODEX, &[]).iter().all(|line| !line.contains("shell")));
    }
}
