//! Every command in README.md and docs/*.md runs: blocks of `sh` and `console` are executed, page by page, in a project of
//! their own, with scripted models and vendors on loopback.
//!
//! A block that cannot run says so in its fence: ```` ```sh no-run: needs a key ````. `ID` and `k3v9x2ab` stand for the id
//! of what the command is about. A comment `(exit 6)` says how a command ends, if not with 0.

use std::{
    collections::BTreeMap,
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    thread,
};

use rooftree_testkit::model_server::{ModelServer, anthropic, openai_chat, openai_responses, say};

/// Blocks that cannot run, over all pages. Do not raise it for a block that could.
const MOST_UNRUN: usize = 16;
/// Pages that are run at the same time.
const AT_ONCE: usize = 4;

/// Made once and copied for every page: a project with files, agents, sessions, runs and tasks.
const TEMPLATE: &str = r#"
set -e
mkdir -p src docs .rooftree/agents other/.claude/agents
printf '# Notes\n' > README.md
printf 'fn main() {}\n' > src/main.rs
printf 'What is here?\n' > question.txt
printf 'sk-%s\n' test0123456789 > key.txt
printf 'error: no such file\n' > build.log
printf '\211PNG\r\n\032\n' > photo.png
cp photo.png shot.png
printf '{"type": "object", "required": ["steps"], "properties": {"steps": {"type": "array"}}}\n' > plan.json
printf -- '---\ndescription: Reviews code for defects\ntools: [Read, Grep, Glob]\n---\nYou review code.\n' > .rooftree/agents/reviewer.md
printf -- '---\nname: writer\ndescription: Writes\n---\nYou write.\n' > other/.claude/agents/writer.md
printf '{"permissions": {"deny": ["Read(./.env)"], "allow": ["Bash(ls:*)"]}}\n' > other/.claude/settings.json
git init -q . && git add -A && git -c user.name=a -c user.email=a@b commit -qm first
rooftree -q trust
printf '12345:%s\n' abcdefghijklmnopqrstuvwxyz012345678 | rooftree -q connectors add telegram --name home --agent lead --unchecked >/dev/null
rooftree -q run "What is here?" >/dev/null
rooftree -q demo >/dev/null
"#;

/// Before each block: where ids come from. A page may have made newer ones.
const IDS: &str = r#"
session_id() { rooftree sessions list --agent lead -o ids | head -n 1; }
run_id() { rooftree runs list -o ids | head -n 1; }
task_id() { rooftree tasks list --all -o ids | head -n 1; }
call_id() { for one in $(rooftree sessions list --all -o ids); do rooftree sessions events "$one"; done | grep -o 'call_[a-z0-9]*' | head -n 1; }
"#;

/// Answers that fit what a page asks for.
const SCRIPT: &str = r#"
[[reply]]
times = 1000
on = "(?i)plan the release"
text = '{"steps": ["test", "tag"]}'

[[reply]]
times = 1000
text = "Done: {{ user.text | cut(40) }}"
"#;

struct Block {
    page: String,
    line: usize,
    /// Why it is not run.
    unrun: Option<String>,
    text: String,
}

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .ancestors()
        .nth(2)
        .unwrap()
        .to_owned()
}

fn pages() -> Vec<PathBuf> {
    let root = repository();
    let docs = fs::read_dir(root.join("docs")).unwrap();
    let docs = docs.map(|entry| entry.unwrap().path());
    let mut pages: Vec<PathBuf> = docs
        .filter(|path| path.extension().is_some_and(|end| end == "md"))
        .chain([root.join("README.md")])
        .collect();
    pages.sort();
    pages
}

