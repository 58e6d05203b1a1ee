//! `rooftree call`, from commands that really run in a sandbox.

use std::{fs, process::Stdio};

use crate::{
    run::fixture::{Desk, finished},
    sessions::fixture::{Done, House},
};

/// Confined as tightly as can be had.
const TIGHT: [&str; 4] = ["--sandbox", "required", "--network", "off"];

/// A desk with an agent whose tools are skills, and a model that runs one command and says what came of it.
fn desk(command: &str) -> Desk {
    let desk = Desk::new(&format!(
        "[[reply]]\ntimes = 100\nmatch = \"^Go\"\n[[reply.call]]\ntool = \"Bash\"\ninput = {{ command = '''\n{command}\n''' }}\n\
         [[reply]]\ntimes = 100\ntext = \"\"\"{{{{ results[0].text }}}}\"\"\""
    ));
    let agents = desk.house.path().join("agents");
    fs::create_dir_all(&agents).unwrap();
    let clerk = "---\ndescription: A clerk\nexposure: skills\nmemory: user\n---\nYou are a clerk.";
    fs::write(agents.join("clerk.md"), clerk).unwrap();
    desk
}

fn go(desk: &Desk, flags: &[&str]) -> Done {
    desk.run(&[&["--agent", "clerk"], flags, &["Go"]].concat())
}

/// Whether this machine can confine commands so that they still reach a socket.
fn is_left_out(done: &Done) -> bool {
    let is = done.err.contains("stay functions") || done.out.contains("nothing here can do that");
    if is {
        eprintln!("left out: {done:?}");
    }
    is
}

