//! Selects which of its own tools a program gets, from the agent's scope, permission mode and rules.
//!
//! Invariant: a program cannot ask for permission, so it does not get tools that would need to ask.

use std::ffi::OsString;

use rooftree_protocol::{Effect, PermissionMode};

use super::program_rule::rules;
use crate::Workplace;

/// The tools a program gets, and what cannot be enforced about them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ToolGrant {
    /// The program's names of the granted tools.
    pub tools: Vec<&'static str>,
    /// The flags that grant them.
    pub flags: Vec<OsString>,
    /// What the program can do beyond the scope, in words for people. A strict agent refuses to start if there is any.
    pub unenforced: Vec<String>,
    /// Tools of the scope that are withheld: the program has none like it, or the mode would ask first.
    pub withheld: Vec<String>,
}

/// A canonical tool and the program's own tool for it.
pub(super) struct ToolMapping {
    pub(super) canonical: &'static str,
    pub(super) own: &'static str,
    /// The effect of the program's tool, which may exceed that of ours.
    pub(super) effect: Effect,
}

/// One row of a program's table.
pub(super) const fn row(canonical: &'static str, own: &'static str, effect: Effect) -> ToolMapping {
    ToolMapping {
        canonical,
        own,
        effect,
    }
}

/// Splits the tools of the scope into granted and withheld ones at this workplace.
pub(super) fn choose(
    table: &'static [ToolMapping],
    tools: &[&str],
    workplace: &Workplace,
) -> ToolGrant {
    let mut grant = ToolGrant::default();
    let (allow, deny) = (rules(&workplace.rules.allow), rules(&workplace.rules.deny));
    for tool in tools {
        let Some(row) = table.iter().find(|row| row.canonical == *tool) else {
            grant
                .withheld
                .push(format!("{tool}: the program has no such tool"));
            continue;
        };
        if let Some(rule) = deny
            .iter()
            .find(|rule| rule.is_whole() && rule.is_about(tool))
        {
            grant
                .withheld
                .push(format!("{tool}: the deny rule `{rule}` refuses it"));
            continue;
        }
        // A rule about a part of a tool gives nothing: `claude`, told to run some commands without
        // asking, also runs others that it takes for harmless.
        let allowed = allow
            .iter()
            .find(|rule| rule.is_whole() && rule.is_about(tool));
        let is_plan = workplace.mode == PermissionMode::Plan && row.effect != Effect::ReadOnly;
        if !workplace.mode.permits(row.effect) && (is_plan || allowed.is_none()) {
            grant.withheld.push(format!(
                "{tool}: it would have to ask first, and a program cannot"
            ));
            continue;
        }
        grant.tools.push(row.own);
    }
    grant
}

