//! Lines that only look, run in a real bash: nothing is written, no variable that programs heed is set, and no program
//! is run that the grammar did not find.

use std::cell::RefCell;

use rooftree_shell::is_read_only_line;
use rooftree_testkit::fuzz;

use super::{
    dice::{Dice, PIECES},
    oracle::Oracle,
};

/// Words that matter to some program or builtin, harmful ones among them.
const WORDS: &[&str] = &[
    "a",
    "b",
    "-dash",
    "-dash.hex",
    "src/a.rs",
    "OUT",
    "-",
    "--",
    "-o",
    "-oOUT",
    "--output=OUT",
    "--outp=OUT",
    "-T",
    "-f",
    "-f1",
    "1",
    "-c",
    "-n",
    "-r",
    "-ps",
    "-s",
    "-e",
    "-i",
    "-k1",
    "-k",
    "-t,",
    "-w0",
    "-d",
    "-v",
    "-x",
    "-z",
    "-C",
    "-l",
    "-L",
    "-p",
    "-u",
    "\"$x\"",
    "$x",
    "\"${l[@]}\"",
    "\"q${l[@]}\"",
    "x\"${u:-$@}\"",
    "--key=$x",
    "--key=\"$x\"",
    "*",
    "src/*",
    "?",
    "{a,OUT}",
    "'     %n'",
    "'%s%n'",
    "'%s\\n'",
    "PATH",
    "'x[$(touch pwn)]'",
    "-name",
    "-exec",
    "-delete",
    "-fprint",
    "-print",
    "-newer",
    "';'",
    "p",
    "1p",
    "'w OUT'",
    "'1e touch pwn'",
    "s/a/b/",
    "'s/o/x/w OUT'",
    "-eq",
    "=",
    "!",
    "]",
    "+%F",
    "-S",
    "HEAD",
    "--stat",
    "--ext-diff",
    "--cached",
    "--no-index",
    "$(ls)",
    "$((1+1))",
    "${x:-a}",
    "> /dev/null",
    "2>&1",
    "< a",
    "<<< a",
    "{PATH}> /dev/null",
    "--compress-program=./evil",
    "--files0-from=a",
    "-m",
    "-M",
    ".a",
    "x",
];

const PROGRAMS: &[&str] = &[
    "sort",
    "uniq",
    "xxd",
    "cat",
    "ls",
    "head",
    "tail -n1",
    "wc",
    "grep",
    "find",
    "find .",
    "sed",
    "sed -n",
    "diff",
    "file",
    "base64",
    "date",
    "printf",
    "test",
    "[",
    "read -r",
    "cd",
    "cd vendor/lib",
    "git diff",
    "git log",
    "git status",
    "git show",
    "git grep",
    "git ls-files",
    "cut",
    "tr",
    "column",
    "jq",
    "stat",
    "od",
    "seq",
    "cmp",
    "comm",
    "join",
    "paste",
    "nl",
    "echo",
    "type",
    "command -v",
    "x=",
    "x=-oOUT",
    "x='1 -oOUT'",
    "l=(q -oOUT)",
    "l=(-v 'x[$(touch pwn)]')",
    "[[ a ==",
    "set -e",
    "export",
    "pushd vendor/lib",
    "expr",
];

const WRAPPERS: &[&str] = &[
    "",
    "",
    "",
    "",
    "command ",
    "builtin ",
    "timeout 5 ",
    "nice ",
    "nohup ",
    "nice -n 1 ",
    "LANG=C ",
    "stdbuf -oL ",
    "! ",
    "time ",
];

/// Words after a program that have one of the programs write a file.
const WRITING: &[&str] = &[
    "-oOUT a",
    "-o OUT a",
    "--output=OUT a",
    "--outp=OUT a",
    "a OUT",
    "-fprint OUT",
];

/// Each program with each of these words.
fn writing() -> impl Iterator<Item = String> {
    PROGRAMS.iter().flat_map(|program| {
        WRITING
            .iter()
            .map(move |words| format!("{program} {words}"))
    })
}

