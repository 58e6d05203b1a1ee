//! Tests of `git_config.rs`.

use super::*;

fn harm(text: &str) -> Option<Vec<String>> {
    dangerous(text.as_bytes()).map(|all| all.into_iter().map(|setting| setting.name).collect())
}

#[test]
fn settings_that_name_programs_are_told_from_harmless_ones() {
    let clone = "[core]\n\tbare = false\n[remote \"origin\"]\n\turl = https://a.b/c.git\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n[branch \"main\"]\n\tremote = origin\n\tmerge = refs/heads/main\n";
    assert_eq!(harm(clone), Some(vec![]));
    for (text, name) in [
        ("[core]\nfsmonitor = ./evil\n", "core.fsmonitor"),
        ("[CORE]\n  FsMonitor=evil # x\n", "core.fsmonitor"),
        ("[core]\nhooksPath = x\n", "core.hookspath"),
        ("[include]\npath = x\n", "include.path"),
        (
            "[includeIf \"gitdir:/\"]\npath = x\n",
            "includeif.gitdir:/.path",
        ),
        ("[diff \"x\"]\ntextconv = x\n", "diff.x.textconv"),
        ("[filter \"x\"]\nclean = x\n", "filter.x.clean"),
        ("[remote \"o\"]\nreceivepack = x\n", "remote.o.receivepack"),
        ("[remote \"o\"]\nurl = ext::sh -c x\n", "remote.o.url"),
        ("[submodule \"s\"]\nupdate = !x\n", "submodule.s.update"),
        (
            "[url \"./evil\"]\ninsteadOf = https://a\n",
            "url../evil.insteadof",
        ),
        ("[alias]\nst = !x\n", "alias.st"),
        ("[credential]\nhelper = x\n", "credential.helper"),
    ] {
        assert_eq!(harm(text), Some(vec![name.to_owned()]), "{text}");
    }
    assert_eq!(harm("[core]\nfsmonitor = true\n"), Some(vec![]));
}

#[test]
fn what_git_may_read_otherwise_is_not_parsed() {
    for text in [
        "[core]\nbare = a\\\nfsmonitor = x\n",
        "[core] fsmonitor = x\n",
        "[core]\nbare = \"a\nfsmonitor = x\n",
        "fsmonitor = x\n",
        "[core]\nbare = a\rfsmonitor = x\n",
        "[core \"a\\\"]\nb = c\n",
        "[core\n",
        "[core]\n= x\n",
    ] {
        assert_eq!(harm(text), None, "{text}");
    }
}

#[test]
fn repositories_on_this_machine_are_told_from_others() {
    for (value, wanted) in [
        ("https://a/b", None),
        ("git@host:a/b", None),
        ("host:a", None),
        ("./evil.git", Some("./evil.git")),
        ("/srv/a", Some("/srv/a")),
        ("file:///srv/a", Some("/srv/a")),
        ("./a:b", Some("./a:b")),
    ] {
        let setting = GitSetting {
            name: "remote.o.url".to_owned(),
            value: value.to_owned(),
            line: 0,
        };
        assert_eq!(setting.local_repository(), wanted, "{value}");
    }
}
