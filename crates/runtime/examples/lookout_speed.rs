//! How long it takes to see that nothing has changed around agents, which a run does when it begins.
//!
//! `cargo run --release -p rooftree-runtime --example lookout_speed`

#![allow(clippy::unwrap_used, reason = "an example")]

use std::{
    fs,
    hint::black_box,
    path::Path,
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use rooftree_runtime::{
    ContextWatcher, SystemClock,
    definitions::{ProjectTrust, SearchDirs, TrustRecheck},
};

const TIMES: u32 = 20_000;

fn write(root: &Path, name: &str, text: &str) {
    let path = root.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

fn main() {
    let root = std::env::temp_dir().join(format!("lookout-{}", std::process::id()));
    let skill = "---\nname: x\ndescription: does it\n---\nbody";
    for number in 0..5 {
        write(
            &root,
            &format!("project/.rooftree/rules/rule-{number}.md"),
            "short sentences",
        );
        write(
            &root,
            &format!("project/.claude/skills/skill-{number}/SKILL.md"),
            skill,
        );
        write(
            &root,
            &format!("home/.claude/skills/mine-{number}/SKILL.md"),
            skill,
        );
    }
    write(&root, "project/.git/HEAD", "");
    write(&root, "project/AGENTS.md", "be kind\n@docs/style.md\n");
    write(&root, "project/docs/style.md", "style");
    write(&root, "project/crates/one/AGENTS.md", "be precise");
    write(&root, "user/AGENTS.md", "mine");
    let (user, home) = (root.join("user"), root.join("home"));
    let places = SearchDirs::around(&root.join("project/crates/one"), Some(user), Some(home))
        .trusted(ProjectTrust::Given);
    let lookout = ContextWatcher::watching(
        places,
        TrustRecheck::default(),
        32 * 1024,
        Arc::new(SystemClock),
    );
    // What was written a moment ago may change again without showing it, and is read again.
    thread::sleep(Duration::from_millis(50));
    let first = lookout.afresh();
    let since = Instant::now();
    for _ in 0..TIMES {
        black_box(lookout.afresh());
    }
    let each = since.elapsed() / TIMES;
    println!(
        "{} rules, {} skills: {each:?} to see that nothing has changed",
        first.rules.len(),
        first.skills.len()
    );
    fs::remove_dir_all(root).unwrap();
}
