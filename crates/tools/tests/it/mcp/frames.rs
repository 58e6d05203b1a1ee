//! Any bytes are read as what a server writes, without a panic and without a hang.

use rooftree_testkit::fuzz;
use rooftree_tools::mcp;

const SEEDS: [&str; 8] = [
    r#"{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"a\u001b[1m"},{"type":"image","mimeType":"image/png","data":"iVBORw0KGgo="}],"isError":false,"structuredContent":{"a":[1,2]}}}"#,
    r#"{"jsonrpc":"2.0","id":2,"result":{"tools":[{"name":"Echo ✓","description":"d","inputSchema":{"type":"object","properties":{"x":{"type":"string"}}},"annotations":{"readOnlyHint":true}}],"nextCursor":"5"}}"#,
    r#"{"jsonrpc":"2.0","id":"ask","method":"elicitation/create","params":{"message":"Who?","requestedSchema":{"type":"object","properties":{"n":{"type":"string","enum":["a","b"],"enumNames":["A","B"]},"k":{"type":"array","items":{"anyOf":[{"const":"c","title":"C"}]}},"i":{"type":"integer","minimum":1}},"required":["n"]}}}"#,
    r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#,
    r#"{"jsonrpc":"2.0","id":3,"error":{"code":-32601,"message":"Method not found","data":null}}"#,
    r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":0.5}}"#,
    r#"{"jsonrpc":"2.0","id":4,"result":{"resultType":"input_required","inputRequests":{"w":{"method":"elicitation/create","params":{"message":"m","requestedSchema":{"type":"object","properties":{}}}}},"requestState":"s"}}"#,
    "{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"ping\"}\r\n\n[]\n{}\n{\"jsonrpc\":\"1.0\"}",
];

const WORDS: [&str; 20] = [
    "\n",
    "{",
    "}",
    "[",
    "\"jsonrpc\":\"2.0\",",
    "\"id\":",
    "\"result\":",
    "\"error\":",
    "\"method\":",
    "null",
    "1e999",
    "-1",
    "\"\\ud800\"",
    "\"type\":",
    "\"content\":[",
    "\"enum\":[",
    "\"data\":\"====\"",
    "true",
    "\u{feff}",
    "\"_meta\":{\"progressToken\":",
];

#[test]
fn fuzz_mcp_frames() {
    let seeds = SEEDS.map(|seed| format!("{seed}\n"));
    for seed in &seeds {
        assert_ne!(
            mcp::fuzz(seed.as_bytes()),
            0,
            "a seed must get through, else nothing is tried: {seed}"
        );
    }
    let seeds = seeds.each_ref().map(String::as_bytes);
    fuzz::run(&seeds, &WORDS, |input| {
        let lines = input.split(|byte| *byte == b'\n').count();
        assert!(mcp::fuzz(input) <= lines, "more messages than lines");
    });
}

#[test]
fn fuzz_mcp_frames_over_http() {
    // The first byte says what kind of answer it is: even for a stream of events.
    let stream = |seed: &str| {
        let lines = seed
            .lines()
            .map(|line| format!("data: {line}\n"))
            .collect::<String>();
        format!("@id: 1\nevent: message\n{lines}\n: kept alive\n\nretry: 5\ndata:\n\n")
    };
    let whole = SEEDS.iter().take(7).map(|seed| format!("A{seed}"));
    let seeds: Vec<String> = SEEDS
        .iter()
        .take(7)
        .map(|seed| stream(seed))
        .chain(whole)
        .collect();
    for seed in &seeds {
        assert_eq!(
            mcp::fuzz_http(seed.as_bytes()),
            1,
            "a seed must get through, else nothing is tried: {seed}"
        );
    }
    let seeds: Vec<&[u8]> = seeds.iter().map(String::as_bytes).collect();
    let words = [
        WORDS.as_slice(),
        &[
            "data: ",
            "data",
            "\r\n",
            "\n\n",
            "event: message\n",
            "id:",
            "retry: -1\n",
        ],
    ];
    fuzz::run(&seeds, &words.concat(), |input| {
        let lines = input.split(|byte| matches!(byte, b'\n' | b'\r')).count();
        assert!(mcp::fuzz_http(input) <= lines, "more messages than lines");
    });
}
