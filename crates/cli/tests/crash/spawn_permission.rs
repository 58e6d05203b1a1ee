//! Kills while a person is asked about all agents of one reply: asked once, answered once, each agent started once.

use std::{collections::BTreeMap, fs};

use rooftree_protocol::{EventBody, PermissionKind, Session};
use rooftree_store::{SessionFilter, prelude::*};

use crate::{
    fixture::{QUICK, Scene, until, wait},
    permission::{finish, kill_at, open, permit, post, serve, store},
};

/// Agents of one reply: more than are started without asking.
const AGENTS: usize = 9;

/// The lead asks for all holes of a task at once; whoever digs leaves a line.
fn script() -> String {
    let calls = (0..AGENTS).map(|hole| {
        format!(
            r#"
[[reply.call]]
tool = "Task"
input = {{ subagent_type = "task", isolation = "none", prompt = 'dig {{{{ user.text | find("task ([0-9]+)") }}}}.{hole}' }}
"#
        )
    });
    let calls: String = calls.collect();
    format!(
        r#"
[[reply]]
on = "task [0-9]+"
{calls}
[[reply]]
on = "task [0-9]+"
text = "All holes are dug."

[[reply]]
on = "dig [0-9.]+"
[[reply.call]]
tool = "Bash"
input = {{ command = 'echo {{{{ user.text | find("dig ([0-9.]+)") }}}} >> effects' }}
[[reply]]
on = "dig [0-9.]+"
text = "Dug."
"#
    )
}

fn children(scene: &Scene) -> Vec<Session> {
    let filter = SessionFilter {
        parent: Some(scene.session.clone()),
        ..SessionFilter::default()
    };
    wait(store(scene).sessions(filter)).unwrap()
}

/// It is killed while it waits. Nothing was started.
fn killed_waiting(scene: &Scene) {
    let before = children(scene).len();
    let server = serve(scene, None);
    until("it asks", || !open(scene).is_empty());
    assert!(server.kill().was_killed());
    assert_eq!(children(scene).len(), before, "nobody starts before a yes");
    let asked = open(scene);
    let EventBody::PermissionRequested { kind, spawn, .. } = &asked[0].asked else {
        panic!("{asked:?}")
    };
    assert_eq!((asked.len(), *kind), (1, PermissionKind::Spawn));
    let listed: usize = spawn.iter().map(|group| group.calls.len()).sum();
    assert_eq!(listed, AGENTS);
}

#[test]
fn a_yes_to_many_agents_starts_each_of_them_once_whenever_the_server_is_killed() {
    let scene = Scene::new(&QUICK);
    scene.write_script(&script());
    let settings = "[permission]\nmode = 'ask'\nallow = ['Bash(echo *)']\n";
    fs::write(scene.home().join("config.toml"), settings).unwrap();
    type Step = fn(&Scene);
    let asked: Step = |scene| kill_at(scene, "inquiry.asked@1:1");
    let answered: Step = |scene| kill_at(scene, "inquiry.answered@1:1");
    let settled: Step = |scene| kill_at(scene, "inquiry.settled@1:1");
    let rounds: [&[Step]; 3] = [
        &[killed_waiting, permit, finish],
        &[
            asked,
            killed_waiting,
            killed_waiting,
            permit,
            answered,
            finish,
        ],
        &[killed_waiting, permit, settled, finish],
    ];
    for (task, steps) in rounds.iter().enumerate() {
        post(&scene, task);
        steps.iter().for_each(|step| step(&scene));
        assert_eq!(children(&scene).len(), (task + 1) * AGENTS);
    }
    let mut dug: BTreeMap<String, usize> = BTreeMap::new();
    for line in scene.effects() {
        *dug.entry(line).or_default() += 1;
    }
    let holes = (0..rounds.len()).flat_map(|task| (0..AGENTS).map(move |hole| (task, hole)));
    let wanted = holes.map(|(task, hole)| (format!("{task}.{hole}"), 1));
    assert_eq!(dug, wanted.collect(), "exactly these calls, none twice");
    let sight = scene.look();
    assert!(sight.report.violations.is_empty());
    let count = |is_meant: fn(&EventBody) -> bool| {
        let events = sight.events.iter();
        events.filter(|event| is_meant(&event.body)).count()
    };
    let requested = count(|body| matches!(body, EventBody::PermissionRequested { .. }));
    assert_eq!(requested, rounds.len(), "a person is asked once");
    let done = count(
        |body| matches!(body, EventBody::MessageCompleted(reply) if reply.text == "All holes are dug."),
    );
    assert_eq!(done, rounds.len());
}
