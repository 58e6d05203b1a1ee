//! Commands of a session that share a forker: as fast as that makes them, as apart as if each had its own sandbox.

use std::fs;

use rooftree_process::{
    ExitReason, FinishedProcess, ProcessIdentity, Sandbox,
    sandbox::{SandboxBackend, SandboxNetwork},
    spawn,
};
use tokio_util::sync::CancellationToken;

use super::{backends, fixture::Fixture};
use crate::shell::PLENTY;

/// Runs a command; says also who its forker is.
async fn ran(
    fixture: &Fixture,
    script: &str,
    sandbox: &Sandbox,
) -> (FinishedProcess, ProcessIdentity) {
    let process = spawn(fixture.spawn(script, Some(sandbox.clone())))
        .await
        .unwrap();
    let forker = process.identity();
    let finished = process
        .finish(PLENTY, &CancellationToken::new(), |_| {})
        .await;
    (finished, forker)
}

/// Whether two commands in a row had the same forker.
fn has_neighbours(forkers: &[ProcessIdentity]) -> bool {
    forkers.windows(2).any(|pair| pair[0] == pair[1])
}

#[tokio::test]
async fn p_6_commands_of_a_session_share_a_forker_and_those_of_two_sessions_do_not() {
    for backend in backends().await {
        for network in [SandboxNetwork::Off, SandboxNetwork::On] {
            let fixture = Fixture::new();
            let mut sandbox = fixture.sandbox(backend);
            sandbox.network = network;
            let mut forkers = Vec::new();
            // Landlock grants what is beside the fixture one by one, and other tests change that.
            while forkers.len() < 40 && !has_neighbours(&forkers) {
                let (first, forker) = ran(&fixture, "echo $((1 + 1)); exit 7", &sandbox).await;
                assert_eq!(first.ending, ExitReason::Exited(7));
                assert_eq!(first.output.text(), "2\n");
                let (second, again) = ran(&fixture, "kill -9 $$", &sandbox).await;
                assert_eq!(second.ending, ExitReason::Signalled(9));
                forkers.extend([forker, again]);
                assert!(backend == SandboxBackend::Landlock || forker == again);
            }
            assert!(has_neighbours(&forkers), "{backend}, {network:?}: shared");
            let forker = forkers.pop().unwrap();

            let mut other = sandbox.clone();
            fs::create_dir_all(fixture.path("other")).unwrap();
            other.temporary = Some(fixture.path("other"));
            let (_, stranger) = ran(&fixture, "true", &other).await;
            assert_ne!(stranger, forker, "{backend}: another session");
            other = sandbox.clone();
            other.hidden.push(fixture.path("out"));
            let (_, stranger) = ran(&fixture, "true", &other).await;
            assert_ne!(stranger, forker, "{backend}: another sandbox");
        }
    }
}

#[tokio::test]
async fn commands_at_the_same_time_do_not_share_a_forker() {
    for backend in backends().await {
        let fixture = Fixture::new();
        let sandbox = fixture.sandbox(backend);
        let script = "until [ -e go ]; do sleep 0.01; done";
        let waiting = spawn(fixture.spawn(script, Some(sandbox.clone())))
            .await
            .unwrap();
        let (_, second) = ran(&fixture, "true >go", &sandbox).await;
        assert_ne!(waiting.identity(), second, "{backend}");
        let cancel = CancellationToken::new();
        let finished = waiting.finish(PLENTY, &cancel, |_| {}).await;
        assert_eq!(finished.ending, ExitReason::Exited(0));
    }
}

/// What a command tries to leave for the next one of its session, and how that one would find it. Nothing of it may
/// be printed. The places are those that exist only inside.
const LEFT: [(&str, &str, &str); 12] = [
    ("a file at home", "echo REACHED >~/left", "cat ~/left"),
    (
        "a file beside a tool",
        "echo REACHED >~/.left",
        "cat ~/.left",
    ),
    (
        "a file in /dev/shm",
        "echo REACHED >/dev/shm/left",
        "cat /dev/shm/left",
    ),
    (
        "a file in /var/tmp",
        "echo REACHED >/var/tmp/left",
        "cat /var/tmp/left",
    ),
    ("a file in /run", "echo REACHED >/run/left", "cat /run/left"),
    ("a file in /dev", "echo REACHED >/dev/left", "cat /dev/left"),
    (
        "rights of a directory",
        "chmod 711 /dev/shm",
        "[ $(stat -c %a /dev/shm) = 711 ] && echo REACHED",
    ),
    (
        "shared memory",
        "perl -e '$id = shmget(4711, 16, 01600); shmwrite($id, \"REACHED\", 0, 7)'",
        "perl -e '$id = shmget(4711, 16, 0600); shmread($id, $x, 0, 7) and print $x'",
    ),
    (
        "a queue",
        "perl -e '$n = \"left\"; syscall($ENV{SYS_mq_open} + 0, $n, 0102, 0600, 0)'",
        "perl -e '$n = \"left\"; $fd = syscall($ENV{SYS_mq_open} + 0, $n, 0, 0, 0); print \"REACHED\" if $fd >= 0'",
    ),
    (
        "a process",
        "(env -i setsid sleep 1000 >/dev/null 2>&1 &); sleep 0.05",
        "for p in /proc/[0-9]*; do grep -qs sleep $p/comm && echo REACHED; done; true",
    ),
    (
        "a limit",
        "prlimit --pid $PPID --nofile=99 --fsize=99",
        "[ $(ulimit -n) = 99 ] && echo REACHED",
    ),
    (
        "a priority",
        "renice -n 7 -p $PPID",
        "[ $(nice) -ge 7 ] && echo REACHED",
    ),
];