#[test]
fn a_confined_command_calls_tools_with_flags_with_json_and_from_a_script() {
    let desk = desk(
        "rooftree call MemoryWrite --text 'Likes tea.' && echo wrote $?\n\
         printf '#!/bin/sh\\nrooftree call memory_get --json -' >look.sh\n\
         echo '{\"name\":\"MEMORY\"}' | sh look.sh | tr a-z A-Z\n\
         rooftree call MemorySearch --query nothing-of-that-kind >/dev/null; echo searched $?\n\
         ls $HOME/rooftree.db ${ROOFTREE_CALL_SOCKET%/*}/../../rooftree.db 2>/dev/null; echo seen $?",
    );
    let done = go(
        &desk,
        &[&["--permission-mode", "bypass"], &TIGHT[..]].concat(),
    );
    if is_left_out(&done) {
        return;
    }
    let text = done.well();
    for part in ["wrote 0", "LIKES TEA.", "searched 0", "seen 2"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    desk.house.is_sound();
    // Nothing of the door is left, and the journal holds no token.
    let left = fs::read_dir(desk.house.path().join("calls"))
        .unwrap()
        .flatten();
    let left: Vec<_> = left
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    assert!(
        left.iter().all(|name| name.starts_with("skills-")),
        "{left:?}"
    );
}

#[test]
fn what_is_refused_or_wrong_is_said_on_standard_error_with_a_number() {
    let desk = desk(
        "try() { rooftree call \"$@\" 2>err >out; echo \"$1 $? $(head -c 60 err | head -n 1)\"; test -s out && echo OUTPUT; }\n\
         try MemoryWrite --text x\n\
         try Bash --command true\n\
         try Nope\n\
         try MemoryRead --nothing x\n\
         try MemoryRead --json '['\n\
         ROOFTREE_CALL_TOKEN=rtcall_00000000000000000000000000000000 try MemoryRead\n\
         ROOFTREE_CALL_SOCKET=/nowhere/call.sock try MemoryRead\n\
         unset ROOFTREE_CALL_TOKEN; try MemoryRead\n\
         true",
    );
    let flags = ["--permission-mode", "bypass", "--deny", "MemoryWrit*"];
    let done = go(&desk, &[&flags[..], &TIGHT[..]].concat());
    if is_left_out(&done) {
        return;
    }
    let text = done.well();
    let lines = [
        "MemoryWrite 6 [denied] the deny rule `MemoryWrit*` refuses it",
        "Bash 6 tool_not_allowed: Bash is not for commands",
        "Nope 8 tool_not_found: there is no tool `Nope`",
        "MemoryRead 2 MemoryRead does not know the argument `nothing`",
        "MemoryRead 2 error[E0201]: --json is no JSON",
        "MemoryRead 4 this token is of no call that is running",
        "MemoryRead 4 error[E0401]: the agent that runs this command cannot",
        "MemoryRead 4 error[E0401]: this is not a command of an agent",
    ];
    for line in lines {
        assert!(text.contains(line), "{line}: {text}");
    }
    assert!(!text.contains("OUTPUT"), "{text}");
    // Why it was refused can be asked afterwards.
    let denied = denied_call(&desk.house, "MemoryWrite");
    let why = desk.house.rooftree(&["why", &denied]).well();
    assert!(
        why.contains("clerk › MemoryWrite") && why.contains("not made: [denied] the deny rule"),
        "{why}"
    );
    assert!(why.contains("says deny"), "{why}");
}

/// The id of the call of a tool that was denied.
fn denied_call(house: &House, tool: &str) -> String {
    let sessions = house.rooftree(&["sessions", "list", "-o", "ids"]).well();
    let events = house
        .rooftree(&["sessions", "events", sessions.trim(), "-o", "jsonl"])
        .lines();
    let record = events.iter().find(|event| {
        event["type"] == "tool.completed"
            && event["data"]["tool"] == tool
            && event["data"]["inside"].is_string()
    });
    record.unwrap_or_else(|| panic!("no call of {tool}: {events:?}"))["data"]["call"]
        .as_str()
        .unwrap()
        .to_owned()
}

#[test]
fn in_plan_mode_commands_call_what_only_looks_and_nothing_else() {
    let desk = desk("rooftree call MemoryRead; rooftree call MemoryWrite --text x");
    let done = go(
        &desk,
        &[&["--permission-mode", "plan"], &TIGHT[..]].concat(),
    );
    if is_left_out(&done) {
        return;
    }
    assert!(
        done.out.contains("[denied] plan mode only looks"),
        "{done:?}"
    );
    assert!(
        !desk
            .house
            .path()
            .join("agent-memory")
            .join("clerk")
            .exists()
    );
}

#[test]
fn a_run_that_is_killed_while_a_command_waits_for_a_yes_goes_on_without_it() {
    let desk = desk("rooftree call MemoryWrite --text x");
    let flags = [
        "--agent",
        "clerk",
        "--permission-mode",
        "ask",
        "--input-format",
        "stream-json",
        "Go",
    ];
    let mut run = desk.watch(&[&TIGHT[..], &flags[..]].concat());
    let asked = loop {
        let event = run.until_any(&["permission.requested", "run.completed", "notice"]);
        match event["type"].as_str() {
            Some("permission.requested") => break event,
            Some("notice") if event["data"]["code"] != "exposure" => {}
            _ => {
                eprintln!("left out: {event}");
                return;
            }
        }
    };
    let session = asked["session"].as_str().unwrap().to_owned();
    run.signal("KILL");
    run.child.wait().unwrap();
    let done = desk.run(&[
        "--session",
        &session,
        "--permission-mode",
        "ask",
        "and then?",
    ]);
    assert!(
        done.out.contains("unknown: interrupted") || done.code == 0,
        "{done:?}"
    );
    let events = desk
        .house
        .rooftree(&["sessions", "events", &session, "-o", "jsonl"])
        .lines();
    let told = |name: &str| {
        events
            .iter()
            .filter(|event| event["type"] == name)
            .collect::<Vec<_>>()
    };
    assert_eq!(told("permission.resolved")[0]["data"]["by"], "interrupted");
    let bash = told("tool.completed")
        .into_iter()
        .find(|event| event["data"]["tool"] == "Bash")
        .unwrap();
    assert_eq!(bash["data"]["outcome"]["is"], "unknown");
    desk.house.is_sound();
}

#[test]
fn outside_of_an_agent_there_is_nobody_to_call() {
    let house = House::new();
    let mut command = house.command(&["call", "Read", "--file-path", "x"]);
    command
        .env_remove("HOME")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let said = finished(command.spawn().unwrap()).ended(4);
    assert!(said.contains("exposure: skills"), "{said}");
    assert_eq!(fs::read_dir(house.path()).unwrap().count(), 0);
}

#[test]
fn the_prompt_that_is_shown_names_the_skills() {
    let desk = desk("true");
    let shown = desk
        .house
        .rooftree(&["agents", "show", "clerk", "--prompt"])
        .well();
    assert!(
        shown.contains("## Command line skills") && shown.contains("- memory: "),
        "{shown}"
    );
    let done = go(&desk, &["--permission-mode", "bypass", "--sandbox", "off"]);
    done.well();
    let page = shown
        .lines()
        .find_map(|line| line.trim().strip_prefix("SKILL.md: "))
        .unwrap();
    assert!(
        fs::read_to_string(page).unwrap().contains("rooftree call"),
        "{page}"
    );
}
