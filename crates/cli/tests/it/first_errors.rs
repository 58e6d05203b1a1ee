//! Errors that a new user meets first: directories, programs and names of models.

use std::{
    fs,
    os::unix::{
        fs::{PermissionsExt, chown, symlink},
        process::CommandExt,
    },
    path::Path,
    process::Command,
};

use crate::sessions::fixture::{Done, House};

/// A user without rights, where the tests run as root, for whom permissions of files do not count.
const NOBODY: u32 = 65_534;

fn done(command: &mut Command) -> Done {
    let output = command.output().unwrap();
    Done {
        code: output.status.code().unwrap(),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

/// The program, run by a user for whom permissions count. It is copied to where that user can reach it.
fn as_plain_user(house: &House, arguments: &[&str]) -> Command {
    let mut command = house.command(arguments);
    if nix::unistd::geteuid().is_root() {
        let program = house.path().join("program");
        if !program.exists() {
            fs::hard_link(env!("CARGO_BIN_EXE_rooftree"), &program)
                .or_else(|_| fs::copy(env!("CARGO_BIN_EXE_rooftree"), &program).map(|_| ()))
                .unwrap();
        }
        fs::set_permissions(house.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let mut other = Command::new(&program);
        other.args(arguments).current_dir(house.path());
        for (name, value) in command.get_envs() {
            match value {
                Some(value) => other.env(name, value),
                None => other.env_remove(name),
            };
        }
        other.uid(NOBODY);
        command = other;
    }
    command
}

fn owned_by_user(path: &Path) {
    if nix::unistd::geteuid().is_root() {
        chown(path, Some(NOBODY), None).unwrap();
    }
}

#[test]
fn n_31_a_home_that_cannot_be_written_says_how_to_choose_another() {
    let house = House::new();
    let locked = house.path().join("locked");
    fs::create_dir(&locked).unwrap();
    owned_by_user(&locked);
    fs::set_permissions(&locked, fs::Permissions::from_mode(0o555)).unwrap();
    fs::write(house.path().join("s.toml"), "[[reply]]\ntext = 'hi'\n").unwrap();
    let mut command = as_plain_user(&house, &["run", "-m", "scripted/s.toml", "hi"]);
    command.env_remove("ROOFTREE_HOME").env("HOME", &locked);
    for name in ["XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME"] {
        command.env_remove(name);
    }
    let done = done(&mut command);
    assert!(done.code != 0, "{done:?}");
    assert!(
        done.err.contains("cannot write") && done.err.contains("set ROOFTREE_HOME"),
        "{}",
        done.err
    );
    assert!(
        !done.err.contains("doctor checks the database"),
        "{}",
        done.err
    );
}

#[test]
fn n_32_a_directory_that_cannot_be_entered_is_refused_before_anything_happens() {
    let house = House::new();
    let home = house.path().join("home");
    let secret = house.path().join("secret");
    for directory in [&home, &secret] {
        fs::create_dir(directory).unwrap();
        owned_by_user(directory);
    }
    fs::set_permissions(&secret, fs::Permissions::from_mode(0o000)).unwrap();
    fs::write(house.path().join("s.toml"), "[[reply]]\ntext = 'hi'\n").unwrap();
    let script = format!("scripted/{}", house.path().join("s.toml").display());
    let mut command = as_plain_user(&house, &["run", "-C", "secret", "-m", &script, "hi"]);
    let done = done(command.env("ROOFTREE_HOME", &home));
    assert_eq!(done.code, 2, "{done:?}");
    assert!(done.err.contains("cannot work in `secret`"), "{}", done.err);
}

#[test]
fn n_33_doctor_says_what_works_without_bash_and_git() {
    let house = House::new();
    let bin = house.path().join("bin");
    fs::create_dir(&bin).unwrap();
    let report = |house: &House| done(house.command(&["doctor"]).env("PATH", &bin)).out;
    let none = report(&house);
    assert!(
        none.contains("✗ bash        neither bash nor sh is found"),
        "{none}"
    );
    symlink("/bin/sh", bin.join("sh")).unwrap();
    let with_sh = report(&house);
    assert!(
        with_sh.contains("⚠ bash        not found; the Bash tool uses sh"),
        "{with_sh}"
    );
    assert!(
        with_sh.contains("– git") && with_sh.contains("instead of a worktree"),
        "{with_sh}"
    );
}

#[test]
fn n_34_a_misspelt_model_gets_the_name_that_was_meant() {
    let house = House::new();
    for (name, hint) in [
        ("sonet", "did you mean `sonnet`?"),
        ("anthropc/x", "did you mean `anthropic/x`?"),
        ("anthropic", "did you mean `anthropic/claude-sonnet-"),
    ] {
        let done = house.rooftree(&["run", "-m", name, "hi"]);
        assert_eq!(done.code, 2, "{name}: {done:?}");
        assert!(done.err.contains(hint), "{name}: {}", done.err);
        assert!(!done.err.contains("demo-"), "{name}: {}", done.err);
    }
}

#[test]
fn n_38_a_relative_home_is_refused_and_makes_no_directory() {
    let house = House::new();
    let mut command = house.command(&["sessions", "list"]);
    command.env_remove("ROOFTREE_HOME").env("HOME", "rel");
    for name in ["XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME"] {
        command.env_remove(name);
    }
    let done = done(&mut command);
    assert_eq!(done.code, 3, "{done:?}");
    assert!(
        done.err
            .contains("HOME is `rel`, which is not an absolute path"),
        "{}",
        done.err
    );
    assert!(!house.path().join("rel").exists());
}
