//! Lines that reach another directory or repository: behind wrappers, and by the values of git's options.

use super::guards::{all_look, allowed, none_looks};

#[test]
fn s_a4_wrappers_hide_neither_a_change_of_directory_nor_git() {
    none_looks(&[
        "command cd vendor/lib && git diff",
        "builtin cd vendor/lib; git diff",
        "command builtin cd vendor/lib; git diff",
        "cd vendor/lib && timeout 9 git diff",
        "cd vendor/lib && nice -n 5 git diff",
        "cd vendor/lib && nohup git diff",
        "cd vendor/lib && stdbuf -oL git diff",
        "cd vendor/lib && command git diff",
        "cd vendor/lib && time git diff",
        "cd vendor/lib && timeout -s KILL 9 nice command git diff",
        "cd vendor/lib && /usr/bin/git diff",
        "command pushd vendor/lib; git status",
        "builtin popd; git status",
        "(command cd vendor/lib; command git log)",
        "f() { command cd vendor/lib; }; f; git diff",
        "git diff $(command cd vendor/lib; git diff)",
        "command -- cd vendor/lib; git diff",
        "timeout --foreground 9 git -C vendor/lib diff",
        "git --git-dir=vendor/lib/.git diff",
        "GIT_DIR=vendor/lib/.git git diff",
        "GIT_DIR=vendor/lib/.git; git diff",
        "CDPATH=vendor; cd lib && ls",
        "env -C vendor/lib git diff",
        "exec git diff",
        "stdbuf --out L ls",
        "timeout --sig 9 ls ls",
    ]);
    all_look(&[
        "timeout 9 git diff",
        "timeout -k 1 --signal=KILL 9 git log -1",
        "command git status",
        "nice git log -1",
        "command cd src && ls",
        "cd src && timeout 5 grep -rn x .",
        "stdbuf -oL git log",
        "nice -n 5 nohup ls",
    ]);
}

#[test]
fn s_a4_a_file_is_not_written_where_a_wrapped_cd_leads() {
    let wrapped = [
        "command cd .git && cat ../a.txt > config",
        "builtin cd .git/hooks && cat ../../x > post-commit",
        "command pushd .git; echo x > config",
        "cd .git && echo x > config",
    ];
    assert_eq!(allowed("edits", &wrapped), [""; 0]);
    assert_eq!(
        allowed("writes", &["command cd / && echo x > notes.md"]),
        [""; 0]
    );
    let plain = ["cat a.txt > b.txt", "timeout 5 cat a.txt > b.txt"];
    assert_eq!(allowed("edits", &plain), plain);
    // A deny rule sees from where a name is read.
    assert_eq!(
        allowed(
            "denied",
            &[
                "command cd src && cat ../.env",
                "builtin cd src; cat ../.env"
            ]
        ),
        [""; 0]
    );
}

#[test]
fn s_a8_the_value_of_an_option_is_not_the_place_git_goes_to() {
    let attacks = [
        "git push -o origin ./evil.git HEAD:refs/heads/x",
        "git push -oorigin ./evil.git HEAD",
        "git push --push-option origin ./evil.git HEAD",
        "git push --push-option=origin ./evil.git HEAD",
        "git push --repo=./evil.git --all",
        "git push --repo ./evil.git --all",
        "git push --rep=./evil.git --all",
        "git push --receive-pack=./evil origin",
        "git push --exec=./evil origin",
        "git push --recurse-submodules=on-demand",
        "git push -- ./evil.git HEAD",
        "git push --new-option origin ./evil.git",
        "git clone --server-option https://x ./local d",
        "git clone -o https://x ./local d",
        "git clone -b https://x ./local",
        "git clone --depth 1 ./local d",
        "git clone --reference ./evil https://x/y",
        "git clone --recurse-submodules https://x/y",
        "git clone --bundle-uri=./evil https://x/y",
        "git clone --config core.fsmonitor=./evil https://x/y",
        "git clone -- ./local d",
        "git fetch -o origin ./evil",
        "git fetch --depth 1 ./evil",
        "git fetch --multiple origin ./evil",
        "git fetch -m origin ./evil",
        "git fetch --server-option origin ./evil",
        "git fetch --upload-pack ./evil origin",
        "git fetch --shallow-since origin ./evil",
        "git pull -o origin ./evil",
        "git pull --jobs 1 ./evil",
        "git pull -s ours ./evil",
        "git pull --strategy ours origin",
        "git ls-remote ./evil",
        "git ls-remote --upload-pack=./evil origin",
        "git remote add evil ./evil.git",
        "git remote update",
        "git submodule add ./evil",
        "git archive --remote=./evil HEAD",
        "git push origin $x",
        "git push --force-with-lease=$x",
    ];
    assert_eq!(allowed("git", &attacks), [""; 0]);
    let plain = [
        "git push",
        "git push -u origin main",
        "git push -o ci.skip origin main",
        "git push --push-option=ci.skip origin HEAD:refs/heads/x",
        "git push --force-with-lease origin main",
        "git push --tags",
        "git fetch --all --prune",
        "git fetch --depth 1 origin main",
        "git fetch -j 4 origin",
        "git pull --rebase origin main",
        "git pull --ff-only",
        "git clone --depth 1 https://example.org/a.git d",
        "git clone -b main --single-branch https://example.org/a.git",
        "git clone git@example.org:a/b.git",
    ];
    assert_eq!(allowed("git", &plain), plain);
}
