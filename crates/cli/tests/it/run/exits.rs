//! Which number each ending has, and what is said about it.

use super::fixture::Desk;

const WRITES: &str = r#"
[[reply]]
text = "I write."

[[reply.call]]
tool = "Write"
input = { file_path = "new.txt", content = "hello" }

[[reply]]
text = "{{ 'written' if results[0].ok else 'not written' }}"
"#;

#[test]
fn every_wrong_beginning_has_its_number_and_a_way_out() {
    let desk = Desk::with_echo();
    let table: [(&[&str], i32, &str); 8] = [
        (&["-a", "nobody", "hi"], 8, "Available: bash, explore, lead"),
        (&["-s", "nonesuch", "hi"], 8, "rooftree sessions list"),
        (&["--continue", "hi"], 8, "leave out --continue"),
        (&["-m", "nonesuch", "hi"], 2, "rooftree models list"),
        (
            &["-m", "nowhere/x", "hi"],
            2,
            "there is no provider `nowhere`",
        ),
        (&["-m", "scripted/none.toml", "hi"], 3, "cannot read script"),
        (&["--permission-mode", "yolo", "hi"], 2, "accept-edits"),
        (&["-C", "none", "hi"], 2, "cannot work in `none`"),
    ];
    for (arguments, code, words) in table {
        let said = desk.run(arguments).ended(code);
        assert!(said.contains(words), "{arguments:?}: {said}");
    }
    assert_eq!(
        desk.house
            .rooftree(&["sessions", "list", "-o", "ids"])
            .well(),
        "",
        "nothing was stored"
    );
}

#[test]
fn without_a_model_it_is_said_where_one_was_looked_for() {
    let desk = Desk::with_echo();
    let done = super::fixture::finished(
        desk.command(&["hi"])
            .env_remove("ROOFTREE_MODEL")
            .spawn()
            .unwrap(),
    );
    let said = done.ended(4);
    assert!(
        said.starts_with("error[E0401]: no usable model for agent `lead`\n  cause: "),
        "{said}"
    );
    assert!(
        said.contains("ROOFTREE_MODEL") && said.contains("rooftree demo"),
        "{said}"
    );
}

#[test]
fn nothing_to_say_is_wrong_usage() {
    let said = Desk::with_echo().run(&[]).ended(2);
    assert!(said.contains("there is nothing to say"), "{said}");
}

#[test]
fn what_would_have_to_be_asked_is_denied_and_listed() {
    let desk = Desk::new(WRITES);
    let done = desk.run(&["Write it"]);
    assert_eq!((done.code, done.out.as_str()), (6, "not written\n"));
    assert!(
        done.err
            .contains("1 call not permitted:\n  ⊘ Write new.txt\n"),
        "{}",
        done.err
    );
    assert!(
        done.err
            .contains("--allow 'Write(new.txt)' or --permission-mode accept-edits"),
        "{}",
        done.err
    );
    assert!(!desk.path().join("new.txt").exists());
}

#[test]
fn the_flags_that_are_named_do_allow_it() {
    for flags in [
        ["--allow", "Write(new.txt)"],
        ["--permission-mode", "accept-edits"],
    ] {
        let desk = Desk::new(WRITES);
        let result = desk
            .run(&["-o", "json", flags[0], flags[1], "Write it"])
            .json();
        assert_eq!(result["text"], "written");
        assert_eq!(result["files_changed"][0]["path"], "new.txt");
        assert!(desk.path().join("new.txt").exists());
    }
}

#[test]
fn a_deny_rule_holds_even_where_everything_is_allowed() {
    let desk = Desk::new(WRITES);
    let done = desk.run(&["--permission-mode", "bypass", "--deny", "Write", "Write it"]);
    assert_eq!(
        (done.code, done.out.as_str()),
        (0, "not written\n"),
        "a rule that says no is an answer"
    );
    assert!(
        done.err
            .contains("1 call not permitted:\n  ⊘ Write new.txt\n"),
        "{}",
        done.err
    );
    assert!(
        done.err.contains("the deny rule `Write` refuses it"),
        "{}",
        done.err
    );
}

#[test]
fn limits_end_a_run_with_their_own_number_and_what_there_is() {
    let desk = Desk::new(
        "[[reply]]\ntimes = 10\ntext = \"turn {{ turn }}\"\n[[reply.call]]\ntool = \"List\"\ninput = { path = \"/tmp/{{ turn }}\" }",
    );
    let done = desk.run(&["--max-turns", "2", "Go"]);
    assert_eq!(done.code, 7, "{done:?}");
    assert!(
        done.err.contains("■ out of turns · 2 turns"),
        "{}",
        done.err
    );

    desk.rewrite("[[reply]]\ndelay = \"1h\"\ntext = \"late\"");
    let done = desk.run(&["--timeout", "10ms", "Go"]);
    assert_eq!(done.code, 7, "{done:?}");
    assert!(done.err.contains("■ out of time"), "{}", done.err);
}

#[test]
fn what_a_model_cannot_do_has_the_number_of_its_reason() {
    let table = [
        (
            "[[reply]]\nerror = \"unauthorized\"\n[[reply]]\ntext = \"x\"",
            4,
        ),
        ("[[reply]]\nerror = \"refused\"\n[[reply]]\ntext = \"x\"", 1),
        ("[[reply]]\nagent = \"somebody else\"\ntext = \"x\"", 1),
    ];
    for (script, code) in table {
        let done = Desk::new(script).run(&["Go"]);
        assert_eq!(done.code, code, "{script}: {done:?}");
        assert!(done.err.contains("error[E0"), "{}", done.err);
        assert!(done.err.contains("✗ failed"), "{}", done.err);
    }
}

#[test]
fn exec_and_a_leading_p_are_run() {
    let desk = Desk::with_echo();
    for alias in ["exec", "-p"] {
        let mut command = desk.house.command(&[alias, "hello"]);
        let model = format!(
            "scripted/{}",
            desk.house.path().join("script.toml").display()
        );
        let output = command.env("ROOFTREE_MODEL", model).output().unwrap();
        assert_eq!(String::from_utf8(output.stdout).unwrap(), "heard: hello\n");
    }
}

#[test]
fn an_answer_that_cannot_be_written_is_an_error_and_not_a_reader_who_left() {
    let desk = Desk::with_echo();
    for arguments in [&["hi"][..], &["-o", "json", "hi"]] {
        let full = std::fs::File::options()
            .write(true)
            .open("/dev/full")
            .unwrap();
        let done = super::fixture::finished(desk.command(arguments).stdout(full).spawn().unwrap());
        let said = done.ended(1);
        assert!(
            said.contains("error[E0903]: cannot write the result\n  cause: standard output: "),
            "{said}"
        );
        assert!(said.contains("\n  fix:   make room"), "{said}");
    }
}

#[test]
fn a_working_directory_that_is_gone_is_said() {
    let desk = Desk::with_echo();
    for arguments in [
        "run hi",
        "permissions list",
        "agents list",
        "trust --show",
        "can lead Read x",
    ] {
        let gone = tempfile::tempdir().unwrap();
        let line = format!(
            "rmdir '{}' && exec {} {arguments}",
            gone.path().display(),
            env!("CARGO_BIN_EXE_rooftree")
        );
        let mut command = std::process::Command::new("sh");
        command
            .args(["-c", &line])
            .current_dir(gone.path())
            .env("ROOFTREE_HOME", desk.house.path());
        let output = command.output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments}: {said}");
        assert!(
            said.contains("cannot work in the current directory\n  cause: "),
            "{arguments}: {said}"
        );
    }
}
