//! Resources and prompts of servers.

use rooftree_protocol::{Effect, McpServer};
use rooftree_tools::{
    Toolset,
    mcp::{McpPromptRequest, RESOURCE_TOOLS},
    toolset::ToolLookup,
};
use serde_json::json;

use super::{
    http::Served,
    stand::{Stand, server},
};
use crate::desk::call;

#[tokio::test]
async fn resources_are_listed_and_read_in_every_manner_and_a_new_one_is_there_at_once() {
    let served = Served::start(&["--reading"]);
    for one in [
        server(&["--reading"]),
        server(&["--reading", "--modern"]),
        served.server(),
    ] {
        let stand = Stand::new(&[("s", one)]);
        let tools = stand.tools().await;
        let used = async |tool: &str, input| call(&tools, tool, input, stand.context()).await;
        let listed = used("ListMcpResources", json!({})).await.text();
        assert!(
            listed.starts_with("note:///first (a note)\nnote:///secret"),
            "{listed}"
        );
        assert!(listed.contains("note:///{id} (any note)"), "{listed}");
        let read = used("ReadMcpResource", json!({"uri": "note:///first"})).await;
        assert_eq!(
            read.text(),
            "[resource note:///first]\nwhat note:///first says"
        );
        let missing = used("ReadMcpResource", json!({"uri": "note:///new"})).await;
        assert!(
            missing.failure.is_some() && missing.text().contains("Resource not found"),
            "{missing:?}"
        );
        used("mcp__s__add_resource", json!({"uri": "note:///new"})).await;
        assert!(
            used("ListMcpResources", json!({}))
                .await
                .text()
                .contains("note:///new")
        );
        assert!(
            used("ReadMcpResource", json!({"uri": "note:///new"}))
                .await
                .failure
                .is_none()
        );
        stand.servers.close().await;
    }
}

#[tokio::test]
async fn only_servers_with_resources_are_read_from_and_each_under_its_own_name() {
    let believed = McpServer {
        trust_hints: true,
        ..server(&["--reading", "--tools", "1"])
    };
    let stand = Stand::new(&[
        ("a", server(&["--reading"])),
        ("b", believed),
        ("none", server(&[])),
    ]);
    let tools = stand.tools().await;
    let ToolLookup::Tool(read) = tools.find("ReadMcpResourceTool") else {
        panic!("it has no such tool")
    };
    let normal = |input| read.normalise("ReadMcpResource", input);
    let unclear = normal(json!({"uri": "note:///first"})).unwrap_err();
    assert!(unclear.contains("say which server: a, b"), "{unclear}");
    let wrong = normal(json!({"server": "none", "uri": "x"})).unwrap_err();
    assert!(wrong.contains("no server `none` with resources"), "{wrong}");
    for (server, effect) in [("a", Effect::RemoteAction), ("b", Effect::ReadOnly)] {
        let input = normal(json!({"server": server, "uri": "note:///first"})).unwrap();
        assert_eq!(read.effect(&input), effect);
        assert_eq!(
            read.ruled_as(&input),
            format!("mcp__{server}__ReadMcpResource")
        );
    }
    stand.servers.close().await;
    let plain = Stand::new(&[("s", server(&[]))]);
    let names = plain.tools().await;
    assert!(
        RESOURCE_TOOLS
            .iter()
            .all(|name| matches!(names.find(name), ToolLookup::Unknown))
    );
    plain.servers.close().await;
}

#[tokio::test]
async fn what_was_seen_is_known_without_starting_anything() {
    let home = tempfile::tempdir().unwrap();
    let pins = home.path().join("mcp-pins.json");
    let heard = home.path().join("heard").display().to_string();
    let believed = McpServer {
        trust_hints: true,
        ..server(&["--reading", "--record", heard.as_str()])
    };
    let wanted = [("s", believed), ("new", server(&[]))];
    let named = |stand: &Stand| {
        let known = stand.servers.recall(
            &wanted
                .clone()
                .map(|(name, one)| (name.to_owned(), one))
                .into(),
        );
        known.unwrap()
    };
    let stand = Stand::with(&wanted[..1], |setup| setup.pins = Some(pins.clone()));
    assert_eq!(named(&stand).unseen, ["new", "s"]);
    let offered = stand.offer().await;
    let offered = Toolset::new(offered.tools);
    stand.servers.close().await;
    let before = std::fs::read_to_string(&heard).unwrap();
    let later = Stand::with(&wanted[..1], |setup| setup.pins = Some(pins.clone()));
    let known = named(&later);
    assert_eq!(known.unseen, ["new"]);
    let known = Toolset::new(known.tools);
    let sorted = |tools: &Toolset| {
        let mut names: Vec<String> = tools.names().iter().map(ToString::to_string).collect();
        names.sort();
        names
    };
    assert_eq!(sorted(&known), sorted(&offered));
    for name in offered.names() {
        let (ToolLookup::Tool(was), ToolLookup::Tool(is)) = (offered.find(name), known.find(name))
        else {
            panic!()
        };
        assert_eq!(was.spec(), is.spec());
        let input = json!({"server": "s"});
        assert_eq!(was.effect(&input), is.effect(&input), "{name}");
    }
    assert_eq!(
        std::fs::read_to_string(&heard).unwrap(),
        before,
        "nobody was asked"
    );
}

#[tokio::test]
async fn prompts_are_filled_in_and_only_those_that_are_listed() {
    for one in [server(&["--reading"]), server(&["--reading", "--modern"])] {
        let stand = Stand::new(&[("s", one.clone())]);
        let listed = stand.servers.prompts("s", &one).await.unwrap();
        assert_eq!(
            (listed.len(), listed[0].name.as_str()),
            (1, "mcp__s__greet")
        );
        let told = async |typed: &str| {
            stand
                .servers
                .prompt("s", &one, &McpPromptRequest::read(typed).unwrap())
                .await
        };
        assert_eq!(
            told("/mcp__s__greet Ada Lovelace").await.unwrap(),
            "Say hello to Ada Lovelace."
        );
        let needs = told("/mcp__s__greet").await.unwrap_err().to_string();
        assert!(needs.contains("needs `name`"), "{needs}");
        let unknown = told("/mcp__s__other").await.unwrap_err().to_string();
        assert!(
            unknown.contains("no prompt `mcp__s__other`; it has mcp__s__greet"),
            "{unknown}"
        );
        stand.servers.close().await;
    }
    let plain = server(&[]);
    let stand = Stand::new(&[("s", plain.clone())]);
    assert_eq!(stand.servers.prompts("s", &plain).await.unwrap(), []);
    stand.servers.close().await;
}
