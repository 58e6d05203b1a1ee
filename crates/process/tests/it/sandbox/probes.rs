//! The corpus of probes, against every way to confine.

use std::sync::Arc;

use rooftree_process::sandbox::{SandboxBackend, SandboxNetwork};
use tokio::{sync::Semaphore, task::JoinSet};

use super::{
    backends,
    fixture::{Fixture, is_root},
};

const CORPUS: &str = include_str!("../../corpora/sandbox_probes.txt");

#[derive(Clone)]
pub struct Probe {
    tags: Vec<&'static str>,
    pub name: &'static str,
    pub script: String,
}

impl Probe {
    pub fn is(&self, tag: &str) -> bool {
        self.tags.contains(&tag)
    }

    /// Whether the script gets what it wants.
    async fn reaches(&self, backend: Option<SandboxBackend>) -> (bool, String) {
        let fixture = Fixture::new();
        let sandbox = backend.map(|backend| fixture.sandbox(backend));
        let text = fixture.run(&self.script, sandbox).await.output.text();
        (text.contains("REACHED"), text)
    }
}

fn corpus() -> Vec<Probe> {
    read(CORPUS)
}

/// The probes of a corpus.
pub fn read(corpus: &'static str) -> Vec<Probe> {
    let mut probes: Vec<Probe> = Vec::new();
    for line in corpus
        .lines()
        .filter(|line| !line.starts_with('#') && !line.is_empty())
    {
        match line
            .strip_prefix('[')
            .and_then(|rest| rest.split_once("] "))
        {
            Some((tags, name)) => probes.push(Probe {
                tags: tags.split(' ').collect(),
                name,
                script: String::new(),
            }),
            None => probes
                .last_mut()
                .unwrap()
                .script
                .push_str(&format!("{line}\n")),
        }
    }
    probes
}

/// Runs all that are wanted, some at the same time; says what each of them got.
async fn run(
    wanted: impl Fn(&Probe) -> Vec<Option<SandboxBackend>>,
) -> Vec<(Probe, Option<SandboxBackend>, bool, String)> {
    let room = Arc::new(Semaphore::new(8));
    let mut runs = JoinSet::new();
    for probe in corpus() {
        for backend in wanted(&probe) {
            let (probe, room) = (probe.clone(), room.clone());
            runs.spawn(async move {
                let _place = room.acquire_owned().await.unwrap();
                let (reached, said) = probe.reaches(backend).await;
                (probe, backend, reached, said)
            });
        }
    }
    runs.join_all().await
}