#[tokio::test]
async fn a_command_finds_nothing_of_the_one_before() {
    for backend in backends().await {
        for (what, leave, find) in LEFT {
            // Rights of files outside can be changed where Landlock confines (docs/sandbox.md), also on this machine.
            if backend == SandboxBackend::Landlock && what == "rights of a directory" {
                continue;
            }
            let fixture = Fixture::new();
            let sandbox = fixture.sandbox(backend);
            let (_, first) = ran(&fixture, leave, &sandbox).await;
            let (found, second) = ran(&fixture, find, &sandbox).await;
            let text = found.output.text();
            assert!(!text.contains("REACHED"), "{backend}: {what}: {text}");
            if matches!(what, "a limit" | "a priority") {
                // Inherited by what the forker starts next, if it were used again.
                let is_same = backend == SandboxBackend::Landlock;
                assert!(is_same || first != second, "{backend}: {what}");
                continue;
            }
            // A control: in the same command it is found, so it could have been left.
            let both = format!("({leave}) >/dev/null 2>&1; {find}");
            let (control, _) = ran(&fixture, &both, &sandbox).await;
            let text = control.output.text();
            let could_leave = text.contains("REACHED") || backend == SandboxBackend::Landlock;
            assert!(could_leave, "{backend}: {what}: {text}");
        }
    }
}

#[tokio::test]
async fn a_sandbox_that_would_be_another_one_now_is_not_used_again() {
    for backend in backends().await {
        let fixture = Fixture::new();
        let mut sandbox = fixture.sandbox(backend);
        sandbox.protected.push(fixture.path("work/.later"));
        sandbox.hidden.push(fixture.path("out/later"));
        let (_, first) = ran(&fixture, "true", &sandbox).await;
        fs::create_dir(fixture.path("out/later")).unwrap();
        fs::write(fixture.path("out/later/key"), "REACHED").unwrap();
        let (found, second) = ran(&fixture, "cat $OUT/later/key", &sandbox).await;
        assert!(!found.output.text().contains("REACHED"), "{backend}");
        // Landlock grants what is beside a hidden path, so its sandbox is the same whether that is there or not.
        let is_same = backend == SandboxBackend::Landlock;
        assert!(is_same || first != second, "{backend}: hidden");
        fs::create_dir(fixture.path("work/.later")).unwrap();
        let script = "echo x >.later/x && echo REACHED";
        let (found, third) = ran(&fixture, script, &sandbox).await;
        assert_ne!(second, third, "{backend}: protected");
        let is_kept = !found.output.text().contains("REACHED");
        assert!(is_kept || backend == SandboxBackend::Landlock, "{backend}");
    }
}

#[tokio::test]
async fn whoever_is_stopped_takes_its_forker_along() {
    for backend in backends().await {
        let fixture = Fixture::new();
        let sandbox = fixture.sandbox(backend);
        let (_, first) = ran(&fixture, "true", &sandbox).await;
        let process = spawn(fixture.spawn("sleep 1000", Some(sandbox.clone())))
            .await
            .unwrap();
        let running = process.identity();
        assert!(backend == SandboxBackend::Landlock || running == first);
        let cancel = CancellationToken::new();
        cancel.cancel();
        let finished = process.finish(PLENTY, &cancel, |_| {}).await;
        assert_eq!(finished.ending, ExitReason::Cancelled);
        assert!(!rooftree_process::is_alive(running), "{backend}");
        let (finished, second) = ran(&fixture, "echo on", &sandbox).await;
        assert_eq!(finished.output.text(), "on\n");
        assert_ne!(running, second, "{backend}");
        // One that is dropped, likewise.
        drop(
            spawn(fixture.spawn("sleep 1000", Some(sandbox.clone())))
                .await
                .unwrap(),
        );
        let (_, third) = ran(&fixture, "true", &sandbox).await;
        assert_ne!(second, third, "{backend}");
    }
}

/// What a command tries against its forker. Each would print if it succeeded.
const AGAINST: [(&str, &str); 7] = [
    (
        "its descriptors",
        "readlink /proc/1/fd/* && echo REACHED; cat /proc/1/fdinfo/* && echo REACHED",
    ),
    (
        "its memory",
        "head -c 1 /proc/1/mem >/dev/null && echo REACHED; exec 3<>/proc/1/mem && echo REACHED",
    ),
    ("its maps", "grep -q . /proc/1/maps && echo REACHED"),
    (
        "its environment",
        "tr '\\0' '\\n' </proc/1/environ | grep -q . && echo REACHED",
    ),
    ("its program", "readlink /proc/1/exe && echo REACHED"),
    (
        "tracing",
        "perl -e 'print \"REACHED\" if syscall($ENV{SYS_ptrace}, 16, 1, 0, 0) == 0'",
    ),
    (
        "its end",
        "for s in HUP TERM INT QUIT USR1 STOP KILL; do kill -$s 1; done; sleep 0.1; true",
    ),
];

#[tokio::test]
async fn a_command_cannot_reach_its_forker() {
    if !backends().await.contains(&SandboxBackend::Bubblewrap) {
        return;
    }
    for (what, attack) in AGAINST {
        let fixture = Fixture::new();
        let sandbox = fixture.sandbox(SandboxBackend::Bubblewrap);
        let (finished, first) = ran(&fixture, attack, &sandbox).await;
        let text = finished.output.text();
        assert!(!text.contains("REACHED"), "{what}: {text}");
        assert!(matches!(finished.ending, ExitReason::Exited(_)), "{what}");
        let (finished, second) = ran(&fixture, "echo on", &sandbox).await;
        assert_eq!(finished.output.text(), "on\n", "{what}");
        assert_eq!(first, second, "{what}");
    }
}
