//! Which processes count as started by an agent: children, daemons, those without a mark, and those whose guard is dead.

use std::{fs, path::Path, process::Command, time::Duration};

use rooftree_process::{
    AgentAncestry, adopt_orphans, refuse_agent_descendant,
    sandbox::{self},
};
use tempfile::tempdir;

use crate::shell::start;

/// Scripts that write the number of a process to `a.pid` and keep it alive.
const ATTACKS: [(&str, &str); 6] = [
    ("itself", "echo $$ >a.pid; sleep 1000"),
    ("a child", "bash -c 'echo $$ >a.pid; sleep 1000'"),
    (
        "in a session of its own",
        "setsid bash -c 'echo $$ >a.pid; sleep 1000' & wait",
    ),
    (
        "a daemon",
        "(setsid bash -c 'echo $$ >a.pid; exec sleep 1000' &); sleep 1000",
    ),
    (
        "a daemon without a mark",
        "(env -i setsid bash -c 'echo $$ >a.pid; exec sleep 1000' &); sleep 1000",
    ),
    (
        "a daemon without a mark that killed its guard",
        "(env -i setsid bash -c \"kill -9 $PPID; echo \\$\\$ >a.pid; exec sleep 1000\" &); sleep 1000",
    ),
];

async fn written(directory: &Path) -> i32 {
    loop {
        let text = fs::read_to_string(directory.join("a.pid")).unwrap_or_default();
        if let (Ok(pid), true) = (text.trim().parse(), text.ends_with('\n')) {
            return pid;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// Only for the test that would kill the runner of tests instead of a guard.
fn has_guard_to_kill(script: &str) -> bool {
    script.contains("kill -9 $PPID")
}

async fn refused(with_helper: bool) {
    adopt_orphans().unwrap();
    let own = i32::try_from(std::process::id()).unwrap();
    for (who, script) in ATTACKS {
        if has_guard_to_kill(script) && !with_helper {
            continue;
        }
        let directory = tempdir().unwrap();
        let process = start(script, directory.path()).await;
        let pid = written(directory.path()).await;
        let found = refuse_agent_descendant(pid, Some(own));
        assert!(found.is_err(), "{who}: {found:?}");
        drop(process);
    }
}

#[tokio::test]
async fn what_a_guard_keeps_is_refused_whatever_it_did_to_hide() {
    sandbox::use_helper(env!("CARGO_BIN_EXE_rooftree-confine"));
    refused(true).await;
}

#[tokio::test]
async fn without_a_guard_too() {
    refused(false).await;
}

#[tokio::test]
async fn marks_are_enough_for_what_another_process_started() {
    sandbox::use_helper(env!("CARGO_BIN_EXE_rooftree-confine"));
    for (who, script) in ATTACKS
        .into_iter()
        .filter(|(_, script)| !has_guard_to_kill(script))
    {
        let directory = tempdir().unwrap();
        let process = start(script, directory.path()).await;
        let pid = written(directory.path()).await;
        let found = refuse_agent_descendant(pid, None);
        assert!(
            matches!(found, Err(AgentAncestry::Marked(_))),
            "{who}: {found:?}"
        );
        drop(process);
    }
}

#[test]
fn programs_that_no_agent_started_are_let_in() {
    let own = i32::try_from(std::process::id()).unwrap();
    assert_eq!(AgentAncestry::refuse_this_process(), Ok(()));
    let mut child = Command::new("sleep").arg("1000").spawn().unwrap();
    let pid = i32::try_from(child.id()).unwrap();
    assert_eq!(refuse_agent_descendant(pid, None), Ok(()));
    let below = refuse_agent_descendant(pid, Some(own));
    assert_eq!(below, Err(AgentAncestry::Started), "of this very process");
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(
        refuse_agent_descendant(pid, None),
        Err(AgentAncestry::Unknown)
    );
}