/// Notes each deny rule about a part of a tool as not enforced inside of the program.
pub(super) fn note_unreached(grant: &mut ToolGrant, tools: &[&str], workplace: &Workplace) {
    if grant.tools.is_empty() {
        return;
    }
    let unreached = rules(&workplace.rules.deny)
        .into_iter()
        .filter(|rule| !rule.is_whole());
    for rule in unreached.filter(|rule| tools.iter().any(|tool| rule.is_about(tool))) {
        grant
            .unenforced
            .push(format!("the deny rule `{rule}` does not reach into it"));
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::{
        CallRules,
        agent_program::{AgentProgram, CLAUDE, CODEX, PI},
    };

    const ALL: [&str; 9] = [
        "Read",
        "Grep",
        "Glob",
        "List",
        "Write",
        "Edit",
        "Bash",
        "WebFetch",
        "WebSearch",
    ];
    const MODES: [PermissionMode; 5] = [
        PermissionMode::Plan,
        PermissionMode::Ask,
        PermissionMode::AcceptEdits,
        PermissionMode::Auto,
        PermissionMode::Bypass,
    ];

    fn at(mode: PermissionMode) -> Workplace {
        Workplace {
            mode,
            ..Workplace::default()
        }
    }

    fn ruled(mode: PermissionMode, allow: &[&str], deny: &[&str]) -> Workplace {
        let owned = |rules: &[&str]| rules.iter().map(|rule| (*rule).to_owned()).collect();
        Workplace {
            rules: CallRules {
                allow: owned(allow),
                deny: owned(deny),
            },
            ..at(mode)
        }
    }

    fn flags(program: &AgentProgram, tools: &[&str], workplace: &Workplace) -> String {
        let grant = program.grant(tools, workplace);
        let flags: Vec<String> = grant
            .flags
            .iter()
            .map(|flag| flag.to_string_lossy().into_owned())
            .collect();
        flags.join(" ")
    }

    #[test]
    fn scope_and_mode_become_flags() {
        use PermissionMode::{AcceptEdits, Ask, Auto, Bypass};
        let table: [(&AgentProgram, &[&str], PermissionMode, &str); 12] = [
            (&CLAUDE, &[], Bypass, "--tools= --strict-mcp-config"),
            (
                &CLAUDE,
                &["Read", "Bash"],
                Ask,
                "--tools=Read --strict-mcp-config --allowedTools=Read",
            ),
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
            (
                &CODEX,
                &[],
                Auto,
                "--sandbox read-only --disable shell_tool -c web_search=\"disabled\"",
            ),
            (
                &CODEX,
                &["Read", "Bash"],
                Ask,
                "--sandbox read-only -c web_search=\"disabled\"",
            ),
            (
                &CODEX,
                &["Edit"],
                AcceptEdits,
                "--sandbox workspace-write -c web_search=\"disabled\"",
            ),
            (
                &CODEX,
                &["Bash"],
                Auto,
                "--sandbox workspace-write -c web_search=\"disabled\"",
            ),
            (
                &CODEX,
                &["Bash", "WebSearch"],
                Bypass,
                "--sandbox danger-full-access -c web_search=\"live\"",
            ),
            (&PI, &[], Bypass, "--no-tools"),
            (
                &PI,
                &["Read", "Glob", "Write"],
                AcceptEdits,
                "--tools read,find",
            ),
            (
                &PI,
                &["Read", "Write", "Bash"],
                Auto,
                "--tools read,write,bash",
            ),
        ];
        for (program, tools, mode, expected) in table {
            assert_eq!(
                flags(program, tools, &at(mode)),
                expected,
                "{} {tools:?} {mode:?}",
                program.name
            );
        }
    }

    #[test]
    fn a_stricter_mode_or_scope_never_gives_more() {
        for program in [&CLAUDE, &CODEX, &PI] {
            for pair in MODES.windows(2) {
                let [less, more] =
                    [pair[0], pair[1]].map(|mode| program.grant(&ALL, &at(mode)).tools);
                let more: BTreeSet<_> = more.into_iter().collect();
                assert!(
                    less.iter().all(|tool| more.contains(tool)),
                    "{} {pair:?}",
                    program.name
                );
            }
            for mode in MODES {
                assert!(
                    program.grant(&[], &at(mode)).tools.is_empty(),
                    "{}",
                    program.name
                );
            }
        }
    }

    #[test]
    fn what_cannot_be_enforced_is_said() {
        let says = |program: &AgentProgram, tools: &[&str]| {
            program.grant(tools, &at(PermissionMode::Auto)).unenforced
        };
        assert!(
            says(&CODEX, &["Read"])
                .iter()
                .any(|line| line.contains("shell"))
        );
        assert!(
            says(&PI, &["Write"])
                .iter()
                .any(|line| line.contains("sandbox"))
        );
        assert!(says(&PI, &[]).is_empty());
        assert!(says(&CODEX, &[]).iter().all(|line| !line.contains("shell")));
    }

    #[test]
    fn a_deny_rule_takes_a_whole_tool_away_from_every_program() {
        for program in [&CLAUDE, &CODEX, &PI] {
            for rule in ["Bash", "bash", "B*", "*"] {
                let grant = program.grant(&["Bash"], &ruled(PermissionMode::Bypass, &[], &[rule]));
                assert!(grant.tools.is_empty(), "{} {rule}: {grant:?}", program.name);
                assert!(grant.withheld[0].contains("deny rule"), "{grant:?}");
            }
        }
    }

    #[test]
    fn rules_about_a_part_of_a_tool_are_passed_on_or_said_not_to_hold() {
        use PermissionMode::{Ask, Auto, Plan};
        let denied = ruled(
            Auto,
            &[],
            &[
                "Bash(git push *)",
                "Read(/etc/**)",
                "Write(keys/**)",
                "WebFetch(a.test)",
            ],
        );
        assert_eq!(
            flags(&CLAUDE, &["Read", "Write", "Bash"], &denied),
            "--tools=Read,Write,Bash --strict-mcp-config --allowedTools=Read,Write,Bash \
             --disallowedTools=Bash(git push:*),Read(//etc/**),Edit(keys/**)"
        );
        let unenforced = |program: &AgentProgram, tools: &[&str]| {
            program.grant(tools, &denied).unenforced.join("\n")
        };
        assert!(unenforced(&CLAUDE, &["Bash"]).contains("`Bash(git push *)` is passed on"));
        assert!(!unenforced(&CLAUDE, &["Read", "Write"]).contains("rule `"));
        for program in [&CODEX, &PI] {
            let said = unenforced(program, &["Read", "Write", "Bash"]);
            assert_eq!(said.matches("does not reach into it").count(), 3, "{said}");
        }
        let allowed = |mode| {
            ruled(
                mode,
                &["Bash(git status)", "Bash(git log *)", "Edit(src/**)"],
                &[],
            )
        };
        assert_eq!(
            flags(&CLAUDE, &["Read", "Edit", "Bash"], &allowed(Ask)),
            "--tools=Read --strict-mcp-config --allowedTools=Read"
        );
        assert_eq!(
            flags(&CLAUDE, &["Read", "Bash"], &ruled(Ask, &["Bash"], &[])),
            "--tools=Read,Bash --strict-mcp-config --allowedTools=Read,Bash"
        );
        assert_eq!(
            flags(&CLAUDE, &["Read", "Bash"], &ruled(Plan, &["Bash"], &[])),
            "--tools=Read --strict-mcp-config --allowedTools=Read"
        );
        assert_eq!(flags(&PI, &["Read", "Bash"], &allowed(Ask)), "--tools read");
        assert_eq!(
            flags(&PI, &["Read", "Bash"], &ruled(Ask, &["Bash"], &[])),
            "--tools read,bash"
        );
    }

    #[test]
    fn a_program_without_tools_leaves_nothing_to_enforce() {
        assert!(
            CLAUDE
                .grant(&[], &at(PermissionMode::Bypass))
                .unenforced
                .is_empty()
        );
        assert!(
            PI.grant(&["Bash"], &at(PermissionMode::Ask))
                .unenforced
                .is_empty()
        );
    }
}
