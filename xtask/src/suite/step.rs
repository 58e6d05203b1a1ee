//! The steps of the suite, as a table, and how one is performed.

use std::process::ExitCode;

use anyhow::{Context, Result};

use super::{
    browser,
    command::{FEATURES, cargo, counted, linted},
    cron, emulators, page_scripts, reference_servers, schemathesis, sdk,
    second_try::{self, TestReport},
};
use crate::{kills, mutants, repository::Repository, tidy};

/// How long a step takes, which decides who does it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Speed {
    Quick,
    Slow,
    /// Takes minutes to hours, or a release build: only `--full` does it.
    Long,
}

/// One thing to do. To add a step, add a row to [`STEPS`].
pub struct Step {
    pub name: &'static str,
    work: Work,
    pub speed: Speed,
    /// The step without which this one can only fail.
    pub after: Option<&'static str>,
    /// Whether plain `cargo test` does it too.
    pub in_cargo_test: bool,
    /// Where its target lies, one path being enough; none if it is always there.
    lies_at: &'static [&'static str],
}

enum Work {
    Tidy,
    Cargo(&'static [&'static str]),
    /// The same with [`FEATURES`], and clippy reads what is compiled.
    Build(&'static [&'static str]),
    /// The same, with its `test result:` lines counted.
    Test(&'static [&'static str]),
    /// Tests that throw mangled input, each for as long as they are worth in a full run.
    Fuzz(&'static [&'static str]),
    /// The vendors' own programs against our model servers.
    Sdk,
    /// Requests that schemathesis makes from the OpenAPI document of our API.
    Schemathesis,
    /// Due times of cron schedules against two other implementations.
    Cron,
    /// Types of the page's scripts.
    PageScripts,
    /// The page in a real browser.
    Browser,
    /// Our MCP client against servers of others.
    ReferenceServers,
    /// Connectors against an emulator of chat platforms.
    Emulators,
    /// Kills of the release binary at random moments.
    Kills,
    /// Removed guarantees, each of which a test must notice.
    Mutants,
}

/// How long each target is fuzzed, and the variable that passes it to `crates/testkit/src/fuzz.rs`. A nightly
/// run can set more.
const FUZZED_FOR: &str = "20";
const FUZZ_SECS: &str = "ROOFTREE_FUZZ_SECS";

/// What every step is unless its row says otherwise.
const PLAIN: Step = Step {
    name: "",
    work: Work::Tidy,
    speed: Speed::Quick,
    after: None,
    in_cargo_test: false,
    lies_at: &[],
};

/// In the order in which they tell most soonest: cheap ones first.
pub const STEPS: &[Step] = &[
    Step {
        name: "format",
        work: Work::Cargo(&["fmt", "--all", "--check"]),
        ..PLAIN
    },
    Step {
        name: "tidy",
        work: Work::Tidy,
        ..PLAIN
    },
    Step {
        name: "clippy",
        work: Work::Build(&["build", "--workspace", "--all-targets"]),
        ..PLAIN
    },
    Step {
        name: "test",
        work: Work::Test(&["test", "--workspace", "--no-fail-fast"]),
        after: Some("clippy"),
        in_cargo_test: true,
        ..PLAIN
    },
    Step {
        name: "crash",
        work: Work::Test(&["test", "--workspace", "--test", "crash"]),
        speed: Speed::Slow,
        after: Some("clippy"),
        lies_at: &[
            "crates/cli/tests/crash.rs",
            "crates/cli/tests/crash/main.rs",
        ],
        ..PLAIN
    },
    Step {
        name: "fuzz",
        work: Work::Fuzz(&[
            "test",
            "--workspace",
            "--bins",
            "--lib",
            "--test",
            "it",
            "fuzz_",
        ]),
        speed: Speed::Slow,
        after: Some("clippy"),
        ..PLAIN
    },
    Step {
        name: "sdk",
        work: Work::Sdk,
        speed: Speed::Slow,
        after: Some("clippy"),
        lies_at: &["crates/testkit/sdk/run.py"],
        ..PLAIN
    },
    Step {
        name: "api",
        work: Work::Schemathesis,
        speed: Speed::Slow,
        after: Some("clippy"),
        lies_at: &[schemathesis::PACKAGES],
        ..PLAIN
    },
    Step {
        name: "cron",
        work: Work::Cron,
        speed: Speed::Slow,
        after: Some("clippy"),
        lies_at: &[cron::PACKAGES],
        ..PLAIN
    },
    Step {
        name: "page",
        work: Work::PageScripts,
        speed: Speed::Slow,
        lies_at: &[page_scripts::PACKAGES],
        ..PLAIN
    },
    Step {
        name: "browser",
        work: Work::Browser,
        speed: Speed::Slow,
        after: Some("clippy"),
        lies_at: &[browser::PACKAGES],
        ..PLAIN
    },
    Step {
        name: "mcp",
        work: Work::ReferenceServers,
        speed: Speed::Slow,
        after: Some("clippy"),
        lies_at: &["crates/testkit/mcp/package.json"],
        ..PLAIN
    },
    Step {
        name: "connectors",
        work: Work::Emulators,
        speed: Speed::Slow,
        after: Some("clippy"),
        lies_at: &[emulators::PACKAGES],
        ..PLAIN
    },
    Step {
        name: "lean",
        work: Work::Cargo(&["check", "-p", "rooftree", "--lib", "--no-default-features"]),
        speed: Speed::Slow,
        after: Some("clippy"),
        ..PLAIN
    },
    // Lean too: what it needs is there then, and all that is documented is in it.
    Step {
        name: "doc",
        work: Work::Cargo(&[
            "doc",
            "-p",
            "rooftree",
            "-p",
            "rooftree-protocol",
            "-p",
            "rooftree-runtime",
            "--no-default-features",
            "--no-deps",
        ]),
        speed: Speed::Slow,
        after: Some("clippy"),
        ..PLAIN
    },
    Step {
        name: "release",
        work: Work::Cargo(&["build", "--release", "-p", "rooftree-cli"]),
        speed: Speed::Long,
        after: Some("clippy"),
        ..PLAIN
    },
    Step {
        name: "kills",
        work: Work::Kills,
        speed: Speed::Long,
        after: Some("release"),
        ..PLAIN
    },
    Step {
        name: "mutants",
        work: Work::Mutants,
        speed: Speed::Long,
        after: Some("test"),
        ..PLAIN
    },
];

