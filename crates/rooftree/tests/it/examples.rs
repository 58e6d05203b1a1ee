//! Every example runs, without a key, and says what it is there to show.

use std::{path::PathBuf, process::Command};

/// What each example prints, in part.
const SHOWN: [(&str, &[&str]); 15] = [
    (
        "quick_start",
        &[
            "4\n",
            "→ reviewer (scripted/small)",
            "ticket 1234",
            "It is fixed and reviewed.",
            "3 turns",
        ],
    ),
    (
        "three_providers",
        &[
            "→ code-reviewer (openai/gpt-5-mini)",
            "→ researcher (google/gemini-2.5-flash)",
            "← code-reviewer: auth.rs has no flaws.",
            "Both have answered.",
            "anthropic was asked at /v1/messages",
            "openai was asked at /responses",
            "google was asked at /v1beta/models/gemini-2.5-flash:streamGenerateContent",
        ],
    ),
    (
        "own_tool",
        &["The one failed (", "the other said {\"files\":"],
    ),
    (
        "tool_state",
        &["2 in the basket.", "the program sees: apples, pears"],
    ),
    ("template", &["Tea costs 3.20."]),
    (
        "streaming",
        &["A roof tree is the beam that carries the roof.\n"],
    ),
    (
        "background",
        &["run is at work", "completed: It speaks of tokens."],
    ),
    ("long_lived", &["Noted: blue.\nYou said blue.\n"]),
    (
        "permission",
        &[
            "may Write notes.txt?",
            "keep away from secrets",
            "notes.txt is there: true",
            "secrets.txt is there: false",
        ],
    ),
    (
        "cassette",
        &["asked 2 times, 0 answers are left.\nThe model was asked 2 times, 0 answers are left.\n"],
    ),
    ("extraction", &["test, then ship in Some(3) hours"]),
    ("memory", &["Remembered in", "reminded of: Likes tea."]),
    (
        "verifiers",
        &[
            "there is no result",
            "Now it is done.",
            "result.txt is there: true",
        ],
    ),
    ("program_as_model", &["I am a program. It cost $0.25."]),
    ("mcp_server", &["It will be sunny in Oslo."]),
];

/// Cargo builds examples before the tests and puts them beside; if only this test was asked for,
/// it has not, and is told to.
pub fn program(name: &str) -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let profile = test.parent().unwrap().parent().unwrap();
    let program = profile.join("examples").join(name);
    if !program.exists() {
        let mut cargo = Command::new(env!("CARGO"));
        cargo.args([
            "build",
            "--quiet",
            "--offline",
            "--package",
            "rooftree",
            "--example",
            name,
        ]);
        cargo.arg("--target-dir").arg(profile.parent().unwrap());
        // What cargo tells a test about its package would have other packages built anew.
        let told = std::env::vars_os().map(|(name, _)| name);
        for name in told.filter(|name| is_about_package(name)) {
            cargo.env_remove(name);
        }
        if !cfg!(debug_assertions) {
            cargo.arg("--release");
        }
        assert!(cargo.status().unwrap().success(), "{name} cannot be built");
    }
    program
}

fn is_about_package(name: &std::ffi::OsStr) -> bool {
    let name = name.to_string_lossy();
    name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_")
}

#[test]
fn each_example_runs_and_shows_what_it_is_for() {
    for (name, expected) in SHOWN {
        let output = Command::new(program(name)).output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout);
        let complaint = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{name} failed:\n{said}{complaint}");
        for words in expected {
            assert!(
                said.contains(words),
                "{name} does not say `{words}`:\n{said}{complaint}"
            );
        }
    }
}

#[test]
fn no_example_is_left_out() {
    let directory = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("examples");
    let mut there: Vec<String> = std::fs::read_dir(directory)
        .unwrap()
        .map(|entry| {
            entry
                .unwrap()
                .path()
                .file_stem()
                .unwrap()
                .to_string_lossy()
                .into_owned()
        })
        .collect();
    there.sort();
    // The template is a package of its own, outside of this directory.
    there.push("template".to_owned());
    there.sort();
    let mut run = SHOWN.map(|(name, _)| name.to_owned());
    run.sort();
    assert_eq!(there, run);
}
