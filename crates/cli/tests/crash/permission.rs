//! Kills while an agent in background waits for a yes: it is asked once, answered once, done once.
//!
//! The victim is the real server. A person answers from another process, while the server lives or
//! while it does not; kills hit every moment between the question and the call.

use std::fs;

use rooftree_protocol::{
    Answer, EventBody, InquiryResponse, Lane, Message, MessageId, Origin, Part, PermissionScope,
    Principal, SessionId, Surface,
};
use rooftree_runtime::{Clock, SystemClock, inquiries};
use rooftree_store::{InboxPost, Inquiry, SessionFilter, SqliteStore, prelude::*};

use crate::{
    fixture::{QUICK, Scene, until, wait},
    worker::{Reached, Worker, program},
};

/// The lead starts a background agent, which needs permission for its shell command.
const SCRIPT: &str = r#"
[[reply]]
on = "task [0-9]+"
[[reply.call]]
tool = "Task"
input = { subagent_type = "task", isolation = "none", run_in_background = true, prompt = 'dig {{ user.text | find("task ([0-9]+)") }}' }
[[reply]]
on = "task [0-9]+"
text = "Somebody digs."

[[reply]]
on = "child_result"
text = "I have heard of it."

[[reply]]
on = "dig [0-9]+"
[[reply.call]]
tool = "Bash"
input = { command = 'echo {{ user.text | find("dig ([0-9]+)") }} >> effects' }
[[reply]]
on = "dig [0-9]+"
text = 'Hole {{ user.text | find("dig ([0-9]+)") }} is {{ results[0].outcome }}.'
"#;

pub fn serve(scene: &Scene, stall: Option<&str>) -> Worker {
    let mut command = program(scene, &["serve", "--port", "0"]);
    command.envs(stall.map(|place| ("ROOFTREE_STALL", place)));
    Worker::spawn(command)
}

pub fn store(scene: &Scene) -> SqliteStore {
    SqliteStore::open_read_only(scene.database()).unwrap()
}

pub fn open(scene: &Scene) -> Vec<Inquiry> {
    let inquiries = wait(store(scene).inquiries(Some(&scene.session))).unwrap();
    inquiries
        .into_iter()
        .filter(|inquiry| inquiry.answer.is_none())
        .collect()
}

/// Says yes from a process of its own.
pub fn permit(scene: &Scene) {
    let asked = open(scene).remove(0);
    let store = SqliteStore::open(scene.database()).unwrap();
    let answer = Answer {
        digest: Some(asked.digest),
        ..Answer::allow(PermissionScope::Once)
    };
    let response = InquiryResponse::Permission(answer);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    let ann = Principal {
        on_behalf_of: Some("ann".into()),
        ..Principal::local_owner(Surface::Cli)
    };
    let answered = inquiries::by_person(response, &ann, SystemClock.now());
    let kept = runtime.block_on(inquiries::answer(&store, &asked.id, answered));
    kept.unwrap();
}

pub fn post(scene: &Scene, task: usize) {
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

/// Lets it work up to a place and kills it there.
pub fn kill_at(scene: &Scene, place: &str) {
    let mut server = serve(scene, Some(place));
    assert_eq!(server.reach_stall(), Reached::Stalled, "{place}");
    assert!(server.kill().was_killed());
}

pub fn finish(scene: &Scene) {
    let server = serve(scene, None);
    until("nothing is unfinished", || {
        wait(store(scene).unfinished()).unwrap().is_empty()
    });
    server.kill();
}

fn asked_by(scene: &Scene, child: &SessionId) -> usize {
    let events = wait(store(scene).events(child, 0, 10_000)).unwrap();
    events
        .iter()
        .filter(|event| matches!(event.body, EventBody::PermissionRequested { .. }))
        .count()
}

#[test]
fn a_yes_to_a_child_in_background_counts_once_whenever_the_server_is_killed() {
    let scene = Scene::new(&QUICK);
    scene.write_script(SCRIPT);
    fs::write(
        scene.home().join("config.toml"),
        "[permission]\nmode = 'ask'\n",
    )
    .unwrap();
    type Step = fn(&Scene);
    let asked: Step = |scene| kill_at(scene, "inquiry.asked@1:1");
    let answered: Step = |scene| kill_at(scene, "inquiry.answered@1:1");
    let settled: Step = |scene| kill_at(scene, "inquiry.settled@1:1");
    // It waits; it is killed waiting, at no place in particular.
    let waiting: Step = |scene| {
        let server = serve(scene, None);
        until("it asks", || !open(scene).is_empty());
        server.kill();
    };
    // The answer comes from another process while the server lives.
    let alive: Step = |scene| {
        let server = serve(scene, None);
        until("it asks", || !open(scene).is_empty());
        permit(scene);
        until("it heard", || {
            wait(store(scene).unfinished()).unwrap().is_empty()
        });
        server.kill();
    };
    let rounds: [&[Step]; 5] = [
        &[waiting, permit, finish],
        &[waiting, permit, answered, finish],
        &[asked, waiting, permit, settled, finish],
        &[waiting, waiting, alive],
        &[asked, waiting, permit, answered, settled, finish],
    ];
    for (task, steps) in rounds.iter().enumerate() {
        post(&scene, task);
        steps.iter().for_each(|step| step(&scene));
        let effects = scene.effects();
        assert_eq!(
            effects
                .iter()
                .filter(|line| **line == task.to_string())
                .count(),
            1,
            "{effects:?}"
        );
    }
    let filter = SessionFilter {
        parent: Some(scene.session.clone()),
        ..SessionFilter::default()
    };
    let children = wait(store(&scene).sessions(filter)).unwrap();
    assert_eq!(children.len(), rounds.len());
    for child in children {
        assert_eq!(
            asked_by(&scene, &child.id),
            1,
            "{} was asked once",
            child.id
        );
    }
    assert!(scene.look().report.violations.is_empty());
    let heard = scene.look().events.iter().filter(|event| {
        matches!(&event.body, EventBody::MessageCompleted(reply) if reply.text == "I have heard of it.")
    }).count();
    assert_eq!(heard, rounds.len());
}
