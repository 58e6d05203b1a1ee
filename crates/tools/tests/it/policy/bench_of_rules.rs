//! Policies by name, and calls as the runtime makes them.

use std::{path::Path, sync::Arc};

use rooftree_protocol::PermissionMode;
use rooftree_tools::{
    BackgroundProcesses, PermissionRule, Policy, PolicyRequest, PolicyVerdict, Tool, builtin,
    toolset::ToolLookup,
};
use serde_json::{Value, json};

/// Where all calls are made.
pub const HERE: &str = "/home/me/project";

pub fn rules(texts: &[&str]) -> Vec<PermissionRule> {
    texts
        .iter()
        .map(|text| PermissionRule::parse(text).unwrap())
        .collect()
}

/// Mode and rules that allow.
pub fn allowing(mode: PermissionMode, allow: &[&str]) -> Policy {
    Policy {
        mode,
        allow: rules(allow),
        ..Policy::default()
    }
}

/// Programs that can run anything, each allowed by its first word, which is not enough.
const BY_PREFIX: &str = "sudo doas env nice nohup timeout time setsid stdbuf ionice chrt watch xargs parallel command builtin exec eval \
    source . trap sh bash zsh dash ksh fish busybox python python3 python3.12 perl ruby node deno lua php awk gawk mawk java ssh scp \
    sftp rsync docker kubectl podman vim vi nvim nano emacs ed ex less more man view git make cmake ninja gradle mvn npm npx yarn pnpm \
    bun bunx pip pip3 pipx uvx uv poetry cargo go gem apt apt-get brew curl wget nc socat gdb strace ltrace unshare nsenter chroot flock \
    script screen tmux systemd-run at crontab su runuser pkexec openssl sqlite3 psql mysql gcc pytest jest tcpdump expect m4 dc bc ld.so \
    pre-commit terraform ansible gpg zless bat entr hyperfine perf valgrind taskset numactl fakeroot proxychains rlwrap unbuffer \
    dbus-run-session start-stop-daemon bwrap firejail find sed sort rg tar zip split iconv shuf tree file diff uniq xxd fd base64 install \
    date hostname cp tee dotnet";

/// The rule sets of the corpus.
pub fn named(name: &str) -> Policy {
    use PermissionMode::{AcceptEdits, Ask, Bypass, Plan};
    match name {
        "none" => allowing(Ask, &[]),
        "plan" => allowing(Plan, &["Bash"]),
        "dev" => allowing(
            Ask,
            &[
                "Bash(npm test)",
                "Bash(npm run *)",
                "Bash(git log *)",
                "Bash(git status)",
                "Bash(git diff:*)",
                "Bash(cargo test *)",
                "Bash(ls *)",
                "Bash(cat *)",
                "Bash(echo *)",
                "Bash(grep *)",
                "Bash(mkdir *)",
                "Bash(touch *)",
                "Bash(tee /dev/null)",
            ],
        ),
        "git" => allowing(Ask, &["Bash(git:*)"]),
        "writes" => allowing(Ask, &["Bash(echo *)", "write:./out/**", "Edit(notes.md)"]),
        "edits" => allowing(AcceptEdits, &["Bash(npm test)"]),
        "exact" => allowing(
            Ask,
            &[
                "Bash(python3 manage.py test)",
                "Bash(make build && make install)",
                "Bash(bash -c \"ls | wc -l\")",
                "Bash(curl -s https://example.com/health)",
                "Bash(sudo systemctl restart app)",
                "Bash(find . -name \"*.pyc\" -delete)",
                "Bash(FOO=1 ./run.sh)",
            ],
        ),
        "everything-by-prefix" => {
            let texts: Vec<String> = BY_PREFIX
                .split_whitespace()
                .map(|name| format!("Bash({name} *)"))
                .collect();
            allowing(Ask, &texts.iter().map(String::as_str).collect::<Vec<_>>())
        }
        "denied" => {
            let deny = rules(&[
                "Bash(rm *)",
                "Bash(git push)",
                "Bash(curl:*)",
                "Read(.env)",
                "Edit(secrets/**)",
            ]);
            Policy {
                mode: Bypass,
                deny,
                ..Policy::default()
            }
        }
        "forced" => Policy {
            mode: Bypass,
            deny: rules(&["Bash(rm -rf *)", "Bash(git push --force *)"]),
            ..Policy::default()
        },
        other => panic!("there is no rule set `{other}`"),
    }
}

/// A built-in tool.
pub fn tool(name: &str) -> Arc<dyn Tool> {
    match builtin(Arc::new(BackgroundProcesses::new(|| 1))).find(name) {
        ToolLookup::Tool(tool) => tool,
        ToolLookup::Unknown => panic!("there is no tool `{name}`"),
    }
}

/// What a policy says about a call as the runtime would make it.
pub fn judge(policy: &Policy, name: &str, input: Value) -> PolicyVerdict {
    let tool = tool(name);
    let input = tool.normalise(name, input).unwrap();
    let subject = tool.subject(&input);
    policy.judge(&PolicyRequest {
        tool: &tool.spec().name,
        subject: subject.as_deref(),
        input: Some(&input),
        effect: tool.effect(&input),
        cwd: Path::new(HERE),
    })
}

pub fn judge_command(policy: &Policy, command: &str) -> PolicyVerdict {
    judge(policy, "Bash", json!({ "command": command }))
}
