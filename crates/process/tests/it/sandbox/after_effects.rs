//! The corpus of git after-effects: what the user's next git command runs, with every way to confine and without.

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::Arc,
};

use rooftree_process::{
    ChildEnvironment, ProcessInput, Sandbox, SpawnRequest,
    sandbox::{SandboxBackend, SandboxNetwork, repositories_below},
    spawn,
};
use tempfile::TempDir;
use tokio::{sync::Semaphore, task::JoinSet};
use tokio_util::sync::CancellationToken;

use super::{backends, fixture::is_hidden};
use crate::shell::PLENTY;

const CORPUS: &str = include_str!("../../corpora/git_after_effects.txt");

/// One entry: who runs what, in order.
#[derive(Clone, Default)]
struct Effect {
    tags: Vec<&'static str>,
    name: &'static str,
    prepared: String,
    confined: String,
    after: String,
}

impl Effect {
    fn is_benign(&self) -> bool {
        self.tags.contains(&"benign")
    }
}

fn corpus() -> Vec<Effect> {
    let mut effects: Vec<Effect> = Vec::new();
    for line in CORPUS
        .lines()
        .filter(|line| !line.starts_with('#') && !line.is_empty())
    {
        if let Some((tags, name)) = line
            .strip_prefix('[')
            .and_then(|rest| rest.split_once("] "))
        {
            effects.push(Effect {
                tags: tags.split(' ').collect(),
                name,
                ..Effect::default()
            });
            continue;
        }
        let effect = effects.last_mut().unwrap();
        let (script, line) = match (line.strip_prefix("> "), line.strip_prefix("< ")) {
            (Some(line), _) => (&mut effect.prepared, line),
            (_, Some(line)) => (&mut effect.after, line),
            _ => (&mut effect.confined, line),
        };
        script.push_str(line);
        script.push('\n');
    }
    effects
}

/// A project of the user's, and a program that shows that it ran outside.
struct Project {
    root: TempDir,
}

/// What a run came to.
struct Outcome {
    has_run: bool,
    said: String,
    kept_out: Vec<String>,
}

impl Project {
    fn new() -> Self {
        let built = env!("CARGO_TARGET_TMPDIR");
        let mut places = [built, "/opt", "/srv"]
            .into_iter()
            .filter(|place| !is_hidden(Path::new(place)));
        let root = places.find_map(|place| TempDir::new_in(place).ok());
        let project = Self {
            root: root.unwrap_or_else(|| TempDir::new_in(built).unwrap()),
        };
        for name in ["work", "home", "quarantine"] {
            fs::create_dir(project.path(name)).unwrap();
        }
        let evil = format!("#!/bin/sh\ntouch '{}'\n", project.path("ran").display());
        fs::write(project.path("evil"), evil).unwrap();
        fs::set_permissions(project.path("evil"), fs::Permissions::from_mode(0o755)).unwrap();
        project.user(
            "git init -qb main && for n in one two; do echo $n >$n && git add $n && git commit -qm $n; done
             git init -q clone && git -C clone commit -q --allow-empty -m a && printf 'clone\\n' >>.git/info/exclude
             git init -q module && git -C module commit -q --allow-empty -m a && mkdir .git/modules
             mv module/.git .git/modules/module && echo 'gitdir: ../.git/modules/module' >module/.git
             git config -f .git/modules/module/config core.worktree ../../../module
             git config -f .gitmodules submodule.module.path module
             git config -f .gitmodules submodule.module.url https://example.com/m.git
             git add .gitmodules module && git commit -qm three",
        );
        project
    }

    fn path(&self, name: &str) -> PathBuf {
        fs::canonicalize(self.root.path()).unwrap().join(name)
    }

    fn variables(&self) -> Vec<(&'static str, String)> {
        let mut all: Vec<(&str, String)> = [
            ("WORK", "work"),
            ("EVIL", "evil"),
            ("RAN", "ran"),
            ("HOME", "home"),
        ]
        .iter()
        .map(|(name, path)| (*name, self.path(path).to_string_lossy().into_owned()))
        .collect();
        for name in [
            "GIT_AUTHOR_NAME",
            "GIT_AUTHOR_EMAIL",
            "GIT_COMMITTER_NAME",
            "GIT_COMMITTER_EMAIL",
        ] {
            all.push((name, "a".to_owned()));
        }
        all.extend([
            ("GIT_CONFIG_NOSYSTEM", "1".to_owned()),
            ("GIT_EDITOR", "true".to_owned()),
        ]);
        all
    }

    /// Runs a script as the user, unconfined; gives what it wrote.
    fn user(&self, script: &str) -> String {
        let mut shell = Command::new("bash");
        shell
            .args(["-c", script])
            .current_dir(self.path("work"))
            .envs(self.variables())
            .stdin(Stdio::null());
        let output = shell.output().unwrap();
        String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned()
    }

