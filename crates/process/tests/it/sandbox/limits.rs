//! What a confined program may use at most.

use rooftree_process::{ExitReason, sandbox::SandboxLimits};

use super::{backends, fixture::Fixture};

const MIB: u64 = 1024 * 1024;
const NONE: SandboxLimits = SandboxLimits {
    memory: None,
    processes: None,
    file_size: None,
    cpu_secs: None,
};

/// What a limit is about, a script that goes beyond it, and the limit.
const HOGS: [(&str, &str, SandboxLimits); 4] = [
    (
        "memory",
        "perl -e '$x = \"x\" x (512 * 1024 * 1024); print \"REACHED\\n\"'",
        SandboxLimits {
            memory: Some(256 * MIB),
            ..NONE
        },
    ),
    (
        "a file",
        "head -c 50000000 /dev/zero >big && echo REACHED",
        SandboxLimits {
            file_size: Some(10 * MIB),
            ..NONE
        },
    ),
    (
        "time of the processor",
        "perl -e '$x++ while $x < 1e9' && echo REACHED",
        SandboxLimits {
            cpu_secs: Some(1),
            ..NONE
        },
    ),
    (
        "processes",
        "for i in $(seq 400); do sleep 600 & done; sleep 20; echo REACHED",
        SandboxLimits {
            processes: Some(100),
            ..NONE
        },
    ),
];

#[tokio::test]
async fn whoever_wants_too_much_is_stopped() {
    for backend in backends().await {
        for (what, script, limits) in HOGS {
            let fixture = Fixture::new();
            let mut sandbox = fixture.sandbox(backend);
            sandbox.limits = limits;
            let finished = fixture.run(script, Some(sandbox)).await;
            assert!(
                !finished.output.text().contains("REACHED"),
                "{backend}: {what}"
            );
            assert_ne!(finished.ending, ExitReason::Exited(0), "{backend}: {what}");
            let size = std::fs::metadata(fixture.path("work/big")).map_or(0, |found| found.len());
            assert!(size <= 10 * MIB, "{backend}: {size}");
        }
    }
}

#[tokio::test]
async fn whoever_stays_below_is_not() {
    for backend in backends().await {
        for (what, script, _) in HOGS
            .iter()
            .filter(|(what, ..)| !matches!(*what, "processes" | "time of the processor"))
        {
            let fixture = Fixture::new();
            let finished = fixture.run(script, Some(fixture.sandbox(backend))).await;
            assert!(
                finished.output.text().contains("REACHED"),
                "{backend}: {what}: {}",
                finished.output.text()
            );
        }
    }
}

#[tokio::test]
async fn a_fork_bomb_ends() {
    for backend in backends().await {
        let fixture = Fixture::new();
        let mut sandbox = fixture.sandbox(backend);
        sandbox.limits = SandboxLimits {
            processes: Some(64),
            ..NONE
        };
        // Bounded even if nobody stops it: seven generations of two.
        let script = "bomb() { [ $1 -gt 0 ] || exec sleep 600; bomb $(($1 - 1)) & bomb $(($1 - 1)) & wait; }; bomb 7";
        let finished = fixture.run(script, Some(sandbox)).await;
        assert_eq!(finished.ending, ExitReason::Signalled(9), "{backend}");
    }
}
