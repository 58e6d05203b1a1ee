//! Mangled definition files: never a panic, and a bad one always says what is wrong with it.

use rooftree_protocol::DefinitionLevel;
use rooftree_runtime::definitions::{DefinitionDocument, DefinitionLibrary, DocumentSyntax};
use rooftree_testkit::fuzz;

const WORDS: [&str; 20] = [
    "---\n",
    "name: ",
    "tools:\n",
    "- ",
    "model: ",
    "mcpServers:\n",
    "extends: ",
    "&a ",
    "*a",
    "!!binary ",
    "|\n",
    ">\n",
    "[[agents]]\n",
    "[limits]\n",
    "\"agents\": [",
    "{\"agentId\":",
    "${HOME}",
    "\t",
    "permissionMode: ",
    "null",
];

const SEEDS: [&str; 5] = [
    "---\nname: reviewer\ndescription: looks\ntools: Read, Grep\nmodel: sonnet\nmaxTurns: 4\n---\nYou review.\n# Examples\n\nUser: hi\nAgent: hello\n",
    "---\nname: a\nmcpServers:\n  x:\n    command: node\n    args: [a, b]\n    env: {A: \"${B:-c}\"}\nskills: [one]\n---\n",
    r#"{"name": "koda", "description": "d", "system_prompt": "p", "tools": ["Read"], "max_iterations": 3}"#,
    r#"{"agents": [{"agentId": "journal", "displayName": "J", "type": "chat", "chat": {"provider": "openai"}, "toolAllowlist": ["a*"]}]}"#,
    "[[agents]]\nname = 'x'\nprompt = 'y'\n[agents.limits]\nmax_turns = 3\n",
];

#[test]
fn fuzz_the_readers_of_definitions() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("a.md");
    let seeds: Vec<&[u8]> = SEEDS.iter().map(|seed| seed.as_bytes()).collect();
    fuzz::run(&seeds, &WORDS, |input| {
        let text = String::from_utf8_lossy(input).into_owned();
        for syntax in [DocumentSyntax::Json, DocumentSyntax::Toml] {
            let path = "--agents".into();
            let document = DefinitionDocument {
                path,
                text: text.clone(),
                syntax,
                level: DefinitionLevel::Config,
            };
            let library = DefinitionLibrary {
                documents: vec![document],
                ..DefinitionLibrary::default()
            };
            let loaded = library.load();
            loaded
                .diagnostics
                .iter()
                .for_each(|found| drop(found.to_string()));
        }
        std::fs::write(&file, input).unwrap();
        let loaded = DefinitionLibrary::default().load_files(std::slice::from_ref(&file), None);
        loaded
            .diagnostics
            .iter()
            .for_each(|found| drop(found.to_string()));
    });
}
