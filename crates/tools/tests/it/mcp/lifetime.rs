//! When servers are started, who shares them, and that nothing of them is left.

use std::{
    env,
    path::PathBuf,
    process::{Command, Stdio},
    time::Duration,
};

use rooftree_protocol::{McpServer, SandboxMode};
use rooftree_testkit::process_marks::{count_alive, list_marks, wait_until_dead};
use serde_json::json;

use super::{
    confined::{confining, is_possible},
    stand::{Stand, server},
};

/// Where servers write down their numbers; set only in the process that is killed.
const OWNER: &str = "ROOFTREE_TEST_MCP_OWNER";

#[tokio::test]
async fn fifty_who_need_three_servers_share_three_processes_and_none_is_left() {
    let home = tempfile::tempdir().unwrap();
    let place = home.path().display().to_string();
    let distinct = |mode: &str| {
        let mut one = server(&["--marks", &place, "--stubborn"]);
        one.env.insert("MODE".into(), mode.into());
        one
    };
    let stand = Stand::new(&[
        ("a", distinct("1")),
        ("b", distinct("2")),
        ("c", distinct("3")),
        ("also_c", distinct("3")),
    ]);
    assert_eq!(
        list_marks(home.path()).len(),
        0,
        "nothing is started before somebody needs it"
    );
    let all = futures::future::join_all((0..50).map(|_| stand.offer())).await;
    assert!(
        all.iter()
            .all(|offered| offered.notices.is_empty() && offered.tools.len() == 68)
    );
    assert!(
        all.iter().all(|offered| offered.key == all[0].key),
        "all of them have the same tools"
    );
    assert_eq!(count_alive(home.path()), 3);
    stand.servers.close().await;
    assert_eq!(
        count_alive(home.path()),
        0,
        "none is left when it is closed"
    );
}

#[tokio::test]
async fn a_server_is_ended_with_its_family_when_the_last_one_who_needs_it_is_gone_for_a_while() {
    let home = tempfile::tempdir().unwrap();
    let one = server(&["--family", "--marks", &home.path().display().to_string()]);
    let stand = Stand::with(&[("s", one)], |setup| setup.grace = Duration::ZERO);
    let (first, second) = (stand.offer().await, stand.offer().await);
    assert_eq!(list_marks(home.path()).len(), 2);
    drop(first);
    let tools = rooftree_tools::Toolset::new(second.tools.clone());
    assert_eq!(
        stand
            .call(&tools, "echo", json!({"text": "needed"}))
            .await
            .text(),
        "needed"
    );
    assert_eq!(count_alive(home.path()), 2, "somebody still needs it");
    drop(second);
    wait_until_dead(home.path()).await;
    assert_eq!(
        stand
            .call(&tools, "echo", json!({"text": "again"}))
            .await
            .text(),
        "again",
        "a call starts it again"
    );
    stand.servers.close().await;
}

#[tokio::test]
async fn a_server_that_ends_by_itself_leaves_no_family_behind() {
    let home = tempfile::tempdir().unwrap();
    let stand = Stand::new(&[(
        "s",
        server(&["--family", "--marks", &home.path().display().to_string()]),
    )]);
    let tools = stand.tools().await;
    assert_eq!(count_alive(home.path()), 2);
    stand.call(&tools, "crash", json!({})).await;
    wait_until_dead(home.path()).await;
    stand.servers.close().await;
}

#[tokio::test]
async fn no_server_outlives_a_kill_of_whoever_started_it() {
    if let Some(directory) = env::var_os(OWNER) {
        let place = PathBuf::from(directory).display().to_string();
        let bare = McpServer {
            sandbox: Some(SandboxMode::Off),
            ..server(&["--stubborn", "--marks", &place])
        };
        // Only a sandbox ends what has gone into a session of its own.
        let family: &[&str] = if is_possible().await {
            &["--family"]
        } else {
            &[]
        };
        let confined = server(&[&["--stubborn", "--marks", &place], family].concat());
        let stand = Stand::with(&[("a", bare), ("b", confined)], |setup| {
            setup.confining = confining(SandboxMode::Auto, &[PathBuf::from(&place)], &[]);
        });
        let _kept = stand.offer().await;
        println!("ready");
        std::future::pending::<()>().await;
    }
    let home = tempfile::tempdir().unwrap();
    let mut owner = Command::new(env::current_exe().unwrap());
    owner.args([
        "--exact",
        "--nocapture",
        "mcp::lifetime::no_server_outlives_a_kill_of_whoever_started_it",
    ]);
    let mut owner = owner
        .env(OWNER, home.path())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = std::io::BufReader::new(owner.stdout.take().unwrap());
    let mut line = String::new();
    while !line.contains("ready") {
        line.clear();
        assert_ne!(
            std::io::BufRead::read_line(&mut said, &mut line).unwrap(),
            0,
            "it ended before it was ready"
        );
    }
    let expected = if is_possible().await { 3 } else { 2 };
    assert_eq!(
        count_alive(home.path()),
        expected,
        "one confined and one not"
    );
    owner.kill().unwrap();
    owner.wait().unwrap();
    wait_until_dead(home.path()).await;
}
