//! What is wrong with a file is said with its place, and a bad file hides no other.

use rooftree_runtime::definitions::{Severity, Syntax};

use super::folder::{Folder, codes, document};

fn complaints(front: &str) -> Vec<String> {
    let text = format!("---\ndescription: x\n{front}\n---\nYou work.");
    let folder = Folder::new().with("project/.rooftree/agents/a.md", &text);
    let loaded = folder.load();
    loaded
        .diagnostics
        .iter()
        .map(|found| {
            let at = found.at.map_or(String::new(), |at| format!(" {}:{}+{}", at.line, at.column, at.length));
            format!("{}{at} {} | {}", found.code, found.message, found.help.clone().unwrap_or_default())
        })
        .collect()
}

#[test]
fn every_mistake_has_its_place_and_a_way_out() {
    let table = [
        ("tools: [Read, Grepp]", "E0312 3:15+5 unknown tool `Grepp` | did you mean `Grep`?"),
        ("tools: Read, Grepp", "E0312 3:14+5 unknown tool `Grepp` | did you mean `Grep`?"),
        ("tools:\n  - Read\n  - Teleport", "E0312 5:5+8 unknown tool `Teleport` | rooftree tools list"),
        ("tolls: [Read]", "E0318 3:1+5 unknown field `tolls` | did you mean `tools`?"),
        ("weather: nice", "W0101 3:1+7 unknown field `weather` | it has no effect"),
        ("x-weather: nice", ""),
        ("api_exposed: true", ""),
        ("top_p: 1", "W0102 3:1+5 `top_p` has no effect yet"),
        ("hooks: {Stop: []}", ""),
        ("hooks: {Stpo: []}", "E0321 3:1+5 `hooks`: there is no event `Stpo`"),
        ("model: nothing", "E0313 3:8+7 model `nothing` names no provider"),
        ("model: fast", "W0108 3:8+4 model `fast` cannot be had now"),
        ("max_turns: 0", "E0314 3:12+1 `max_turns` must be a whole number above zero"),
        ("background: maybe", "E0314 3:13+5 `background` must be true or false"),
        ("permission_mode: yolo!", "E0314 3:18+5 `permission_mode` must be one of plan"),
        ("sandbox: required\nnetwork: off", ""),
        ("sandbox: off", "E0314 3:10+3 `sandbox` must be one of auto, required"),
        ("network: [crates.io, '*.github.com']", ""),
        ("network: github.com", ""),
        ("network: maybe", "E0314 3:10+5 `network` must be on, off or a list of hosts"),
        ("network: ['https://a.io']", "E0314 3:10+1 `network` must be on, off or a list of hosts"),
        ("limits: {max_turn: 3}", "E0318 3:10+8 unknown limit `max_turn` | did you mean `max_turns`?"),
        ("limits: {depth: deep}", "E0314 3:17+4 `limits.depth`"),
        ("extends: nobody", "E0317 3:10+6 there is no agent `nobody` to extend"),
        ("extends: a", "E0317 3:10+1 there is no agent `a` to extend"),
        ("name: b", "W0106 3:7+1 the file is called `a`"),
        ("tools: [AskUser]", "W0112 3:9+7 tool `AskUser` is not available here"),
        ("tools: ['todo_*x']", "W0103 3:9+9 `todo_*x` matches no tool"),
        ("mcp_servers: {s: {command: 'run ${NONE}'}}", "W0104 3:28+13 variable `NONE` is not set"),
        (
            "mcp_servers: {s: {command: x, sandbox: off}}",
            "W0119 3:31+7 `sandbox: off` of a server has no effect in a definition | set the server up in your own",
        ),
        ("mcp_servers: {s: {command: x, sandbox: required, network: off}}", ""),
        ("mcp_servers: {s: {command: x, network: [api.github.com]}}", ""),
        ("strict: true\ntop_p: 1", "E"),
        ("model: [", "E0311"),
        ("description: twice", "E0311 3:1+11 cannot read the frontmatter: `description` is there twice"),
    ];
    for (front, wanted) in table {
        let found = complaints(front);
        if wanted == "E" {
            continue;
        }
        if wanted.is_empty() {
            assert_eq!(found, Vec::<String>::new(), "{front}");
        } else {
            assert!(found.first().is_some_and(|first| first.starts_with(wanted)), "{front}: {found:#?}");
        }
    }
}

#[test]
fn a_strict_definition_is_not_used_if_anything_cannot_be_enforced() {
    let text = "---\ndescription: x\ntop_p: 1\n---\nYou work.";
    let loose = Folder::new().with("project/.rooftree/agents/a.md", text).load();
    assert_eq!((loose.definitions.len(), loose.diagnostics[0].severity), (1, Severity::Warning));
    let strict = Folder::new()
        .with("project/.rooftree/agents/a.md", &text.replace("top_p", "strict: true\ntop_p"))
        .load();
    assert_eq!((strict.definitions.len(), strict.diagnostics[0].severity), (0, Severity::Error));
}

#[test]
fn a_bad_file_hides_no_other() {
    let good = "---\ndescription: x\n---\nYou work.";
    let folder = Folder::new()
        .with("project/.rooftree/agents/a.md", "---\ntools: [\n---\nx")
        .with("project/.rooftree/agents/b.md", "---\nnever closed")
        .with("project/.rooftree/agents/b d.md", good)
        .with("project/.rooftree/agents/default.md", good)
        .with("project/.rooftree/agents/empty.md", "---\nmax_turns: 3\n---\n")
        .with("project/.rooftree/agents/deep/down/good.md", good)
        .with("project/.rooftree/agents/plain.md", "You are a plain helper. Nothing else.");
    let loaded = folder.load();
    let names: Vec<&str> = loaded.definitions.iter().map(|found| found.name.as_str()).collect();
    assert_eq!(names, ["good", "plain"]);
    assert_eq!(codes(&loaded), ["E0311", "E0315", "E0311", "E0315", "E0316"], "{:#?}", loaded.diagnostics);
    assert_eq!(loaded.definitions[1].description, "Plain helper");
}

#[test]
fn entries_of_a_list_are_told_by_their_number() {
    let text = "[{\"name\": \"a\", \"prompt\": \"x\", \"tolls\": []}, {\"prompt\": \"y\"}, {\"name\": \"b\", \"prompt\": \"z\"}]";
    let loaded = document(text, Syntax::Json).load();
    assert_eq!(loaded.definitions[0].name, "b");
    let said: Vec<&str> = loaded.diagnostics.iter().map(|found| found.message.as_str()).collect();
    assert_eq!(said, ["agents[1] has no name", "agents[0] (a): unknown field `tolls`"]);
}
