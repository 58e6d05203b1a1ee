//! `rooftree mcp …`, and runs with tools of servers.

use std::{fs, path::Path, sync::LazyLock, time::Duration};

use rooftree_testkit::process_marks::count_alive;
use serde_json::{Value, json};

use crate::{run::fixture::Desk, sessions::fixture::House};

/// Without `..` in it: where it lies below a directory that a sandbox hides, nothing else of that one is there.
static SERVER: LazyLock<String> = LazyLock::new(|| {
    let written = concat!(env!("CARGO_MANIFEST_DIR"), "/../testkit/mcp/server.py");
    std::fs::canonicalize(written)
        .unwrap()
        .display()
        .to_string()
});

/// A script whose model calls one tool and repeats what came of it.
fn calling(tool: &str, input: &str) -> String {
    format!(
        "[[reply]]\n[[reply.call]]\ntool = \"{tool}\"\ninput = {input}\n\n[[reply]]\ntext = \"{{{{ results[0].text }}}}\"\n"
    )
}

fn config(options: &[&str]) -> String {
    let args: Vec<&str> = [SERVER.as_str()]
        .into_iter()
        .chain(options.iter().copied())
        .collect();
    json!({"mcpServers": {"one": {"command": "python3", "args": args}}}).to_string()
}

#[test]
fn a_server_is_set_up_looked_at_and_forgotten() {
    let house = House::new();
    house
        .rooftree(&[
            "mcp",
            "add",
            "one",
            "--env",
            "SERVER_API_KEY=${KEY:-sk-hidden-away}",
            "--",
            "python3",
            SERVER.as_str(),
        ])
        .well();
    let again = house
        .rooftree(&["mcp", "add", "one", "--url", "https://a.test/mcp"])
        .ended(2);
    assert!(
        again.contains("already") && again.contains("--force"),
        "{again}"
    );
    let rows = house.rooftree(&["mcp", "list", "--json"]).json();
    let row = &rows[0];
    assert_eq!(
        (&row["name"], &row["status"], &row["tools"]),
        (&json!("one"), &json!("ready"), &json!(17)),
        "{row}"
    );
    assert_eq!(
        (&row["about"], &row["protocol"]),
        (&json!("test-server 1.2.3"), &json!("2025-11-25"))
    );
    assert!(
        row["place"].as_str().unwrap().ends_with("mcp.json")
            && !row.to_string().contains("hidden-away"),
        "{row}"
    );
    assert_eq!(
        house
            .rooftree(&["mcp", "list", "--offline", "--json"])
            .json()[0]["status"],
        Value::Null
    );
    let said = house.rooftree(&["mcp", "test", "one"]).well();
    assert_eq!(
        said,
        "one is ready: test-server 1.2.3, protocol 2025-11-25, 17 tools\n"
    );
    let tools = house.rooftree(&["mcp", "tools", "one", "--json"]).json();
    assert_eq!(
        (&tools[0]["name"], &tools[0]["effect"]),
        (&json!("mcp__one__echo"), &json!("remote_action"))
    );
    house.rooftree(&["mcp", "rm", "one"]).well();
    let gone = house.rooftree(&["mcp", "test", "one"]).ended(2);
    assert!(
        gone.contains("there is no MCP server `one`") && gone.contains("rooftree mcp add one"),
        "{gone}"
    );
}

#[test]
fn what_is_wrong_with_a_server_is_said_with_a_way_out() {
    let house = House::new();
    for (arguments, words) in [
        (&["mcp", "add", "x"][..], "neither a program nor an address"),
        (&["mcp", "add", "x", "--env", "A", "--", "y"], "no `=`"),
        (
            &["mcp", "add", "x", "--url", "ws://a.test", "--header", "A"],
            "no `:`",
        ),
    ] {
        let said = house.rooftree(arguments).ended(2);
        assert!(said.contains(words), "{said}");
    }
    fs::write(
        house.path().join("config.toml"),
        "[mcp.servers.broken]\ncommand = 'no-such-program'\n",
    )
    .unwrap();
    let failed = house.rooftree(&["mcp", "test", "broken"]);
    assert!(
        failed.code != 0 && failed.err.contains("no-such-program"),
        "{failed:?}"
    );
    let kept = house.rooftree(&["mcp", "rm", "broken"]).ended(2);
    assert!(kept.contains("remove [mcp.servers.broken] there"), "{kept}");
    let listed = house.rooftree(&["mcp", "list", "--json"]).json();
    assert_eq!(listed[0]["status"], "failed");
}

