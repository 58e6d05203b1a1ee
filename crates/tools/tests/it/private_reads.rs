//! Private and outside files before every file tool: what the file scope keeps, and what it leaves free.

use std::{
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
};

use rooftree_protocol::{Confinement, PermissionMode, Reading};
use rooftree_tools::{
    FileScope, LazyPrivatePlaces, PermissionRule, Policy, PolicyRequest, PolicyVerdict,
    SandboxConfig, Tool, ToolContext,
};
use serde_json::Value;

use crate::desk::Desk;

const CORPUS: &str = include_str!("../corpora/private_reads.txt");

/// Directories as the corpus names them.
struct Tree {
    desk: Desk,
    top: PathBuf,
    home: PathBuf,
    own: PathBuf,
    cwd: PathBuf,
}

impl Tree {
    fn new() -> Self {
        let mut desk = Desk::new();
        let top = desk.path("");
        let top = top.components().collect::<PathBuf>();
        let (home, own) = (top.join("home"), top.join("own"));
        let cwd = home.join("project");
        let files = [
            "home/.ssh/hunter2-key",
            "home/.ssh/hunter2.ipynb",
            "home/.aws/hunter2",
            "home/.gnupg/hunter2",
            "home/.kube/hunter2",
            "home/.mozilla/hunter2",
            "home/.netrc",
            "home/.bash_history",
            "home/.config/gcloud/hunter2",
            "home/.config/gh/hunter2",
            "home/.docker/hunter2",
            "home/.claude.json",
            "home/other/hunter2.txt",
            "home/dotfiles/ssh/hunter2-linked",
            "home/dotfiles/own/hunter2-settings",
            "home/.cargo/registry/hunter2.rs",
            "home/.rustup/lib.rs",
            "home/.gitconfig",
            "home/granted/public.txt",
            "home/project/public.txt",
            "home/project/sub/public.txt",
            "home/project/.ssh/public.txt",
            "home/project/.env",
            "own/credentials.toml",
            "own/hunter2.db",
            "own/logs/hunter2",
            "own/skills/one/public.txt",
        ];
        for file in files {
            let text = if file.contains(".ssh/hunter2") {
                "hunter2 public hunter2-key-text\n"
            } else {
                "hunter2 public\n"
            };
            fs::create_dir_all(top.join(file).parent().unwrap()).unwrap();
            fs::write(top.join(file), text).unwrap();
        }
        let notebook = r#"{"cells":[{"cell_type":"code","source":["hunter2"],"metadata":{},"outputs":[],"execution_count":null}],"metadata":{},"nbformat":4,"nbformat_minor":5}"#;
        fs::write(home.join(".ssh/hunter2.ipynb"), notebook).unwrap();
        let links = [
            ("link-key", "../.ssh/hunter2-key"),
            ("chain-1", "chain-2"),
            ("chain-2", "link-key"),
            ("link-dir", "../.ssh"),
            ("up", ".."),
            ("link-sub", "sub"),
            ("sub/deep-link", "../link-dir/hunter2-key"),
            ("link-own", "../../own"),
            ("link-other", "../other/hunter2.txt"),
            ("../.ssh/hunter2-linked", "../dotfiles/ssh/hunter2-linked"),
            (
                "../../own/hunter2-settings",
                "../home/dotfiles/own/hunter2-settings",
            ),
        ];
        for (link, target) in links {
            symlink(target, cwd.join(link)).unwrap();
        }
        symlink(home.join(".ssh/hunter2-key"), cwd.join("link-abs")).unwrap();
        fs::create_dir_all(cwd.join("hards")).unwrap();
        for name in ["hard.txt", "hards/hard.txt"] {
            fs::hard_link(home.join(".aws/hunter2"), cwd.join(name)).unwrap();
        }
        fs::hard_link(cwd.join("public.txt"), cwd.join("hard-public.txt")).unwrap();
        desk.context.cwd = cwd.as_path().into();
        Self {
            desk,
            top,
            home,
            own,
            cwd,
        }
    }

