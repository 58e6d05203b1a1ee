//! Results are told truthfully: cut answers, work that was not verified, keys posted again, programs that were ended.

use serde_json::{Value, json};

use super::fixture::Desk;

const CUT: &str = r#"
[[reply]]
text = "PART-1 "
stop = "max_output"
[[reply]]
text = "PART-2 "
stop = "max_output"
[[reply]]
text = "end."
"#;

const NEVER_ENDS: &str = "[[reply]]\ntimes = 9\ntext = \"half \"\nstop = \"max_output\"\n";

#[test]
fn r1_d2_every_way_of_writing_has_all_pieces_of_a_continued_answer() {
    let desk = Desk::new(CUT);
    assert_eq!(desk.run(&["go"]).well(), "PART-1 PART-2 end.\n");
    assert_eq!(desk.run(&["-q", "go"]).well(), "PART-1 PART-2 end.\n");
    assert_eq!(
        desk.run(&["-o", "json", "go"]).json()["text"],
        "PART-1 PART-2 end."
    );
    desk.run(&["--last-message", "last.txt", "go"]).well();
    assert_eq!(
        std::fs::read_to_string(desk.path().join("last.txt")).unwrap(),
        "PART-1 PART-2 end."
    );
    let lines = desk.run(&["-o", "stream-json", "go"]).lines();
    assert_eq!(lines.last().unwrap()["text"], "PART-1 PART-2 end.");
}

#[test]
fn r2_d0_a_truncated_answer_is_printed_and_has_the_number_of_a_limit() {
    let desk = Desk::new(NEVER_ENDS);
    let done = desk.run(&["go"]);
    assert_eq!(
        (done.code, done.out.as_str()),
        (7, "half half half half \n")
    );
    assert!(
        done.err.contains("■ answer cut off at the output limit"),
        "{}",
        done.err
    );
    let result = desk.run(&["-o", "json", "--max-turns", "1", "go"]);
    assert_eq!(result.code, 7);
    let result: Value = serde_json::from_str(&result.out).unwrap();
    assert_eq!(
        (&result["status"], &result["text"]),
        (&json!("truncated"), &json!("half "))
    );
}

/// A desk with an agent whose work is never found good.
fn checked() -> Desk {
    let desk = Desk::new("[[reply]]\ntimes = 9\ntext = \"Done.\"\n");
    let check = json!({"tests": {"type": "command", "command": "echo ok.txt is missing; exit 1"}});
    std::fs::write(desk.house.path().join("verifiers.json"), check.to_string()).unwrap();
    desk
}

const FIXER: [&str; 4] = [
    "--agents",
    r#"{"fixer": {"description": "Fixes.", "verifiers": ["tests"]}}"#,
    "-a",
    "fixer",
];

#[test]
fn r1_d1_work_that_was_not_verified_has_a_number_of_its_own_and_is_said() {
    let desk = checked();
    let done = desk.run(&[&FIXER[..], &["fix it"]].concat());
    assert_eq!(
        (done.code, done.out.as_str()),
        (10, "Done.\n"),
        "{}",
        done.err
    );
    for line in [
        "✗ tests: ",
        "ok.txt is missing",
        " · back to fixer (1 of 3)",
        " · not verified (3 of 3)",
        "■ not verified · 3 turns",
    ] {
        assert!(done.err.contains(line), "{line}: {}", done.err);
    }
    let shown = desk
        .house
        .rooftree(&["sessions", "list", "-o", "ids"])
        .well();
    let shown = desk
        .house
        .rooftree(&["sessions", "show", shown.trim()])
        .well();
    assert!(shown.contains("not verified"), "{shown}");
}

