//! Table of programs by name: how each is classified, and those that can run anything.

use super::read_only;

/// Class of a program in the table.
pub(super) enum ProgramClass {
    /// It only looks, if its options are known; see `read_only.rs`.
    Looks,
    /// It only looks in some forms; see `read_only_forms.rs`.
    Careful,
    /// It acts by itself, unless it has one of these options.
    Acts {
        not: &'static [&'static str],
    },
    /// It can run or write anything.
    Runs,
    /// A shell builtin.
    Builtin,
    /// Those that need a closer look.
    Find,
    Git,
    Sed,
    Tar,
    /// It runs what the project says, by sub-command.
    Runner(&'static str),
    /// This program.
    Own,
    /// It is not in the table.
    Unknown,
}

/// Shells, interpreters, wrappers, editors, pagers, remote hands, containers, package managers, build tools,
/// compilers with plugins, and whatever loads the file it is given.
const RUNNING: &str = "
    ack ag agetty ansible ant aoss apk apt apt-get aptitude as ash at ava awk aws az bash bat batcat
    batch bazel bc brew buck bun bundle bunx busybox bwrap c++ caffeinate capsh catchsegv cc chroot chrt
    clang clang++ clj clojure cmake composer conan conda cpulimit crontab csh ctags ctest curl cypress
    dash dbus-launch dbus-run-session dc deno dnf doas docker docker-compose dotnet dpkg easy_install ed elixir
    elvish emacs emacsclient emerge entr env erl esbuild eslint ex expect fakeroot faketime firejail
    fish flatpak flock ftp g++ gawk gcc gcloud gdb gem gh ghci gmake gpg gpg2 gradle gradlew groovy
    guile gvim hatch helm hyperfine iex info invoke ionice ipython irb jake jasmine java jest joe
    journalctl jshell julia just jython karma ksh kubectl ld less lldb ltrace lua luajit m4 mage make
    mamba man mawk mcedit meson micro mise mksh mocha mongo mongosh more mosh most mvn mvnw mysql nano
    nawk nc ncat netcat nice ninja nix nix-env nix-shell nmap node nodejs nohup nox npx nsenter nu
    numactl nvim nvm ocaml octave openssl osascript pacman parallel pdm perf perl php phpunit pico pip
    pipenv pipx pkexec playwright pnpx podman poetry powershell pre-commit prettier prlimit proot
    proxychains proxychains4 psql pwsh pylint pypy pytest python r racket rake rbash rclone redis-cli
    rlwrap rollup rpm rscript rsh rspec ruby run-parts runghc runuser rustc rustup rye sbcl sbt scala
    scons scp screen script setarch setpriv setsid sftp sh snap socat softlimit sqlite sqlite3 ssh
    ssh-agent stack start-stop-daemon stdbuf strace su sudo sudoedit swift swiftc swipl systemctl
    systemd-run task taskset tcc tclsh tcpdump tcsh telnet terraform time timeout tmux tofu torsocks tox
    toybox ts-node tsc tsx unbuffer unshare uutils uv uvx vagrant valgrind vi view vim vimdiff
    virtualenv vite vitest wasmtime watch watchexec webpack wget wish wsl xargs xdg-open xonsh xvfb-run
    yash yum zellij zig zless zmore zsh zypper";

/// What the shell does itself; see `builtins.rs`.
const BUILTINS: &str = "
    . : [ alias bg bind break builtin caller cd command compgen complete compopt continue coproc
    declare dirs disown enable eval exec exit export fc fg getopts hash history hostname jobs let local
    logout mapfile popd printf pushd read readarray readonly return set shift shopt source suspend test
    times trap type typeset ulimit umask unalias unset wait";

/// Looks up a program by its file name.
pub(super) fn program_class(name: &str) -> ProgramClass {
    match name {
        "sort" | "rg" | "fd" | "fdfind" | "base32" | "base64" | "tree" | "file" | "diff"
        | "uniq" | "xxd" | "date" => ProgramClass::Careful,
        "split" => ProgramClass::Acts { not: &["filter"] },
        "shuf" | "iconv" => ProgramClass::Acts {
            not: &["o", "output"],
        },
        "sdiff" => ProgramClass::Acts {
            not: &["o", "output", "diff-program"],
        },
        "diff3" => ProgramClass::Acts {
            not: &["diff-program"],
        },
        "install" => ProgramClass::Acts {
            not: &["strip-program"],
        },
        "zip" => ProgramClass::Acts {
            not: &["T", "unzip-command", "test"],
        },
        "rsync" => ProgramClass::Acts {
            not: &["e", "rsh", "rsync-path", "daemon", "config"],
        },
        "find" => ProgramClass::Find,
        "git" => ProgramClass::Git,
        "sed" | "gsed" => ProgramClass::Sed,
        "tar" | "bsdtar" | "gtar" => ProgramClass::Tar,
        "npm" | "pnpm" | "yarn" => ProgramClass::Runner("npm"),
        "cargo" => ProgramClass::Runner("cargo"),
        "go" => ProgramClass::Runner("go"),
        "rooftree" => ProgramClass::Own,
        _ if is_in(BUILTINS, name) => ProgramClass::Builtin,
        _ if read_only::is_one(name) => ProgramClass::Looks,
        _ if can_run(name) => ProgramClass::Runs,
        _ => ProgramClass::Unknown,
    }
}

fn is_in(table: &str, name: &str) -> bool {
    table.split_ascii_whitespace().any(|one| one == name)
}

/// Whether a program can run anything, under any of its versions: `python3.12`.
fn can_run(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let bare = name.trim_end_matches(|c: char| c.is_ascii_digit() || matches!(c, '.' | '-'));
    let is_loader =
        bare.starts_with("ld-linux") || bare.starts_with("ld.so") || bare.starts_with("ld-musl");
    is_loader || is_in(RUNNING, &name) || is_in(RUNNING, bare)
}