/// The blocks of a page that hold commands.
fn blocks(page: &Path) -> Vec<Block> {
    let text = fs::read_to_string(page).unwrap();
    let name = page
        .strip_prefix(repository())
        .unwrap()
        .display()
        .to_string();
    let mut found: Vec<Block> = Vec::new();
    let mut open: Option<(usize, String, Vec<&str>)> = None;
    for (number, line) in text.lines().enumerate() {
        match (&mut open, line.trim_start().strip_prefix("```")) {
            (None, Some(info)) => open = Some((number + 1, info.to_owned(), Vec::new())),
            (Some((_, _, lines)), None) => lines.push(line),
            (Some((at, info, lines)), Some(_)) => {
                let kind = info.split_whitespace().next().unwrap_or_default();
                let unrun = info
                    .split_once("no-run:")
                    .map(|(_, why)| why.trim().to_owned());
                if matches!(kind, "sh" | "console" | "bash") {
                    found.push(Block {
                        page: name.clone(),
                        line: *at,
                        unrun,
                        text: commands(kind, lines),
                    });
                }
                open = None;
            }
            (None, None) => {}
        }
    }
    found
}

/// In a console block, commands begin with `$`; the rest is what they print.
fn commands(kind: &str, lines: &[&str]) -> String {
    let typed = lines.iter().filter_map(|line| match kind {
        "console" => line.strip_prefix("$ "),
        _ => Some(*line),
    });
    typed.map(|line| format!("{}\n", runnable(line))).collect()
}

/// A line with real ids, and with the exit code it names.
fn runnable(line: &str) -> String {
    let id = match line.split_whitespace().nth(1) {
        Some("runs") => "$(run_id)",
        Some("tasks") => "$(task_id)",
        Some("why") => "$(call_id)",
        _ => "$(session_id)",
    };
    let typed: Vec<String> = line
        .split(' ')
        .map(|word| match word {
            "ID" | "k3v9x2ab" => format!("\"{id}\""),
            word => word.to_owned(),
        })
        .collect();
    let typed = typed.join(" ");
    match typed
        .split_once("(exit ")
        .and_then(|(_, rest)| rest.split_once(')'))
    {
        Some((code, _)) => {
            let command = typed.split(" # ").next().unwrap_or_default();
            format!("ended=0; {command} || ended=$?; test \"$ended\" = {code}")
        }
        None => typed,
    }
}

struct Stage {
    directory: tempfile::TempDir,
    variables: Vec<(String, String)>,
}

impl Stage {
    fn new(variables: &[(&str, String)]) -> Self {
        let directory = tempfile::tempdir().unwrap();
        for name in ["home", "project", "bin"] {
            fs::create_dir(directory.path().join(name)).unwrap();
        }
        let program = Path::new(env!("CARGO_BIN_EXE_rooftree"));
        std::os::unix::fs::symlink(program, directory.path().join("bin/rooftree")).unwrap();
        let mut variables: Vec<(String, String)> = variables
            .iter()
            .map(|(name, value)| ((*name).to_owned(), value.clone()))
            .collect();
        let script = directory.path().join("model.toml");
        fs::write(&script, SCRIPT).unwrap();
        variables.push((
            "ROOFTREE_MODEL".into(),
            format!("scripted/{}", script.display()),
        ));
        Self {
            directory,
            variables,
        }
    }

    /// A copy of another stage with a home and a project of its own.
    fn copied(template: &Self) -> Self {
        let copy = Self {
            directory: tempfile::tempdir().unwrap(),
            variables: template.variables.clone(),
        };
        let from = format!("{}/.", template.directory.path().display());
        let done = Command::new("cp")
            .args(["-a", &from])
            .arg(copy.directory.path())
            .status();
        assert!(done.unwrap().success());
        // The project was trusted under its other path.
        let trusted = copy.run("rooftree -q trust");
        assert!(trusted.0, "{}", trusted.1);
        copy
    }

    /// Runs a script; whether all went well, and what it wrote.
    fn run(&self, script: &str) -> (bool, String) {
        let path = format!(
            "{}:{}",
            self.directory.path().join("bin").display(),
            std::env::var("PATH").unwrap()
        );
        let mut command = Command::new("bash");
        command
            .args(["-c", script])
            .current_dir(self.directory.path().join("project"))
            .env_clear()
            .env("HOME", self.directory.path().join("home"))
            .env("PATH", path)
            .env("LANG", "C.UTF-8")
            .env("EDITOR", "true")
            .envs(self.variables.iter().cloned())
            .stdin(Stdio::null());
        let done = command.output().unwrap();
        let mut said = String::from_utf8_lossy(&done.stdout).into_owned();
        said.push_str(&String::from_utf8_lossy(&done.stderr));
        (done.status.success(), said)
    }
}

