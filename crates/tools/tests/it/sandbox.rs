//! Commands in the sandbox a session has, called as the runtime calls them.

use std::{env, fs, path::PathBuf, process::Command};

use rooftree_process::sandbox_probe::available_backend;
use rooftree_protocol::{Confinement, Network, ProcessId, SandboxMode, SessionId};
use rooftree_tools::{ProcessEvent, SandboxConfig};
use serde_json::json;

use crate::desk::Desk;

fn confined(desk: &mut Desk, confinement: Confinement) {
    let private: Vec<PathBuf> = vec![desk.path("own")];
    let scratch = Some(desk.path("scratch"));
    let private = private.into();
    desk.context.sandbox = Some(SandboxConfig {
        confinement,
        private,
        scratch,
        ..SandboxConfig::default()
    });
}

fn required() -> Confinement {
    Confinement {
        mode: SandboxMode::Required,
        ..Confinement::default()
    }
}

/// Whether something here can confine a command. Without it there is nothing to be seen.
async fn is_possible() -> bool {
    match available_backend().await {
        Ok(_) => true,
        Err(reason) => {
            eprintln!("left out: {reason}");
            false
        }
    }
}

/// Commands, and whether they work in a sandbox. All of them work without.
const COMMANDS: [(&str, bool); 7] = [
    ("echo x >inside && cat inside", true),
    ("cat own/key", false),
    ("echo x >>.mcp.json", false),
    ("mv .claude other", false),
    ("git config core.pager evil", false),
    (
        "git -c user.name=a -c user.email=a@b commit -q --allow-empty -m a",
        true,
    ),
    ("f=$(mktemp) && echo x >$f && cat $f", true),
];

#[tokio::test]
async fn commands_of_a_session_are_confined_in_front_and_in_the_background() {
    for mode in [SandboxMode::Required, SandboxMode::Off] {
        if mode == SandboxMode::Required && !is_possible().await {
            continue;
        }
        for (command, works_inside) in COMMANDS {
            let mut desk = Desk::new();
            prepare(&desk);
            confined(
                &mut desk,
                Confinement {
                    mode,
                    ..Confinement::default()
                },
            );
            let works = works_inside || mode == SandboxMode::Off;
            let output = desk.call("Bash", json!({"command": command})).await;
            assert_eq!(
                output.failure.is_none(),
                works,
                "{mode:?}: {command}: {}",
                output.text()
            );
            prepare(&desk);
            let marked = format!("{command} && echo REACHED");
            let mut events = desk.processes.events();
            desk.done(
                "Bash",
                json!({"command": marked, "run_in_background": true}),
            )
            .await;
            while !matches!(events.recv().await, Some(ProcessEvent::Ended { .. })) {}
            let written = desk
                .done(
                    "BashOutput",
                    json!({"task_id": ProcessId::from_entropy(1).as_str()}),
                )
                .await;
            assert_eq!(
                written.contains("REACHED"),
                works,
                "{mode:?}: {command}: {written}"
            );
        }
    }
}

fn prepare(desk: &Desk) {
    desk.put("own/key", "secret");
    desk.put(".mcp.json", "{}");
    let _ = fs::remove_dir_all(desk.path("other"));
    desk.put(".claude/settings.json", "{}");
    let init = Command::new("git")
        .args(["init", "-q"])
        .current_dir(desk.path("."))
        .status();
    assert!(init.unwrap().success());
}

#[tokio::test]
async fn what_lies_in_tmp_is_there_for_the_next_command_of_the_session_and_for_nobody_else() {
    if !is_possible().await {
        return;
    }
    let mut desk = Desk::new();
    confined(&mut desk, required());
    desk.done("Bash", json!({"command": "echo left >${TMPDIR}/note"}))
        .await;
    assert_eq!(
        desk.done("Bash", json!({"command": "cat ${TMPDIR}/note"}))
            .await,
        "left"
    );
    assert!(!std::path::Path::new("/tmp/note").exists());
    desk.context.session = SessionId::from_entropy(2);
    desk.failed("Bash", json!({"command": "cat ${TMPDIR}/note"}))
        .await;
}