#[test]
fn a_changed_tool_is_not_used_until_it_is_accepted() {
    let house = House::new();
    let place = tempfile::tempdir().unwrap();
    let copy = place.path().join("server.py");
    fs::copy(SERVER.as_str(), &copy).unwrap();
    house
        .rooftree(&[
            "mcp",
            "add",
            "one",
            "--",
            "python3",
            &copy.display().to_string(),
        ])
        .well();
    house.rooftree(&["mcp", "test", "one"]).well();
    let changed = fs::read_to_string(SERVER.as_str())
        .unwrap()
        .replace("Fails.", "Fails. Then sends your keys away.");
    fs::write(&copy, changed).unwrap();
    let said = house.rooftree(&["mcp", "test", "one"]);
    assert!(
        said.out.contains("16 tools") && said.err.contains("+Fails. Then sends your keys away."),
        "{said:?}"
    );
    let accepted = house.rooftree(&["mcp", "accept", "one"]);
    assert!(
        accepted.out.contains("+Fails. Then") && accepted.err.contains("1 changed tool accepted"),
        "{accepted:?}"
    );
    assert!(
        house
            .rooftree(&["mcp", "test", "one"])
            .well()
            .contains("17 tools")
    );
}

#[test]
fn a_run_uses_tools_of_servers_that_were_typed_and_asks_about_them() {
    let desk = Desk::new(&calling("mcp__one__echo", "{ text = \"from afar\" }"));
    let config = config(&[]);
    let said = desk
        .run(&["--mcp-config", &config, "--allow", "mcp__one", "go"])
        .well();
    assert!(
        said.contains("\nfrom afar\n") && said.contains("comes from outside"),
        "{said}"
    );
    let denied = desk.run(&["--mcp-config", &config, "go"]);
    assert!(denied.out.contains("no user can be asked"), "{denied:?}");
    let refused = desk.run(&[
        "--mcp-config",
        &config,
        "--permission-mode",
        "bypass",
        "--deny",
        "mcp__one",
        "go",
    ]);
    assert!(refused.out.contains("deny rule"), "{refused:?}");
    let wrong = desk.run(&["--mcp-config", "missing.json", "go"]).ended(2);
    assert!(
        wrong.contains("missing.json sets up no MCP servers"),
        "{wrong}"
    );
}

#[test]
fn a_projects_servers_are_started_only_if_its_folder_is_trusted() {
    let desk = Desk::new(&calling(
        "mcp__one__echo",
        "{ text = \"from the project\" }",
    ));
    let place = desk.path().join("marks");
    fs::create_dir(&place).unwrap();
    desk.write(
        ".mcp.json",
        config(&["--marks", &place.display().to_string()]),
    );
    let untrusted = desk.run(&["--allow", "mcp__one", "go"]);
    assert!(
        untrusted.err.contains("not trusted") && untrusted.err.contains(".mcp.json"),
        "{untrusted:?}"
    );
    assert!(untrusted.out.contains("tool_not_found"), "{untrusted:?}");
    assert_eq!(
        fs::read_dir(&place).unwrap().count(),
        0,
        "nothing of an untrusted folder is started"
    );
    assert!(
        desk.run(&["--trust", "--allow", "mcp__one", "go"])
            .well()
            .contains("\nfrom the project\n")
    );
    assert_eq!(fs::read_dir(&place).unwrap().count(), 1);
    until_gone(&place);
}

#[test]
fn no_server_outlives_a_run_that_is_killed() {
    let desk = Desk::new(&calling("mcp__one__never", "{}"));
    let place = desk.path().join("marks");
    fs::create_dir(&place).unwrap();
    let config = config(&["--stubborn", "--marks", &place.display().to_string()]);
    let mut run = desk.watch(&["--mcp-config", &config, "--allow", "mcp__one", "go"]);
    run.until("tool.started");
    assert_eq!(count_alive(&place), 1, "the server works");
    run.child.kill().unwrap();
    run.child.wait().unwrap();
    until_gone(&place);
}

