//! Kills while one permission request about many agents waits: the very calls go on after the answer, once.

use std::{collections::HashSet, fs};

use rooftree_protocol::{EventBody, PermissionKind};
use rooftree_store::{SessionFilter, prelude::*};

use crate::{
    fixture::{QUICK, Scene, until, wait},
    permission::{finish, kill_at, open, permit, post, serve, store},
};

/// How many agents the reply starts; more than three need a yes here.
const AGENTS: usize = 5;

fn script() -> String {
    let call = |number| {
        format!(
            "[[reply.call]]\ntool = \"Task\"\ninput = {{ subagent_type = \"task\", isolation = \"none\", \
             run_in_background = true, prompt = 'dig {number}' }}\n"
        )
    };
    let calls: String = (1..=AGENTS).map(call).collect();
    format!(
        r#"
[[reply]]
on = "task [0-9]+"
{calls}
[[reply]]
on = "task [0-9]+"
text = "All dig."

[[reply]]
on = "child_result"
text = "I have heard of it."

[[reply]]
on = "dig [0-9]+"
[[reply.call]]
tool = "Bash"
input = {{ command = 'echo {{{{ user.text | find("dig ([0-9]+)") }}}} >> effects' }}
[[reply]]
on = "dig [0-9]+"
text = "Done."
"#
    )
}

fn scene() -> Scene {
    let scene = Scene::new(&QUICK);
    scene.write_script(&script());
    let settings = "[permission]\nmode = 'ask'\nallow = ['Bash']\nspawn_agents = 3\n";
    fs::write(scene.home().join("config.toml"), settings).unwrap();
    scene
}

fn children(scene: &Scene) -> usize {
    let filter = SessionFilter {
        parent: Some(scene.session.clone()),
        ..SessionFilter::default()
    };
    wait(store(scene).sessions(filter)).unwrap().len()
}

/// The requests there were, and the calls each names.
fn requests(scene: &Scene) -> Vec<HashSet<String>> {
    let events = scene.look().events;
    let named = events.iter().filter_map(|event| match &event.body {
        EventBody::PermissionRequested { kind, spawn, .. } => {
            assert_eq!(*kind, PermissionKind::Spawn);
            let calls = spawn.iter().flat_map(|group| &group.calls);
            Some(calls.map(|call| call.call.to_string()).collect())
        }
        _ => None,
    });
    named.collect()
}

#[test]
fn a_killed_server_asks_no_second_time_about_many_agents_and_starts_each_once() {
    type Step = fn(&Scene);
    let waiting: Step = |scene| {
        let server = serve(scene, None);
        until("it asks", || !open(scene).is_empty());
        server.kill();
        assert_eq!(children(scene), 0, "none is started before the answer");
    };
    let asked: Step = |scene| kill_at(scene, "inquiry.asked:1");
    let answered: Step = |scene| kill_at(scene, "inquiry.answered:1");
    let settled: Step = |scene| kill_at(scene, "inquiry.settled:1");
    let rounds: [&[Step]; 3] = [
        &[waiting, permit, finish],
        &[asked, waiting, permit, answered, finish],
        &[waiting, waiting, permit, settled, finish],
    ];
    for steps in rounds {
        let scene = scene();
        post(&scene, 1);
        steps.iter().for_each(|step| step(&scene));
        let mut effects = scene.effects();
        effects.sort();
        let all: Vec<String> = (1..=AGENTS).map(|number| number.to_string()).collect();
        assert_eq!(effects, all, "each has dug once");
        assert_eq!(children(&scene), AGENTS);
        let requests = requests(&scene);
        assert_eq!(requests.len(), 1, "{requests:?}");
        let made: HashSet<String> = scene
            .look()
            .events
            .iter()
            .filter_map(|event| match &event.body {
                EventBody::ToolCompleted(record) => Some(record.call.to_string()),
                _ => None,
            })
            .collect();
        assert_eq!(requests.first(), Some(&made), "the very calls went on");
        assert!(scene.look().report.violations.is_empty());
    }
}