#[tokio::test]
async fn no_attack_succeeds_inside_and_everything_benign_does() {
    let backends = backends().await;
    // Built below a home, by somebody who may write nowhere else, what is beside is hidden as well.
    let is_in_hiding = Fixture::new().is_in_hiding();
    let is_beside = |probe: &Probe| is_in_hiding && probe.name.contains("beside the workspace");
    let is_fair = |probe: &Probe, backend| {
        (backend != SandboxBackend::Landlock || !probe.is("namespaces")) && !is_beside(probe)
    };
    let wanted = |probe: &Probe| {
        backends
            .iter()
            .copied()
            .filter(|one| is_fair(probe, *one))
            .map(Some)
            .collect()
    };
    let mut wrong = Vec::new();
    for (probe, backend, reached, said) in run(wanted).await {
        if reached != probe.is("benign") {
            wrong.push(format!("{backend:?}: {}: {said}", probe.name));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[tokio::test]
async fn s_b2_landlock_keeps_a_command_from_other_processes_and_what_they_share() {
    if !backends().await.contains(&SandboxBackend::Landlock) {
        return;
    }
    let wanted = |probe: &Probe| {
        if probe.is("others") {
            vec![Some(SandboxBackend::Landlock)]
        } else {
            Vec::new()
        }
    };
    let runs = run(wanted).await;
    assert!(runs.len() >= 14, "{}", runs.len());
    let reached: Vec<&str> = runs
        .iter()
        .filter(|run| run.2)
        .map(|run| run.0.name)
        .collect();
    assert_eq!(reached, Vec::<&str>::new());
}

#[tokio::test]
async fn s_b11_with_the_network_on_no_abstract_socket_of_the_machine_is_reached() {
    let abstract_socket = "perl -MSocket -e 'socket(S, 1, 1, 0) && connect(S, pack(\"S a*\", 1, \"\\0$ENV{TOKEN}\")) or exit 1' && echo REACHED";
    let own = "perl -MSocket -e 'socket(S, 1, 1, 0) && bind(S, sockaddr_un(\"own\")) && listen(S, 1) && socket(C, 1, 1, 0) && connect(C, sockaddr_un(\"own\")) or exit 1' && echo REACHED";
    let server = "exec 3<>\"/dev/tcp/127.0.0.1/$PORT\" && echo REACHED";
    assert!(
        Fixture::new()
            .run(abstract_socket, None)
            .await
            .output
            .text()
            .contains("REACHED"),
        "the control"
    );
    for backend in backends().await {
        let fixture = Fixture::new();
        let mut sandbox = fixture.sandbox(backend);
        sandbox.network = SandboxNetwork::On;
        let said = fixture
            .run(abstract_socket, Some(sandbox.clone()))
            .await
            .output
            .text();
        assert!(!said.contains("REACHED"), "{backend}: {said}");
        let said = fixture
            .run(server, Some(sandbox.clone()))
            .await
            .output
            .text();
        assert!(
            said.contains("REACHED"),
            "{backend}: the network is on: {said}"
        );
        let said = fixture.run(own, Some(sandbox)).await.output.text();
        assert_eq!(
            said.contains("REACHED"),
            backend == SandboxBackend::Bubblewrap,
            "{backend}: {said}"
        );
    }
}

#[tokio::test]
async fn typing_into_a_terminal_is_refused_before_the_kernel_looks_for_a_terminal() {
    // TIOCSTI, on a file that is no terminal: the kernel says ENOTTY, the filter EPERM.
    let script = "perl -e 'my $x = \"x\"; ioctl(STDIN, 0x5412, $x) and exit 1; print $!{EPERM} ? \"REFUSED\" : \"REACHED\"' </dev/null";
    assert!(
        Fixture::new()
            .run(script, None)
            .await
            .output
            .text()
            .contains("REACHED"),
        "the control"
    );
    for backend in backends().await {
        let fixture = Fixture::new();
        let said = fixture
            .run(script, Some(fixture.sandbox(backend)))
            .await
            .output
            .text();
        assert!(said.contains("REFUSED"), "{backend}: {said}");
    }
}

#[tokio::test]
async fn s_m1_where_objects_are_looked_for_cannot_be_changed_and_does_not_stay_changed() {
    let script = "echo \"$OUT\" >.git/objects/info/alternates && echo REACHED";
    for backend in backends().await {
        for had in [true, false] {
            let fixture = Fixture::new();
            let file = fixture.path("work/.git/objects/info/alternates");
            if !had {
                std::fs::remove_file(&file).unwrap();
            }
            let said = fixture
                .run(script, Some(fixture.sandbox(backend)))
                .await
                .output
                .text();
            let is_writable = backend == SandboxBackend::Landlock || !had;
            assert_eq!(said.contains("REACHED"), is_writable, "{backend}: {said}");
            let left = std::fs::read_to_string(&file).ok();
            assert_eq!(left, had.then(String::new), "{backend}");
        }
    }
}

#[tokio::test]
async fn every_probe_gets_what_it_wants_without_a_sandbox() {
    let (mut shown, mut wrong) = (0, Vec::new());
    for (probe, _, reached, said) in run(|_| vec![None]).await {
        let is_excused = probe.is("maybe") || probe.is("root") && !is_root();
        match (reached, is_excused) {
            (true, _) => shown += 1,
            (false, true) => eprintln!("cannot be shown here: {}: {said}", probe.name),
            (false, false) => wrong.push(format!("{}: {said}", probe.name)),
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(
        shown > 50,
        "only {shown} probes could be shown to be effective"
    );
}

#[test]
fn the_corpus_is_large_and_a_fifth_of_it_is_benign() {
    let corpus = corpus();
    let benign = corpus.iter().filter(|probe| probe.is("benign")).count();
    let attacks = corpus.iter().filter(|probe| probe.is("attack")).count();
    assert_eq!(benign + attacks, corpus.len());
    assert!(
        attacks >= 40 && benign * 5 >= corpus.len(),
        "{attacks} attacks, {benign} benign"
    );
    // A probe that Landlock is excused from is checked with bubblewrap; most are checked with both.
    assert!(corpus.iter().filter(|probe| probe.is("namespaces")).count() * 4 < corpus.len());
}
