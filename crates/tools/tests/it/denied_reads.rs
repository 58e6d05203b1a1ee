//! Rules that deny reading, held by the sandbox: against commands that name no file the rules could see.

use std::{fs, process::Command};

use rooftree_process::{sandbox::SandboxBackend, sandbox_probe::available_backend};
use rooftree_protocol::{Confinement, SandboxMode};
use rooftree_tools::{PermissionRule, Policy, SandboxConfig};
use serde_json::json;
use tempfile::TempDir;

use crate::desk::Desk;

const CORPUS: &str = include_str!("../corpora/denied_reads.txt");

const RULES: [&str; 4] = [
    "Read(.env)",
    "Read(.env.*)",
    "Read(secrets/**)",
    "Read(**/*.pem)",
];

/// Where rules deny something elsewhere: not in /tmp, which commands do not see at all.
struct Elsewhere(TempDir);

impl Elsewhere {
    fn new() -> Self {
        let place = [env!("CARGO_TARGET_TMPDIR"), "/opt", "/srv"]
            .into_iter()
            .find_map(|place| {
                let is_seen = !["/tmp", "/root", "/home", "/run", "/var/tmp"]
                    .iter()
                    .any(|it| place.starts_with(it));
                TempDir::new_in(place).ok().filter(|_| is_seen)
            });
        let place = place.unwrap_or_else(|| tempfile::tempdir().unwrap());
        fs::create_dir_all(place.path().join("out/deep")).unwrap();
        fs::write(place.path().join("public"), "public\n").unwrap();
        for name in ["file", "deep/file"] {
            fs::write(place.path().join("out").join(name), "hunter2\n").unwrap();
        }
        Self(place)
    }

    fn out(&self) -> String {
        fs::canonicalize(self.0.path())
            .unwrap()
            .join("out")
            .display()
            .to_string()
    }
}

fn desk(elsewhere: &Elsewhere, rules: &[&str]) -> Desk {
    let mut desk = Desk::new();
    for name in [
        ".env",
        ".env.local",
        "secrets/key",
        "secrets/deep/key",
        "src/deep/er/a.pem",
        "node_modules/x/b.pem",
    ] {
        desk.put(name, "KEY=hunter2\n");
    }
    desk.put("notes.md", "public\n");
    desk.put(".gitignore", "# public\n");
    std::os::unix::fs::symlink("src/deep/er/a.pem", desk.path("near")).unwrap();
    let init = Command::new("git")
        .args(["init", "-q"])
        .current_dir(desk.path("."))
        .status();
    assert!(init.unwrap().success());
    let outside = format!("Read({}/**)", elsewhere.out());
    let rules: Vec<&str> = if rules.is_empty() {
        vec![]
    } else {
        [rules, &[outside.as_str()]].concat()
    };
    let deny = rules
        .iter()
        .map(|rule| PermissionRule::parse(rule).unwrap())
        .collect();
    let policy = Policy {
        deny,
        ..Policy::default()
    };
    let confinement = Confinement {
        mode: SandboxMode::Required,
        ..Confinement::default()
    };
    let unreadable = policy.unreadable(&desk.context.cwd);
    desk.context.sandbox = Some(SandboxConfig::default().with(confinement, unreadable));
    desk
}

/// The lines of the corpus: whether each is an attack, and what it runs.
fn corpus() -> impl Iterator<Item = (bool, &'static str)> {
    let lines = CORPUS
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines.map(|line| match line.split_once("  ").unwrap() {
        ("attack", command) => (true, command),
        (kind, command) => {
            assert_eq!(kind, "benign");
            (false, command)
        }
    })
}

/// Whether a denied file can be hidden in the workspace here. Without that there is nothing to be seen.
async fn is_possible() -> bool {
    let found = available_backend().await;
    if found != Ok(SandboxBackend::Bubblewrap) {
        eprintln!("left out: {found:?}");
    }
    found == Ok(SandboxBackend::Bubblewrap)
}