    fn filled(&self, text: &str) -> String {
        let places = [
            ("{home}", &self.home),
            ("{own}", &self.own),
            ("{cwd}", &self.cwd),
            ("{top}", &self.top),
        ];
        places.iter().fold(text.to_owned(), |text, (name, path)| {
            text.replace(name, &path.display().to_string())
        })
    }

    fn scope(&self, reading: Reading) -> FileScope {
        let own = [self.own.clone()];
        let readable = vec![self.home.join("granted")];
        let confining = SandboxConfig {
            confinement: Confinement {
                readable,
                reading,
                ..Confinement::default()
            },
            known: LazyPrivatePlaces::at(&self.home, &own),
            private: own.into(),
            shared: [self.own.join("skills/one")].into(),
            ..SandboxConfig::default()
        };
        confining.file_scope(&self.cwd)
    }

    /// What a call brings out under a policy and within a scope.
    async fn output(
        &self,
        tool: &dyn Tool,
        input: &Value,
        (policy, scope): (&Policy, FileScope),
    ) -> String {
        let subject = tool.subject(input);
        let judged = PolicyRequest {
            tool: &tool.spec().name,
            subject: subject.as_deref(),
            input: Some(input),
            effect: tool.effect(input),
            cwd: &self.cwd,
        };
        let reach = policy.reach_within(&judged, scope);
        match policy.judge_at(&judged, &reach) {
            PolicyVerdict::Allow(_) => {
                let context = ToolContext {
                    reach,
                    ..self.desk.context.clone()
                };
                let output = tool.run(input.clone(), context).await;
                format!("{} {}", output.text(), output.diff.unwrap_or_default())
            }
            PolicyVerdict::Ask(words) => format!(
                "[ask] {}",
                words.replace("hunter2", "…").replace("public", "…")
            ),
            PolicyVerdict::Deny(words) => {
                format!(
                    "[deny] {}",
                    words.replace("hunter2", "…").replace("public", "…")
                )
            }
        }
    }
}

fn mode(name: &str) -> (PermissionMode, Reading) {
    match name {
        "plan" => (PermissionMode::Plan, Reading::AsCommands),
        "ask" => (PermissionMode::Ask, Reading::AsCommands),
        "accept-edits" => (PermissionMode::AcceptEdits, Reading::AsCommands),
        "auto" => (PermissionMode::Auto, Reading::AsCommands),
        "bypass" => (PermissionMode::Bypass, Reading::AsCommands),
        "exposed" => (PermissionMode::Bypass, Reading::OnlyHere),
        other => panic!("{other} is no mode"),
    }
}

/// The text that asks for something is not what came out of it.
fn answered(output: &str, input: &Value) -> String {
    let asked = input
        .as_object()
        .unwrap()
        .values()
        .filter_map(Value::as_str);
    asked.fold(output.to_owned(), |text, asked| {
        text.replace(&format!("`{asked}`"), "…").replace(asked, "…")
    })
}

