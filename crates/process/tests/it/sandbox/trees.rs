//! What is confined dies with whoever started it, wherever it went and whatever it forgot.

use std::{env, fs, path::Path, process::Command, time::Duration};

use rooftree_process::{
    ExitReason,
    sandbox::{SandboxBackend, gate},
    spawn,
};
use tokio_util::sync::CancellationToken;

use super::{backends, fixture::Fixture};
use crate::shell::PLENTY;

/// Scripts that try to be left behind. Each holds a file open that can be recognised from outside.
const FAMILIES: [(&str, &str); 5] = [
    ("in the group", "sleep 1000 >held & echo >ready; wait"),
    (
        "in a session of its own",
        "setsid sleep 1000 >held & echo >ready; wait",
    ),
    (
        "double-forked",
        "(setsid sleep 1000 >held &); echo >ready; sleep 1000",
    ),
    (
        "without an environment",
        "(env -i setsid sleep 1000 >held &); echo >ready; sleep 1000",
    ),
    (
        "deaf",
        "(env -i setsid bash -c 'trap \"\" TERM HUP INT; while :; do sleep 1; done' >held &); echo >ready; sleep 1000",
    ),
];

const OWNER: &str = "ROOFTREE_TEST_CONFINED_OWNER";

#[tokio::test]
async fn a_cancel_leaves_nothing() {
    for backend in backends().await {
        for (who, script) in FAMILIES {
            let fixture = Fixture::new();
            let process = spawn(fixture.spawn(script, Some(fixture.sandbox(backend))))
                .await
                .unwrap();
            let cancel = CancellationToken::new();
            let stop = cancel.clone();
            let running = tokio::spawn(async move { process.finish(PLENTY, &stop, |_| {}).await });
            until(|| fixture.path("work/ready").exists()).await;
            cancel.cancel();
            assert_eq!(
                running.await.unwrap().ending,
                ExitReason::Cancelled,
                "{backend}: {who}"
            );
            until(|| !is_held(&fixture.path("work/held"))).await;
        }
    }
}

#[tokio::test]
async fn what_a_program_left_running_ends_with_it() {
    for backend in backends().await {
        let fixture = Fixture::new();
        let script = "(env -i setsid sleep 1000 >held 2>&1 &); echo done";
        let finished = fixture.run(script, Some(fixture.sandbox(backend))).await;
        assert_eq!(
            (finished.ending, finished.output.text().as_str()),
            (ExitReason::Exited(0), "done\n")
        );
        until(|| !is_held(&fixture.path("work/held"))).await;
    }
}

#[tokio::test]
async fn a_polite_end_is_heard_inside() {
    for backend in backends().await {
        let fixture = Fixture::new();
        let script =
            "trap 'echo heard >heard; exit 0' TERM; echo >ready; while :; do sleep 0.1; done";
        let process = spawn(fixture.spawn(script, Some(fixture.sandbox(backend))))
            .await
            .unwrap();
        let cancel = CancellationToken::new();
        let stop = cancel.clone();
        let running = tokio::spawn(async move { process.finish(PLENTY, &stop, |_| {}).await });
        until(|| fixture.path("work/ready").exists()).await;
        cancel.cancel();
        running.await.unwrap();
        assert!(fixture.path("work/heard").exists(), "{backend}");
    }
}

#[tokio::test]
async fn when_the_owner_is_killed_nothing_is_left() {
    // The owner is this test once more, in a process of its own that can be killed.
    if let Some(place) = env::var_os(OWNER) {
        let (backend, script) = own_errand();
        let fixture = Fixture::new().without_victim();
        fs::write(
            Path::new(&place).join("work"),
            fixture.path("work").to_str().unwrap(),
        )
        .unwrap();
        backends().await;
        let mut sandbox = fixture.sandbox(backend);
        // With somebody at a gate it is the same.
        let (gate, _keeper) = gate().unwrap();
        sandbox.gate =
            (backend == SandboxBackend::Bubblewrap && script.contains("setsid")).then_some(gate);
        let process = spawn(fixture.spawn(script, Some(sandbox))).await.unwrap();
        process
            .finish(PLENTY, &CancellationToken::new(), |_| {})
            .await;
        return;
    }
    for backend in backends().await {
        for (at, (who, _)) in FAMILIES.iter().enumerate() {
            let place = tempfile::tempdir().unwrap();
            let mut owner = Command::new(env::current_exe().unwrap());
            owner.args([
                "--exact",
                "sandbox::trees::when_the_owner_is_killed_nothing_is_left",
            ]);
            owner
                .env(OWNER, place.path())
                .env("ROOFTREE_TEST_ERRAND", format!("{backend} {at}"));
            let mut owner = owner.spawn().unwrap();
            until(|| work_of(place.path()).is_some_and(|work| work.join("ready").exists())).await;
            let work = work_of(place.path()).unwrap();
            println!("{backend}: {who}");
            // Whoever says that it is ready may be faster than the one it has started.
            until(|| is_held(&work.join("held"))).await;
            owner.kill().unwrap();
            owner.wait().unwrap();
            until(|| !is_held(&work.join("held"))).await;
            fs::remove_dir_all(work.parent().unwrap()).unwrap();
        }
    }
}