#[test]
fn n_2_programs_read_that_the_work_was_not_verified() {
    let desk = checked();
    let done = desk.run(&[&FIXER[..], &["-o", "json", "fix it"]].concat());
    let result: Value = serde_json::from_str(&done.out).unwrap();
    assert_eq!(
        (&result["status"], &result["verified"]),
        (&json!("completed"), &json!(false))
    );
    assert_eq!(
        (&result["exit_code"], &result["failed_checks"][0]["name"]),
        (&json!(10), &json!("tests"))
    );
    let lines = desk.run(&[&FIXER[..], &["-o", "stream-json", "fix it"]].concat());
    let last: Value = serde_json::from_str(lines.out.lines().last().unwrap()).unwrap();
    assert_eq!(last["verified"], false);
    let quiet = desk.run(&[&FIXER[..], &["-q", "fix it"]].concat());
    assert!(
        quiet
            .err
            .starts_with("error: the work was not verified: tests: "),
        "{}",
        quiet.err
    );
}

#[test]
fn s_b4_a_key_that_is_posted_again_gives_the_result_of_the_first_one() {
    let desk = Desk::with_echo();
    let line = "{\"type\":\"user\",\"text\":\"t\",\"key\":\"k\"}\n";
    let talk = ["--input-format", "stream-json", "-o", "stream-json"];
    let first = desk.run_with_input(&talk, line).lines();
    let session = first.last().unwrap()["session"]
        .as_str()
        .unwrap()
        .to_owned();
    let again = desk
        .run_with_input(&[&talk[..], &["-s", &session]].concat(), line)
        .lines();
    let (first, again) = (first.last().unwrap(), again.last().unwrap());
    assert_eq!(
        (&again["type"], &again["text"]),
        (&json!("result"), &json!("heard: t"))
    );
    assert_eq!(
        (&again["run"], &again["turns"]),
        (&first["run"], &json!(1)),
        "nothing was done twice"
    );
    // In one process too, after the answer.
    let mut watched = desk.watch(&["--input-format", "stream-json"]);
    watched.say(line.trim());
    watched.until("run.completed");
    watched.say(line.trim());
    let last: Value = serde_json::from_str(watched.done().out.lines().last().unwrap()).unwrap();
    assert_eq!(
        (&last["type"], &last["text"]),
        (&json!("result"), &json!("heard: t"))
    );
}

const MAIL: &str = r#"
[script]
usage = { cost_usd = 0.01 }
[[reply]]
on = "^go"
[[reply.call]]
tool = "Task"
input = { subagent_type = "lead", prompt = "try" }
[[reply]]
on = "^go"
text = "FIRST ANSWER"
[[reply]]
on = "^try"
[[reply.call]]
tool = "SendMessage"
input = { text = "hello parent" }
[[reply]]
on = "^try"
text = "done"
[[reply]]
on = "hello parent"
text = "ANSWER TO MAIL"
"#;

#[test]
fn r1_d18_a_run_that_a_message_starts_is_part_of_the_result() {
    let desk = Desk::new(MAIL);
    let done = desk.run(&["go"]);
    assert_eq!(
        (done.code, done.out.as_str()),
        (0, "FIRST ANSWER\nANSWER TO MAIL\n"),
        "{}",
        done.err
    );
    assert!(!done.err.contains("earlier message"), "{}", done.err);
    let result = desk.run(&["-o", "json", "go"]).json();
    assert_eq!(result["text"], "ANSWER TO MAIL");
    assert!(result["duration_ms"].as_u64().unwrap() > 0, "{result}");
    let cost = result["usage"]["cost_usd"].as_f64().unwrap();
    assert!((cost - 0.05).abs() < 1e-9, "{result}");
    let by_model: f64 = result["by_model"]
        .as_object()
        .unwrap()
        .values()
        .map(|used| used["cost_usd"].as_f64().unwrap())
        .sum();
    assert!((by_model - 0.05).abs() < 1e-9, "{result}");
}

#[test]
fn r1_d18_the_failure_of_a_run_that_a_message_starts_is_told() {
    let desk = Desk::new(&MAIL.replace(
        "text = \"ANSWER TO MAIL\"",
        "error = \"refused\"\nmessage = \"no such thing\"",
    ));
    let done = desk.run(&["go"]);
    assert_eq!(done.code, 1, "{}", done.err);
    assert!(done.err.contains("no such thing"), "{}", done.err);
}