#[tokio::test]
async fn a_session_without_a_network_reaches_nobody() {
    if !is_possible().await {
        return;
    }
    let server = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let command = format!(
        "exec 3<>/dev/tcp/127.0.0.1/{}",
        server.local_addr().unwrap().port()
    );
    for (network, reaches) in [(Network::On, true), (Network::Off, false)] {
        let mut desk = Desk::new();
        confined(
            &mut desk,
            Confinement {
                network: network.clone(),
                ..required()
            },
        );
        let output = desk.call("Bash", json!({"command": command})).await;
        assert_eq!(
            output.failure.is_none(),
            reaches,
            "{network:?}: {}",
            output.text()
        );
    }
}

#[tokio::test]
async fn where_nothing_can_confine_it_is_refused_or_said_and_never_silent() {
    const AGAIN: &str = "ROOFTREE_TEST_NO_SANDBOX";
    // A test cannot change its own PATH, so it runs itself once more with one where there is no bubblewrap.
    if env::var_os(AGAIN).is_none() {
        let place = tempfile::tempdir().unwrap();
        for program in ["bash", "sh", "true"] {
            let path = env::var_os("PATH").unwrap();
            let mut files = env::split_paths(&path).map(|place| place.join(program));
            let found = files.find(|path| path.is_file()).unwrap();
            std::os::unix::fs::symlink(found, place.path().join(program)).unwrap();
        }
        let mut again = Command::new(env::current_exe().unwrap());
        let name = "sandbox::where_nothing_can_confine_it_is_refused_or_said_and_never_silent";
        let status = again
            .args(["--exact", name])
            .env(AGAIN, "1")
            .env("PATH", place.path())
            .status();
        assert!(status.unwrap().success());
        return;
    }
    let mut desk = Desk::new();
    confined(&mut desk, required());
    let words = desk.failed("Bash", json!({"command": "echo >ran"})).await;
    assert!(
        words.contains("was not started") && words.contains("bubblewrap"),
        "{words}"
    );
    assert!(!desk.path("ran").exists());
    confined(&mut desk, Confinement::default());
    let words = desk.done("Bash", json!({"command": "echo one"})).await;
    assert!(
        words.starts_with("[commands are not confined here: ") && words.ends_with("one"),
        "{words}"
    );
    assert_eq!(
        desk.done("Bash", json!({"command": "echo two"})).await,
        "two",
        "it is said once"
    );
}

#[tokio::test]
async fn n_8_that_commands_are_not_confined_is_told_to_people_too() {
    const AGAIN: &str = "ROOFTREE_TEST_NO_SANDBOX_NOTICE";
    if env::var_os(AGAIN).is_none() {
        let place = tempfile::tempdir().unwrap();
        let path = env::var_os("PATH").unwrap();
        let mut files = env::split_paths(&path).map(|place| place.join("bash"));
        std::os::unix::fs::symlink(
            files.find(|path| path.is_file()).unwrap(),
            place.path().join("bash"),
        )
        .unwrap();
        let mut again = Command::new(env::current_exe().unwrap());
        let name = "sandbox::n_8_that_commands_are_not_confined_is_told_to_people_too";
        let status = again
            .args(["--exact", name])
            .env(AGAIN, "1")
            .env("PATH", place.path())
            .status();
        assert!(status.unwrap().success());
        return;
    }
    let mut desk = Desk::new();
    confined(&mut desk, Confinement::default());
    let output = desk.call("Bash", json!({"command": "echo one"})).await;
    let notice = output.notices.first().unwrap();
    assert!(
        notice
            .message
            .starts_with("commands are not confined here: "),
        "{notice:?}"
    );
    assert!(
        notice
            .hint
            .as_ref()
            .unwrap()
            .contains("apt install bubblewrap"),
        "{notice:?}"
    );
    let again = desk.call("Bash", json!({"command": "echo two"})).await;
    assert!(again.notices.is_empty(), "it is said once");
}

/// `yes` for as long as a command may run: nothing of it may go to a disk, and memory stays bounded.
#[tokio::test]
async fn a_flood_of_output_leaves_nothing_on_the_disk() {
    let mut desk = Desk::new();
    confined(&mut desk, Confinement::default());
    desk.failed("Bash", json!({"command": "yes", "timeout_secs": 2}))
        .await;
    let size = |name: &str| fs_size(&desk.path(name));
    assert!(size(".") + size("scratch") < 1_000_000);
}

fn fs_size(path: &std::path::Path) -> u64 {
    let entries = fs::read_dir(path).into_iter().flatten().flatten();
    entries
        .map(|entry| entry.metadata().map_or(0, |found| found.len()))
        .sum()
}
