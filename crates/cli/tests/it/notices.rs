//! Notices about the setup of a project: each is shown once, and in words.

use std::{
    net::TcpListener,
    process::{Command, Stdio},
};

use crate::{
    run::fixture::{Desk, finished},
    sessions::fixture::Done,
};

const REVIEWER: &str = "---\nname: reviewer\ndescription: Reviews\n---\nYou review.\n";

fn piped(mut command: Command) -> Done {
    finished(
        command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap(),
    )
}

#[test]
fn n_21_what_a_project_lacks_is_said_once_and_again_when_it_is_asked_for_or_changes() {
    let desk = Desk::with_echo();
    desk.write(".rooftree/agents/reviewer.md", REVIEWER);
    let notice = "this folder is not trusted";
    assert!(desk.run(&["hi"]).err.contains(notice));
    let again = desk.run(&["hi"]);
    assert!(!again.err.contains(notice), "{again:?}");
    assert!(
        desk.run(&["-v", "hi"]).err.contains(notice),
        "-v says it all"
    );
    desk.write(".rooftree/agents/other.md", REVIEWER);
    let changed = desk.run(&["hi"]);
    assert!(changed.err.contains("other.md"), "{changed:?}");
}

#[test]
fn n_21_a_quiet_run_does_not_use_a_notice_up() {
    let desk = Desk::with_echo();
    desk.write(".rooftree/agents/reviewer.md", REVIEWER);
    let quiet = desk.run(&["-q", "hi"]);
    assert!(quiet.err.is_empty(), "{quiet:?}");
    assert!(desk.run(&["hi"]).err.contains("this folder is not trusted"));
}

#[test]
fn n_21_a_server_that_is_not_there_is_told_in_one_short_sentence() {
    let desk = Desk::with_echo();
    let port = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .port();
    desk.write(
        ".mcp.json",
        format!("{{\"mcpServers\":{{\"github\":{{\"type\":\"http\",\"url\":\"http://127.0.0.1:{port}/mcp\"}}}}}}"),
    );
    let done = desk.run(&["--trust", "hi"]);
    let notice = done
        .err
        .lines()
        .find(|line| line.contains("MCP server `github` cannot be used"))
        .unwrap();
    assert!(notice.contains("nothing answers there"), "{notice}");
    assert!(!notice.contains("::"), "no names of types: {notice}");
    assert!(notice.chars().count() < 160, "{notice}");
    let again = desk.run(&["--trust", "hi"]);
    assert!(
        again.err.contains("MCP server `github` cannot be used"),
        "a server that fails is said each time: {again:?}"
    );
}

#[test]
fn r2_d28_an_agent_without_bash_is_told_that_and_not_to_install_a_sandbox() {
    let desk = Desk::with_echo();
    desk.write(
        ".rooftree/agents/reader.md",
        "---\nname: reader\ndescription: Reads\ntools: [Read, Grep]\nexposure: mixed\n---\nYou read.\n",
    );
    let mut command = desk.command(&["--trust", "-a", "reader", "hi"]);
    // Without bubblewrap, Landlock confines commands.
    command.env("PATH", desk.path());
    let done = piped(command);
    assert!(
        done.err
            .contains("reader has no Bash to use skills with, so its tools stay functions"),
        "{done:?}"
    );
    assert!(!done.err.contains("bubblewrap"), "{done:?}");
}
