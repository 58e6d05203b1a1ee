//! Runs a line in a real bash and tells what it did: files written, variables set, programs run.
//!
//! The line runs in a scratch directory with a `PATH` of shims only. A shim writes its name to a log and then is the real
//! program, or nothing more for programs that would change something. Lines are judged before: one that is not known to stay
//! in the directory is not run at all.

use std::{
    collections::{BTreeMap, BTreeSet},
    env, fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use rooftree_shell::{ShellCall, ShellEffects, innermost};
use tempfile::TempDir;

/// Programs that are real behind their shims.
const REAL: &str = "
    awk base64 basename bash cat chmod cmp column comm cp cut date diff dirname du env expand expr file find fmt fold
    git grep head join jq ln ls make md5sum mktemp mv nice nl nohup od paste perl printenv python3 readlink realpath rev
    sed seq sh sort stat stdbuf strings tac tail tar tee timeout tr tsort uname uniq wc which xargs xxd";

/// Programs that only leave their name.
const RECORDED: &str = "curl evil ls2 rm ssh touch wget";

/// What a line did.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Effects {
    /// Names of files that are new, gone or different, from the directory on.
    pub written: BTreeSet<String>,
    /// Variables that have another value at the end, without the script's own in small letters.
    pub set: BTreeSet<String>,
    /// Programs that were run, by the names of their shims; `trap` for those that lie in the directory.
    pub ran: BTreeSet<String>,
}

/// A scratch directory, and what stands in it before a line runs.
pub struct Oracle {
    root: TempDir,
    before: BTreeMap<String, String>,
    runs: usize,
}

impl Oracle {
    pub fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        let mut oracle = Self {
            root,
            before: BTreeMap::new(),
            runs: 0,
        };
        oracle.shims();
        oracle.lay_out();
        oracle.reset();
        oracle
    }

    /// Runs a line and says what it did. The directory is as before afterwards.
    pub fn run(&mut self, line: &str) -> Effects {
        // What an earlier line left running writes to another log.
        self.runs += 1;
        let log = self.at(&format!("log-{}", self.runs));
        fs::write(&log, "").unwrap();
        let _ = fs::remove_file(self.at("after"));
        let status = Command::new("/usr/bin/timeout")
            .args([
                "-s",
                "KILL",
                "5",
                "/bin/bash",
                "--norc",
                "--noprofile",
                "-c",
                "--",
                line,
            ])
            .current_dir(self.tree())
            .env_clear()
            .envs([
                ("LC_ALL", "C.UTF-8"),
                ("GIT_CONFIG_NOSYSTEM", "1"),
                ("PATH", self.text("bin").as_str()),
            ])
            .envs([
                ("HOME", self.text("home")),
                ("TMPDIR", self.text("tmp")),
                ("BASH_ENV", self.text("env")),
            ])
            .env("ORACLE_LOG", &log)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status();
        status.unwrap();
        let after = snapshot(&self.tree());
        let written: BTreeSet<String> = differing(&self.before, &after);
        if !written.is_empty() {
            self.reset();
        }
        let log = fs::read_to_string(log).unwrap();
        let ran = log.lines().map(str::to_owned).collect();
        Effects {
            written,
            set: self.variables_set(),
            ran,
        }
    }

    /// What a line did that one that only looks does not do.
    pub fn harm(&mut self, line: &str) -> Option<String> {
        let Effects { written, set, ran } = self.run(line);
        let calls = ShellEffects::of(line)
            .map(|deeds| deeds.calls)
            .unwrap_or_default();
        let is_found = |name: &String| {
            let is_it = |call: &ShellCall| call.name().as_ref() == Some(name);
            *name != "trap"
                && calls
                    .iter()
                    .any(|call| is_it(call) || is_it(&innermost(call)))
        };
        let is_passed_on =
            |name: &String| matches!(name.as_str(), "nice" | "nohup" | "stdbuf" | "timeout");
        let ran: BTreeSet<String> = ran
            .into_iter()
            .filter(|name| !is_found(name) && !is_passed_on(name))
            .collect();
        let is_harmless = written.is_empty() && set.is_empty() && ran.is_empty();
        (!is_harmless).then(|| format!("{line:?} wrote {written:?}, set {set:?}, ran {ran:?}"))
    }

    fn at(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    fn tree(&self) -> PathBuf {
        self.at("tree")
    }

    fn text(&self, name: &str) -> String {
        self.at(name).display().to_string()
    }

    fn shims(&self) {
        for directory in ["bin", "home", "tmp"] {
            fs::create_dir(self.at(directory)).unwrap();
        }
        for name in REAL.split_whitespace() {
            let Some(real) = find(name) else { continue };
            let goes_on = format!("exec '{}' \"$@\"", real.display());
            program(
                &self.at("bin").join(name),
                &format!("{}\n{goes_on}", note(name)),
            );
        }
        for name in RECORDED.split_whitespace() {
            program(&self.at("bin").join(name), &note(name));
        }
        let told = format!("declare -p > '{}'", self.text("before"));
        let after = format!("wait; declare -p > '{}'", self.text("after"));
        let limits = "unset BASH_ENV; ulimit -t 3; ulimit -f 4096; ulimit -c 0";
        fs::write(
            self.at("env"),
            format!("{limits}\ntrap \"{after}\" EXIT\n{told}\n"),
        )
        .unwrap();
    }

    /// Makes the directory as it was laid out.
    fn reset(&mut self) {
        let _ = fs::remove_dir_all(self.tree());
        let copied = Command::new("cp")
            .arg("-a")
            .args([self.at("template"), self.tree()])
            .status();
        assert!(copied.unwrap().success());
        self.before = snapshot(&self.tree());
    }

    fn lay_out(&self) {
        let tree = self.at("template");
        for directory in ["src", "5", "10", "11", "12", "vendor/lib", ".hidden"] {
            fs::create_dir_all(tree.join(directory)).unwrap();
        }
        let files = [
            ("a", "one\none\ntwo\n"),
            ("b", "two\n"),
            ("-dash", "x\nx\n"),
            ("src/a.rs", "fn a() {}\n"),
        ];
        for (name, text) in files.into_iter().chain([
            ("-dash.hex", "00000000: 6869 0a\n"),
            ("a.json", "{\"a\": [1, 2]}\n"),
            ("-v", "v\n"),
            ("x[$(touch pwn)]", "subscript\n"),
        ]) {
            fs::write(tree.join(name), text).unwrap();
        }
        for name in ["5/ls", "10/ls", "11/ls", "12/ls", "evil"] {
            program(&tree.join(name), &note("trap"));
        }
        self.repositories(&tree);
    }

    /// The project's own repository, one whose settings name a program, and one with a hook.
    fn repositories(&self, tree: &Path) {
        let (lib, bare) = (tree.join("vendor/lib"), tree.join("evil.git"));
        let evil = self.tree().join("evil").display().to_string();
        self.git(tree, &["init", "-q", "-b", "main"]);
        self.git(tree, &["add", "a", "b"]);
        self.git(tree, &["commit", "-qm", "one"]);
        fs::write(lib.join("x"), "x\n").unwrap();
        self.git(&lib, &["init", "-q", "-b", "main"]);
        self.git(&lib, &["add", "x"]);
        self.git(&lib, &["commit", "-qm", "lib"]);
        self.git(&lib, &["config", "diff.external", &evil]);
        fs::write(lib.join("x"), "y\n").unwrap();
        self.git(tree, &["init", "-q", "--bare", "evil.git"]);
        self.git(&bare, &["config", "receive.advertisePushOptions", "true"]);
        program(&bare.join("hooks/pre-receive"), &note("trap"));
    }

    fn git(&self, directory: &Path, words: &[&str]) {
        let done = Command::new(find("git").unwrap())
            .args(["-c", "user.name=a", "-c", "user.email=a@example.org"])
            .args(words)
            .current_dir(directory)
            .env("HOME", self.at("home"))
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .output()
            .unwrap();
        assert!(
            done.status.success(),
            "git {words:?}: {}",
            String::from_utf8_lossy(&done.stderr)
        );
    }

    fn variables_set(&self) -> BTreeSet<String> {
        let told = |name: &str| variables(&fs::read_to_string(self.at(name)).unwrap_or_default());
        let (before, after) = (told("before"), told("after"));
        if after.is_empty() {
            BTreeSet::new()
        } else {
            differing(&before, &after)
        }
    }
}