    async fn agent(&self, script: &str, backend: Option<SandboxBackend>) -> (String, Vec<String>) {
        let sandbox = backend.map(|backend| {
            let mut sandbox = Sandbox::around(&self.path("work"), SandboxNetwork::Off);
            sandbox.backend = Some(backend);
            sandbox.readable.push(self.path("evil"));
            sandbox.git.quarantine = Some(self.path("quarantine"));
            for git in repositories_below(&self.path("work")) {
                sandbox.protect_repository(&git);
            }
            Arc::new(sandbox)
        });
        let mut environment = ChildEnvironment::default();
        for (name, value) in self.variables() {
            environment = environment.with(name, &value);
        }
        let spawned = SpawnRequest {
            program: "bash".into(),
            args: vec!["-c".into(), script.into()],
            cwd: self.path("work"),
            environment,
            input: ProcessInput::Nothing,
            sandbox,
        };
        let finished = spawn(spawned)
            .await
            .unwrap()
            .finish(PLENTY, &CancellationToken::new(), |_| {})
            .await;
        (finished.output.text(), finished.kept_out)
    }
}

async fn outcome(effect: &Effect, backend: Option<SandboxBackend>) -> Outcome {
    let project = Project::new();
    let mut said = project.user(&effect.prepared);
    let (words, kept_out) = project.agent(&effect.confined, backend).await;
    said.push_str(&words);
    // What the agent itself ran while it was there is not what this is about.
    let _ = fs::remove_file(project.path("ran"));
    said.push_str(&project.user(&effect.after));
    Outcome {
        has_run: project.path("ran").exists(),
        said,
        kept_out,
    }
}

/// Runs the whole corpus with these ways to confine, some at the same time.
async fn all(ways: &[Option<SandboxBackend>]) -> Vec<(Effect, Option<SandboxBackend>, Outcome)> {
    let room = Arc::new(Semaphore::new(4));
    let mut runs = JoinSet::new();
    for effect in corpus() {
        for backend in ways.iter().copied() {
            let (effect, room) = (effect.clone(), room.clone());
            runs.spawn(async move {
                let _place = room.acquire_owned().await.unwrap();
                let outcome = outcome(&effect, backend).await;
                (effect, backend, outcome)
            });
        }
    }
    runs.join_all().await
}

#[tokio::test(flavor = "multi_thread")]
async fn s_a5_nothing_a_confined_command_left_is_run_by_the_users_next_git_command() {
    let ways: Vec<Option<SandboxBackend>> = backends().await.into_iter().map(Some).collect();
    let mut wrong = Vec::new();
    for (effect, backend, outcome) in all(&ways).await {
        let Outcome {
            has_run,
            said,
            kept_out,
        } = &outcome;
        let is_wrong = if effect.is_benign() {
            !said.contains("REACHED") || !kept_out.is_empty()
        } else {
            *has_run
        };
        if is_wrong {
            wrong.push(format!(
                "{backend:?}: {}: {said}\nkept out: {kept_out:?}",
                effect.name
            ));
        }
        // What Landlock cannot make read-only has to be found, and told.
        if !effect.is_benign() && backend == Some(SandboxBackend::Landlock) && kept_out.is_empty() {
            wrong.push(format!("not told: {}: {said}", effect.name));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[tokio::test(flavor = "multi_thread")]
async fn s_a5_every_after_effect_happens_without_a_sandbox() {
    let wrong: Vec<String> = all(&[None])
        .await
        .into_iter()
        .filter(|(effect, _, outcome)| {
            if effect.is_benign() {
                !outcome.said.contains("REACHED")
            } else {
                !outcome.has_run
            }
        })
        .map(|(effect, _, outcome)| format!("{}: {}", effect.name, outcome.said))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_corpus_of_after_effects_is_large_and_a_third_of_it_is_benign() {
    let corpus = corpus();
    let benign = corpus.iter().filter(|effect| effect.is_benign()).count();
    let attacks = corpus
        .iter()
        .filter(|effect| effect.tags.first() == Some(&"attack") && effect.tags.len() == 2);
    let attacks = attacks.count();
    assert_eq!(benign + attacks, corpus.len());
    assert!(
        attacks >= 40 && benign * 3 >= corpus.len(),
        "{attacks} attacks, {benign} benign"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn s_a5_what_the_user_changes_while_a_command_runs_stays_where_the_command_could_not() {
    if !backends().await.contains(&SandboxBackend::Bubblewrap) {
        return;
    }
    let project = Project::new();
    let script = "echo >ready; while [ ! -e go ]; do sleep 0.05; done";
    let (_, ()) = tokio::join!(
        project.agent(script, Some(SandboxBackend::Bubblewrap)),
        async {
            while !project.path("work/ready").exists() {
                tokio::task::yield_now().await;
            }
            project
            .user("git config core.hooksPath .githooks; printf '#!/bin/sh\n' >.git/hooks/pre-push; touch go");
        }
    );
    assert!(
        project
            .user("git config core.hooksPath")
            .contains(".githooks")
    );
    assert!(project.path("work/.git/hooks/pre-push").exists());
}