impl Step {
    /// What a person would type for it.
    pub fn spelled(&self) -> String {
        match self.work {
            Work::Tidy => "cargo xtask tidy".to_owned(),
            Work::Cargo(arguments) => format!("cargo {}", arguments.join(" ")),
            Work::Build(arguments) => {
                format!("cargo {} {FEATURES}, read by clippy", arguments.join(" "))
            }
            Work::Test(arguments) => format!("cargo {} {FEATURES}", arguments.join(" ")),
            Work::Fuzz(arguments) => {
                format!(
                    "{FUZZ_SECS}={FUZZED_FOR} cargo {} {FEATURES}",
                    arguments.join(" ")
                )
            }
            Work::Sdk => sdk::SPELLED.to_owned(),
            Work::Schemathesis => schemathesis::SPELLED.to_owned(),
            Work::Cron => cron::SPELLED.to_owned(),
            Work::PageScripts => page_scripts::SPELLED.to_owned(),
            Work::Browser => browser::SPELLED.to_owned(),
            Work::ReferenceServers => reference_servers::SPELLED.to_owned(),
            Work::Emulators => emulators::SPELLED.to_owned(),
            Work::Kills => "cargo xtask kills".to_owned(),
            Work::Mutants => "cargo xtask mutants".to_owned(),
        }
    }

    /// Why it cannot be done yet; none if it can.
    pub fn missing(&self, repository: &Repository) -> Option<String> {
        let is_there =
            self.lies_at.is_empty() || self.lies_at.iter().any(|path| repository.has(path));
        (!is_there).then(|| format!("there is no {} yet", self.lies_at.join(" or ")))
    }

    /// Does it and says whether it went well.
    pub fn perform(&self, repository: &Repository, report: &mut TestReport) -> Result<bool> {
        let counts = &mut report.counts;
        match self.work {
            Work::Tidy => Ok(tidy::run(repository)? == ExitCode::SUCCESS),
            Work::Cargo(arguments) => Ok(cargo(repository, arguments)
                .status()
                .context("start cargo")?
                .success()),
            Work::Build(arguments) => Ok(linted(repository, arguments)
                .status()
                .context("start cargo")?
                .success()),
            Work::Test(arguments) => second_try::cargo_tests(repository, arguments, report),
            Work::Fuzz(arguments) => {
                let mut command = linted(repository, arguments);
                if std::env::var_os(FUZZ_SECS).is_none() {
                    command.env(FUZZ_SECS, FUZZED_FOR);
                }
                // All of a program's at the same time: they share the time there is.
                command.env("RUST_TEST_THREADS", "8");
                counted(command, counts)
            }
            Work::Sdk => sdk::perform(repository, counts),
            Work::Schemathesis => schemathesis::perform(repository, counts),
            Work::Cron => cron::perform(repository, counts),
            Work::PageScripts => page_scripts::perform(repository),
            Work::Browser => browser::perform(repository, report),
            Work::ReferenceServers => reference_servers::perform(repository, counts),
            Work::Emulators => emulators::perform(repository, counts),
            Work::Kills => Ok(kills::run(repository, &[])? == ExitCode::SUCCESS),
            Work::Mutants => Ok(mutants::run(repository, &[])? == ExitCode::SUCCESS),
        }
    }
}
