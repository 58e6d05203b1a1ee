//! `rooftree agents` and `trust`, and runs with agents from files, settings and `--agents`.

mod checking;
mod running;
mod writing;

use std::fs;

use crate::sessions::fixture::{Done, House};

const REVIEWER: &str = "---\ndescription: Reviews code\ntools: [Read, Grep]\n---\nYou review.\n";

/// A repository in the home of a test.
struct Shop {
    house: House,
}

impl Shop {
    fn new() -> Self {
        let shop = Self {
            house: House::new(),
        };
        fs::create_dir_all(shop.house.path().join("shop/.git")).unwrap();
        shop
    }

    /// Writes a file; the path begins in the home.
    fn with(self, path: &str, text: &str) -> Self {
        let path = self.house.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
        self
    }

    fn rooftree(&self, arguments: &[&str]) -> Done {
        let output = self
            .house
            .command(arguments)
            .current_dir(self.house.path().join("shop"))
            .output()
            .unwrap();
        Done {
            code: output.status.code().unwrap(),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
        }
    }
}

#[test]
fn agents_are_listed_in_four_forms_with_what_hides_what() {
    let shop = Shop::new()
        .with("agents/explore.md", REVIEWER)
        .with("shop/.rooftree/agents/reviewer.md", REVIEWER)
        .with("shop/.claude/agents/reviewer.md", REVIEWER);
    let before = shop.rooftree(&["agents", "list"]);
    assert!(
        before.err.contains("this folder is not trusted") && before.err.contains("rooftree trust"),
        "{before:?}"
    );
    assert!(!before.well().contains("reviewer"));
    let done = shop.rooftree(&["agents", "list", "--trust"]);
    assert!(
        done.err
            .contains("overridden: user explore hides built-in explore"),
        "{}",
        done.err
    );
    assert!(
        done.err
            .contains("overridden: project reviewer hides project reviewer"),
        "{}",
        done.err
    );
    let table = done.well();
    assert!(
        table.starts_with("NAME") && table.contains("read-only 2") && table.contains("project"),
        "{table}"
    );
    let names = shop.rooftree(&["agents", "ls", "-o", "ids"]).well();
    assert_eq!(names, "bash\nexplore\nlead\nplan\nresearch\ntask\nverify\n");
    let rows = shop
        .rooftree(&["agents", "list", "-o", "jsonl", "--trust"])
        .lines();
    assert!(
        rows.iter()
            .any(|row| row["name"] == "reviewer" && row["source"]["level"] == "project")
    );
    for row in &rows {
        shop.rooftree(&["agents", "show", row["name"].as_str().unwrap(), "--trust"])
            .well();
    }
}

#[test]
fn a_folder_is_trusted_once_and_until_it_is_not() {
    let shop = Shop::new()
        .with("shop/.rooftree/agents/reviewer.md", REVIEWER)
        .with("shop/AGENTS.md", "Use tabs.");
    shop.rooftree(&["agents", "show", "reviewer"]).ended(8);
    let told = shop.rooftree(&["trust"]);
    assert!(
        told.err.contains("AGENTS.md") && told.err.contains("reviewer.md"),
        "{told:?}"
    );
    shop.rooftree(&["agents", "show", "reviewer"]).well();
    assert!(
        shop.rooftree(&["agents", "show", "lead", "--prompt"])
            .well()
            .contains("Use tabs.")
    );
    assert!(
        shop.rooftree(&["trust", "--list"])
            .well()
            .trim()
            .ends_with("shop")
    );
    shop.rooftree(&["trust", "--remove"]).well();
    assert!(
        !shop
            .rooftree(&["agents", "show", "lead", "--prompt"])
            .well()
            .contains("Use tabs.")
    );
}

