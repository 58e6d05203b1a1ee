//! Runs whose work an agent checks, and what is said about verifiers that are not there.

use super::Shop;
use crate::run::fixture::Desk;

const SCRIPT: &str = "[[reply]]\nagent = \"verify\"\nmatch = \"the answer is 42\"\ntext = \"VERDICT: PASS\"\ntimes = 9\n\
                      [[reply]]\nagent = \"verify\"\ntext = \"It is not 41.\\nVERDICT: FAIL\"\ntimes = 9\n\
                      [[reply]]\nagent = \"worker\"\nturn = 1\ntext = \"the answer is 41\"\n\
                      [[reply]]\nagent = \"worker\"\nturn = 2\ntext = \"the answer is 42\"\n";

#[test]
fn a_run_goes_on_until_the_agent_that_checks_it_is_content_and_the_tree_shows_both() {
    let desk = Desk::new(SCRIPT);
    desk.write(
        ".rooftree/verifiers.json",
        r#"{"review": {"type": "agent", "agent": "verify", "max_turns": 4}}"#,
    );
    desk.write(
        ".rooftree/agents/worker.md",
        "---\ndescription: x\nverifiers: [review]\n---\nYou answer.",
    );
    let done = desk.run(&["-a", "worker", "--trust", "How much is six times seven?"]);
    assert_eq!(done.well(), "the answer is 42\n");
    let listed = desk.house.rooftree(&["runs", "list", "-o", "json"]).well();
    let runs: serde_json::Value = serde_json::from_str(&listed).unwrap();
    let root = runs
        .as_array()
        .unwrap()
        .iter()
        .find(|run| run["agent"] == "worker")
        .unwrap();
    let trace = desk
        .house
        .rooftree(&["runs", "trace", root["run"].as_str().unwrap()])
        .well();
    assert_eq!(trace.matches("verify").count(), 2, "{trace}");
    assert!(trace.contains("checks"), "{trace}");
}

#[test]
fn a_verifier_that_is_not_there_is_named_when_agents_are_validated() {
    let verifiers = r#"{"review": {"type": "agent", "agent": "verifyer"}}"#;
    let shop = Shop::new().with("shop/.rooftree/verifiers.json", verifiers).with(
        "shop/.rooftree/agents/worker.md",
        "---\ndescription: x\nverifiers: [review, 'agent:nobody', 'agent:verify']\n---\nYou work.",
    );
    let told = shop.rooftree(&["agents", "validate"]).well();
    assert!(
        told.contains("verifier `review` asks agent `verifyer`, which is not there"),
        "{told}"
    );
    assert!(
        told.contains("verifier `agent:nobody` is not there") && !told.contains("agent:verify`"),
        "{told}"
    );
}

#[test]
fn r1_d21_servers_providers_and_agents_that_are_not_there_are_said_by_validate() {
    let shop = Shop::new().with(
        "shop/.rooftree/agents/worker.md",
        "---\ndescription: x\nmodel: nosuch/x\nmcp_servers: [nowhere]\nagents: [nobody, explore, 'rev*']\n\
         limits: {verify_attempts: 0}\n---\nYou work.",
    );
    let told = shop.rooftree(&["agents", "validate"]).well();
    for words in [
        "MCP server `nowhere` is not set up",
        "model `nosuch/x`: there is no provider `nosuch`",
        "agent `nobody` is not there",
        "`limits.verify_attempts` is 0, which counts as 1",
    ] {
        assert!(told.contains(words), "{words}: {told}");
    }
    assert!(
        !told.contains("`explore`") && !told.contains("rev*"),
        "{told}"
    );
}

#[test]
fn recipes_and_houses_of_others_become_files_and_what_is_lost_is_said() {
    let recipe = "title: Poet\ndescription: Writes poems\ninstructions: You write poems.\n\
                  extensions: [{type: builtin, name: developer}]\n\
                  settings: {goose_provider: nowhere, goose_model: x, temperature: 1}\n";
    let shop = Shop::new()
        .with("recipes/poet.yaml", recipe)
        .with(".daycare/SOUL.md", "You are calm.")
        .with(
            ".daycare/cron/digest/TASK.md",
            "---\nname: Digest\nschedule: '0 7 * * *'\n---\nSummarise.",
        );
    let done = shop.rooftree(&["agents", "import", "goose", "../recipes"]);
    assert!(
        done.err.contains("`temperature` is not taken over") && done.err.contains("poet.yaml:5"),
        "{}",
        done.err
    );
    let file = std::fs::read_to_string(done.well().trim()).unwrap();
    assert!(
        file.contains("model: nowhere/x") && file.contains("tools: [Bash,"),
        "{file}"
    );
    let done = shop.rooftree(&["agents", "import", "daycare", "../.daycare"]);
    assert!(
        done.err.contains("`schedule` is not taken over"),
        "{}",
        done.err
    );
    assert_eq!(done.well().lines().count(), 2);
}
