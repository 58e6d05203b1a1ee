//! The disk fills up in the middle of a run: a clear error, nothing accepted is lost, and work goes on afterwards.

use std::{fs, io::Write, path::Path, process::Command};

use tempfile::TempDir;

use crate::{
    audit::audit,
    fixture::{QUICK, Scene},
    notebook::Notebook,
    poster,
    tally::print,
    worker::{Ending, Worker},
};

/// A file system in memory, unmounted when dropped.
struct SmallDisk(TempDir);

impl SmallDisk {
    fn mount() -> Option<Self> {
        let directory = TempDir::new().unwrap();
        let mount = ["-t", "tmpfs", "-o", "size=3m", "tmpfs"];
        let mounted = Command::new("mount")
            .args(mount)
            .arg(directory.path())
            .output();
        mounted
            .is_ok_and(|output| output.status.success())
            .then_some(Self(directory))
    }

    fn path(&self) -> &Path {
        self.0.path()
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(self.0.path()).status();
    }
}

/// A model that leaves its line and then does something that takes room, unless there is plenty.
fn script_taking_room(command: &str) -> String {
    format!(
        r#"
[[reply]]
on = "task [0-9]+"
text = "This takes room."

[[reply.call]]
tool = "Bash"
input = {{ command = 'echo "{{{{ user.text | find("task ([0-9]+)") }}}} $$" >> effects; test -e plenty || {command}' }}

[[reply]]
on = "task [0-9]+"
text = "Done."
"#
    )
}

fn assert_says_full(ending: &Ending) {
    assert_eq!(ending.status.code(), Some(1), "{ending:?}");
    assert!(
        ending.log.contains("no space left") && ending.log.contains("free some space"),
        "{ending:?}"
    );
}

/// There is room again: everything goes on where it was.
fn conclude(scene: &Scene, ending: &Ending) {
    fs::write(scene.work().join("plenty"), "").unwrap();
    poster::post(scene, "poster", 1..=4, &[]);
    Worker::start(scene, &[]).finish().assert_success();
    let findings = audit(
        scene,
        &poster::accepted(scene, "poster"),
        &Notebook::default(),
    );
    print(&format!(
        "no room for a while, told like this:\n{}\nfound afterwards:\n{}",
        ending.log,
        findings.table()
    ));
    findings.assert_none();
}

fn fill(ballast: &Path) {
    let mut file = fs::OpenOptions::new().append(true).open(ballast).unwrap();
    while file.write_all(&[0; 4096]).is_ok() {}
}

/// The tool itself fills the disk, so that its own result does not fit any more.
#[test]
fn a_full_disk_is_said_clearly_and_costs_nothing_that_was_accepted() {
    let Some(disk) = SmallDisk::mount() else {
        return print(
            "full disk: LEFT OUT, this machine lets us mount none; see the database that may not grow",
        );
    };
    let ballast = disk.path().join("ballast");
    let scene = Scene::with_home(TempDir::new().unwrap(), disk.path().join("home"), &QUICK);
    scene.write_script(&script_taking_room(&format!(
        "cat /dev/zero > {}",
        ballast.display()
    )));
    // Confined, the command could not reach the disk that it is to fill.
    fs::write(
        scene.home().join("config.toml"),
        "[sandbox]\nmode = 'off'\n",
    )
    .unwrap();
    poster::post(&scene, "poster", 1..=3, &[]);
    let ending = Worker::start(&scene, &[]).finish();
    assert_says_full(&ending);
    // A worker that ends gives back the room of its log; take that too.
    fill(&ballast);
    let before = poster::accepted(&scene, "poster").len();
    let refused = poster::start(&scene, "poster", 4..=4, &[]).finish();
    assert!(
        !refused.status.success() && refused.log.contains("Full"),
        "{refused:?}"
    );
    assert_eq!(
        poster::accepted(&scene, "poster").len(),
        before,
        "nothing is accepted that cannot be kept"
    );
    assert_says_full(&Worker::start(&scene, &[]).finish());
    fs::remove_file(&ballast).unwrap();
    conclude(&scene, &ending);
}

/// The same without a mount: the tool says more than the file may hold.
#[test]
fn a_database_that_may_not_grow_is_said_clearly_and_costs_nothing_that_was_accepted() {
    let scene = Scene::new(&QUICK);
    scene.write_script(&script_taking_room("seq 5000"));
    poster::post(&scene, "poster", 1..=3, &[]);
    let ending = Worker::start(&scene, &[("ROOFTREE_ROOM", "5")]).finish();
    assert_says_full(&ending);
    conclude(&scene, &ending);
}
