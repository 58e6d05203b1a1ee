//! Sandboxes whose one way out is a gate, attacked for real, and what becomes of the gate.

use std::{sync::Arc, time::Duration};

use rooftree_process::{
    Error, ExitReason, FinishedProcess, Sandbox,
    sandbox::{GateReceiver, SandboxBackend, gate},
    spawn,
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
    sync::Semaphore,
    task::JoinSet,
};
use tokio_util::sync::CancellationToken;

use super::{
    backends,
    fixture::{Fixture, is_root},
    probes::{Probe, read},
};
use crate::shell::PLENTY;

const CORPUS: &str = include_str!("../../corpora/gate_probes.txt");

/// Whether there can be gates here. Without bubblewrap there is nothing to be seen.
async fn is_possible() -> bool {
    backends().await.contains(&SandboxBackend::Bubblewrap)
}

/// Says the same to everybody.
async fn answer(listener: TcpListener) {
    while let Ok((mut client, _)) = listener.accept().await {
        tokio::spawn(async move {
            let _ = client.read(&mut [0; 1000]).await;
            let _ = client
                .write_all(
                    b"HTTP/1.1 200 OK\r\ncontent-length: 6\r\nconnection: close\r\n\r\nhello\n",
                )
                .await;
        });
    }
}

fn gated(fixture: &Fixture) -> (Sandbox, GateReceiver) {
    let (gate, keeper) = gate().unwrap();
    (
        Sandbox {
            gate: Some(gate),
            ..fixture.sandbox(SandboxBackend::Bubblewrap)
        },
        keeper,
    )
}

/// Runs a script inside, with somebody at its gate, or outside, with the same one behind the same variables.
async fn run(fixture: &Fixture, script: &str, is_inside: bool, other: u16) -> FinishedProcess {
    let (sandbox, keeper) = gated(fixture);
    let mut request = fixture.spawn(script, is_inside.then_some(sandbox));
    request.environment = request.environment.with("OTHER", &other.to_string());
    let answering = if is_inside {
        tokio::spawn(async move { answer(keeper.listener().await.unwrap()).await })
    } else {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let proxy = format!("http://{}", listener.local_addr().unwrap());
        for name in ["http_proxy", "https_proxy", "all_proxy"] {
            request.environment = request
                .environment
                .with(name, &proxy)
                .with(&name.to_uppercase(), &proxy);
        }
        request.environment = request
            .environment
            .with("no_proxy", "localhost")
            .with("NO_PROXY", "localhost");
        // Stands for one that is left open, which a shell shows as it would show ours.
        request.args = vec![
            "-c".into(),
            format!("exec 9<\"$OUT/file\"\n{script}").into(),
        ];
        tokio::spawn(answer(listener))
    };
    let process = spawn(request).await.unwrap();
    let finished = process
        .finish(PLENTY, &CancellationToken::new(), |_| {})
        .await;
    answering.abort();
    finished
}

/// Runs all probes, some at the same time; says what each of them got.
async fn all(is_inside: bool) -> Vec<(Probe, bool, String)> {
    let room = Arc::new(Semaphore::new(4));
    let mut runs = JoinSet::new();
    let neighbour = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let outside = neighbour.local_addr().unwrap().port();
    for probe in read(CORPUS) {
        let room = room.clone();
        runs.spawn(async move {
            let _place = room.acquire_owned().await.unwrap();
            let text = run(&Fixture::new(), &probe.script, is_inside, outside)
                .await
                .output
                .text();
            (probe, text.contains("REACHED"), text)
        });
    }
    runs.join_all().await
}

#[tokio::test]
async fn what_is_not_at_the_gate_is_not_reached() {
    if !is_possible().await {
        return;
    }
    let wrong: Vec<String> = all(true)
        .await
        .into_iter()
        .filter(|(probe, reached, _)| *reached != probe.is("benign"))
        .map(|(probe, _, said)| format!("{}: {said}", probe.name))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[tokio::test]
async fn every_probe_of_the_gate_gets_what_it_wants_without_a_sandbox() {
    let is_excused = |probe: &Probe| probe.is("maybe") || probe.is("root") && !is_root();
    let wrong: Vec<String> = all(false)
        .await
        .into_iter()
        .filter(|(probe, reached, _)| !reached && !is_excused(probe))
        .map(|(probe, _, said)| format!("{}: {said}", probe.name))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[tokio::test]
async fn one_sandbox_cannot_use_the_gate_of_another() {
    if !is_possible().await {
        return;
    }
    let (one, other) = (Fixture::new(), Fixture::new());
    let (sandbox, keeper) = gated(&one);
    let waiting = spawn(one.spawn("sleep 1000", Some(sandbox))).await.unwrap();
    let listener = keeper.listener().await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let answering = tokio::spawn(answer(listener));
    let script = format!(
        "[ \"$http_proxy\" = http://127.0.0.1:{port} ] && echo same; (exec 3<>/dev/tcp/127.0.0.1/{port}) && echo REACHED"
    );
    let said = run(&other, &script, true, 0).await.output.text();
    // Both are given a number by chance: if it is the same one, it is still each one's own.
    assert!(!said.contains("REACHED") || said.contains("same"), "{said}");
    drop(waiting);
    answering.abort();
}

#[tokio::test]
async fn a_gatekeeper_is_told_when_the_program_has_ended() {
    if !is_possible().await {
        return;
    }
    let fixture = Fixture::new();
    let (sandbox, mut keeper) = gated(&fixture);
    let process = spawn(fixture.spawn("(setsid sleep 1000 &) ; echo up; exit 3", Some(sandbox)))
        .await
        .unwrap();
    let listener = keeper.listener().await.unwrap();
    let finished = process
        .finish(PLENTY, &CancellationToken::new(), |_| {})
        .await;
    assert_eq!(finished.ending, ExitReason::Exited(3));
    drop(listener);
    tokio::time::timeout(Duration::from_secs(60), keeper.closed())
        .await
        .unwrap();
}

#[tokio::test]
async fn a_gatekeeper_of_a_program_that_never_was_does_not_wait() {
    let (gate, keeper) = gate().unwrap();
    drop(gate);
    assert!(keeper.listener().await.is_err());
}

#[tokio::test]
async fn where_hosts_cannot_be_told_apart_it_is_refused_with_the_reason() {
    backends().await;
    let fixture = Fixture::new();
    let (sandbox, _keeper) = gated(&fixture);
    let sandbox = Sandbox {
        backend: Some(SandboxBackend::Landlock),
        ..sandbox
    };
    let Err(Error::Unconfined { reason, .. }) =
        spawn(fixture.spawn("echo >ran", Some(sandbox))).await
    else {
        panic!("it was started")
    };
    assert!(reason.contains("needs bubblewrap"), "{reason}");
    assert!(!fixture.path("work/ran").exists());
}
