//! Cost of a permission decision for one call, beside reading the smallest file: rules, links, a shell line.

use std::{fs, hint::black_box, path::Path};

use anyhow::Result;
use rooftree_protocol::Effect;
use rooftree_tools::{PermissionRule, Policy, PolicyRequest};
use tempfile::TempDir;

use crate::{
    compare::compare,
    machine,
    options::BenchOptions,
    program_dir::ProgramDir,
    row::{BenchRow, FigureTarget},
};

/// Number of calls per measurement.
const CALLS: usize = 200;

/// Rules as in a typical project.
const RULES: [(&str, &[&str]); 3] = [
    (
        "allow",
        &[
            "Bash(cargo test *)",
            "Bash(git log *)",
            "Write(src/**)",
            "WebFetch(domain:docs.rs)",
        ],
    ),
    ("ask", &["Bash(git push *)"]),
    (
        "deny",
        &[
            "Read(.env)",
            "Read(secrets/**)",
            "Bash(rm -rf *)",
            "Write(.git/**)",
        ],
    ),
];

pub(super) fn measure(_: &ProgramDir, options: &BenchOptions) -> Result<Vec<BenchRow>> {
    let directory = TempDir::new()?;
    fs::create_dir_all(directory.path().join("src"))?;
    fs::write(directory.path().join("src/main.rs"), "fn main() {}\n")?;
    let policy = policy()?;
    let judged = [
        ("judging one Read", "Read", "src/main.rs", Effect::ReadOnly),
        (
            "judging one Write",
            "Write",
            "src/main.rs",
            Effect::LocalMutation,
        ),
        (
            "judging one shell line",
            "Bash",
            "cd src && git log --oneline -n 5 | head -n 3",
            Effect::Destructive,
        ),
    ];
    let mut rows = Vec::new();
    for (name, tool, subject, effect) in judged {
        let call = PolicyRequest {
            tool,
            subject: Some(subject),
            input: None,
            effect,
            cwd: directory.path(),
        };
        let pair = compare(
            options.amount(50, 5),
            || each(|| looked(directory.path())),
            || {
                each(|| {
                    (0..CALLS).for_each(|_| drop(black_box(policy.judge(black_box(&call)))));
                    Ok(())
                })
            },
        )?;
        rows.push(BenchRow::time(
            name,
            pair,
            FigureTarget::Watched,
            "nine rules; beside reading one small file",
        ));
    }
    Ok(rows)
}

/// Seconds for one of the calls.
fn each(calls: impl FnOnce() -> Result<()>) -> Result<f64> {
    Ok(machine::seconds(calls)? / CALLS as f64)
}

fn looked(directory: &Path) -> Result<()> {
    for _ in 0..CALLS {
        black_box(fs::read(directory.join("src/main.rs"))?);
    }
    Ok(())
}

fn policy() -> Result<Policy> {
    let mut policy = Policy::default();
    for (kind, rules) in RULES {
        let rules: Vec<PermissionRule> = rules
            .iter()
            .map(|rule| PermissionRule::parse(rule))
            .collect::<Result<_, _>>()
            .map_err(|problem| anyhow::anyhow!("{problem}"))?;
        match kind {
            "allow" => policy.allow = rules,
            "ask" => policy.ask = rules,
            _ => policy.deny = rules,
        }
    }
    Ok(policy)
}