#[tokio::test]
async fn what_rules_deny_is_hidden_from_commands_and_without_the_rules_it_is_not() {
    if !is_possible().await {
        return;
    }
    let elsewhere = Elsewhere::new();
    let is_seen = !elsewhere.out().starts_with("/tmp");
    let mut wrong = Vec::new();
    for rules in [&RULES[..], &[]] {
        for (is_attack, line) in corpus().filter(|(_, line)| is_seen || !line.contains("$OUT")) {
            let desk = desk(&elsewhere, rules);
            let command = format!("OUT='{}'; {line}", elsewhere.out());
            let said = desk.call("Bash", json!({"command": command})).await.text();
            let wanted = if is_attack { "hunter2" } else { "public" };
            let reaches = !is_attack || rules.is_empty();
            if said.contains(wanted) != reaches {
                wrong.push(format!("rules: {}: {line}: {said}", rules.len()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_corpus_has_a_fifth_of_lines_that_must_work() {
    let (attacks, benign): (Vec<_>, Vec<_>) = corpus().partition(|(is_attack, _)| *is_attack);
    assert!(
        attacks.len() >= 30 && benign.len() * 5 >= attacks.len() + benign.len(),
        "{}",
        benign.len()
    );
}

#[tokio::test]
async fn what_is_denied_can_not_be_changed_either_and_nothing_is_lost() {
    if !is_possible().await {
        return;
    }
    let desk = desk(&Elsewhere::new(), &RULES);
    for line in [
        "echo x >.env",
        "rm .env",
        "echo x >secrets/new",
        "rm -r secrets",
        "mv secrets a",
    ] {
        desk.failed("Bash", json!({"command": line})).await;
    }
    assert_eq!(
        (
            desk.content(".env").as_str(),
            desk.content("secrets/key").as_str()
        ),
        ("KEY=hunter2\n", "KEY=hunter2\n")
    );
}

#[tokio::test]
async fn a_file_that_a_rule_names_as_it_stands_is_hidden_also_if_it_comes_later() {
    if !is_possible().await {
        return;
    }
    let mut desk = desk(&Elsewhere::new(), &["Read(later/.env)", "Read(token)"]);
    assert_eq!(
        desk.done("Bash", json!({"command": "echo one"})).await,
        "one"
    );
    desk.put("later/.env", "hunter2\n");
    desk.put("token", "hunter2\n");
    let said = desk
        .call("Bash", json!({"command": "cat later/.e* tok*"}))
        .await
        .text();
    assert!(!said.contains("hunter2"), "{said}");
    // Other rules hold from the next command on.
    let policy = Policy {
        deny: vec![PermissionRule::parse("Read(*.pem)").unwrap()],
        ..Policy::default()
    };
    desk.put("new.pem", "hunter3\n");
    let confining = desk.context.sandbox.take().unwrap();
    let unreadable = policy.unreadable(&desk.context.cwd);
    desk.context.sandbox = Some(confining.with(confining.confinement.clone(), unreadable));
    let said = desk
        .call("Bash", json!({"command": "cat later/.e* *.pem"}))
        .await
        .text();
    assert!(
        said.contains("hunter2") && !said.contains("hunter3"),
        "{said}"
    );
}

#[tokio::test]
async fn a_repository_that_was_there_is_kept_and_one_that_a_command_made_is_its_own() {
    if !is_possible().await {
        return;
    }
    let desk = desk(&Elsewhere::new(), &[]);
    let init = Command::new("git")
        .args(["init", "-q", "old"])
        .current_dir(desk.path("."))
        .status();
    assert!(init.unwrap().success());
    desk.done(
        "Bash",
        json!({"command": "git init -q new && git -C new config core.pager less"}),
    )
    .await;
    desk.failed(
        "Bash",
        json!({"command": "git -C old config core.pager less"}),
    )
    .await;
    desk.failed("Bash", json!({"command": "mv old other"}))
        .await;
    desk.done(
        "Bash",
        json!({"command": "git -C new config core.pager more && rm -r new"}),
    )
    .await;
}