#[tokio::test]
async fn r2_d19_every_line_of_the_corpus_is_kept_or_shown_and_every_control_brings_it_out() {
    let (mut kept, mut shown, mut wrong) = (0, 0, Vec::new());
    for line in CORPUS.lines().filter(|line| !line.starts_with('#')) {
        let [expected, class, mode_and_rule, name, input] =
            line.split('\t').collect::<Vec<_>>()[..]
        else {
            panic!("{line}");
        };
        let tree = Tree::new();
        let (mode_name, rule) = mode_and_rule.split_once('+').unwrap_or((mode_and_rule, ""));
        let (mode, reading) = mode(mode_name);
        let rules = Some(rule).filter(|rule| !rule.is_empty());
        let allow = rules
            .map(|rule| PermissionRule::parse(&tree.filled(rule)).unwrap())
            .into_iter()
            .collect();
        let policy = Policy {
            mode,
            allow,
            ..Policy::default()
        };
        let rooftree_tools::toolset::ToolLookup::Tool(tool) = tree.desk.tools.find(name) else {
            panic!("{name}")
        };
        let input: Value = serde_json::from_str(&tree.filled(input)).unwrap();
        let input = tool.normalise(name, input).unwrap();
        let found = tree
            .output(tool.as_ref(), &input, (&policy, tree.scope(reading)))
            .await;
        let open = Policy {
            mode: PermissionMode::Bypass,
            ..Policy::default()
        };
        match expected {
            "kept" => {
                kept += 1;
                if answered(&found, &input).contains("hunter2") {
                    wrong.push(format!("{class}: {line}\n{found}"));
                }
                let control = tree
                    .output(tool.as_ref(), &input, (&open, FileScope::default()))
                    .await;
                let changes = class == "change" && !control.starts_with('[');
                let control = answered(&control, &input);
                if !changes && !control.contains("hunter2") {
                    wrong.push(format!("control of {class}: {line}\n{control}"));
                }
            }
            "shown" => {
                shown += 1;
                if !found.contains("public") {
                    wrong.push(format!("{class}: {line}\n{found}"));
                }
            }
            other => panic!("{other}: {line}"),
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
    assert!(
        kept >= 60 && shown * 3 >= kept,
        "{kept} kept, {shown} shown"
    );
}

#[test]
fn r2_d19_private_places_of_other_homes_and_processes_need_a_rule_in_every_mode() {
    let tree = Tree::new();
    let private = [
        "/home/somebody/.ssh/id_ed25519",
        "/home/somebody/.AWS/credentials",
        "/root/.gnupg/secring.gpg",
        "/etc/shadow",
        "/etc/sudoers.d/x",
        "/proc/1/environ",
        "/proc/1/cmdline",
        "/proc/self/environ",
        "/proc/kcore",
    ];
    let free = [
        "/etc/hosts",
        "/usr/share/doc/x",
        "/proc/cpuinfo",
        "/opt/tool/readme",
    ];
    for mode in [
        PermissionMode::Plan,
        PermissionMode::Ask,
        PermissionMode::Auto,
        PermissionMode::Bypass,
    ] {
        let policy = Policy {
            mode,
            ..Policy::default()
        };
        let judged = |path: &str| {
            let about = judged_read(path, &tree.cwd);
            policy.judge_at(
                &about,
                &policy.reach_within(&about, tree.scope(Reading::AsCommands)),
            )
        };
        for path in private {
            assert!(
                matches!(judged(path), PolicyVerdict::Ask(words) if words.contains("private place")),
                "{path} {mode:?}"
            );
        }
        for path in free {
            assert!(
                matches!(judged(path), PolicyVerdict::Allow(_)),
                "{path} {mode:?}"
            );
        }
    }
}

fn judged_read<'a>(path: &'a str, cwd: &'a Path) -> PolicyRequest<'a> {
    PolicyRequest {
        tool: "Read",
        subject: Some(path),
        input: None,
        effect: rooftree_protocol::Effect::ReadOnly,
        cwd,
    }
}

#[tokio::test]
async fn s_l2_list_does_not_tell_where_links_to_denied_or_private_files_lead() {
    let tree = Tree::new();
    symlink(".env", tree.cwd.join("dot")).unwrap();
    symlink(tree.cwd.join("sub"), tree.cwd.join("through")).unwrap();
    symlink("through/public.txt", tree.cwd.join("twice")).unwrap();
    let deny = vec![
        PermissionRule::parse("Read(.env)").unwrap(),
        PermissionRule::parse("Read(sub/public.txt)").unwrap(),
    ];
    let policy = Policy {
        deny,
        ..Policy::default()
    };
    let rooftree_tools::toolset::ToolLookup::Tool(tool) = tree.desk.tools.find("List") else {
        panic!()
    };
    let input = serde_json::json!({"path": "."});
    let listed = tree
        .output(
            tool.as_ref(),
            &input,
            (&policy, tree.scope(Reading::AsCommands)),
        )
        .await;
    for name in [
        "dot", "twice", "link-key", "link-abs", "chain-1", "link-dir", "link-own",
    ] {
        assert!(
            listed.contains(&format!("{name} → [not shown]")),
            "{name}: {listed}"
        );
    }
    assert!(listed.contains("link-sub → sub"), "{listed}");
    assert!(
        !listed.contains(".env") && !listed.contains("hunter2-key"),
        "{listed}"
    );
}

#[test]
fn s_a6_own_directories_are_recognised_behind_links() {
    let tree = Tree::new();
    let dotfiles = tree.home.join("dotfiles");
    fs::create_dir_all(dotfiles.join("config/rooftree/agents")).unwrap();
    fs::write(dotfiles.join("config/rooftree/config.toml"), "").unwrap();
    fs::remove_dir_all(tree.home.join(".config")).unwrap();
    symlink("dotfiles/config", tree.home.join(".config")).unwrap();
    symlink(&tree.own, tree.top.join("linked-own")).unwrap();
    let own = [
        tree.home.join(".config/rooftree"),
        tree.top.join("linked-own"),
    ];
    let confining = SandboxConfig {
        known: LazyPrivatePlaces::at(&tree.home, &own),
        private: own.into(),
        ..SandboxConfig::default()
    };
    let guarded = [
        dotfiles.join("config/rooftree/config.toml"),
        dotfiles.join("config/rooftree/hooks.json"),
        tree.home.join(".config/rooftree/agents/new.md"),
        tree.own.join("credentials.toml"),
        // A link in our own directory leads there: what is written to its target is obeyed too.
        dotfiles.join("own/hunter2-settings"),
    ];
    for path in guarded {
        assert!(
            confining.is_own_path(&path, &dotfiles),
            "{}",
            path.display()
        );
    }
    for path in [
        dotfiles.join("config/other/x"),
        dotfiles.join("vimrc"),
        tree.cwd.join("a.txt"),
    ] {
        assert!(
            !confining.is_own_path(&path, &dotfiles),
            "{}",
            path.display()
        );
    }
    assert!(
        !confining.is_own_path(&tree.own.join("agents/a.md"), &tree.own),
        "who works there changes what is there"
    );
}

#[test]
fn r1_d4_a_session_in_a_copy_changes_nothing_outside_of_it_in_any_mode() {
    let tree = Tree::new();
    let copy = tree.own.join("workspaces/task-1");
    fs::create_dir_all(&copy).unwrap();
    let own = [tree.own.clone()];
    let confining = SandboxConfig {
        known: LazyPrivatePlaces::at(&tree.home, &own),
        private: own.into(),
        copy: Some((tree.cwd.clone(), copy.clone())),
        ..SandboxConfig::default()
    };
    let original = tree.cwd.join("public.txt").display().to_string();
    for mode in [
        PermissionMode::Ask,
        PermissionMode::AcceptEdits,
        PermissionMode::Auto,
        PermissionMode::Bypass,
    ] {
        let policy = Policy {
            mode,
            ..Policy::default()
        };
        let judged = |tool: &'static str, path: &str, effect| {
            let about = PolicyRequest {
                tool,
                subject: Some(path),
                input: None,
                effect,
                cwd: &copy,
            };
            policy.judge_at(
                &about,
                &policy.reach_within(&about, confining.file_scope(&copy)),
            )
        };
        use rooftree_protocol::Effect::{LocalMutation, ReadOnly};
        for tool in ["Write", "Edit", "ApplyDiff", "NotebookEdit", "Delete"] {
            let said = judged(tool, &original, LocalMutation);
            let here = copy.join("public.txt").display().to_string();
            assert!(
                matches!(&said, PolicyVerdict::Deny(words) if words.contains(&here)),
                "{tool} {mode:?} {said:?}"
            );
        }
        assert!(
            matches!(judged("Read", &original, ReadOnly), PolicyVerdict::Ask(_)),
            "{mode:?}"
        );
        let elsewhere = tree.home.join("other/new.txt").display().to_string();
        assert!(
            matches!(
                judged("Write", &elsewhere, LocalMutation),
                PolicyVerdict::Ask(_)
            ),
            "{mode:?}"
        );
        assert!(
            matches!(
                judged("Read", "public.txt", ReadOnly),
                PolicyVerdict::Allow(_)
            ),
            "{mode:?}"
        );
        if mode >= PermissionMode::AcceptEdits {
            assert!(
                matches!(
                    judged("Write", "public.txt", LocalMutation),
                    PolicyVerdict::Allow(_)
                ),
                "{mode:?}"
            );
        }
    }
}
