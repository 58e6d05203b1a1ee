//! Keeps the loop one loop: small enough for one screen or two, and alone in asking models.

use anyhow::Result;

use super::source::production;
use crate::{finding::Finding, repository::Repository};

const LOOP: &str = "crates/runtime/src/agent/run.rs";
const LONGEST: usize = 120;

/// Who may ask a model: the loop, the one function it asks through, compaction, and the doctor,
/// who wants to know whether it answers at all.
const ASKERS: &[&str] = &[
    LOOP,
    "crates/runtime/src/agent/ask.rs",
    "crates/runtime/src/agent/compaction.rs",
    "crates/cli/src/commands/doctor/online.rs",
];

/// Crates that are models themselves or stand in for them.
const MODELS: &[&str] = &["crates/providers/", "crates/testkit/"];

/// Objects to a loop that grew, vanished, or has company.
pub fn check(repository: &Repository) -> Result<Vec<Finding>> {
    let mut findings = Vec::new();
    findings.extend(length(repository));
    for path in repository
        .files_ending("rs")
        .filter(|path| must_not_ask(path))
    {
        let code = production(&repository.text(path)?);
        for (line, _) in code
            .lines()
            .enumerate()
            .filter(|(_, line)| line.contains(".stream("))
        {
            findings.push(Finding::new(
                format!("{path}:{}", line + 1),
                "asks a model outside of the loop",
                format!("post a message and let {LOOP} ask, so that there stays one loop"),
            ));
        }
    }
    Ok(findings)
}

fn length(repository: &Repository) -> Option<Finding> {
    let Ok(text) = repository.text(LOOP) else {
        let fix = "keep the loop there, or change LOOP in xtask/src/tidy/the_loop.rs together with ARCHITECTURE.md";
        return Some(Finding::new(
            LOOP,
            "the loop is not where it should be",
            fix,
        ));
    };
    let lines = text.lines().count();
    (lines > LONGEST).then(|| {
        Finding::new(
            LOOP,
            format!("has {lines} lines, more than {LONGEST}"),
            "move the new branch to where features live: prompt (what is read), decide (what follows), \
             act (what is done), limits (when it ends)",
        )
    })
}

fn must_not_ask(path: &str) -> bool {
    let is_product = path.starts_with("crates/") && path.contains("/src/");
    is_product && !ASKERS.contains(&path) && !MODELS.iter().any(|models| path.starts_with(models))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::planted::{Planted, told};

    const ASKS: &str = "fn f(provider: P) { provider.stream(request); }\n";

    #[test]
    fn a_short_loop_that_alone_asks_passes() {
        let planted = Planted::new()
            .with(LOOP, ASKS)
            .with("crates/providers/src/cassette.rs", ASKS)
            .with(
                "crates/runtime/src/agent.rs",
                &format!("// never call .stream( here\n#[cfg(test)]\nmod tests {{ {ASKS} }}\n"),
            );
        assert_eq!(check(&planted.repository()).unwrap(), []);
    }

    #[test]
    fn a_loop_that_is_too_long_or_gone_is_found() {
        let long = Planted::new().with(LOOP, &"//\n".repeat(LONGEST + 1));
        assert!(told(&check(&long.repository()).unwrap()).contains("has 121 lines"));
        let gone = Planted::new().with("README.md", "");
        assert!(told(&check(&gone.repository()).unwrap()).contains("not where it should be"));
    }

    #[test]
    fn a_second_asker_is_found_with_its_line() {
        let planted = Planted::new()
            .with(LOOP, ASKS)
            .with("crates/runtime/src/delegation.rs", &format!("\n{ASKS}"));
        let told = told(&check(&planted.repository()).unwrap());
        assert!(
            told.contains("crates/runtime/src/delegation.rs:2") && told.contains("one loop"),
            "{told}"
        );
    }
}
