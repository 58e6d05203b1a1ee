//! Kills while an agent checks another one's work: it is asked once, and its verdict counts once.
//!
//! The victim is the real server, killed at every stage between asking and keeping the verdict.

use std::fs;

use rooftree_protocol::{EventBody, Lane, Message, MessageId, Origin, Part, event::RunMode};
use rooftree_runtime::{Clock, SystemClock};
use rooftree_store::{InboxPost, SessionFilter, SqliteStore, prelude::*};

use crate::{
    fixture::{QUICK, Scene, until, wait},
    worker::{Reached, Worker, program},
};

/// The lead says that it is done; whoever checks that leaves a line and is content.
const SCRIPT: &str = r#"
[[reply]]
agent = "lead"
on = "task [0-9]+"
text = "It is done."

[[reply]]
agent = "inspector"
on = "task [0-9]+"
[[reply.call]]
tool = "Bash"
input = { command = 'echo {{ user.text | find("task ([0-9]+)") }} >> effects' }
[[reply]]
agent = "inspector"
on = "task [0-9]+"
text = "I have seen it.\nVERDICT: PASS"
"#;

const LEAD: &str = "---\ndescription: works\nverifiers: ['agent:inspector']\n---\nYou work.\n";
const INSPECTOR: &str = "---\ndescription: checks\ntools: [Bash]\n---\nYou check.\n";

fn serve(scene: &Scene, stall: Option<&str>) -> Worker {
    let mut command = program(scene, &["serve", "--port", "0"]);
    command.envs(stall.map(|place| ("ROOFTREE_STALL", place)));
    Worker::spawn(command)
}

fn post(scene: &Scene, task: usize) {
    let id = MessageId::from_entropy(SystemClock.entropy());
    let text = format!("Please do task {task}.");
    let message = Message::new(id, vec![Part::text(text)], Origin::User, SystemClock.now());
    let (session, key) = (scene.session.clone(), format!("task-{task}"));
    let store = SqliteStore::open(scene.database()).unwrap();
    wait(store.post(InboxPost {
        session,
        lane: Lane::Mail,
        key,
        message,
        capacity: 100,
    }))
    .unwrap();
}

#[test]
fn a_verdict_counts_once_and_nobody_checks_twice_wherever_the_server_is_killed() {
    let scene = Scene::new(&QUICK);
    scene.write_script(SCRIPT);
    fs::write(
        scene.home().join("config.toml"),
        "[permission]\nmode = 'bypass'\n",
    )
    .unwrap();
    fs::create_dir_all(scene.home().join("agents")).unwrap();
    fs::write(scene.home().join("agents/lead.md"), LEAD).unwrap();
    fs::write(scene.home().join("agents/inspector.md"), INSPECTOR).unwrap();
    let asking = ["task.asking:1", "model.asked@1:1"];
    let ending = ["run.settling@1:1", "reply.telling@1:1"];
    let rounds: [&[&str]; 4] = [
        &asking,
        &ending,
        &["run.verified:1", "run.verified:1"],
        &["model.asked@1:2", "reply.telling@1:1", "run.verified:1"],
    ];
    for (task, places) in rounds.iter().enumerate() {
        post(&scene, task);
        let store = SqliteStore::open_read_only(scene.database()).unwrap();
        for place in *places {
            let mut server = serve(&scene, Some(place));
            // A run may see that its checker has ended before the checker comes to say so.
            let goes_on = || !wait(store.unfinished()).unwrap().is_empty();
            match server.reach_stall_while(goes_on) {
                Some(reached) => assert_eq!(reached, Reached::Stalled, "round {task}, {place}"),
                None => assert_eq!((task, *place), (3, "run.verified:1"), "it was passed"),
            }
            assert!(server.kill().was_killed());
        }
        let server = serve(&scene, None);
        until("nothing is unfinished", || {
            wait(store.unfinished()).unwrap().is_empty()
        });
        server.kill();
    }
    let store = SqliteStore::open_read_only(scene.database()).unwrap();
    let filter = SessionFilter {
        parent: Some(scene.session.clone()),
        ..SessionFilter::default()
    };
    let children = wait(store.sessions(filter)).unwrap();
    assert_eq!(children.len(), rounds.len(), "one check for each task");
    for child in &children {
        let events = wait(store.events(&child.id, 0, 10_000)).unwrap();
        let checks = |event: &&rooftree_protocol::Event| {
            matches!(
                event.body,
                EventBody::RunStarted {
                    mode: RunMode::Verifying,
                    ..
                }
            )
        };
        assert_eq!(events.iter().filter(checks).count(), 1, "{}", child.id);
    }
    let mut effects = scene.effects();
    effects.sort();
    assert_eq!(effects, ["0", "1", "2", "3"], "each was looked at once");
    let sight = scene.look();
    let count = |wanted: &dyn Fn(&EventBody) -> bool| {
        sight
            .events
            .iter()
            .filter(|event| wanted(&event.body))
            .count()
    };
    let verified =
        |body: &EventBody| matches!(body, EventBody::RunVerified(verdict) if verdict.passed);
    let replied = |body: &EventBody| matches!(body, EventBody::MessageCompleted(_));
    let told = |body: &EventBody| matches!(body, EventBody::MessageUser { message, .. } if matches!(message.origin, Origin::Task { .. }));
    let ended = |body: &EventBody| matches!(body, EventBody::RunCompleted(end) if end.verified == Some(true));
    assert_eq!(
        (
            count(&verified),
            count(&replied),
            count(&told),
            count(&ended)
        ),
        (4, 4, 0, 4)
    );
    assert!(
        sight.report.violations.is_empty(),
        "{:?}",
        sight.report.violations
    );
}
