//! Programs of servers in their sandbox.

use std::{fs, os::unix::fs::PermissionsExt, path::PathBuf};

use rooftree_process::sandbox_probe::available_backend;
use rooftree_protocol::{Confinement, McpServer, SandboxMode};
use rooftree_testkit::process_marks::count_alive;
use rooftree_tools::SandboxConfig;
use serde_json::json;

use super::stand::{Stand, server};
use crate::desk::call;

/// Whether something here can confine a program. Without it there is nothing to be seen.
pub async fn is_possible() -> bool {
    match available_backend().await {
        Ok(_) => true,
        Err(reason) => {
            eprintln!("left out: {reason}");
            false
        }
    }
}

/// Confined for certain, and allowed to write here besides.
pub fn confining(mode: SandboxMode, writable: &[PathBuf], private: &[PathBuf]) -> SandboxConfig {
    let confinement = Confinement {
        mode,
        writable: writable.to_vec(),
        ..Confinement::default()
    };
    SandboxConfig {
        confinement,
        private: private.into(),
        ..SandboxConfig::default()
    }
}

#[tokio::test]
async fn a_server_writes_where_it_works_and_neither_writes_nor_reads_elsewhere() {
    if !is_possible().await {
        return;
    }
    let (ours, other) = (
        tempfile::tempdir().unwrap(),
        tempfile::tempdir_in(outside()).unwrap(),
    );
    fs::write(ours.path().join("id_canary"), "the canary sings").unwrap();
    let canary = ours.path().join("id_canary").display().to_string();
    let outside = other.path().join("planted").display().to_string();
    for (own, works_outside) in [(None, false), (Some(SandboxMode::Off), true)] {
        let one = McpServer {
            sandbox: own,
            ..server(&[])
        };
        let stand = Stand::with(&[("s", one)], |setup| {
            setup.confining = confining(SandboxMode::Required, &[], &[ours.path().to_owned()]);
        });
        let tools = stand.tools().await;
        let works = async |tool: &str, path: &str| {
            stand
                .call(&tools, tool, json!({"path": path}))
                .await
                .failure
                .is_none()
        };
        assert!(
            works("write", "here").await && stand.desk.path("here").is_file(),
            "{own:?}"
        );
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
    let stand = Stand::with(
        &[
            ("a", distinct("1")),
            ("b", distinct("2")),
            ("c", distinct("3")),
        ],
        |setup| {
            setup.confining = confining(SandboxMode::Required, &[home.path().to_owned()], &[]);
        },
    );
    let all = futures::future::join_all((0..50).map(|_| stand.offer())).await;
    assert!(
        all.iter().all(|offered| offered.notices.is_empty()),
        "{:?}",
        all[0].notices
    );
    assert_eq!(count_alive(home.path()), 6, "three, each with a child");
    drop(all);
    stand.servers.close().await;
    assert_eq!(count_alive(home.path()), 0);
}

/// A directory that is the same in a sandbox, where `/tmp` and homes are others.
fn outside() -> &'static str {
    let built = env!("CARGO_TARGET_TMPDIR");
    let is_hidden = ["/tmp/", "/var/tmp/", "/home/", "/root/"]
        .iter()
        .any(|place| built.starts_with(place));
    if is_hidden && tempfile::tempdir_in("/opt").is_ok() {
        "/opt"
    } else {
        built
    }
}

#[tokio::test]
async fn a_server_has_a_home_of_its_own_that_stays_and_nobody_elses() {
    if !is_possible().await {
        return;
    }
    let homes = tempfile::tempdir().unwrap();
    let with = |setup: &mut rooftree_tools::mcp::McpSetup| {
        setup.confining = confining(SandboxMode::Required, &[], &[homes.path().to_owned()]);
        setup.homes = Some(homes.path().join("homes"));
    };
    let one = server(&[]);
    let other = McpServer {
        args: server(&["--tools", "1"]).args,
        ..server(&[])
    };
    for (name, which, has_note) in [
        ("s", &one, false),
        ("s", &one, true),
        ("s", &other, false),
        ("twin", &one, false),
    ] {
        let stand = Stand::with(&[(name, which.clone())], with);
        let tools = stand.tools().await;
        let used = async |tool: &str| {
            let input = json!({"path": "~/note"});
            call(
                &tools,
                &format!("mcp__{name}__{tool}"),
                input,
                stand.context(),
            )
            .await
        };
        let read = used("read").await;
        assert_eq!(read.failure.is_none(), has_note, "{name}: {}", read.text());
        assert_eq!(used("write").await.failure, None);
        stand.servers.close().await;
    }
    let made: Vec<_> = fs::read_dir(homes.path().join("homes"))
        .unwrap()
        .map(Result::unwrap)
        .collect();
    assert_eq!(made.len(), 3);
    for home in made {
        assert_eq!(
            home.metadata().unwrap().permissions().mode() & 0o777,
            0o700,
            "nobody else's"
        );
    }
}

