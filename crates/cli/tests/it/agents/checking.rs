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
    let told = done.well().to_lowercase();
    assert!(
        told.contains("schedule digest: every day at 07:00"),
        "{told}"
    );
    assert_eq!(told.lines().count(), 3, "two agents and a schedule: {told}");
}

const SEED: &str = r#"{"agents": [
  {"agentId": "reading-list", "displayName": "Reading List Manager", "systemPrompt": "You keep a list.",
   "toolAllowlist": ["reading_list_*"], "toolDenylist": ["reading_list_delete"], "toolExposure": "mixed",
   "skillAllowlist": ["notes"], "capabilityAllowlist": ["lists.*"], "capabilityDenylist": ["lists.write"],
   "agentAllowlist": ["todo", "journal"], "uiVisible": true, "apiExposed": false},
  {"agentId": "todo", "displayName": "Todo Manager", "systemPrompt": "You keep tasks.", "toolAllowlist": ["todo_*"]},
  {"agentId": "general", "displayName": "General Assistant", "systemPrompt": "You help.", "toolAllowlist": null}
]}"#;

#[test]
fn r2_d17_a_file_with_many_agents_is_validated_and_one_wrong_entry_hides_no_other() {
    let broken = SEED.replace("\"todo\", \"displayName\"", "\"to/do\", \"displayName\"");
    let shop = Shop::new()
        .with("shop/seed.json", SEED)
        .with("shop/broken.json", &broken)
        .with("shop/s.toml", "[[reply]]\ntext = \"hello\"\ntimes = 9\n");
    let told = shop.rooftree(&["agents", "validate", "seed.json"]).well();
    assert!(told.contains("in 3 agents"), "{told}");
    assert!(
        told.contains("W0103") && told.contains("`reading_list_*` matches no tool"),
        "{told}"
    );
    let told = shop.rooftree(&["agents", "validate", "broken.json"]);
    assert!(told.code == 3 && told.out.contains("E0315"), "{told:?}");
    let run = |file: &str, agent: &str| {
        shop.rooftree(&[
            "run",
            "-m",
            "scripted/s.toml",
            "--agents",
            file,
            "-a",
            agent,
            "hi",
        ])
    };
    let done = run("broken.json", "general");
    assert!(
        done.err
            .contains("`to/do` cannot be the name of an agent (E0315)"),
        "{done:?}"
    );
    assert_eq!(done.well(), "hello\n");
    let done = run("broken.json", "to/do");
    assert!(done.code == 8 && done.err.contains("E0315"), "{done:?}");
    let done = run("seed.json", "reading-list");
    assert!(
        done.err.contains("seed.json:3: ") && done.err.contains("W0103"),
        "{done:?}"
    );
    done.well();
    let nothing = shop.rooftree(&[
        "run",
        "-m",
        "scripted/s.toml",
        "--agents",
        "{\"a/b\": {}}",
        "hi",
    ]);
    assert!(
        nothing.code == 3 && nothing.err.contains("--agents cannot be used"),
        "{nothing:?}"
    );
}

#[test]
fn r2_d16_the_file_of_the_assistant_seed_is_imported_and_can_be_used() {
    let shop = Shop::new()
        .with("shop/seed.json", SEED)
        .with("shop/s.toml", "[[reply]]\ntext = \"hello\"\ntimes = 9\n");
    shop.rooftree(&["agents", "import", "assistant", "seed.json"])
        .well();
    for agent in ["reading-list", "todo", "general"] {
        let done = shop.rooftree(&["run", "-q", "-m", "scripted/s.toml", "-a", agent, "hi"]);
        assert_eq!(done.well(), "hello\n", "{agent}");
    }
}

#[test]
fn r2_d8_what_an_agent_has_says_who_has_request_permission() {
    let shop = Shop::new().with(
        "shop/.rooftree/agents/asker.md",
        "---\ndescription: x\ntools: [Read, RequestPermission]\n---\nYou ask.",
    );
    let line = |agent: &str| {
        let shown = shop
            .rooftree(&["agents", "show", agent, "--effective", "--trust"])
            .well();
        let line = shown
            .lines()
            .find(|line| line.contains("RequestPermission"));
        line.unwrap().to_owned()
    };
    assert!(line("lead").contains("✗"), "{}", line("lead"));
    assert!(
        line("task").contains("start_background_agent"),
        "{}",
        line("task")
    );
    assert!(line("asker").contains("✓"), "{}", line("asker"));
}