/// A line of one to three commands.
fn line(dice: &mut Dice) -> String {
    let mut text = String::new();
    for at in 0..=dice.roll(3) {
        if at > 0 {
            text += dice.pick(&["; ", " && ", " | ", "\n", " || ", " & "]);
        }
        text += dice.pick(WRAPPERS);
        let program = dice.pick(PROGRAMS);
        text += program;
        for _ in 0..dice.roll(4) {
            text += " ";
            text += dice.pick(WORDS);
        }
        text += match program {
            "[" => " ]",
            "[[ a ==" => " b ]]",
            _ => "",
        };
    }
    if dice.roll(6) == 0 {
        format!("f() {{ {text}\n}}; f q -oOUT")
    } else {
        text
    }
}

/// Whether a line names nothing outside of its directory, so that it can be tried.
fn stays(line: &str) -> bool {
    let line = line.replace("/dev/null", "null");
    let is_first = |(at, _): (usize, &str)| {
        let before = line.get(..at).and_then(|text| text.chars().next_back());
        !before.is_some_and(|c| c.is_ascii_alphanumeric() || c == '.')
    };
    let escapes = [
        "..", "~", "\\", "sleep", "HOME", "PWD", "TMPDIR", "$0", "proc", "dev",
    ];
    !line.match_indices('/').any(is_first) && !escapes.iter().any(|sign| line.contains(sign))
}

#[test]
fn bash_changes_nothing_by_lines_that_only_look() {
    let wanted = std::env::var("ROOFTREE_SHELL_CASES")
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(100);
    let (mut oracle, mut ran, mut harm) = (Oracle::new(), 0, Vec::new());
    let is_tried = |line: &String| stays(line) && is_read_only_line(line);
    let random = (1..)
        .map(|seed| line(&mut Dice::new(seed)))
        .filter(is_tried)
        .take(wanted);
    for line in writing().filter(is_tried).chain(random) {
        harm.extend(oracle.harm(&line));
        ran += 1;
    }
    assert!(ran > wanted, "{ran}");
    assert!(
        harm.is_empty(),
        "{} of {ran} lines do more than look:\n{}",
        harm.len(),
        harm.join("\n")
    );
}

#[test]
fn fuzz_what_lines_that_only_look_do_in_bash() {
    let oracle = RefCell::new(Oracle::new());
    let seeds: Vec<Vec<u8>> = (9000..9200)
        .map(|seed| line(&mut Dice::new(seed)).into_bytes())
        .collect();
    let seeds: Vec<&[u8]> = seeds.iter().map(Vec::as_slice).collect();
    let words: Vec<&str> = WORDS
        .iter()
        .chain(&PIECES)
        .chain(&["\n", " ", "; "])
        .copied()
        .collect();
    fuzz::run(&seeds, &words, |input| {
        let text = String::from_utf8_lossy(input);
        if stays(&text) && is_read_only_line(&text) {
            assert_eq!(oracle.borrow_mut().harm(&text), None);
        }
    });
}

#[test]
fn the_oracle_sees_files_variables_and_programs() {
    let mut oracle = Oracle::new();
    let table = [
        ("echo x > OUT", "OUT", "", ""),
        ("PATH=.", "", "PATH", ""),
        ("printf '     %n' PATH; ls", "", "PATH", "trap"),
        ("touch pwn", "", "", "touch"),
        ("cat a", "", "", "cat"),
        ("export LD_PRELOAD=x", "", "LD_PRELOAD", ""),
        ("cd vendor/lib && git diff", "", "", "trap"),
    ];
    for (line, written, set, ran) in table {
        let effects = oracle.run(line);
        assert_eq!(
            effects.written.iter().next().map_or("", String::as_str),
            written,
            "{line}: {effects:?}"
        );
        assert_eq!(
            effects.set.iter().next().map_or("", String::as_str),
            set,
            "{line}: {effects:?}"
        );
        assert!(
            ran.is_empty() || effects.ran.contains(ran),
            "{line}: {effects:?}"
        );
    }
}