#[tokio::test]
async fn a_server_that_is_not_confined_has_the_home_it_was_started_with() {
    let homes = tempfile::tempdir().unwrap();
    let one = McpServer {
        sandbox: Some(SandboxMode::Off),
        ..server(&[])
    };
    let stand = Stand::with(&[("s", one)], |setup| {
        setup.homes = Some(homes.path().join("homes"))
    });
    let tools = stand.tools().await;
    let said = stand.call(&tools, "environment", json!({})).await.text();
    assert!(
        !said.contains(&homes.path().display().to_string()),
        "{said}"
    );
    stand.servers.close().await;
    assert!(!homes.path().join("homes").exists());
}

#[tokio::test]
async fn what_a_server_is_handed_over_it_may_change_and_what_it_names_it_may_read() {
    if !is_possible().await {
        return;
    }
    let (named, given) = (
        tempfile::tempdir_in(outside()).unwrap(),
        tempfile::tempdir_in(outside()).unwrap(),
    );
    fs::write(named.path().join("note"), "named").unwrap();
    let mut one = server(&[
        "--record",
        &given.path().join("heard").display().to_string(),
    ]);
    one.env.insert("X".into(), "1".into());
    one.args
        .extend(["--description".into(), named.path().display().to_string()]);
    one.writable = vec![given.path().to_owned()];
    let stand = Stand::with(&[("s", one)], |setup| {
        setup.confining = confining(SandboxMode::Required, &[], &[]);
    });
    let tools = stand.tools().await;
    let works = async |tool: &str, path: PathBuf| {
        let input = json!({"path": path.display().to_string()});
        stand.call(&tools, tool, input).await.failure.is_none()
    };
    assert!(works("write", given.path().join("new")).await && given.path().join("new").is_file());
    assert!(works("read", named.path().join("note")).await);
    assert!(!works("write", named.path().join("note")).await);
    stand.servers.close().await;
}

#[tokio::test]
async fn where_nothing_can_confine_a_server_it_is_refused_or_said_and_never_silent() {
    const AGAIN: &str = "ROOFTREE_TEST_NO_SANDBOX_FOR_SERVERS";
    // A test cannot change its own PATH, so it runs itself once more with one where there is no bubblewrap.
    let Some(python) = std::env::var_os(AGAIN) else {
        let place = tempfile::tempdir().unwrap();
        let mut asked = std::process::Command::new("python3");
        let python = asked
            .args(["-c", "import sys; print(sys.executable, end='')"])
            .output()
            .unwrap()
            .stdout;
        let mut again = std::process::Command::new(std::env::current_exe().unwrap());
        let name = "mcp::confined::where_nothing_can_confine_a_server_it_is_refused_or_said_and_never_silent";
        again.args(["--exact", name]).env("PATH", place.path());
        let status = again
            .env(AGAIN, String::from_utf8(python).unwrap())
            .status();
        assert!(status.unwrap().success());
        return;
    };
    let marks = tempfile::tempdir().unwrap();
    let one = server(&[
        "--record",
        &marks.path().join("heard").display().to_string(),
    ]);
    let one = McpServer {
        command: python.into_string().ok(),
        ..one
    };
    for own in [None, Some(SandboxMode::Required)] {
        let general = if own.is_none() {
            SandboxMode::Required
        } else {
            SandboxMode::Auto
        };
        let one = McpServer {
            sandbox: own,
            ..one.clone()
        };
        let stand = Stand::with(&[("s", one)], |setup| {
            setup.confining = confining(general, &[], &[])
        });
        let notice = stand.notice().await;
        assert_eq!(notice.code, "mcp_failed");
        assert!(
            notice
                .message
                .contains("was not started: it has to be confined"),
            "{}",
            notice.message
        );
        assert!(!marks.path().join("heard").exists(), "nothing was started");
    }
    let hosts = McpServer {
        network: Some("a.test".parse().unwrap()),
        ..one.clone()
    };
    for one in [one, hosts] {
        let stand = Stand::with(&[("s", one)], |setup| {
            setup.confining = confining(SandboxMode::Auto, &[], &[])
        });
        let offered = stand.offer().await;
        let codes: Vec<&str> = offered.notices.iter().map(|notice| notice.code).collect();
        assert_eq!(
            (codes, offered.tools.is_empty()),
            (vec!["mcp_unconfined"], false)
        );
        assert!(
            offered.notices[0]
                .message
                .contains("are not confined here: "),
            "{:?}",
            offered.notices
        );
        drop(offered);
        stand.servers.close().await;
    }
}

#[tokio::test]
async fn whom_an_unconfined_server_may_reach_is_said_to_have_no_effect() {
    let one = McpServer {
        network: Some("a.test".parse().unwrap()),
        ..server(&[])
    };
    let stand = Stand::new(&[("s", one)]);
    let notice = stand.notice().await;
    assert!(
        notice.message.contains("has full network access"),
        "{}",
        notice.message
    );
    stand.servers.close().await;
}