/// Runs the blocks of a page in order; what went wrong.
fn run_page(template: &Stage, blocks: &[Block]) -> String {
    let stage = Stage::copied(template);
    let examples = repository().join("examples");
    let into = stage.directory.path().join("project/examples");
    let _ = std::os::unix::fs::symlink(examples, into);
    let mut wrong = String::new();
    for block in blocks.iter().filter(|block| block.unrun.is_none()) {
        let (is_well, said) = stage.run(&format!("{IDS}\nset -eo pipefail\n{}", block.text));
        if !is_well {
            let _ = writeln!(
                wrong,
                "{}:{}\n{}\n{said}",
                block.page, block.line, block.text
            );
        }
    }
    wrong
}

#[tokio::test(flavor = "multi_thread")]
async fn n_24_every_command_of_the_documentation_runs() {
    let mut by_page: BTreeMap<String, Vec<Block>> = BTreeMap::new();
    for block in pages().iter().flat_map(|page| blocks(page)) {
        by_page.entry(block.page.clone()).or_default().push(block);
    }
    let answer = |_: &_| say().text(["Hello."]).into();
    let anthropic = ModelServer::start_with(anthropic::WIRE, answer).await;
    let openai = ModelServer::start_with(openai_responses::WIRE, answer).await;
    let local = ModelServer::start_with(openai_chat::WIRE, answer).await;
    let key = ["sk", "test", "0123456789abcdef"].join("-");
    let template = Stage::new(&[
        ("ANTHROPIC_BASE_URL", anthropic.url()),
        ("ANTHROPIC_API_KEY", key.clone()),
        ("OPENAI_BASE_URL", openai.url()),
        ("OPENAI_API_KEY", key),
        ("OLLAMA_HOST", local.url()),
    ]);
    let wrong = tokio::task::spawn_blocking(move || {
        let (is_well, said) = template.run(TEMPLATE);
        assert!(is_well, "{said}");
        let pages: Vec<&Vec<Block>> = by_page.values().collect();
        let mut wrong = String::new();
        for several in pages.chunks(AT_ONCE) {
            let told: Vec<String> = thread::scope(|scope| {
                let running: Vec<_> = several
                    .iter()
                    .map(|blocks| scope.spawn(|| run_page(&template, blocks)))
                    .collect();
                running.into_iter().map(|one| one.join().unwrap()).collect()
            });
            wrong.push_str(&told.concat());
        }
        wrong
    });
    let wrong = wrong.await.unwrap();
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn n_24_a_block_that_is_not_run_says_why_and_there_are_few() {
    let all: Vec<Block> = pages().iter().flat_map(|page| blocks(page)).collect();
    let unrun: Vec<&Block> = all.iter().filter(|block| block.unrun.is_some()).collect();
    for block in &unrun {
        let why = block.unrun.as_deref().unwrap_or_default();
        assert!(
            why.split_whitespace().count() > 2,
            "{}:{}: {why}",
            block.page,
            block.line
        );
    }
    assert!(
        unrun.len() <= MOST_UNRUN,
        "{} blocks are not run",
        unrun.len()
    );
    assert!(
        all.len() - unrun.len() >= 30,
        "{} blocks are run",
        all.len() - unrun.len()
    );
}

#[test]
fn n_37_the_example_about_refused_calls_answers_a_refusal() {
    let page = fs::read_to_string(repository().join("docs/scripted-models.md")).unwrap();
    let example = page
        .split("```toml\n")
        .filter_map(|rest| rest.split("```").next())
        .find(|example| example.contains("I remove the file."))
        .unwrap();
    let desk = crate::run::fixture::Desk::new(example);
    desk.write("old.txt", "old");
    let done = desk.run(&["Remove old.txt"]);
    assert_eq!(done.code, 6, "{done:?}");
    assert!(
        done.out.contains("Then I will try something else."),
        "{done:?}"
    );
    assert!(desk.path().join("old.txt").exists());
}