#[test]
fn n_4_quiet_says_why_a_run_failed_and_no_notices() {
    let desk = Desk::new("[[reply]]\nerror = \"refused\"\nmessage = \"no such thing\"\n");
    let done = desk.run(&["-q", "hi"]);
    assert_eq!((done.code, done.out.as_str()), (1, ""));
    assert!(
        done.err.starts_with("error[E0502]") && done.err.contains("no such thing"),
        "{}",
        done.err
    );
    let desk = Desk::with_echo();
    std::fs::create_dir_all(desk.path().join(".rooftree/agents")).unwrap();
    std::fs::write(
        desk.path().join(".rooftree/agents/x.md"),
        "---\ndescription: x\n---\nx",
    )
    .unwrap();
    let done = desk.run(&["-q", "hi"]);
    assert_eq!((done.out.as_str(), done.err.as_str()), ("heard: hi\n", ""));
}

#[test]
fn r2_d23_quiet_says_that_a_limit_was_reached() {
    let done = Desk::new(NEVER_ENDS).run(&["-q", "go"]);
    assert_eq!(
        done.err,
        "error: the answer was cut off at the model's output limit\n"
    );
}

fn program(command: &str) -> Desk {
    Desk::new(&format!(
        "[[reply]]\n[[reply.call]]\ntool = \"Bash\"\ninput = {{ command = \"{command}\", run_in_background = true }}\n\
         [[reply]]\ntext = \"started\"\n[[reply]]\ntext = \"told: {{{{ user.text | first_line }}}}\"\n"
    ))
}

#[test]
fn n_18_a_program_that_ends_with_the_run_is_told() {
    let done = program("sleep 600").run(&["--permission-mode", "auto", "go"]);
    assert_eq!(
        (done.code, done.out.as_str()),
        (0, "started\n"),
        "{}",
        done.err
    );
    assert!(
        done.err
            .contains("! 1 program in background was ended: sleep 600"),
        "{}",
        done.err
    );
}

#[test]
fn n_18_a_program_is_waited_for_as_long_as_is_said() {
    let desk = program("while [ ! -e open ]; do sleep 0.05; done; touch dug");
    let mut watched = desk.watch(&["--permission-mode", "auto", "--wait", "60s", "go"]);
    watched.until("run.completed");
    desk.write("open", "");
    let done = watched.done();
    assert_eq!(done.code, 0, "{}", done.err);
    assert!(desk.path().join("dug").exists());
    assert!(
        done.err.contains("waiting for 1 program in background") && !done.err.contains("was ended"),
        "{}",
        done.err
    );
}

