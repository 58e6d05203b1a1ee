//! Settings of the machine: what holds for everybody, and what nobody can change.

use std::{fs, process::Command};

use crate::{
    run::fixture::{Desk, finished},
    sessions::fixture::Done,
};

/// A model that wants to run a command twice, and tells what came of it.
const TWICE: &str = "[[reply]]\n[[reply.call]]\ntool = \"Bash\"\ninput = { command = \"echo one\" }\n\n\
                     [[reply]]\n[[reply.call]]\ntool = \"Bash\"\ninput = { command = \"echo two\" }\n\n\
                     [[reply]]\ntext = \"{{ results[0].text }}\"\n";

/// A desk on a machine whose keeper has written these files.
struct Machine {
    desk: Desk,
    etc: tempfile::TempDir,
}

impl Machine {
    fn new(config: &str, managed: &str) -> Self {
        let etc = tempfile::tempdir().unwrap();
        fs::write(etc.path().join("config.toml"), config).unwrap();
        fs::write(etc.path().join("managed.toml"), managed).unwrap();
        Self {
            desk: Desk::new(TWICE),
            etc,
        }
    }

    fn done(&self, mut command: Command) -> Done {
        command.env("ROOFTREE_TEST_SYSTEM", self.etc.path());
        finished(command.spawn().unwrap())
    }

    fn run(&self, arguments: &[&str]) -> Done {
        self.done(self.desk.command(arguments))
    }

    fn config(&self, arguments: &[&str]) -> Done {
        let mut command = self.desk.house.command(&["config"]);
        command.args(arguments).current_dir(self.desk.path());
        command
            .stdout(std::process::Stdio::piped())
            .stderr(std::process::Stdio::piped());
        self.done(command)
    }
}

#[test]
fn what_the_machine_sets_holds_until_somebody_says_otherwise() {
    let machine = Machine::new(
        "[limits]\nmax_turns = 7\n[permission]\ndeny = ['Bash']\n",
        "",
    );
    assert_eq!(machine.config(&["get", "limits.max_turns"]).well(), "7\n");
    let places = machine.config(&["path"]).well();
    assert!(
        places.starts_with(&machine.etc.path().join("config.toml").display().to_string()),
        "{places}"
    );
    let denied = machine.run(&["--permission-mode", "bypass", "--allow", "Bash", "go"]);
    assert!(denied.out.contains("deny rule"), "{denied:?}");
    fs::write(
        machine.desk.house.path().join("config.toml"),
        "[limits]\nmax_turns = 5\n",
    )
    .unwrap();
    assert_eq!(machine.config(&["get", "limits.max_turns"]).well(), "5\n");
    fs::write(
        machine.etc.path().join("config.toml"),
        "[limits]\nmax_turn = 7\n",
    )
    .unwrap();
    let wrong = machine.run(&["go"]);
    assert!(
        wrong.code == 3 && wrong.err.contains("did you mean `limits.max_turns`?"),
        "{wrong:?}"
    );
}

#[test]
fn what_the_machine_pins_holds_against_files_what_is_typed_and_flags() {
    let machine = Machine::new(
        "",
        "[permission]\nmode = 'ask'\nallow = []\n[limits]\nmax_turns = 1\n",
    );
    let own = "[permission]\nmode = 'bypass'\nallow = ['Bash']\n[limits]\nmax_turns = 50\n";
    fs::write(machine.desk.house.path().join("config.toml"), own).unwrap();
    assert_eq!(machine.config(&["get", "permission.mode"]).well(), "ask\n");
    for wishes in [
        &[][..],
        &[
            "-c",
            "permission.mode=bypass",
            "-c",
            "permission.allow=['Bash']",
            "-c",
            "limits.max_turns=9",
        ],
        &[
            "--permission-mode",
            "bypass",
            "--allow",
            "Bash",
            "--max-turns",
            "9",
        ],
    ] {
        let done = machine.run(&[wishes, &["go"]].concat());
        assert!(
            !done.out.contains("one") && !done.out.contains("two"),
            "{wishes:?}: {done:?}"
        );
        assert_ne!(done.code, 0, "one turn is not enough: {done:?}");
    }
}

#[test]
fn whoever_wishes_for_what_is_pinned_is_told() {
    for (key, value, flag, wish) in [
        ("permission.mode", "'plan'", "--permission-mode", "bypass"),
        ("permission.allow", "[]", "--allow", "Bash"),
        ("sandbox.mode", "'auto'", "--sandbox", "off"),
        ("sandbox.network", "'off'", "--network", "on"),
        ("limits.max_turns", "1", "--max-turns", "9"),
        ("limits.timeout", "'1m'", "--timeout", "2m"),
        ("limits.max_cost", "1.0", "--max-cost", "2"),
    ] {
        let machine = Machine::new("", &format!("{key} = {value}\n"));
        let told = format!("{flag} is ignored: {key} is pinned for this machine");
        let done = machine.run(&[flag, wish, "go"]);
        assert!(done.err.contains(&told), "{done:?}");
        assert!(
            !machine.run(&["go"]).err.contains("is ignored"),
            "nobody wished for it"
        );
    }
}
