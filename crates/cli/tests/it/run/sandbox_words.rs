//! What people and models are told about the sandbox, with bubblewrap and with Landlock, by the real program.

use std::{
    env,
    ffi::{OsStr, OsString},
    fs,
    os::unix::fs::symlink,
    path::Path,
    process::Command,
};

use super::fixture::{Desk, finished};
use crate::sessions::fixture::{Done, House};

/// A directory that is PATH, in which there is everything but what is named.
fn path_without(left_out: &[&str]) -> tempfile::TempDir {
    let place = tempfile::tempdir().unwrap();
    for directory in env::split_paths(&env::var_os("PATH").unwrap()) {
        for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
            let name = entry.file_name();
            if !left_out.iter().any(|left_out| name == *left_out) {
                let _ = symlink(entry.path(), place.path().join(name));
            }
        }
    }
    place
}

fn desk(command: &str) -> Desk {
    Desk::new(&format!(
        "[[reply]]\n[[reply.call]]\ntool = \"Bash\"\ninput = {{ command = '''\n{command}\n''' }}\n\
         [[reply]]\ntext = \"\"\"{{{{ results[0].text }}}}\"\"\""
    ))
}

fn run(desk: &Desk, path: &OsStr, cwd: &Path) -> Done {
    let arguments = ["--permission-mode", "bypass", "--sandbox", "required", "Go"];
    finished(
        desk.command(&arguments)
            .env("PATH", path)
            .current_dir(cwd)
            .spawn()
            .unwrap(),
    )
}

/// With bubblewrap, if there is one, and without. The directory lives as long as what is given back with it.
fn paths() -> ([OsString; 2], tempfile::TempDir) {
    let without = path_without(&["bwrap"]);
    (
        [env::var_os("PATH").unwrap(), without.path().into()],
        without,
    )
}

#[test]
fn s_a5_what_a_command_left_for_git_is_kept_out_and_told_to_the_model_and_to_people() {
    let (paths, _kept) = paths();
    for path in paths {
        let desk = desk("git init -q sub && git -C sub config core.fsmonitor ./evil && echo made");
        assert!(
            Command::new("git")
                .args(["init", "-q"])
                .current_dir(desk.path())
                .status()
                .unwrap()
                .success()
        );
        let done = run(&desk, &path, desk.path());
        assert!(
            done.out.contains("[sandbox: sub/.git/config") && done.out.contains("made"),
            "{}",
            done.out
        );
        assert!(
            done.err.contains("core.fsmonitor") && done.err.contains("quarantine"),
            "{}",
            done.err
        );
        assert!(
            !fs::read_to_string(desk.path().join("sub/.git/config"))
                .unwrap()
                .contains("fsmonitor")
        );
    }
}

#[test]
fn s_a5_a_repository_that_the_user_names_is_left_as_it_is() {
    let desk = desk("git init -q sub && git -C sub config core.fsmonitor ./evil && echo made");
    fs::create_dir(desk.path().join("sub")).unwrap();
    let named = fs::canonicalize(desk.path()).unwrap().join("sub");
    let settings = format!("[sandbox]\nwritable = [\"{}\"]", named.display());
    fs::write(desk.house.path().join("config.toml"), settings).unwrap();
    let text = desk
        .run(&["--permission-mode", "bypass", "--sandbox", "required", "Go"])
        .well();
    assert!(!text.contains("[sandbox"), "{text}");
    assert!(
        fs::read_to_string(named.join(".git/config"))
            .unwrap()
            .contains("fsmonitor")
    );
}

#[test]
fn n_8_a_path_without_true_does_not_give_landlock_up() {
    let path = path_without(&["bwrap", "true"]);
    let desk = desk("echo confined");
    assert!(
        run(&desk, path.path().as_os_str(), desk.path())
            .well()
            .contains("confined")
    );
}

#[test]
fn n_8_doctor_warns_where_only_landlock_confines_and_says_what_to_install() {
    let house = House::new();
    let path = path_without(&["bwrap"]);
    let output = house
        .command(&["doctor", "--json"])
        .env("PATH", path.path())
        .output()
        .unwrap();
    let report = String::from_utf8(output.stdout).unwrap();
    let report: serde_json::Value = serde_json::from_str(&report).unwrap();
    let checks = report.to_string();
    let found = report
        .as_array()
        .or_else(|| report["checks"].as_array())
        .unwrap();
    let check = found
        .iter()
        .find(|check| check["name"] == "sandbox")
        .unwrap_or_else(|| panic!("{checks}"));
    assert_eq!(check["verdict"], "warning", "{check}");
    assert!(
        check["words"].as_str().unwrap().contains("Landlock"),
        "{check}"
    );
    assert!(
        check["fix"]
            .as_str()
            .unwrap()
            .contains("apt install bubblewrap"),
        "{check}"
    );
}

#[test]
fn n_9_a_command_that_meets_the_sandbox_is_told_so() {
    let (paths, _kept) = paths();
    for path in paths {
        let desk = desk("echo x >/usr/rooftree-probe");
        let text = run(&desk, &path, desk.path()).out;
        assert!(
            text.contains("[sandbox: commands can change only"),
            "{text}"
        );
    }
    let desk = self::desk("cat nothing");
    let text = run(&desk, &env::var_os("PATH").unwrap(), desk.path()).out;
    assert!(
        !text.contains("[sandbox"),
        "what has nothing to do with it says nothing: {text}"
    );
}

#[test]
fn n_9_in_a_home_it_works_or_a_sentence_says_why_not() {
    let (paths, _kept) = paths();
    for (path, works) in paths.into_iter().zip([path_has_bubblewrap(), false]) {
        let desk = desk("echo x >x.txt && ls && echo FINISHED");
        let home = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        fs::create_dir(home.path().join(".ssh")).unwrap();
        let arguments = ["--permission-mode", "bypass", "--sandbox", "required", "Go"];
        let mut command = desk.command(&arguments);
        command
            .env("PATH", &path)
            .env("HOME", home.path())
            .current_dir(home.path());
        let text = finished(command.spawn().unwrap()).out;
        assert_eq!(text.contains("FINISHED"), works, "{text}");
        assert_eq!(
            text.contains("[sandbox:") && text.contains("holds keys that are hidden"),
            !works,
            "{text}"
        );
    }
}

fn path_has_bubblewrap() -> bool {
    env::split_paths(&env::var_os("PATH").unwrap()).any(|place| place.join("bwrap").is_file())
}

/// Every test of `run::sandbox` once more, where there is no bubblewrap.
#[test]
fn the_tests_of_the_sandbox_hold_without_bubblewrap() {
    let path = path_without(&["bwrap"]);
    let mut again = Command::new(env::current_exe().unwrap());
    let status = again
        .args(["run::sandbox::"])
        .env("PATH", path.path())
        .status()
        .unwrap();
    assert!(status.success());
}
