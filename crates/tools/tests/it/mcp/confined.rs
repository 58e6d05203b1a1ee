//! Programs of servers in their sandbox.

use std::{fs, path::PathBuf};

use rooftree_process::standing::available;
use rooftree_protocol::{Confinement, McpServer, SandboxMode};
use rooftree_testkit::marks::living;
use rooftree_tools::Confining;
use serde_json::json;

use super::stand::{Stand, server};

/// Whether something here can confine a program. Without it there is nothing to be seen.
pub async fn is_possible() -> bool {
    match available().await {
        Ok(_) => true,
        Err(reason) => {
            eprintln!("left out: {reason}");
            false
        }
    }
}

/// Confined for certain, and allowed to write here besides.
pub fn confining(mode: SandboxMode, writable: &[PathBuf], private: &[PathBuf]) -> Confining {
    let confinement = Confinement { mode, writable: writable.to_vec(), ..Confinement::default() };
    Confining { confinement, private: private.into(), ..Confining::default() }
}

#[tokio::test]
async fn a_server_writes_where_it_works_and_neither_writes_nor_reads_elsewhere() {
    if !is_possible().await {
        return;
    }
    let (ours, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir_in(outside()).unwrap());
    fs::write(ours.path().join("id_canary"), "the canary sings").unwrap();
    let canary = ours.path().join("id_canary").display().to_string();
    let outside = other.path().join("planted").display().to_string();
    for (own, works_outside) in [(None, false), (Some(SandboxMode::Off), true)] {
        let one = McpServer { sandbox: own, ..server(&[]) };
        let stand = Stand::with(&[("s", one)], |setup| {
            setup.confining = confining(SandboxMode::Required, &[], &[ours.path().to_owned()]);
        });
        let tools = stand.tools().await;
        let works = async |tool: &str, path: &str| {
            stand.call(&tools, tool, json!({"path": path})).await.failure.is_none()
        };
        assert!(works("write", "here").await && stand.desk.path("here").is_file(), "{own:?}");
        assert!(works("write", "/tmp/scratch-of-a-server").await, "{own:?}");
        assert_eq!(works("read", &canary).await, works_outside, "{own:?}");
        assert_eq!(works("write", &outside).await, works_outside, "{own:?}");
        assert_eq!(fs::exists(&outside).unwrap(), works_outside, "{own:?}");
        stand.servers.close().await;
    }
    let _ = fs::remove_file("/tmp/scratch-of-a-server");
}

#[tokio::test]
async fn fifty_who_need_three_confined_servers_share_three_and_none_is_left() {
    if !is_possible().await {
        return;
    }
    let home = tempfile::tempdir().unwrap();
    let place = home.path().display().to_string();
    let distinct = |mode: &str| {
        let mut one = server(&["--marks", &place, "--stubborn", "--family"]);
        one.env.insert("MODE".into(), mode.into());
        one
    };
    let stand = Stand::with(&[("a", distinct("1")), ("b", distinct("2")), ("c", distinct("3"))], |setup| {
        setup.confining = confining(SandboxMode::Required, &[home.path().to_owned()], &[]);
    });
    let all = futures::future::join_all((0..50).map(|_| stand.offer())).await;
    assert!(all.iter().all(|offered| offered.notices.is_empty()), "{:?}", all[0].notices);
    assert_eq!(living(home.path()), 6, "three, each with a child");
    drop(all);
    stand.servers.close().await;
    assert_eq!(living(home.path()), 0);
}

/// A directory that is the same in a sandbox, where `/tmp` and homes are others.
fn outside() -> &'static str {
    let built = env!("CARGO_TARGET_TMPDIR");
    let is_hidden = ["/tmp/", "/var/tmp/", "/home/", "/root/"].iter().any(|place| built.starts_with(place));
    if is_hidden && tempfile::tempdir_in("/opt").is_ok() { "/opt" } else { built }
}