#[test]
fn a_server_runs_confined_unless_its_owner_says_otherwise_and_a_project_cannot_say_so() {
    let desk = Desk::new(&calling(
        "mcp__one__read",
        "{ path = \"~/.ssh/id_canary\" }",
    ));
    let home = tempfile::tempdir().unwrap();
    fs::create_dir(home.path().join(".ssh")).unwrap();
    fs::write(home.path().join(".ssh/id_canary"), "the canary sings").unwrap();
    let run = |arguments: &[&str]| {
        let mut command = desk.command(arguments);
        let done = command
            .env("HOME", home.path())
            .stdin(std::process::Stdio::null())
            .output()
            .unwrap();
        format!(
            "{}{}",
            String::from_utf8_lossy(&done.stdout),
            String::from_utf8_lossy(&done.stderr)
        )
    };
    let written = |sandbox: Option<&str>| {
        let mut one = json!({"command": "python3", "args": [SERVER.as_str()]});
        if let Some(sandbox) = sandbox {
            one["sandbox"] = json!(sandbox);
        }
        json!({"mcpServers": {"one": one}}).to_string()
    };
    let allowed = ["--allow", "mcp__one", "go"];
    let own = desk.house.path().join("mcp.json");
    fs::write(&own, written(Some("off"))).unwrap();
    assert!(
        run(&allowed).contains("the canary sings"),
        "{}",
        run(&allowed)
    );
    let typed = run(&["--mcp-config", &written(None), "--allow", "mcp__one", "go"]);
    if typed.contains("MCP servers are not confined here") {
        eprintln!("left out: nothing can confine here");
        return;
    }
    assert!(
        !typed.contains("the canary sings") && typed.contains("No such file"),
        "{typed}"
    );
    fs::remove_file(&own).unwrap();
    desk.write(".mcp.json", written(Some("off")));
    let project = run(&["--trust", "--allow", "mcp__one", "go"]);
    assert!(
        project.contains("runs confined all the same") && !project.contains("the canary sings"),
        "{project}"
    );
}

#[test]
fn what_a_server_is_given_in_confidence_is_known_as_a_secret_everywhere() {
    let secret = "velvet-otter-9431-lantern";
    let desk = Desk::new(&calling("Bash", "{ command = \"cat leaked\" }"));
    desk.write("leaked", format!("it is {secret}, they say"));
    let mut one =
        json!({"command": "python3", "args": [SERVER.as_str()], "env": {"SERVER_API_KEY": secret}});
    let config = |one: &Value| json!({"mcpServers": {"one": one}}).to_string();
    let typed = config(&one);
    let said = desk.run(&["--allow", "Bash", "go"]).well();
    assert!(
        said.contains(secret),
        "a control: nobody knows it yet: {said}"
    );
    let said = desk
        .run(&["--mcp-config", &typed, "--allow", "Bash", "go"])
        .well();
    assert!(
        !said.contains(secret) && said.contains("[redacted: SERVER_API_KEY of MCP server one]"),
        "{said}"
    );
    one = json!({"type": "http", "url": "http://127.0.0.1:1/mcp", "headers": {"X-Key": secret}});
    fs::write(desk.house.path().join("mcp.json"), config(&one)).unwrap();
    let said = desk.run(&["--allow", "Bash", "go"]).well();
    assert!(
        !said.contains(secret) && said.contains("[redacted: X-Key of MCP server one]"),
        "{said}"
    );
}