pub fn find(program: &str) -> Option<PathBuf> {
    env::split_paths(&env::var_os("PATH")?)
        .map(|place| place.join(program))
        .find(|path| path.is_file())
}

/// The command by which a program leaves its name.
fn note(name: &str) -> String {
    format!("echo {name} >> \"$ORACLE_LOG\"")
}

fn program(path: &Path, text: &str) {
    fs::write(path, format!("#!/bin/sh\n{text}\n")).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

/// What `declare -p` tells, without what changes by itself, where a line goes to, and the script's own.
fn variables(told: &str) -> BTreeMap<String, String> {
    const PASSING: &str = "
        CI CLICOLOR COLUMNS DEBUG DIRSTACK EPOCHREALTIME EPOCHSECONDS FORCE_COLOR FUNCNAME GROUPS HISTCMD LANG LC_ALL
        LINENO LINES NODE_ENV NO_COLOR OLDPWD PIPESTATUS PWD RANDOM REPLY RUST_BACKTRACE RUST_LOG SECONDS SHELLOPTS SRANDOM TZ _";
    let is_passing = |name: &str| {
        PASSING.split_whitespace().any(|one| one == name)
            || name
                .chars()
                .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit())
            || name.len() == 1
            || (name.starts_with("BASH") && name != "BASH_ENV")
    };
    let lines = told
        .lines()
        .filter_map(|line| line.strip_prefix("declare -"));
    let pairs = lines
        .filter_map(|line| line.split_once(' '))
        .map(|(kind, rest)| {
            let (name, value) = rest.split_once('=').unwrap_or((rest, ""));
            (name.to_owned(), format!("{kind} {value}"))
        });
    pairs.filter(|(name, _)| !is_passing(name)).collect()
}

fn differing(
    before: &BTreeMap<String, String>,
    after: &BTreeMap<String, String>,
) -> BTreeSet<String> {
    before
        .keys()
        .chain(after.keys())
        .filter(|name| before.get(*name) != after.get(*name))
        .cloned()
        .collect()
}

/// Every file below a directory with what it holds; without git's index, which looking refreshes.
fn snapshot(directory: &Path) -> BTreeMap<String, String> {
    let (mut found, mut left) = (BTreeMap::new(), vec![directory.to_owned()]);
    while let Some(next) = left.pop() {
        for entry in fs::read_dir(&next).unwrap().map(Result::unwrap) {
            let (path, kind) = (entry.path(), entry.metadata().unwrap());
            let name = path
                .strip_prefix(directory)
                .unwrap()
                .to_string_lossy()
                .into_owned();
            if kind.is_dir() {
                left.push(path.clone());
            }
            let held = if kind.is_file() {
                fs::read(&path).unwrap_or_default()
            } else {
                Vec::new()
            };
            let told = format!("{:o} {}", kind.permissions().mode(), held.escape_ascii());
            if !name.ends_with(".git/index") {
                found.insert(name, told);
            }
        }
    }
    found
}