#[test]
fn r1_d8_the_end_of_a_program_in_background_is_told_to_its_agent_once() {
    let desk = program("until [ -e open ]; do sleep 0.05; done; exit 3");
    let mut watched = desk.watch(&["--permission-mode", "auto", "--wait", "60s", "go"]);
    watched.until("run.completed");
    desk.write("open", "");
    let done = watched.done();
    assert_eq!(done.code, 0, "{}", done.err);
    assert_eq!(
        done.out.matches(r#""type":"message.user""#).count(),
        1,
        "{}",
        done.out
    );
    let last: Value = serde_json::from_str(done.out.lines().last().unwrap()).unwrap();
    let text = last["text"].as_str().unwrap();
    assert!(
        text.starts_with("told: ") && text.ends_with("ended: exit code 3]"),
        "{text}"
    );
    desk.house.is_sound();
}

/// A program in background and a call of TaskOutput with these arguments.
fn output_of(command: &str, wait: &str) -> Desk {
    Desk::new(&format!(
        r#"
[[reply]]
[[reply.call]]
tool = "Bash"
input = {{ command = "{command}", run_in_background = true }}
[[reply]]
[[reply.call]]
tool = "TaskOutput"
input = {{ task_id = "{{{{ results[0].text | find('prc_[a-z0-9]+') }}}}", {wait} }}
[[reply]]
text = "{{{{ results[0].text }}}}"
"#
    ))
}

#[test]
fn r1_d8_task_output_waits_for_a_program_as_long_as_is_said() {
    let run = |desk: Desk| desk.run(&["--permission-mode", "auto", "go"]).well();
    let said = run(output_of(
        "sleep 1; echo dug; exit 3",
        "block = true, timeout = 600",
    ));
    assert!(
        said.starts_with("dug\n[prc_") && said.contains("ended with exit code 3]"),
        "{said}"
    );
    assert_eq!(
        said.matches("[prc_").count(),
        1,
        "no message tells it again: {said}"
    );
    for wait in ["block = true, timeout = 1", "block = false"] {
        let said = run(output_of("sleep 600", wait));
        assert!(said.contains("is still running]"), "{wait}: {said}");
    }
}

#[test]
fn r1_d8_the_end_of_a_sub_agents_program_starts_no_run_of_that_sub_agent() {
    let desk = Desk::new(
        r#"
[[reply]]
on = "^go"
[[reply.call]]
tool = "Task"
input = { subagent_type = "lead", prompt = "dig", isolation = "none" }
[[reply]]
on = "^go"
[[reply.call]]
tool = "Bash"
input = { command = "touch open; until [ -e dug ]; do sleep 0.05; done; sleep 1" }
[[reply]]
on = "^go"
text = "done"
[[reply]]
on = "^dig"
[[reply.call]]
tool = "Bash"
input = { command = "until [ -e open ]; do sleep 0.05; done; touch dug", run_in_background = true }
[[reply]]
on = "^dig"
text = "started"
[[reply]]
times = 10
text = "WOKEN"
"#,
    );
    let done = desk.run(&["--permission-mode", "auto", "-o", "stream-json", "go"]);
    assert_eq!(done.code, 0, "{}", done.err);
    assert_eq!(
        done.out.matches(r#""type":"run.started""#).count(),
        2,
        "{}",
        done.out
    );
    assert!(!done.out.contains("WOKEN"), "{}", done.out);
}

#[test]
fn r1_d8_what_a_program_of_a_killed_process_wrote_is_still_shown_to_its_own_session() {
    let desk = Desk::new(
        "[[reply]]\n[[reply.call]]\ntool = \"Bash\"\ninput = { command = \"printf d%s ug; echo; sleep 600\", run_in_background = true }\n\
         [[reply]]\n[[reply.call]]\ntool = \"Bash\"\ninput = { command = \"until [ -e go ]; do sleep 0.05; done\" }\n",
    );
    let mut watched = desk.watch(&["--permission-mode", "auto", "go"]);
    watched.until("tool.completed");
    let tasks = |more: &[&str]| desk.house.rooftree(&[&["tasks"], more].concat());
    let listed = || tasks(&["list", "--running", "-o", "ids"]).well();
    let id = std::iter::repeat_with(listed)
        .take(200)
        .find(|ids| !ids.is_empty())
        .unwrap();
    let id = id.trim().to_owned();
    let is_kept = || tasks(&["list", "-o", "json"]).well().contains("dug");
    assert!(std::iter::repeat_with(is_kept).take(200).any(|kept| kept));
    watched.signal("KILL");
    desk.write("go", "");
    watched.done();
    desk.rewrite(&format!(
        "[[reply]]\non = \"^again\"\n[[reply.call]]\ntool = \"TaskOutput\"\ninput = {{ task_id = \"{id}\" }}\n\
         [[reply]]\non = \"^again\"\ntext = \"{{{{ results[0].text }}}}\"\n[[reply]]\ntimes = 9\ntext = \"over\"\n"
    ));
    let done = desk.run(&["--permission-mode", "auto", "--continue", "again"]);
    assert!(
        done.out.contains("dug\n[prc_") && done.out.contains("outcome unknown"),
        "{}{}",
        done.out,
        done.err
    );
    // Another session's program does not exist for this one.
    let other = desk.run(&["--permission-mode", "auto", "again"]);
    assert!(
        other.out.contains("not found"),
        "{}{}",
        other.out,
        other.err
    );
}
