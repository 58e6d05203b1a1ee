//! What the grammar finds, and what it refuses.

use rooftree_shell::{LONGEST, RedirectKind, ShellEffects, parse};

fn shown(line: &str) -> Vec<String> {
    ShellEffects::of(line)
        .unwrap_or_else(|refusal| panic!("{line:?}: {refusal:?}"))
        .calls
        .iter()
        .map(|call| call.shown())
        .collect()
}

#[test]
fn words_are_what_is_left_when_quotes_are_gone() {
    let table = [
        ("a 'b c' \"d e\" f\\ g", "a|b c|d e|f g"),
        ("a b'c'\"d\"e", "a|bcde"),
        (r#"a "\$x \n""#, r"a|$x \n"),
        ("a $'\\x62\\t\\101'", "a|b\tA"),
        ("a '' \"\"", "a||"),
        ("a b#c", "a|b#c"),
        ("a {} \\;", "a|{}|;"),
        ("a $ b", "a|$|b"),
        ("a é", "a|é"),
    ];
    for (line, expected) in table {
        let deeds = ShellEffects::of(line).unwrap();
        let words: Vec<String> = deeds.calls[0]
            .words
            .iter()
            .map(|word| word.literal().unwrap())
            .collect();
        assert_eq!(words.join("|"), expected, "{line:?}");
    }
}

#[test]
fn what_is_known_only_when_it_runs_has_no_text() {
    for word in [
        "$x", "\"$x\"", "${x}", "$(b)", "`b`", "*", "b?", "[ab]", "{b,c}", "~", "~/b", "$((1))",
        "<(b)", "$1", "$@",
    ] {
        let deeds = ShellEffects::of(&format!("a {word}")).unwrap();
        let call = deeds
            .calls
            .iter()
            .find(|call| call.program().as_deref() == Some("a"))
            .unwrap();
        assert_eq!(call.words[1].literal(), None, "{word}");
    }
}

#[test]
fn redirections_tell_which_files_are_written() {
    let table = [
        ("a > f", "write f"),
        ("a >> f", "write f"),
        ("a >| f", "write f"),
        ("a &> f", "write f"),
        ("a &>> f", "write f"),
        ("a >& f", "write f"),
        ("a <> f", "write f"),
        ("a 2> f", "write f"),
        ("a < f", "read f"),
        ("a >&2", ""),
        ("a 2>&1", ""),
        ("a <&-", ""),
        ("a <<< f", ""),
        ("{ a; } > f", "write f"),
        ("(a) > f", "write f"),
        ("> f", "write f"),
        ("if a; then b; fi > f", "write f"),
        ("a > $x", "write *"),
    ];
    for (line, expected) in table {
        let deeds = ShellEffects::of(line).unwrap();
        let files = deeds.files.iter().map(|file| {
            let way = if file.way == RedirectKind::Write {
                "write"
            } else {
                "read"
            };
            format!("{way} {}", file.target.shape())
        });
        assert_eq!(files.collect::<Vec<_>>().join(" "), expected, "{line:?}");
    }
}

#[test]
fn what_bash_reads_in_more_than_one_way_is_refused() {
    let refused = [
        "",
        "a |",
        "a &&",
        "a 'b",
        "a \"b",
        "a `b",
        "a $(b",
        "(a",
        "{ a; ",
        "{ a }",
        "if a; then b",
        "a )",
        "a ;; b",
        "a \\",
        "a $'\\''",
        "a $[1]",
        "a ${!x}",
        "a ${x[$(b)]}",
        "a ${x@P}",
        "a ${x:=b}",
        "a ${ b; }",
        "a ${x:$(b)}",
        "a @(b)",
        "a[$(b)]=c d (",
        "coproc a",
        "function a { b; }",
        "for ((;;)); do a; done",
        "a `b \\`c\\``",
        "a <<$x\n$x\n",
        "a <<E",
        "a <<E\nb",
        "a \0",
        "a \r b",
        "a \u{1b}[2J",
        "x[0]=(a)",
        "((a",
        "() a",
        "a() b",
    ];
    for line in refused {
        let is_nothing = line.is_empty();
        assert_eq!(parse(line).is_ok(), is_nothing, "{line:?}");
    }
}

#[test]
fn size_and_depth_are_bounded() {
    assert!(parse(&"a ".repeat(LONGEST / 2)).is_ok());
    assert!(parse(&"a".repeat(LONGEST + 1)).is_err());
    let nested = |depth: usize| format!("{}a{}", "$(".repeat(depth), ")".repeat(depth));
    assert!(parse(&nested(20)).is_ok());
    for depth in [100, 1000, 20_000] {
        assert!(parse(&nested(depth)).is_err());
        assert!(parse(&"(".repeat(depth)).is_err());
        assert!(parse(&"{ ".repeat(depth)).is_err());
        assert!(parse(&"if ".repeat(depth)).is_err());
        assert!(parse(&"${x:-".repeat(depth)).is_err());
        assert!(parse(&"$((".repeat(depth)).is_err());
    }
}

#[test]
fn commands_are_found_wherever_they_hide() {
    assert_eq!(
        shown("a $(b \"$(c `d`)\") <(e) ${x:-$(f)}"),
        ["d", "c *", "b *", "e", "f", "a * * *"]
    );
    assert_eq!(shown("x=$(a) y=($(b)) c"), ["a", "b", "c"]);
    assert_eq!(shown("a <<E\n$(b)\nE"), ["a", "b"]);
    assert_eq!(
        shown("[[ $(a) == b ]] && echo $(( $(c) ))"),
        ["a", "c", "echo *"]
    );
    assert_eq!(shown("a > $(b)"), ["b", "a"]);
}
