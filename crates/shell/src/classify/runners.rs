//! Package managers that run what the project says: by sub-command, and with few options.
//!
//! `cargo test` and `npm run lint` run code of the project; a rule for that names the sub-command.
//! Installing, executing something from elsewhere and pointing the tool at other settings are not
//! covered by any rule for first words.

use super::{CommandClass, ShellCall, options::CallOptions};

const RUNS: CommandClass = CommandClass::Runs("its program can run or write anything");

pub(super) fn classify(call: &ShellCall, runner: &str) -> CommandClass {
    let Some(texts) = CallOptions::of(call.arguments()).texts() else {
        return RUNS;
    };
    let Some((command, rest)) = texts.split_first() else {
        return RUNS;
    };
    let own = rest.split(|text| text == "--").next().unwrap_or_default();
    let (commands, is_option): (&[&str], fn(&str) -> bool) = match runner {
        "npm" => (
            &["run", "run-script", "test", "t", "lint", "start"],
            is_npm_option,
        ),
        "cargo" => (
            &[
                "bench", "build", "check", "clippy", "doc", "fmt", "metadata", "run", "test",
                "tree",
            ],
            is_cargo_option,
        ),
        _ => (
            &["build", "fmt", "list", "test", "version", "vet"],
            is_go_option,
        ),
    };
    let is_plain = |text: &String| {
        !text.starts_with('-') || is_option(text.split('=').next().unwrap_or_default())
    };
    // What follows `--` goes to the tool behind the sub-command, and these tools take settings.
    let passed = rest.get(own.len()..).unwrap_or_default();
    if matches!(command.as_str(), "clippy" | "fmt") && !passed.iter().all(|text| is_passed_on(text))
    {
        return RUNS;
    }
    // The script of `npm run` is the sub-command's own name, so options do not come before it.
    if commands.contains(&command.as_str()) && own.iter().all(is_plain) {
        CommandClass::Acts { least: 2 }
    } else {
        RUNS
    }
}

fn is_npm_option(option: &str) -> bool {
    matches!(
        option,
        "--silent" | "-s" | "--if-present" | "--workspaces" | "--workspace" | "-w"
    )
}

fn is_cargo_option(option: &str) -> bool {
    const KNOWN: [&str; 27] = [
        "--all",
        "--all-features",
        "--all-targets",
        "--bench",
        "--benches",
        "--bin",
        "--bins",
        "--check",
        "--doc",
        "--example",
        "--examples",
        "--exclude",
        "--features",
        "--lib",
        "--locked",
        "--no-default-features",
        "--no-deps",
        "--no-fail-fast",
        "--no-run",
        "--offline",
        "--package",
        "--quiet",
        "--release",
        "--test",
        "--tests",
        "--verbose",
        "--workspace",
    ];
    KNOWN.contains(&option) || matches!(option, "-p" | "-q" | "-r" | "-v" | "-F" | "-j")
}

fn is_go_option(option: &str) -> bool {
    matches!(
        option,
        "-v" | "-race" | "-run" | "-count" | "-short" | "-cover" | "-json" | "-timeout" | "-bench"
    )
}

fn is_passed_on(text: &str) -> bool {
    matches!(text, "--" | "-D" | "-W" | "-A" | "--check") || !text.starts_with(['-', '/', '.', '@'])
}