#[test]
fn what_is_wrong_is_shown_with_its_place_and_ends_with_three() {
    let wrong = "---\ndescription: Reviews code\nmodel: gpt-5.2-mini\ntools: [Read, Grepp, Glob]\n---\nYou review.\n";
    let shop = Shop::new()
        .with("shop/.rooftree/agents/code-reviewer.md", wrong)
        .with("agents/good.md", REVIEWER);
    let done = shop.rooftree(&["agents", "validate"]);
    assert_eq!(done.code, 3);
    let wanted = "error[E0312]: unknown tool `Grepp`\n  ┌─ .rooftree/agents/code-reviewer.md:4:15\n\
                  4 │ tools: [Read, Grepp, Glob]\n  │               ^^^^^ did you mean `Grep`?\n\
                  warning[W0107]: model `gpt-5.2-mini` has no provider; assuming openai/gpt-5.2-mini\n\
                  \u{20} ┌─ .rooftree/agents/code-reviewer.md:3:8\n3 │ model: gpt-5.2-mini\n  │        ^^^^^^^^^^^^ write it as provider/model\n\
                  1 error, 1 warning in 2 agents\n";
    assert_eq!(done.out, wanted);
    let one = shop.rooftree(&["agents", "validate", "../agents/good.md"]);
    assert_eq!(
        (one.code, one.out.as_str()),
        (0, "0 errors, 0 warnings in 1 agent\n")
    );
    let json = shop.rooftree(&["agents", "validate", "-o", "json"]);
    let page: serde_json::Value = serde_json::from_str(&json.out).unwrap();
    assert_eq!(
        (&page["errors"], &page["diagnostics"][0]["at"]["column"]),
        (&1.into(), &15.into())
    );
    shop.rooftree(&["agents", "validate", "nowhere.md"])
        .ended(2);
    assert!(
        shop.rooftree(&["agents", "show", "code-reviewer", "--trust"])
            .ended(8)
            .contains("unknown tool `Grepp`")
    );
}

#[test]
fn an_agent_is_shown_as_it_is_as_it_works_and_as_its_model_reads_it() {
    let shop = Shop::new()
        .with("agents/reviewer.md", "---\ndescription: Reviews\ntools: [Read, 'B*', Task]\ndisallowedTools: [BashOutput]\nagents: [explore]\nrules: [style]\nmcp_servers: {s: {command: x, env: {KEY: topsecret}}}\n---\nYou review.\n")
        .with("rules/style.md", "Short sentences.");
    let page = shop.rooftree(&["agents", "show", "Reviewer"]).well();
    assert!(
        page.contains("You review.") && !page.contains("topsecret"),
        "{page}"
    );
    assert!(
        !shop
            .rooftree(&["agents", "list", "-o", "json"])
            .well()
            .contains("topsecret")
    );
    let effective = shop
        .rooftree(&["agents", "show", "reviewer", "--effective"])
        .well();
    for part in [
        "✓ Bash                allowed by `B*`",
        "✗ BashOutput          denied by `BashOutput`",
        "✗ Write",
        "may ask       explore",
    ] {
        assert!(effective.contains(part), "{part}: {effective}");
    }
    let prompt = shop
        .rooftree(&["agents", "show", "reviewer", "--prompt"])
        .well();
    assert!(
        prompt.contains("## Rules\n\n### style\n\nShort sentences.")
            && prompt.contains("## Agents"),
        "{prompt}"
    );
    assert!(
        shop.rooftree(&["agents", "show", "builtin/explore"])
            .well()
            .contains("built-in")
    );
    let row = shop
        .rooftree(&["agents", "show", "reviewer", "--effective", "-o", "json"])
        .json();
    assert_eq!(row["asks"], serde_json::json!(["explore"]));
}

#[test]
fn what_a_program_as_model_cannot_be_held_to_is_said() {
    let shop = Shop::new()
        .with(
            "agents/wild.md",
            "---\ndescription: Wild\nmodel: codex-cli/gpt\ntools: [Read]\n---\nYou act.\n",
        )
        .with(
            "agents/tame.md",
            "---\ndescription: Tame\nmodel: openai/gpt\ntools: [Read]\n---\nYou act.\n",
        );
    let wild = shop
        .rooftree(&["agents", "show", "wild", "--effective", "-o", "json"])
        .json();
    assert!(!wild["unenforced"].as_array().unwrap().is_empty(), "{wild}");
    let text = shop
        .rooftree(&["agents", "show", "wild", "--effective"])
        .well();
    assert!(text.contains("not enforced  "), "{text}");
    let tame = shop
        .rooftree(&["agents", "show", "tame", "--effective", "-o", "json"])
        .json();
    assert_eq!(tame["unenforced"], serde_json::json!([]));
}