fn until_gone(place: &Path) {
    while count_alive(place) > 0 {
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn a_server_with_a_list_reaches_its_hosts_and_nobody_else_and_the_agent_narrows_it() {
    let port = crate::run::sandbox::greeter();
    let url = format!("http://localhost:{port}/");
    let own = "---\nname: NAME\ndescription: d\nnetwork: LIST\n---\nWork.\n";
    let table = [
        ("[\"localhost\"]", "lead", true),
        ("[\"a.example\"]", "lead", false),
        ("\"off\"", "lead", false),
        ("[\"localhost\", \"a.example\"]", "narrow", false),
        ("\"on\"", "wide", true),
    ];
    for (network, agent, reaches) in table {
        let desk = Desk::new(&calling(
            "mcp__one__fetch",
            &format!("{{ url = \"{url}\" }}"),
        ));
        let settings = format!(
            "[sandbox]\nmode = \"required\"\n[web]\nallow_private = [\"localhost:{port}\"]\n"
        );
        fs::write(desk.house.path().join("config.toml"), settings).unwrap();
        let args = json!([SERVER.as_str(), "--online"]);
        let server = format!(
            r#"{{"mcpServers": {{"one": {{"command": "python3", "args": {args}, "network": {network}}}}}}}"#
        );
        fs::write(desk.house.path().join("mcp.json"), server).unwrap();
        fs::create_dir_all(desk.house.path().join("agents")).unwrap();
        for (name, list) in [("narrow", "[a.example]"), ("wide", "[localhost]")] {
            let text = own.replace("NAME", name).replace("LIST", list);
            fs::write(
                desk.house.path().join("agents").join(format!("{name}.md")),
                text,
            )
            .unwrap();
        }
        let done = desk.run(&["-a", agent, "--allow", "mcp__one", "go"]);
        if done.out.contains("tool_not_found") && done.err.contains("needs bubblewrap") {
            eprintln!("left out: {done:?}");
            return;
        }
        assert_eq!(
            done.out.contains("hello"),
            reaches,
            "{network} {agent}: {done:?}"
        );
        if network.starts_with('[') && !reaches {
            assert!(
                done.out.contains("[network: localhost is not on the list"),
                "{done:?}"
            );
            assert!(
                done.out.contains("the MCP server `one` may reach"),
                "{done:?}"
            );
        }
    }
}

#[test]
fn a_prompt_of_a_server_is_said_by_its_name() {
    let desk = Desk::new("[[reply]]\ntext = \"heard: {{ user.text }}\"\n");
    fs::write(desk.house.path().join("mcp.json"), config(&["--reading"])).unwrap();
    assert_eq!(
        desk.run(&["/mcp__one__greet Ada"]).well(),
        "heard: Say hello to Ada.\n"
    );
    let wrong = desk.run(&["/mcp__one__other"]);
    assert!(
        wrong.code != 0 && wrong.err.contains("it has mcp__one__greet"),
        "{wrong:?}"
    );
    let nobody = desk.run(&["/mcp__two__greet"]);
    assert!(
        nobody.code == 2 && nobody.err.contains("rooftree mcp prompts"),
        "{nobody:?}"
    );
    let rows = desk
        .house
        .rooftree(&["mcp", "prompts", "one", "--json"])
        .json();
    assert_eq!(
        (&rows[0]["name"], &rows[0]["arguments"][0]["required"]),
        (&json!("mcp__one__greet"), &json!(true))
    );
}

#[test]
fn a_directory_that_is_named_to_a_server_of_ones_own_is_handed_over() {
    let house = House::new();
    let place = tempfile::tempdir().unwrap();
    let named = place.path().display().to_string();
    house
        .rooftree(&[
            "mcp",
            "add",
            "files",
            "--",
            "npx",
            "-y",
            "server-filesystem",
            &named,
        ])
        .well();
    let written: Value =
        serde_json::from_str(&fs::read_to_string(house.path().join("mcp.json")).unwrap()).unwrap();
    assert_eq!(written["mcpServers"]["files"]["writable"], json!([named]));
}

#[test]
fn n_36_a_server_cannot_have_a_name_that_no_tool_name_can_carry() {
    let house = House::new();
    for name in ["bad name", "a/b", "", "-x", "ü"] {
        let refused = house.rooftree(&["mcp", "add", name, "--", "ls"]);
        assert!(refused.code == 2, "{name}: {refused:?}");
    }
    house
        .rooftree(&["mcp", "add", "good-name_1", "--", "ls"])
        .well();
}
