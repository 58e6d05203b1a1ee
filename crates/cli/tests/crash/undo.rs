//! Undo of file changes after a kill: before the write, between the write and its result, and during the undo.

use std::fs;

use crate::{
    fixture::{QUICK, Scene},
    poster,
    worker::{Ending, Worker, program},
};

const SCRIPT: &str = r#"
[[reply]]
on = "task [0-9]+"
text = "I write."

[[reply.call]]
tool = "Write"
input = { file_path = "garden.txt", content = "a lawn\n", overwrite = true }

[[reply]]
on = "task [0-9]+"
text = "Done."
"#;

fn undo(scene: &Scene, orders: &[(&str, &str)]) -> Ending {
    let arguments = ["sessions", "undo", scene.session.as_str(), "--yes"];
    let mut command = program(scene, &arguments);
    command.envs(orders.iter().copied());
    Worker::spawn(command).finish()
}

/// The file as it is in the directory the agent works in.
fn garden(scene: &Scene) -> String {
    fs::read_to_string(scene.work().join("garden.txt")).unwrap()
}

#[test]
fn a_killed_write_can_be_undone_wherever_it_was_killed() {
    for (failpoint, is_written) in [("tool.intended:1", false), ("tool.returned:1", true)] {
        let scene = Scene::new(&QUICK);
        scene.write_script(SCRIPT);
        let before = garden(&scene);
        poster::post(&scene, "poster", 1..=1, &[]);
        let killed = Worker::start(&scene, &[("ROOFTREE_FAILPOINT", failpoint)]).finish();
        assert!(killed.was_killed(), "{killed:?}");
        assert_eq!(garden(&scene) != before, is_written, "{failpoint}");
        // A run that was cut off may still change files: it has to end first.
        assert!(!undo(&scene, &[]).status.success());
        Worker::start(&scene, &[]).finish().assert_success();
        // The undo itself may be killed too, and is then done by the next attempt.
        let killed = undo(&scene, &[("ROOFTREE_FAILPOINT", "undo.restored:1")]);
        assert!(killed.was_killed(), "{killed:?}");
        undo(&scene, &[]).assert_success();
        assert_eq!(garden(&scene), before, "{failpoint}");
        assert!(
            !undo(&scene, &[]).status.success(),
            "nothing is left to undo"
        );
    }
}
