//! Lines that once counted as looking and were not, and others of their class. Each class has lines that
//! must go on being free.

use rooftree_shell::is_read_only_line;
use rooftree_tools::PolicyVerdict;

use crate::policy::bench_of_rules::{judge_command, named};

pub fn none_looks(lines: &[&str]) {
    let looking: Vec<&&str> = lines
        .iter()
        .filter(|line| is_read_only_line(line))
        .collect();
    assert!(looking.is_empty(), "these do more than look: {looking:#?}");
}

pub fn all_look(lines: &[&str]) {
    let doing: Vec<&&str> = lines
        .iter()
        .filter(|line| !is_read_only_line(line))
        .collect();
    assert!(doing.is_empty(), "these only look: {doing:#?}");
}

pub fn allowed(set: &str, lines: &[&'static str]) -> Vec<&'static str> {
    let policy = named(set);
    lines
        .iter()
        .copied()
        .filter(|line| matches!(judge_command(&policy, line), PolicyVerdict::Allow(_)))
        .collect()
}

#[test]
fn s_a2_printf_looks_only_with_conversions_that_print() {
    none_looks(&[
        "printf '     %n' PATH; ls",
        "printf '%s%n' . PATH; ls",
        "printf '%ln' PATH",
        "printf '%-5.3hhn' PATH",
        "printf '%%%n' PATH",
        "printf \"$x\" PATH",
        "printf $x",
        "printf \"a$x\" PATH",
        "printf \"a${x[@]}\"",
        "printf a* PATH",
        "printf -v PATH .",
        "printf -vPATH .",
        "command printf '     %n' PATH; ls",
        "builtin printf '     %n' PATH; ls",
        "printf '%(%n)T' PATH",
    ]);
    all_look(&[
        "printf '%s\\n' a b",
        "printf '%5d %-10s|%q %b %x %%\\n' 1 a b c 255",
        "printf '%%n' PATH",
        "printf \"found: $x\\n\"",
        "printf '%*d' 5 1",
        "printf",
    ]);
}

#[test]
fn s_a2_builtins_that_assign_or_calculate_do_more_than_look() {
    none_looks(&[
        "read PATH < a; ls",
        "read -a PATH < a",
        "read -r 'x[$(touch pwn)]' < a",
        "mapfile PATH < a",
        "mapfile -t -C 'touch pwn' -c 1 x < a",
        "readarray PATH < a",
        "getopts x PATH",
        "declare PATH=.",
        "declare -n x=PATH",
        "declare -i x",
        "export PATH=.",
        "local PATH=.",
        "readonly PATH=.",
        "typeset PATH=.",
        "unset PATH",
        "unset 'x[$(touch pwn)]'",
        "let PATH=1",
        "let 'x[$(touch pwn)]=1'",
        "((PATH=5))",
        "((x[$(touch pwn)]))",
        "echo $((PATH=5))",
        "echo ${PATH:=.}",
        "echo ${PATH=.}",
        "echo ${x[$(touch pwn)]}",
        "echo ${x:$(touch pwn)}",
        "echo ${x@P}",
        "[[ -v x[$(touch pwn)] ]]",
        "[[ x[0] -eq 1 ]]",
        "test -v 'x[$(touch pwn)]'",
        "[ -v 'x[$(touch pwn)]' ]",
        "wait -p PATH",
        "wait -n -p PATH",
        "exec {PATH}> /dev/null",
        "ls {PATH}> /dev/null",
        ": {PATH}</dev/null; ls",
        "{ ls; } {PATH}>&1; ls",
        "ls {x[$(touch pwn)]}> /dev/null",
        "for PATH in .; do ls; done",
        "select PATH in .; do ls; done",
        "coproc PATH { ls; }",
        "PATH+=:.",
        "hash -p ./evil ls",
        "enable -f ./evil.so x",
        "shopt -s expand_aliases",
        "complete -C ./evil x",
        "bind -x '\"a\": ./evil'",
        "jobs -x ./evil",
        "ulimit -f 0",
        "umask 777",
    ]);
    all_look(&[
        "x=1; y=(a b); echo \"$x\" \"${y[@]}\"",
        "while read -r line; do echo \"$line\"; done < a",
        "for f in a b; do cat \"$f\"; done",
        "echo $((1 + 2)) ${#x} ${x:-a} ${x:1:2}",
        "[[ $x == a* ]] && echo yes",
        "LANG=C ls",
    ]);
}

#[test]
fn s_a2_lists_in_quotes_are_several_words() {
    none_looks(&[
        "a=(-v 'x[$(touch pwn)]'); test \"${a[@]}\"",
        "a=(q -oOUT); sort x\"${a[@]}\"",
        "a=(q -oOUT); sort \"x${u:-${a[@]}}\"",
        "f() { sort \"x${u:-$@}\"; }; f q -oOUT",
        "f() { sort \"x${@}\"; }; f q -oOUT",
        "f() { sort \"x${@:1}\"; }; f q -oOUT",
        "x='1 -oOUT'; sort --key=$x a",
        "x='%h --output=OUT'; git log --format=$x",
        // Files of these names may be there: `-v`, `a[$(touch pwn)]`.
        "[ * ]",
        "test ? *",
        "test -f *",
    ]);
    all_look(&[
        "x=1; sort --key=\"$x\" a",
        "a=(1 2); echo \"${a[@]}\" \"${a[*]}\"",
        "[ -f src/*.rs ]",
        "test -n \"${x:-a}\"",
    ]);
}

#[test]
fn s_a3_words_after_two_dashes_are_operands() {
    none_looks(&[
        "uniq -- -dash OUT",
        "uniq -c -- a OUT",
        "uniq a -- OUT",
        "uniq a -c",
        "uniq - OUT",
        "uniq -f 1 a OUT",
        "uniq -f1 a OUT",
        "uniq -- \"$x\"",
        "uniq *",
        "xxd -r -- -dash.hex OUT",
        "xxd -- a OUT",
        "xxd -ps a OUT",
        "xxd -c 8 a OUT",
        "xxd -c8 a OUT",
        "xxd a -r",
        "base64 -- a OUT",
    ]);
    all_look(&[
        "uniq a",
        "uniq -- a",
        "uniq -c a",
        "uniq -f 1 -w 3 a",
        "sort a | uniq -c",
        "uniq --count --skip-fields=1 a",
        "xxd a",
        "xxd -ps a",
        "xxd -l 16 a",
        "xxd -c8 -g 1 a",
        "xxd -- a",
    ]);
}

#[test]
fn s_a3_an_option_that_is_not_in_the_table_does_more_than_look() {
    none_looks(&[
        "ls --new-option",
        "cat --output=OUT a",
        "cat -o OUT a",
        "grep --write x a",
        "wc -x a",
        "sort -o OUT a",
        "sort --outpu OUT a",
        "sort -T . a",
        "sort --compress-program=./evil a",
        "sort -k1 -o OUT a",
        "sort -k 1 -oOUT a",
        "sort -nroOUT a",
        "sort --new a",
        "tree -o OUT",
        "tree -Lo 2 OUT",
        "tree -R",
        "date -s 1",
        "date -us 1",
        "date +%F 01010101",
        "date 01010101",
        "date --set=1",
        "sed -n 'w OUT' a",
        "sed '1e touch pwn' a",
        "sed --in-place p a",
        "sed --new p a",
        "find . -fprint OUT",
        "find . -fprintf OUT x",
        "find . -delete",
        "find . -exec touch pwn +",
        "find . -new",
        "find -- . -delete",
        "find . -name a -fls OUT",
        "find . -newerXX a",
        "git log --output=OUT",
        "git log --new-option",
        "git log -O x",
        "git diff -oOUT",
        "git grep -LO./evil x",
        "git grep -GO x",
        "git diff --submodule=diff",
        "git status --recurse-submodules",
        "git rev-list --stdin",
        "file -C -m a",
        "file -zi a",
        "file --uncompress a",
        "file -p a",
        "rg --pre ./evil x",
        "rg --pre=./evil x",
        "rg -nz x",
        "rg --hostname-bin=./evil x",
        "rg --new x",
        "fd -x rm",
        "fd -Hx rm",
        "fd -l",
        "fd --exec=rm",
        "diff -l a b",
        "diff -rl a b",
        "diff --paginate a b",
        "base64 -o OUT a",
        "jq --write a",
        "less a",
        "awk 1 a",
        "xargs ls",
        "env -S ls",
        "tar tf a",
        "column --new a",
        "getconf -v x PATH",
    ]);
}

#[test]
fn s_a3_known_options_and_operands_go_on_looking() {
    all_look(&[
        "ls -la --color=auto src",
        "cat -n a",
        "grep -rn --include='*.rs' -e '->' src",
        "grep -- -x a",
        "head -n -5 a",
        "tail -n +5 a",
        "tail -20 a",
        "sort -t, -k2,2n -u a",
        "sort --field-separator=, --key=2 a",
        "rg -n --type rust -g '!target' foo src",
        "rg --files | head",
        "fd -H -e rs foo",
        "tree -L 2 -I target src",
        "tree -a --dirsfirst",
        "date -u +%FT%TZ",
        "date -Iseconds",
        "find . -name '*.rs' -not -path './target/*' -type f -mtime -7 -size +10k",
        "find src tests -maxdepth 2 \\( -name a -o -name b \\) -print0",
        "git log --oneline -n 5 --author=me --since=yesterday -- src",
        "git log -S foo --stat --graph --all",
        "git diff --cached --stat HEAD~2",
        "git diff -U5 --word-diff a b",
        "git show --stat HEAD",
        "git status -sb -uno",
        "git blame -L 1,5 -w a",
        "git rev-parse --abbrev-ref HEAD",
        "git ls-files --others --exclude-standard",
        "git grep -n -e foo -- src",
        "git describe --tags --always",
        "git shortlog -sn",
        "file -b --mime-type a",
        "diff -ruN a b",
        "diff --unified=5 a b",
        "base64 -w0 a",
        "jq -r '.a[]' a.json",
        "seq 5 -1 1",
        "ps aux",
        "ps -eo pid,args",
        "cut -d, -f1 a",
        "column -t -s, a",
        "du -sh -- *",
        "stat -c %s a",
    ]);
}

#[test]
fn s_a3_a_rule_for_tar_covers_only_known_options() {
    let attacks = [
        "tar cf a.tar -T list",
        "tar cTf list a.tar",
        "tar cf a.tar --files-from=list",
        "tar cf a.tar a --transform='s/a/b/e'",
        "tar cf a.tar a --new-option",
        "tar cf a.tar a --to-comm=./evil",
        "tar -xf a.tar -I ./evil",
    ];
    assert_eq!(allowed("everything-by-prefix", &attacks), [""; 0]);
    let plain = [
        "tar czf a.tgz src",
        "tar -xzf a.tgz -C out",
        "tar tf a.tar",
        "tar -cf a.tar --exclude=target src",
    ];
    assert_eq!(allowed("everything-by-prefix", &plain), plain);
}
