//! Tests of `named_files.rs`.

use super::*;

/// What a line names, with `$`, `~` for where it starts, `*` where more follows, and its role.
fn names(line: &str) -> Vec<String> {
    let shown = |named: &NamedFile| {
        let start = match named.start {
            PathStart::Written => "",
            PathStart::Value => "$",
            PathStart::Home => "~",
        };
        let role = match named.role {
            NamedFileRole::Run => "run",
            NamedFileRole::Given => "given",
            NamedFileRole::Looked => "looked",
        };
        format!(
            "{role} {start}{}{}",
            named.text,
            if named.is_open { "*" } else { "" }
        )
    };
    NamedFiles::of(line).files.iter().map(shown).collect()
}

#[test]
fn a_table_of_lines_and_the_files_they_name() {
    let table: [(&str, &[&str]); 16] = [
        (
            r#"python3 "$CLAUDE_PROJECT_DIR/.claude/check.py""#,
            &["run $/.claude/check.py"],
        ),
        (
            r#""$CLAUDE_PROJECT_DIR"/scripts/guard.sh --strict"#,
            &["run $/scripts/guard.sh"],
        ),
        ("${CLAUDE_PROJECT_DIR:-.}/x.sh", &["run $/x.sh"]),
        (
            "timeout 5 ./guard.sh < rules.txt",
            &["run ./guard.sh", "looked rules.txt"],
        ),
        (
            "bash -c './a.sh && node b.js'",
            &["given ./a.sh && node b.js", "run ./a.sh", "run b.js"],
        ),
        ("~/bin/x", &["run ~/bin/x"]),
        ("env MODE=1 ./x.sh", &["run ./x.sh"]),
        (
            "eslint --config=lint.js src",
            &["looked lint.js", "looked src"],
        ),
        (
            "uv run --quiet tools/check.py src",
            &["run tools/check.py", "looked src"],
        ),
        ("pytest tests/test_a.py", &["looked tests/test_a.py"]),
        ("cat notes.md", &["looked notes.md"]),
        ("cat notes.md | bash", &["given notes.md"]),
        (
            "[ -e marker ] || echo hi >> log.txt; tee -a log.txt; touch marker",
            &[],
        ),
        (
            "for f in hooks.d/*.sh; do bash \"$f\"; done",
            &["given hooks.d*"],
        ),
        (". lib/env.sh", &["run lib/env.sh"]),
        ("run ( ./broken.sh", &["given run", "given ./broken.sh"]),
    ];
    for (line, wanted) in table {
        let found = names(line);
        for name in wanted {
            assert!(
                found.iter().any(|found| found == name),
                "{line}: {name} is not in {found:?}"
            );
        }
        assert!(
            !found
                .iter()
                .any(|name| name.contains("log.txt") || name.contains("marker")),
            "{found:?}"
        );
    }
}

#[test]
fn where_names_may_start_is_known_too() {
    let starts = |line: &str| {
        NamedFiles::of(line)
            .starts
            .into_iter()
            .map(|named| named.text)
            .collect::<Vec<_>>()
    };
    assert_eq!(starts("cd scripts && ./x.sh"), ["scripts"]);
    assert_eq!(starts("DIR=tools; \"$DIR\"/x.sh"), ["tools"]);
    assert_eq!(starts("cd \"$CLAUDE_PROJECT_DIR/a\" && b"), ["/a"]);
}
