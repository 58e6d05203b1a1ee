//! `rooftree service`: the unit that is written, and what it does where systemd refuses or is not there.

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::Output,
};

use crate::sessions::fixture::House;

/// A machine whose `systemctl` keeps what it is asked and answers with this script.
struct Machine {
    house: House,
    directory: tempfile::TempDir,
}

impl Machine {
    fn new(systemctl: Option<&str>) -> Self {
        let machine = Self {
            house: House::new(),
            directory: tempfile::tempdir().unwrap(),
        };
        fs::create_dir(machine.path().join("bin")).unwrap();
        if let Some(answer) = systemctl {
            let program = machine.path().join("bin/systemctl");
            let log = machine.path().join("asked").display().to_string();
            fs::write(
                &program,
                format!("#!/bin/sh\necho \"$@\" >> {log}\n{answer}\n"),
            )
            .unwrap();
            fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        }
        machine
    }

    fn path(&self) -> &Path {
        self.directory.path()
    }

    fn unit(&self) -> PathBuf {
        self.path().join("config/systemd/user/rooftree.service")
    }

    fn asked(&self) -> String {
        fs::read_to_string(self.path().join("asked")).unwrap_or_default()
    }

    fn service(&self, arguments: &[&str]) -> Output {
        let mut command = self.house.command(&["service"]);
        command.args(arguments).env("PATH", self.path().join("bin"));
        command.env("XDG_CONFIG_HOME", self.path().join("config"));
        command.output().unwrap()
    }
}

fn words(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn a_service_is_installed_shown_and_removed() {
    let machine = Machine::new(Some("[ \"$2\" != is-active ] || echo active"));
    let done = machine.service(&[
        "install",
        "--",
        "--port",
        "7700",
        "--public-url",
        "https://a.example/100%$x",
    ]);
    assert!(done.status.success(), "{}", words(&done.stderr));
    let text = fs::read_to_string(machine.unit()).unwrap();
    assert!(
        words(&done.stdout).contains(&text),
        "what is written is shown"
    );
    let start = text
        .lines()
        .find(|line| line.starts_with("ExecStart="))
        .unwrap();
    assert!(
        start.ends_with(r#"" "serve" "--port" "7700" "--public-url" "https://a.example/100%%$$x""#),
        "{start}"
    );
    assert_eq!(
        machine.asked(),
        "--user show-environment\n--user daemon-reload\n--user enable rooftree.service\n--user restart rooftree.service\n"
    );
    let shown = machine.service(&["status"]);
    assert!(shown.status.success() && words(&shown.stdout).starts_with("active ("));
    assert!(machine.service(&["uninstall"]).status.success());
    assert!(!machine.unit().exists());
    assert_eq!(machine.service(&["status"]).status.code(), Some(8));
}

#[test]
fn nothing_is_written_where_systemd_refuses_or_is_not_there() {
    let machines = [
        (Machine::new(None), "does not use systemd"),
        (Machine::new(Some("echo no bus >&2; exit 1")), "no bus"),
    ];
    for (machine, why) in machines {
        let done = machine.service(&["install"]);
        let told = words(&done.stderr);
        assert!(
            !done.status.success() && told.contains(why) && told.contains("--print"),
            "{told}"
        );
        assert!(!machine.unit().exists());
        let printed = machine.service(&["install", "--print"]);
        assert!(words(&printed.stdout).contains("ExecStart="));
    }
}

#[test]
fn a_unit_of_somebody_else_is_left_alone() {
    let machine = Machine::new(Some(""));
    fs::create_dir_all(machine.unit().parent().unwrap()).unwrap();
    fs::write(machine.unit(), "[Unit]\n").unwrap();
    for action in ["install", "uninstall"] {
        assert!(!machine.service(&[action]).status.success());
        assert_eq!(fs::read_to_string(machine.unit()).unwrap(), "[Unit]\n");
    }
}

#[test]
fn a_program_of_an_agent_installs_no_service() {
    let machine = Machine::new(Some(""));
    let mut command = machine.house.command(&["service", "install"]);
    command.env("PATH", machine.path().join("bin"));
    command.env("XDG_CONFIG_HOME", machine.path().join("config"));
    let done = command.env("ROOFTREE_SPAWN", "1").output().unwrap();
    assert!(
        words(&done.stderr).contains("cannot change services"),
        "{done:?}"
    );
    assert!(!machine.unit().exists() && machine.asked().is_empty());
}
