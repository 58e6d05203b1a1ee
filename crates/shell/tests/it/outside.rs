//! Which lines return text from outside.

use rooftree_shell::reads_outside;

const OUTSIDE: &[&str] = &[
    "curl https://example.org",
    "curl -s example.org | head",
    "wget -qO- example.org",
    "gh pr view 1",
    "gh api repos/a/b/issues",
    "http example.org",
    "x=$(curl -s example.org); echo \"$x\"",
    "timeout 5 curl example.org",
    "sudo curl example.org",
    "env A=1 curl example.org",
    "echo example.org | xargs curl",
    "bash -c 'curl example.org'",
    "sh -c \"sh -c 'wget example.org'\"",
    "python3 -c 'import urllib.request as u; print(u.urlopen(\"https://example.org\").read())'",
    "python3 - <<E\nprint(get('https://example.org'))\nE",
    "git show FETCH_HEAD",
    "git show FETCH_HEAD:README.md",
    "git log origin/main",
    "git log HEAD..origin/main",
    "git diff @{u}",
    "git diff HEAD refs/remotes/origin/x",
    "git cat-file -p upstream/main:a",
    "git log --remotes",
    "git ls-remote origin",
    "git clone https://example.org/a",
    "nc example.org 80",
    "ssh host cat a",
    "scp host:a .",
    "rsync host:a .",
    "dig example.org TXT",
    "pip download a",
    "pip3 install a",
    "npm view a",
    "npm --silent view a",
    "openssl s_client -connect example.org:443",
    "cat < /dev/tcp/example.org/80",
    "exec 3<>/dev/tcp/example.org/80",
    "lynx -dump https://example.org",
    "/usr/bin/curl example.org",
    "f() { curl \"$1\"; }; f example.org",
    "coproc curl example.org",
];

const INSIDE: &[&str] = &[
    "ls",
    "echo https://example.org",
    "echo curl",
    "grep -rn https://example.org src",
    "grep curl Makefile",
    "git log",
    "git log --oneline main",
    "git show HEAD",
    "git diff HEAD~1",
    "git commit -m 'use curl'",
    "git push origin main",
    "cargo test",
    "npm test",
    "make",
    "python3 a.py",
    "cat origin/notes.md",
    "docker ps",
];

#[test]
fn s_l8_lines_that_print_what_another_machine_says_are_told_from_others() {
    let missed: Vec<&&str> = OUTSIDE.iter().filter(|line| !reads_outside(line)).collect();
    assert!(missed.is_empty(), "these read from outside: {missed:#?}");
    let taken: Vec<&&str> = INSIDE.iter().filter(|line| reads_outside(line)).collect();
    assert!(
        taken.is_empty(),
        "these do not read from outside: {taken:#?}"
    );
}