#[tokio::test]
async fn s_b10_without_a_sandbox_nothing_is_left_when_the_owner_is_killed() {
    const UNCONFINED: &str = "ROOFTREE_TEST_UNCONFINED_OWNER";
    if let Some(place) = env::var_os(UNCONFINED) {
        let fixture = Fixture::new().without_victim();
        fs::write(
            Path::new(&place).join("work"),
            fixture.path("work").to_str().unwrap(),
        )
        .unwrap();
        backends().await;
        let at: usize = env::var("ROOFTREE_TEST_ERRAND").unwrap().parse().unwrap();
        let process = spawn(fixture.spawn(FAMILIES[at].1, None)).await.unwrap();
        process
            .finish(PLENTY, &CancellationToken::new(), |_| {})
            .await;
        return;
    }
    for (at, (who, _)) in FAMILIES.iter().enumerate() {
        let place = tempfile::tempdir().unwrap();
        let mut owner = Command::new(env::current_exe().unwrap());
        owner.args([
            "--exact",
            "sandbox::trees::s_b10_without_a_sandbox_nothing_is_left_when_the_owner_is_killed",
        ]);
        owner
            .env(UNCONFINED, place.path())
            .env("ROOFTREE_TEST_ERRAND", at.to_string());
        let mut owner = owner.spawn().unwrap();
        until(|| work_of(place.path()).is_some_and(|work| work.join("ready").exists())).await;
        let work = work_of(place.path()).unwrap();
        println!("{who}");
        until(|| is_held(&work.join("held"))).await;
        owner.kill().unwrap();
        owner.wait().unwrap();
        until(|| !is_held(&work.join("held"))).await;
        fs::remove_dir_all(work.parent().unwrap()).unwrap();
    }
}

#[tokio::test]
async fn s_b10_without_a_sandbox_nothing_is_left_after_a_normal_end() {
    backends().await;
    for script in [
        "(env -i setsid sleep 1000 >held 2>&1 &); echo done",
        "(setsid sleep 1000 >held 2>&1 &); echo done",
        "(env -i setsid bash -c '(setsid sleep 1000 &) ; exit' >held 2>&1 &); sleep 0.2; echo done",
    ] {
        let fixture = Fixture::new();
        let finished = fixture.run(script, None).await;
        assert_eq!(
            (finished.ending, finished.output.text().as_str()),
            (ExitReason::Exited(0), "done\n")
        );
        until(|| !is_held(&fixture.path("work/held"))).await;
    }
}

#[tokio::test]
async fn a_guarded_program_is_started_and_ends_like_any_other() {
    backends().await;
    let fixture = Fixture::new();
    for (script, ending) in [
        ("exit 7", ExitReason::Exited(7)),
        ("kill -9 $$", ExitReason::Signalled(9)),
        ("true", ExitReason::Exited(0)),
    ] {
        assert_eq!(fixture.run(script, None).await.ending, ending, "{script}");
    }
    let script = "grep SigBlk /proc/self/status; yes | head -n 1; echo ${PIPESTATUS[0]}";
    assert_eq!(
        fixture.run(script, None).await.output.text(),
        "SigBlk:\t0000000000000000\ny\n141\n"
    );
    let mut missing = fixture.spawn("true", None);
    missing.program = "no-such-program".into();
    assert!(matches!(
        spawn(missing).await,
        Err(rooftree_process::Error::Start { .. })
    ));
}

#[tokio::test]
async fn git_is_not_told_to_take_its_settings_from_elsewhere() {
    for backend in backends().await {
        let fixture = Fixture::new();
        let planted = fixture.path("work/.git/commondir");
        let finished = fixture
            .run(
                "echo ../evil >.git/commondir; echo done",
                Some(fixture.sandbox(backend)),
            )
            .await;
        assert_eq!(finished.output.text(), "done\n");
        assert!(!planted.exists(), "{backend}");
    }
}

fn own_errand() -> (SandboxBackend, &'static str) {
    let errand = env::var("ROOFTREE_TEST_ERRAND").unwrap();
    let (backend, at) = errand.split_once(' ').unwrap();
    let backend = if backend == "Landlock" {
        SandboxBackend::Landlock
    } else {
        SandboxBackend::Bubblewrap
    };
    (backend, FAMILIES[at.parse::<usize>().unwrap()].1)
}

fn work_of(place: &Path) -> Option<std::path::PathBuf> {
    fs::read_to_string(place.join("work"))
        .ok()
        .filter(|text| !text.is_empty())
        .map(Into::into)
}

/// Whether any process has a file open. Works from outside, whatever the number of the process inside is.
fn is_held(file: &Path) -> bool {
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let holds = |process: fs::DirEntry| {
        let descriptors = fs::read_dir(process.path().join("fd"))
            .into_iter()
            .flatten()
            .flatten();
        descriptors
            .into_iter()
            .any(|fd| fs::read_link(fd.path()).is_ok_and(|target| target == file))
    };
    processes.into_iter().any(holds)
}

async fn until(is_so: impl Fn() -> bool) {
    let wait = async {
        while !is_so() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(30), wait)
        .await
        .unwrap();
}
